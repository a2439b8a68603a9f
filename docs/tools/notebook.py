"""Runs a notebook's cells from top to bottom and puts in what they print and show.

It needs no Jupyter: a cell is Python, and its last line, if it is an expression, is shown as a
picture or as HTML where its value has one, else as text.
"""

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def executed(notebook: Path) -> str:
    """Return the notebook's JSON with its outputs as they are now."""
    found = json.loads(notebook.read_text("utf-8"))
    namespace: dict[str, object] = {"__name__": "notebook"}
    cells = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(cells, 1):
        cell["execution_count"] = count
        cell["outputs"] = _run("".join(cell["source"]), count, namespace)
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _run(source: str, count: int, namespace: dict[str, object]) -> list[Cell]:
    tree = ast.parse(source, f"<cell {count}>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {count}>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), namespace)
    outputs: list[Cell] = []
    if printed.getvalue():
        text = _lines(printed.getvalue())
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if shown is not None:
        rich = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
        found = {kind: getattr(shown, method, None) for kind, method in rich.items()}
        data = {kind: _lines(show()) for kind, show in found.items() if show is not None}
        data = data or {"text/plain": _lines(repr(shown))}
        outputs.append(
            {
                "data": data,
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def _lines(text: str) -> list[str]:
    return [line.rstrip(" ") for line in text.splitlines(keepends=True)]
