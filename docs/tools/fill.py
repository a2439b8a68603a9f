"""Writes what a page's Python blocks print into its text blocks: python docs/tools/fill.py PAGE...

A page is Markdown, or a notebook (.ipynb), whose outputs are written. After a change that alters
outputs, run it and read the difference before you commit it.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

from notebook import executed

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def filled(page: Path) -> str:
    """Return the page with its outputs as they are now."""
    namespace: dict[str, object] = {"__name__": "docs"}
    printed = ""

    def block(match: re.Match[str]) -> str:
        nonlocal printed
        language, body = match.groups()
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, f"<{page.name}>", "exec"), namespace)
            printed = output.getvalue()
        elif language == "text":
            lines = (line.rstrip() for line in printed.strip().split("\n"))
            return "```text\n{}\n```".format("\n".join(lines))
        return match[0]

    return BLOCK.sub(block, page.read_text("utf-8"))


def main(pages: list[Path]) -> None:
    """Fill the pages; files that a page saves go to a folder of their own."""
    paths = [page.resolve() for page in pages]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path in paths:
            before = path.read_text("utf-8")
            after = executed(path) if path.suffix == ".ipynb" else filled(path)
            path.write_text(after, "utf-8")
            print(path.name, "same" if before == after else "changed")
        os.chdir(paths[0].parent)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
