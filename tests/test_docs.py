"""Every Python block of the docs runs, top to bottom, and prints what the page says it prints."""

import contextlib
import io
import re
import unicodedata
from pathlib import Path

import pytest

from lexbandit.bench.study import read_study
from lexbandit.cli.list import FOR_USE
from lexbandit.policies import REGISTRY
from lexbandit.service.config.file import read_config

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "policies").glob("*.md")),
    *sorted((ROOT / "docs" / "examples").glob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.compiled


def str_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=str_of)
def test_blocks_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a page may save files
    namespace: dict[str, object] = {"__name__": "docs"}
    printed = ""
    ran = 0
    for language, block in BLOCK.findall(page.read_text()):
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, f"<{page.name}>", "exec"), namespace)
            printed = output.getvalue()
            ran += 1
        elif language == "text":
            assert block.strip() == "\n".join(line.rstrip() for line in printed.strip().split("\n"))
            printed = ""
        elif language == "toml":
            file = tmp_path / "page.toml"
            file.write_text(block)
            assert read_config(file).points if "[points." in block else read_study(file).entries
            ran += 1
        else:
            pytest.fail(f"a block of {language} is neither run nor checked")
    # The home page, names, tables of links and of what a command printed, a page of promises.
    without = (
        "architecture.md",
        "index.md",
        "reference.md",
        "paper.md",
        "beyond.md",
        "threat-model.md",
    )
    assert ran > 0 or str_of(page) in {f"docs/{name}" for name in without}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=str_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    for target in targets:
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def slug(heading: str) -> str:
    """Return the anchor that Python-Markdown gives a heading."""
    text = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).replace("`", "").replace("*", "")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=str_of)
def test_anchors_are_headings(page: Path) -> None:
    """A link to a place of a page leads to a heading of it; mkdocstrings makes those of names."""
    text = BLOCK.sub("", page.read_text())
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
        if target.startswith("https://") or anchor.startswith("lexbandit."):
            continue
        place = page if not target else page.parent / target
        headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", place.read_text()), re.MULTILINE)
        assert anchor in {slug(heading) for heading in headings}, f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=str_of)
def test_tables_are_whole(page: Path) -> None:
    """Every row has as many cells as its header, and nothing is left to be filled in."""
    text = BLOCK.sub("", page.read_text())
    assert "NUMBERS" not in text
    assert not re.search(r"^\|.*\{[a-z0-9-]+\}", text, re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()]
        assert len(set(cells)) == 1, table


def test_the_policies_for_use_are_those_that_the_command_lists_first() -> None:
    page = (ROOT / "docs" / "policies" / "index.md").read_text()
    table = page.partition("Six policies are for use")[2].partition("All others")[0]
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == FOR_USE


def test_every_page_of_a_policy_has_a_row() -> None:
    """The site makes pages and rows for the others: see tests/test_contributing.py."""
    table = (ROOT / "docs" / "policies" / "index.md").read_text()
    pages = {page.stem for page in (ROOT / "docs" / "policies").glob("*.md")} - {"index"}
    assert pages <= set(REGISTRY.names())
    for name in pages:
        assert f"[`{name}`]({name}.md)" in table, name
