"""docs/paper.md names files that are there, and misses no numbered item of the paper."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


def paths() -> list[str]:
    """Return every file that the page names."""
    return sorted(set(re.findall(r"`([\w/-]+\.(?:py|toml))`", PAGE)))


def test_files_are_there() -> None:
    assert len(paths()) > 40
    missing = [
        path
        for path in paths()
        if not any((folder / path).is_file() for folder in (ROOT, ROOT / "src" / "lexbandit"))
    ]
    assert not missing


@pytest.mark.parametrize(
    ("kind", "last"),
    [("Assumption", 2), ("Definition", 2), ("Remark", 3), ("Lemma", 6), ("Theorem", 3)],
)
def test_every_numbered_item_has_a_row(kind: str, last: int) -> None:
    named = {
        int(number)
        for found in re.findall(rf"{kind}s? (\d(?:(?:, | and )\d)*)", PAGE)
        for number in re.findall(r"\d", found)
    }
    assert set(range(1, last + 1)) <= named


def test_every_experiment_application_and_footnote_has_a_row() -> None:
    for item in ("Experiment 1", "Experiment 2", "Experiment 3", "Corollary 1", "Algorithm 1"):
        assert item in PAGE
    for item in ("multichannel", "classification", "recommender", "advertising", "routing"):
        assert item in PAGE
    assert PAGE.count("footnote") >= 6
