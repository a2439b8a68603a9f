"""Which policies are below the paper's algorithms in every objective, and by how much."""

from typing import Any

import pytest

from lexbandit.bench.against import against_paper

Point = tuple[list[float], list[float] | None, list[float]]


def told(policies: dict[str, dict[str, Point]], best: dict[str, str]) -> dict[str, Any]:
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
    "cd-ucb1": {"1/5": ([92.0, 740.0], [2.0, 9.0], [900.0, 200.0])},
}
OURS: dict[str, dict[str, Point]] = {
    "ours": {"-": ([25.0, 30.0], [1.0, 1.0], [990.0, 220.0])},
    "close": {"-": ([91.0, 45.0], [1.0, 1.0], [900.0, 200.0])},
    "random": {"-": ([3000.0, 2000.0], [9.0, 9.0], [450.0, 100.0])},
    "oracle": {"-": ([0.0, 0.0], [0.0, 0.0], [1000.0, 300.0])},
}
BEST = {"moc-mab": "1/15", "cd-ucb1": "1/5", "ours": "-", "close": "-", "random": "-"}


@pytest.fixture
def rows() -> dict[str, dict[str, Any]]:
    found = against_paper(told(PAPER | OURS, BEST | {"oracle": "-"}))
    assert found is not None
    assert [row["policy"] for row in found] == ["ours", "close", "cd-ucb1", "moc-mab", "random"]
    return {row["policy"]: row for row in found}


def test_who_beats_whom_is_computed_at_the_tuned_scales(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["beats"] == ["moc-mab", "cd-ucb1"]
    assert rows["ours"]["beats_all"] is True
    assert rows["random"]["beats"] == []
    assert rows["random"]["beats_all"] is False
    assert rows["moc-mab"]["beats"] == []  # CD-UCB1 is lower in the first objective
    assert rows["moc-mab"]["beats_all"] is False


def test_a_difference_within_the_errors_is_not_clear(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["close"]["beats"] == ["moc-mab", "cd-ucb1"]
    assert rows["close"]["clearly"] == []
    assert rows["ours"]["clearly"] == ["moc-mab", "cd-ucb1"]


def test_at_every_scale_is_stricter(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["at_every_scale"] == ["cd-ucb1"]  # MOC-MAB at 1 has 20 in the second


def test_rewards_stand_against_cd_ucb1(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["ours"]["reward"] == pytest.approx([10.0, 10.0])
    assert rows["cd-ucb1"]["reward"] == [0.0, 0.0]


def test_one_run_has_no_errors_to_take_off() -> None:
    alone: dict[str, Point] = {"-": ([1.0, 1.0], None, [1.0, 1.0])}
    found = against_paper(told({"moc-mab": {"-": ([2.0, 2.0], None, [1.0, 1.0])}, "x": alone},
                               {"moc-mab": "-", "x": "-"}))  # fmt: skip
    assert found is not None
    assert found[0]["clearly"] == ["moc-mab"]
    assert found[0]["reward"] is None


def test_without_the_paper_or_without_others_there_is_no_table() -> None:
    assert against_paper(told(OURS, {"ours": "-", "random": "-"})) is None
    assert against_paper(told(PAPER, {"moc-mab": "1", "cd-ucb1": "1/5"})) is None
    unknown = told(PAPER | OURS, BEST)
    unknown["best_scale"]["ours"]["by_regret"] = None
    assert against_paper(unknown) is None
