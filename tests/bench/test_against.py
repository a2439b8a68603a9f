"""Which policies are below the paper's algorithms in every objective, and by how much."""

from collections.abc import Mapping
from typing import Any

import pytest

from lexbandit.bench.summary import against_paper

Point = tuple[list[float], list[float] | None, list[float]]


def told(policies: Mapping[str, Mapping[str, Point]], best: dict[str, str]) -> dict[str, Any]:
    return {
        "policies": {
            name: {
                at: {"regret": r, "standard_error": {"regret": e}, "reward": w}
                for at, (r, e, w) in points.items()
            }
            for name, points in policies.items()
        },
        "best_scale": {name: {"by_regret": at} for name, at in best.items()},
    }


PAPER: dict[str, dict[str, Point]] = {
    "moc-mab": {
        "1": ([900.0, 20.0], [1.0, 1.0], [100.0, 300.0]),
        "1/15": ([130.0, 46.0], [3.0, 3.0], [870.0, 290.0]),
    },
    "cp-ucb1": {"1": ([634.0, 210.0], [2.0, 9.0], [300.0, 250.0])},
    "cs-ucb1": {"1": ([819.0, 361.0], [2.0, 9.0], [200.0, 240.0])},
    "p-ucb1": {"1": ([1438.0, 1706.0], [2.0, 9.0], [100.0, 220.0])},
    "s-ucb1": {"1": ([1887.0, 1715.0], [2.0, 9.0], [90.0, 210.0])},
    "cd-ucb1": {"1/5": ([92.0, 740.0], [2.0, 9.0], [900.0, 200.0])},
}
SIX = list(PAPER)
OTHER_FOUR = ["cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1"]
OURS: dict[str, dict[str, Point]] = {
    "ours": {"-": ([25.0, 30.0], [1.0, 1.0], [990.0, 220.0])},
    "close": {"-": ([91.0, 45.0], [1.0, 1.0], [900.0, 200.0])},
    "random": {"-": ([3000.0, 2000.0], [9.0, 9.0], [450.0, 100.0])},
    "oracle": {"-": ([0.0, 0.0], [0.0, 0.0], [1000.0, 300.0])},
}
BEST = dict.fromkeys(SIX, "1") | {"moc-mab": "1/15", "cd-ucb1": "1/5"} | dict.fromkeys(OURS, "-")


@pytest.fixture
def rows() -> dict[str, dict[str, Any]]:
    found = against_paper(told(PAPER | OURS, BEST))
    assert found is not None
    order = ["ours", "close", "cd-ucb1", "moc-mab", *OTHER_FOUR, "random"]
    assert [row["policy"] for row in found] == order
    return {row["policy"]: row for row in found}


def test_who_beats_whom_is_computed_at_the_tuned_scales(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["beats"] == SIX
    assert rows["ours"]["beats_all"] is True
    assert rows["random"]["beats"] == []
    assert rows["random"]["beats_all"] is False
    assert rows["moc-mab"]["beats"] == OTHER_FOUR  # CD-UCB1 is lower in the first objective
    assert rows["moc-mab"]["beats_all"] is False


def test_a_difference_within_the_errors_is_not_clear(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["close"]["beats"] == SIX
    assert rows["close"]["clearly"] == OTHER_FOUR
    assert rows["ours"]["clearly"] == SIX


def test_at_every_scale_is_stricter(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["at_every_scale"] == SIX[1:]  # MOC-MAB at 1 has 20 in the second


def test_rewards_stand_against_cd_ucb1(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["reward"] == pytest.approx([10.0, 10.0])
    assert rows["cd-ucb1"]["reward"] == [0.0, 0.0]


def test_one_run_has_no_errors_to_take_off() -> None:
    alone = {
        name: {at: (r, None, w) for at, (r, _, w) in points.items()}
        for name, points in (PAPER | OURS).items()
    }
    found = against_paper(told(alone, BEST))
    assert found is not None
    assert found[1]["policy"] == "close"
    assert found[1]["clearly"] == SIX


def test_without_the_paper_or_without_others_there_is_no_table() -> None:
    assert against_paper(told(OURS, {"ours": "-", "random": "-"})) is None
    assert against_paper(told(PAPER, {name: BEST[name] for name in SIX})) is None
    some = {name: at for name, at in BEST.items() if name != "s-ucb1"}
    assert against_paper(told(PAPER | OURS, some)) is None
    unknown = told(PAPER | OURS, BEST)
    unknown["best_scale"]["ours"]["by_regret"] = None
    assert against_paper(unknown) is None
