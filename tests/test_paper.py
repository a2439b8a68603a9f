"""docs/paper.md names files that are there, and misses no numbered item of the paper."""

import re
from pathlib import Path

import numpy as np
import pytest

from lexbandit import Rounds, make_policy

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


def test_every_numbered_equation_has_a_row() -> None:
    named: set[int] = set()
    for first, last in re.findall(r"\((\d+)\)(?: to \((\d+)\))?", PAGE):
        named |= set(range(int(first), int(last or first) + 1))
    assert set(range(1, 24)) <= named


def test_every_experiment_application_and_footnote_has_a_row() -> None:
    for item in ("Experiment 1", "Experiment 2", "Experiment 3", "Corollary 1", "Algorithm 1"):
        assert item in PAGE
    for item in ("multichannel", "classification", "recommender", "advertising", "routing"):
        assert item in PAGE
    assert {int(n) for n in re.findall(r"footnote (\d)", PAGE)} == set(range(1, 9))


def test_going_by_the_first_objective_alone_loses_half_of_the_second() -> None:
    """Section IV's example: two arms with means (½, 1) and (½, 0); a run of each, fixed seed."""
    n = 20_000
    random = np.random.default_rng(1)
    outcomes = np.zeros((n, 2, 2))
    outcomes[:, :, 0] = random.random((n, 2)) < 0.5
    outcomes[:, 0, 1] = 1.0
    rounds = Rounds(random.random((n, 1)), outcomes)
    lost = {
        name: (make_policy(name, arms=2, dimension=1, horizon=n, scale=scale).replay(rounds)).mean()
        for name, scale in (("cd-ucb1", 1.0), ("moc-mab", 1 / 15))
    }
    assert 0.4 < lost["cd-ucb1"] < 0.6
    assert lost["moc-mab"] < 0.05
