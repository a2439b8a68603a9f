"""The verdict: every outcome, their order, and what is said if it cannot tell."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.logs.diagnostics import diagnose
from lexbandit.logs.differences import Difference, differences
from lexbandit.logs.sequences import rows_needed
from lexbandit.logs.sums import merge
from lexbandit.logs.verdict import Verdict, decide
from lexbandit.objectives import Objective
from logs import worlds
from logs.test_estimators import some_log, summed

OBJECTIVES = [Objective("quality", tolerance=0.05), Objective("cost", tolerance=0.1)]


def ends(name: str, low: float, high: float) -> Difference:
    return Difference(
        objective=name,
        difference=(low + high) / 2,
        low=low,
        high=high,
        level=0.95,
        estimator="dr",
        interval="anytime",
        candidate=0.5,
        baseline=0.5,
        rows=1000,
        missing=0,
        better_low=low,
        worse_high=high,
        variances={None: (1.0, 1.0), 0.1: (0.5, 0.5), 0.5: (2.0, 2.0)},
    )


# The interval in quality (tolerance 0.05) and in cost (0.1), and what follows.
CASES: list[tuple[tuple[float, float], tuple[float, float], str]] = [
    ((0.06, 0.2), (-0.9, -0.8), "better in quality"),
    ((-0.2, -0.06), (0.5, 0.6), "worse in quality"),
    ((-0.04, 0.04), (0.01, 0.2), "better in cost"),
    ((-0.04, 0.20), (0.01, 0.2), "better in cost"),
    ((-0.04, 0.04), (-0.3, -0.11), "worse in cost"),
    ((-0.04, 0.20), (-0.3, -0.11), "cannot tell"),
    ((-0.04, 0.04), (-0.09, 0.3), "as good"),
    ((0.01, 0.04), (-0.09, 0.3), "better in quality"),  # by less than the tolerance
    ((0.01, 0.20), (-0.09, 0.3), "better in quality"),
    ((0.01, 0.04), (0.01, 0.3), "better in quality"),
    ((0.01, 0.04), (0.11, 0.3), "better in quality"),
    ((0.01, 0.04), (-0.3, -0.11), "worse in cost"),
    ((0.01, 0.20), (-0.3, -0.11), "cannot tell"),
    ((0.01, 0.04), (-0.3, 0.1), "better in quality"),
    ((0.01, 0.04), (np.nan, np.nan), "cannot tell"),
    ((-0.04, 0.04), (-0.2, 0.3), "cannot tell"),
    ((-0.06, 0.04), (0.5, 0.6), "cannot tell"),
    ((-0.05, 0.05), (-0.1, 0.1), "as good"),
    ((-1.0, 1.0), (-1.0, 1.0), "cannot tell"),
]


@pytest.mark.parametrize(("quality", "cost", "text"), CASES)
def test_every_outcome(quality: Any, cost: Any, text: str) -> None:
    found = decide([ends("quality", *quality), ends("cost", *cost)], OBJECTIVES)
    assert found.text == text
    assert found.text.startswith(found.kind)
    assert found.sentence.lower().startswith(text)
    assert found.objective == (text.rpartition(" in ")[2] if " in " in text else found.objective)


def is_true(text: str, truth: tuple[float, ...], objectives: list[Objective]) -> bool:
    """Whether a verdict says the truth, by what the module promises of it."""
    margins = [objective.tolerance for objective in objectives]
    held = [value >= -margin for value, margin in zip(truth, margins, strict=True)]
    kind, _, name = text.partition(" in ")
    if kind in ("cannot tell", "as good"):
        return kind == "cannot tell" or all(held)
    i = [objective.name for objective in objectives].index(name)
    if kind == "worse":
        within = all(-m <= v <= m for v, m in zip(truth[:i], margins[:i], strict=True))
        return within and truth[i] < -margins[i]
    return all(held[:i]) and truth[i] > 0


THREE = [*OBJECTIVES, Objective("latency", tolerance=0.05)]


@pytest.mark.parametrize(
    ("objectives", "grid"),
    [
        (OBJECTIVES, [-0.3, -0.11, -0.06, -0.02, 0.0, 0.02, 0.06, 0.11, 0.3]),
        (THREE, [-0.3, -0.12, -0.01, 0.01, 0.07, 0.2]),
    ],
)
def test_no_claim_is_made_against_the_bounds(
    objectives: list[Objective], grid: list[float]
) -> None:
    """For any intervals that cover the truth, "better", "as good" and "worse" are true."""
    pairs = list(itertools.combinations(grid, 2))
    seen = set()
    for intervals in itertools.product(pairs, repeat=len(objectives)):
        found = [ends(o.name, *pair) for o, pair in zip(objectives, intervals, strict=True)]
        text = decide(found, objectives).text
        seen.add(text)
        for truth in itertools.product(*intervals):  # the extreme truths within
            assert is_true(text, truth, objectives), (intervals, text)
    names = [objective.name for objective in objectives]
    assert seen == {f"{kind} in {name}" for kind in ("better", "worse") for name in names} | {
        "as good",
        "cannot tell",
    }


def test_a_gain_within_the_tolerance_counts_unless_a_later_objective_is_worse() -> None:
    small = ends("quality", 0.01, 0.04)
    found = decide([small, ends("cost", -0.09, 0.3)], OBJECTIVES)
    assert found.sentence == (
        "Better in quality (+0.025, between +0.01 and +0.04); this may be less than its tolerance "
        "of 0.05; cost is at least as good within its tolerance of 0.1 (+0.105, between -0.09 and "
        "+0.3)."
    )
    found = decide([small, ends("cost", -0.3, 0.3)], OBJECTIVES)
    assert found.sentence == (
        "Better in quality (+0.025, between +0.01 and +0.04); this may be less than its tolerance "
        "of 0.05; cost (+0, between -0.3 and +0.3) may be worse by more than its tolerance of 0.1."
    )


def test_two_policies_are_not_both_better_than_the_other() -> None:
    """What is surely better one way is not better the other way round."""
    grid = [-0.3, -0.11, -0.06, -0.02, 0.0, 0.02, 0.06, 0.11, 0.3]
    pairs = list(itertools.combinations(grid, 2))
    for quality, cost in itertools.product(pairs, pairs):
        kinds = {
            decide([ends("quality", *q), ends("cost", *c)], OBJECTIVES).kind
            for q, c in ((quality, cost), ([-x for x in quality[::-1]], [-x for x in cost[::-1]]))
        }
        assert kinds != {"better"}, (quality, cost)


def test_what_would_decide() -> None:
    found = decide([ends("quality", -0.1, 0.1), ends("cost", 0.1, 0.2)], OBJECTIVES)
    assert found.kind == "cannot tell"
    assert found.objective == "quality"
    assert set(found.needed) == {None, 0.1}  # explore = 0.5 would need more
    assert found.needed[0.1] < found.needed[None]
    needed = float(f"{found.needed[None]:.2g}")
    assert f"about {needed:,.0f} rows logged as these 1,000 were" in found.sentence
    assert "explore = 0.1" in found.sentence


def projected(low: float, high: float, variance: float, rows: int = 1000) -> dict[Any, int]:
    """Return the projection for quality with these ends, the estimate 0, and tolerance 0.05."""
    one = replace(
        ends("quality", low, high),
        difference=0.0,
        rows=rows,
        variances={None: (variance, variance), 0.1: (variance / 4, variance / 4)},
    )
    found = decide([one, ends("cost", 0.1, 0.2)], OBJECTIVES)
    assert found.text == "cannot tell"
    return found.needed


def test_an_interval_longer_than_its_variance_says_needs_more_rows() -> None:
    """The projection is never below what brings the present end to the line, by 1/√rows.

    The low end is 0.5 away where 0.05 is needed: ten times as far, a hundred times the rows. What
    other values of `explore` need is longer by the same factor.
    """
    by_variance = rows_needed(variance=0.01, distance=0.05, alpha=0.025)
    assert by_variance < 1000
    found = projected(-0.5, 0.5, 0.01)
    assert found[None] == pytest.approx(100_000, rel=1e-9)
    explored = rows_needed(variance=0.0025, distance=0.05, alpha=0.025)
    assert found[0.1] == int(explored * (100_000 / by_variance))
    # An interval as short as the variance says leaves the projection as it is.
    assert projected(-0.06, 0.06, 1.0)[None] == rows_needed(
        variance=1.0, distance=0.05, alpha=0.025
    )


def test_a_projection_is_more_than_there_is() -> None:
    """Rows as logged: at least one more than there are, since these did not decide."""
    found = projected(-0.050000001, 0.06, 1e-6, rows=1000)
    assert found[None] == 1001


def test_no_tolerance_passes_only_what_is_equal() -> None:
    objectives = [Objective("quality"), Objective("cost")]
    first = decide([ends("quality", -0.001, 0.001), ends("cost", 0.5, 0.6)], objectives)
    assert first.text == "cannot tell"
    same = decide([ends("quality", 0.0, 0.0), ends("cost", 0.5, 0.6)], objectives)
    assert same.text == "better in cost"


def test_three_objectives_are_judged_by_somewhat_wider_ends() -> None:
    """Only "better" in all but the last, and "worse", have other levels; see the module."""
    log = some_log(2000, objectives=3, seed=5)
    objectives = [Objective("a"), Objective("b"), Objective("c")]
    first, _, last = differences(summed(log), objectives, alpha=0.1)
    assert first.better_low < first.low
    assert last.better_low == last.low
    assert last.worse_high > last.high
    same = differences(summed(log), objectives, alpha=0.05)[0]
    assert first.better_low == pytest.approx(same.low)  # 0.1/(2(3 − 1)) = 0.05/2
    two = differences(summed(some_log(500)), objectives[:2])
    assert [(d.better_low, d.worse_high) for d in two] == [(d.low, d.high) for d in two]


def test_too_little_overlap_refuses() -> None:
    """The candidate plays an arm that the log never did."""
    rows = 500
    random = np.random.default_rng(0)
    log: dict[str, Any] = {
        "reward": random.random((rows, 2)),
        "action": random.integers(0, 2, rows),
        "propensity": np.full(rows, 0.5),
        "candidate": worlds.always(2, 3, rows),
    }
    sums = summed(log)
    diagnostics = diagnose(sums, ["small", "medium", "large"])
    verdict = decide(differences(sums, OBJECTIVES), OBJECTIVES, diagnostics)
    assert verdict.text == "cannot tell"
    assert "never played: large" in verdict.sentence
    assert verdict.needed == {}


def test_arms_without_a_chance_in_part_of_the_rows_refuse() -> None:
    rows = 4000
    random = np.random.default_rng(1)
    tried = random.random(rows) < 0.5
    log: dict[str, Any] = {
        "reward": random.random((rows, 2)),
        "action": np.where(tried, random.integers(0, 2, rows), 0),
        "propensity": np.where(tried, 0.5, 1.0),
        "candidate": worlds.always(1, 2, rows),
    }
    sums = summed(log)
    verdict = decide(differences(sums, OBJECTIVES), OBJECTIVES, diagnose(sums, "ab"))
    assert verdict.text == "cannot tell"
    assert "had no chance" in verdict.sentence


def judged(propensity: Any, candidate: int) -> Verdict:
    """The verdict on equal rewards, where two arms are played alike and logged with these."""
    rows = 4000
    action = np.random.default_rng(1).integers(0, 2, rows)
    log: dict[str, Any] = {
        "reward": np.full((rows, 2), 0.5),
        "action": action,
        "propensity": np.asarray(propensity)[action],
        "candidate": worlds.always(candidate, 2, rows),
    }
    sums = summed(log)
    diagnostics = diagnose(sums, "ab")
    wide = [ends("quality", 0.01, 0.04), ends("cost", 0.01, 0.2)]
    assert decide(wide, OBJECTIVES).kind == "better"
    return decide(wide, OBJECTIVES, diagnostics)


def test_propensities_that_are_all_too_large_are_said_to_be() -> None:
    said = judged([0.9, 0.8], 1)
    assert said.text == "cannot tell"
    assert "the logged propensities are too large or wrong" in said.sentence
    assert "overlap" not in said.sentence
    assert judged([0.5, 0.5], 1).text == "better in quality"


def test_wrong_propensities_refuse_a_verdict_also_of_arms_that_the_candidate_leaves() -> None:
    said = judged([0.5, 0.3], 0)
    assert said.text == "cannot tell"
    assert "arm b was played more often than the logged propensities say" in said.sentence
    # b may have had no chance in some rows
    assert judged([0.5, 0.7], 0).text == "better in quality"


def test_no_reward_at_all() -> None:
    log = some_log(100)
    log["reward"][:, 0] = np.nan
    found = differences(summed(log), OBJECTIVES)
    assert found[0].rows == 0
    assert found[0].missing == 100
    verdict = decide(found, OBJECTIVES)
    assert verdict.text == "cannot tell"
    assert "no row has a reward in quality" in verdict.sentence


def test_units_and_goals() -> None:
    """A cost of 0 to 20 dollars that falls by 5 is better by 5."""
    rows = 3000
    random = np.random.default_rng(2)
    action = random.integers(0, 2, rows)
    objective = Objective("cost", goal="min", range=(0.0, 20.0))
    dollars = np.where(action == 1, 5.0, 10.0) + random.normal(0, 1, rows)
    log: dict[str, Any] = {
        "reward": objective.shares(dollars)[:, np.newaxis],
        "action": action,
        "propensity": np.full(rows, 0.5),
        "candidate": worlds.always(1, 2, rows),
        "baseline": worlds.always(0, 2, rows),
        "predicted": np.full((rows, 2, 1), 0.625),
    }
    one = differences(summed(log), [objective], least_propensity=0.5)[0]
    assert one.difference == pytest.approx(5.0, abs=0.3)
    assert 3.5 < one.low < 5.0 < one.high < 6.5
    assert (one.candidate, one.baseline) == pytest.approx((5.0, 10.0), abs=0.3)
    assert decide([one], [objective]).text == "better in cost"


def test_wrong_arguments() -> None:
    sums = summed(some_log(100))
    with pytest.raises(InvalidInput, match="2 objectives, got 1"):
        differences(sums, OBJECTIVES[:1])
    with pytest.raises(InvalidInput, match="unbiased"):
        differences(sums, OBJECTIVES, estimator="snips")
    with pytest.raises(InvalidInput, match="alpha"):
        differences(sums, OBJECTIVES, alpha=1.0)
    with pytest.raises(InvalidInput, match="unknown estimator"):
        differences(sums, OBJECTIVES, estimator="drr")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="do not fit"):
        decide(differences(sums, OBJECTIVES)[:1], OBJECTIVES)


def test_verdict_of_merged_parts_is_the_same() -> None:
    log = some_log(1000, seed=7)
    whole = summed(log)
    parts = [type(whole)(*(array[i : i + 1] for array in whole)) for i in range(len(whole.starts))]
    merged = merge(reversed(parts))
    assert differences(merged, OBJECTIVES) == differences(whole, OBJECTIVES)
    assert replace(decide(differences(merged, OBJECTIVES), OBJECTIVES)) == decide(
        differences(whole, OBJECTIVES), OBJECTIVES
    )
