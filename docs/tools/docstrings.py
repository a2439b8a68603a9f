"""Sets the docstrings' lists of names as tables, for the API page.

arms         the options' names
context      the features that are known before choosing; a further
             line goes on with it
"""

import re
from typing import Any

import griffe

ROW = re.compile(r"^(\w[\w., ]*?) {2,}(\S.*)$")


def as_table(rows: list[tuple[str, str]]) -> list[str]:
    """Return a Markdown table of names and what they are."""
    cells = [(f"`{name}`", text.replace("|", "\\|")) for name, text in rows]
    return ["", "| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in cells), ""]


def with_tables(text: str) -> str:
    """Return a docstring with its lists of names as tables."""
    lines: list[str] = []
    rows: list[tuple[str, str]] = []
    for line in text.split("\n"):
        row = ROW.match(line)
        if row:
            rows.append((row[1], row[2]))
        elif rows and re.match(r"^ {3,}\S", line):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            if rows:
                lines += as_table(rows)
                rows = []
            lines.append(line)
    return "\n".join(lines + (as_table(rows) if rows else []))


class NamesAsTables(griffe.Extension):
    """Rewrites every docstring that has a list of names."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = with_tables(obj.docstring.value)
