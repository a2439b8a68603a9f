"""The tutorial notebook runs from top to bottom, and its outputs are what its cells give."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"


@pytest.mark.compiled
def test_the_tutorial_shows_what_its_cells_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To refill it: python docs/tools/fill.py examples/tutorial.ipynb."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    monkeypatch.chdir(tmp_path)  # it writes files
    from notebook import executed  # type: ignore[import-not-found]

    assert json.loads(executed(NOTEBOOK)) == json.loads(NOTEBOOK.read_text("utf-8"))
    assert (tmp_path / "router.lexbandit").is_file()
    sys.modules.pop("notebook")


def test_its_links_lead_somewhere() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert len(links) >= 3
    assert all((NOTEBOOK.parent / link).is_file() for link in links)
