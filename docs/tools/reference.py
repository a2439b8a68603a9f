"""Writes docs/reference.md, the API in short: python docs/tools/reference.py

The names are those of docs/api.md. Each has its signature and the first sentence of its docstring,
read from the sources: nothing is imported, and no site is built.
"""

import re
import textwrap
from pathlib import Path

import griffe

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "reference.md"
DEFAULTS: dict[str, object] = {"_NONE": "{}"}
HEAD = """# The API in short

Signatures and first sentences, to be read in the repository; the site has [all of it](api.md).
`python docs/tools/reference.py` writes this page from the sources.
"""


def first_sentence(found: griffe.Object | griffe.Alias) -> str:
    """Return the beginning of a docstring, up to its first full stop or empty line."""
    text = found.docstring.value if found.docstring else ""
    return re.split(r"(?<=\.)\s|\n\n", text.strip(), maxsplit=1)[0].replace("\n", " ")


def signature(found: griffe.Object | griffe.Alias) -> str:
    """Return how a class or function is called, without types."""
    parameters = []
    starred = False
    for one in found.parameters:
        if one.name in {"self", "cls"}:
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not starred:
            parameters.append("*")
            starred = True
        if one.kind is griffe.ParameterKind.var_positional:
            parameters.append(f"*{one.name}")
            starred = True
        elif one.kind is griffe.ParameterKind.var_keyword:
            parameters.append(f"**{one.name}")
        else:
            default = DEFAULTS.get(str(one.default), one.default)
            parameters.append(one.name if default is None else f"{one.name}={default}")
    return f"{found.name}({', '.join(parameters)})"


def entry(found: griffe.Object | griffe.Alias, *, methods: bool) -> list[str]:
    """Return the lines of one name: what it is, how it is called, and its own methods."""
    lines = ["", f"### `{found.name}`", "", first_sentence(found)]
    if found.parameters or not found.is_class:
        called = textwrap.wrap(signature(found), 84, subsequent_indent=" " * 4)
        lines += ["", *(f"    {part}" for part in called)]
    if not (methods and found.is_class):
        return lines
    rows = []
    for name, member in sorted(found.members.items()):
        if name.startswith("_") or not member.has_docstring:
            continue
        if member.is_function or "property" in member.labels:
            shown = signature(member) if member.is_function else name
            rows.append(f"- `{shown}`: {first_sentence(member)}")
    return [*lines, "", *rows] if rows else lines


def page() -> str:
    """Return the page as it should be now."""
    loader = griffe.GriffeLoader(search_paths=[str(DOCS.parent / "src")])
    package = loader.load("lexbandit")
    loader.resolve_aliases(implicit=False, external=False)
    lines = [HEAD.rstrip()]
    blocks = re.findall(
        r"^(##|:::) (.+)\n((?: {4}.+\n)*)", (DOCS / "api.md").read_text("utf-8"), re.M
    )
    for kind, name, options in blocks:
        if kind == "##":
            lines += ["", f"## {name}"]
        else:
            found = package[name.removeprefix("lexbandit.")]
            lines += entry(found, methods="members: false" not in options)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
