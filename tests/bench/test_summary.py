"""The summary says what was reached; the claims say what the paper has beside it."""

import json
import math
from pathlib import Path

import polars as pl
import pytest

from bench.studies import SMALL, small
from lexbandit import InvalidInput
from lexbandit.bench.comparison import compare
from lexbandit.bench.executors import Threads, run_study
from lexbandit.bench.results import load_runs
from lexbandit.bench.run import sized
from lexbandit.bench.summary import (
    PAPER_CLAIMS,
    best_of,
    claims_of,
    held_at_one_scale,
    summarize,
    write_summary,
)

SIX = ("moc-mab", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1", "cd-ucb1")


def told(values: dict[str, list[float]], measure: str) -> dict[str, object]:
    """A summary in which each policy has one good and one bad scale."""
    other = "reward" if measure == "regret" else "regret"
    bad = 1.5 if measure == "regret" else 0.5
    policies = {
        name: {
            "1": {measure: [bad * v for v in vector], other: None},
            "1/5": {measure: vector, other: None},
        }
        for name, vector in values.items()
    }
    best = {name: {"by_regret": "1/5", "by_reward": "1/5"} for name in values}
    return {"policies": policies, "best_scale": best, "data": "synthetic"}


def test_numbers_are_means_over_runs_with_their_standard_errors(tmp_path: Path) -> None:
    run_study(small(tmp_path), tmp_path / "out", Threads(2))
    summary = write_summary(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary
    study = summary["studies"]["small"]
    assert (study["runs"], study["horizon"], study["objectives"]) == (3, 3000, ["first", "second"])
    assert list(study["policies"]) == ["moc-mab", "cs-ucb1", "random"]
    assert list(study["policies"]["moc-mab"]) == ["1", "1/10"]
    point = study["policies"]["moc-mab"]["1/10"]
    rows = load_runs(tmp_path / "out").filter(
        (pl.col("t") == 3000) & (pl.col("label") == "moc-mab@1/10")
    )
    for name in ("regret", "reward"):
        for i in range(2):
            column = rows[name].list.get(i)
            assert point[name][i] == pytest.approx(column.mean())
            error = column.std() / math.sqrt(3)  # type: ignore[operator]
            assert point["standard_error"][name][i] == pytest.approx(error)
    assert point["pareto_regret"] == pytest.approx(rows["pareto_regret"].mean())
    assert point["runs"] == 3
    assert summary["experiments"] == {}
    assert summary["claims"] == []
    assert study["policies"]["random"]["-"]["runs"] == 3


def test_best_scales(tmp_path: Path) -> None:
    run_study(small(tmp_path), tmp_path / "out", Threads(2))
    study = summarize(tmp_path / "out")["studies"]["small"]
    for policy, points in study["policies"].items():
        best = study["best_scale"][policy]
        assert points[best["by_regret"]]["regret"][0] == min(
            p["regret"][0] for p in points.values()
        )
        assert points[best["by_reward"]]["reward"][0] == max(
            p["reward"][0] for p in points.values()
        )


def test_the_dominant_objective_decides_the_best_scale() -> None:
    """Each measure has its own best point, and the second objective would choose another."""
    points = {
        "1": {"regret": [3.0, 1.0], "reward": [5.0, 9.0]},
        "1/5": {"regret": [1.0, 8.0], "reward": [6.0, 2.0]},
        "1/9": {"regret": [2.0, 9.0], "reward": [7.0, 1.0]},
    }
    assert best_of(points) == {"by_regret": "1/5", "by_reward": "1/9"}


@pytest.mark.parametrize(("experiment", "measure"), [(1, "regret"), (2, "reward")])
def test_claims_take_the_scale_that_is_best_by_their_own_measure(
    experiment: int, measure: str
) -> None:
    point = {"regret": [2.0, 2.0], "reward": [2.0, 2.0]}
    other = {"regret": [9.0, 9.0], "reward": [9.0, 9.0]}
    by = {"by_regret": "a" if measure == "regret" else "b"}
    by["by_reward"] = "b" if measure == "regret" else "a"
    study = {
        "data": "",
        "policies": {name: {"a": point, "b": other} for name in ("moc-mab", "cd-ucb1")},
        "best_scale": dict.fromkeys(("moc-mab", "cd-ucb1"), by),
    }
    assert claims_of(experiment, study)[0]["moc-mab"] == 2.0


def test_one_run_has_no_standard_error(tmp_path: Path) -> None:
    run_study(sized(small(tmp_path), runs=1), tmp_path / "out", Threads(1))
    point = summarize(tmp_path / "out")["studies"]["small"]["policies"]["moc-mab"]["1"]
    assert point["standard_error"] == {"regret": None, "pareto_regret": None, "reward": None}
    assert point["pareto_regret"] is not None


def test_an_empty_folder_has_no_summary(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no finished run"):
        summarize(tmp_path)


def test_every_comparison_of_section_vii_is_there() -> None:
    assert [sum(c.experiment == e for c in PAPER_CLAIMS) for e in (1, 2, 3)] == [10, 6, 10]
    percentages = {c.paper for c in PAPER_CLAIMS if c.paper is not None}
    assert percentages == {
        *(8.21, 10.59, 21.33, 82.94, -8.52, 13.66),
        *(54.5, 133.6, 131.8, -22.3, -46.3, -60.0, -59.7, 4751.9),
    }


def test_experiment_1_claims() -> None:
    values = {name: [1000.0, 900.0] for name in SIX} | {
        "moc-mab": [100.0, 50.0],
        "cd-ucb1": [80.0, 500.0],
    }
    claims = claims_of(1, told(values, "regret"))
    assert len(claims) == 10
    assert all(claim["holds"] for claim in claims)
    assert [claim["ours"] for claim in claims[-2:]] == pytest.approx([25.0, -90.0])
    assert claims[0]["claim"] == "MOC-MAB's dominant regret is lower than CP-UCB1's"
    assert claims[0]["paper"] is None
    assert {claim["data"] for claim in claims} == {"synthetic"}
    worse = claims_of(1, told(values | {"p-ucb1": [99.0, 900.0]}, "regret"))
    failing = [claim["claim"] for claim in worse if not claim["holds"]]
    assert failing == ["MOC-MAB's dominant regret is lower than P-UCB1's"]


def test_experiment_2_claims_keep_sign_and_percentage() -> None:
    values = {name: [100.0, 100.0] for name in SIX} | {
        "moc-mab": [110.0, 120.0],
        "cd-ucb1": [125.0, 100.0],
    }
    claims = {claim["claim"]: claim for claim in claims_of(2, told(values, "reward"))}
    assert len(claims) == 7
    lower = claims["MOC-MAB's dominant total reward is 8.52 % lower than CD-UCB1's"]
    assert (lower["paper"], lower["ours"], lower["holds"]) == (-8.52, pytest.approx(-12.0), True)
    higher = claims["MOC-MAB's non-dominant total reward is 13.66 % higher than CD-UCB1's"]
    assert (higher["ours"], higher["holds"]) == (pytest.approx(20.0), True)
    both = claims["no algorithm has a higher total reward than MOC-MAB in both objectives"]
    assert (both["ours"], both["holds"]) == (0, True)
    beaten = claims_of(2, told(values | {"s-ucb1": [111.0, 121.0]}, "reward"))
    assert (beaten[-1]["ours"], beaten[-1]["holds"]) == (1, False)


def test_a_comparison_with_zero_has_no_percentage() -> None:
    claims = claims_of(3, told({"moc-mab": [1.0, 2.0], "cd-ucb1": [2.0, 0.0]}, "reward"))
    assert [claim["ours"] for claim in claims] == [-50.0, None, 0]
    assert [claim["holds"] for claim in claims] == [True, True, True]


def test_claims_without_moc_mab_are_none() -> None:
    assert claims_of(2, told({"cd-ucb1": [1.0, 1.0]}, "reward")) == []


def test_two_folders_are_compared(tmp_path: Path) -> None:
    run_study(small(tmp_path), tmp_path / "a", Threads(1))
    run_study(small(tmp_path), tmp_path / "b", Threads(1))
    run_study(
        small(tmp_path, SMALL.replace("runs = 3", "runs = 3\nseed = 1")), tmp_path / "c", Threads(1)
    )
    same = compare(tmp_path / "a", tmp_path / "b")
    assert len(same) == 5 * 4
    assert all(row["same"] and row["errors"] == 0 for row in same)
    other = compare(tmp_path / "a", tmp_path / "c")
    assert not any(row["same"] for row in other)
    points = [
        summarize(tmp_path / folder)["studies"]["small"]["policies"][other[0]["policy"]]
        for folder in ("a", "c")
    ]
    errors = [point[other[0]["at"]]["standard_error"]["regret"][0] for point in points]
    spread = math.sqrt(errors[0] ** 2 + errors[1] ** 2)
    assert other[0]["errors"] == pytest.approx(other[0]["difference"] / spread)
    assert sum(abs(row["errors"]) > 4 for row in other) == 0
    run_study(sized(small(tmp_path), horizon=10), tmp_path / "d", Threads(1))
    with pytest.raises(
        InvalidInput, match=r"small ran for 3,000 rounds in the one and 10 in .* --horizon 10"
    ):
        compare(tmp_path / "a", tmp_path / "d")
    renamed = SMALL.replace('name = "small"', 'name = "other"')
    run_study(small(tmp_path, renamed), tmp_path / "e", Threads(1))
    with pytest.raises(InvalidInput, match="the one holds small, the other other"):
        compare(tmp_path / "a", tmp_path / "e")


def test_claims_are_judged_by_a_stated_rule() -> None:
    """Within two points or 1.96 standard errors, as worded, not in size, or by sign only."""

    def agreement(experiment: int, rival: str, ours: float, objective: int, error: float) -> str:
        point = {"regret": [1.0, 1.0], "reward": [1.0, 1.0]}
        measure = "regret" if experiment == 1 else "reward"
        values = [1.0, 1.0]
        values[objective] = 1.0 + ours / 100
        moc = point | {measure: values, "standard_error": {measure: [error / 100] * 2}}
        study = {
            "data": "",
            "policies": {
                "moc-mab": {"1": moc},
                rival: {"1": point | {"standard_error": {measure: [0.0, 0.0]}}},
            },
            "best_scale": {key: {"by_regret": "1", "by_reward": "1"} for key in ("moc-mab", rival)},
        }
        claims = claims_of(experiment, study)
        return str(next(c for c in claims[objective:])["agreement"])

    assert agreement(2, "cp-ucb1", 9.0, 0, 0.0) == "points"
    assert agreement(2, "cp-ucb1", 11.0, 0, 2.0) == "error"
    assert agreement(2, "cp-ucb1", 11.0, 0, 1.0) == "size"
    assert agreement(2, "cp-ucb1", -8.0, 0, 9.0) == "none"
    assert agreement(1, "cd-ucb1", 9.0, 0, 0.0) == "word"
    assert agreement(1, "cd-ucb1", 30.0, 0, 0.0) == "size"
    assert agreement(1, "cp-ucb1", -30.0, 0, 0.0) == "sign"  # the paper names no size
    assert agreement(1, "cd-ucb1", -90.0, 1, 0.0) == "word"


def test_the_error_of_a_claim_is_that_of_a_ratio() -> None:
    """The deltas of ours/theirs: (e/b)² + (f a/b²)², runs taken as independent."""
    points = {"moc-mab": ([3.0, 1.0], [0.3, 0.1]), "cp-ucb1": ([2.0, 1.0], [0.1, 0.1])}
    study = {
        "data": "",
        "policies": {
            name: {"1": {"regret": None, "reward": means, "standard_error": {"reward": errors}}}
            for name, (means, errors) in points.items()
        },
        "best_scale": {name: {"by_regret": None, "by_reward": "1"} for name in points},
    }
    error = 100 * math.sqrt((0.3 / 2) ** 2 + (0.1 * 3 / 2**2) ** 2)
    assert claims_of(2, study)[0]["error"] == pytest.approx(error)


def test_claims_at_one_scale_compare_like_with_like() -> None:
    """Held by own best scales, lost at the common ones: CD-UCB1 lower only where MOC-MAB is not."""
    told = {
        "data": "",
        "policies": {
            "moc-mab": {"1": {"regret": [10.0, 1.0]}, "1/5": {"regret": [5.0, 1.0]}},
            "cd-ucb1": {"1": {"regret": [4.0, 9.0]}, "1/5": {"regret": [8.0, 9.0]}},
        },
        "best_scale": {
            "moc-mab": {"by_regret": "1/5", "by_reward": None},
            "cd-ucb1": {"by_regret": "1", "by_reward": None},
        },
    }
    assert [claim["holds"] for claim in claims_of(1, told)] == [True, True]
    assert held_at_one_scale(1, told) == {"1": "2 of 2", "1/5": "1 of 2"}
