"""Write the walks of docs/architecture.md: python docs/tools/architecture.py

Each walk is traced (tests/walks.py), and the page lists its files in the order in which they are
entered, with the first sentence of each file.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
LIST = re.compile(r"(<!-- walk: (\w+) -->\n\n)(.*?)(\n\n<!-- end -->)", re.DOTALL)
ROW = re.compile(r"^\d+\. \[`([^`]+)`\]\(\.\./src/lexbandit/([^)]+)\): ", re.MULTILINE)


def trace(walk: str) -> list[str]:
    """Return the files that run code on a walk, below src/lexbandit, in their order."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, str(ROOT / "tests" / "walks.py"), walk]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, timeout=300
    )
    if ended.returncode:
        raise RuntimeError(f"the walk {walk} fails: {ended.stderr[-2000:]}")
    files: list[str] = json.loads(ended.stdout.splitlines()[-1])
    return files


def purpose(file: str) -> str:
    """Return the first line of a file's docstring."""
    tree = ast.parse((ROOT / "src" / "lexbandit" / file).read_text("utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def rows(files: list[str]) -> str:
    """Return files as a numbered list with links."""
    return "\n".join(
        f"{number}. [`{file}`](../src/lexbandit/{file}): {purpose(file)}"
        for number, file in enumerate(files, 1)
    )


def lists(text: str) -> dict[str, list[str]]:
    """Return the files that a page lists, by walk."""
    return {match[2]: [row[1] for row in ROW.findall(match[3])] for match in LIST.finditer(text)}


def fill(text: str) -> str:
    """Return the page with its lists as they are now; a restart lists what a request does not."""
    seen: dict[str, list[str]] = {}

    def filled(match: re.Match[str]) -> str:
        walk = match[2]
        seen[walk] = trace(walk)
        before = seen.get("request", []) if walk == "restart" else []
        return match[1] + rows([file for file in seen[walk] if file not in before]) + match[4]

    return LIST.sub(filled, text)


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text("utf-8")), "utf-8")
    for walk, files in lists(PAGE.read_text("utf-8")).items():
        print(walk, len(files))
