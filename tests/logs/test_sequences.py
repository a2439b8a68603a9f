"""Confidence sequences: their twin, and how often they fail on logs of policies that learn."""

import math
from typing import Any

import numpy as np
import pytest

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs import sequences
from lexbandit.logs.diagnostics import diagnose
from lexbandit.logs.differences import Difference, differences
from lexbandit.logs.estimators import scores
from lexbandit.logs.sums import blocks, merge, sum_block
from lexbandit.logs.verdict import decide
from lexbandit.objectives import Objective
from logs import worlds
from logs.test_estimators import some_log, summed
from twins import logs as twin

ALPHA = 0.05


@pytest.mark.parametrize("least", [0.0, 0.005])
@pytest.mark.parametrize("rows", [1, 50, 64, 700])
def test_bounds_equal_their_twin(rows: int, least: float) -> None:
    """From sums, row by row, and by the twin."""
    log = some_log(rows, seed=rows)
    log["reward"] = np.nan_to_num(log["reward"], nan=0.3)
    log["propensity"] = np.maximum(log["propensity"], 0.005)
    one = differences(summed(log), [Objective("a"), Objective("b")], least_propensity=least)[1]
    low, high, robust = scores(
        **{k: log[k] for k in ("action", "propensity", "candidate", "baseline")},
        reward=log["reward"][:, 1],
        predicted=log["predicted"][:, :, 1],
    )
    reach = 1 / least if least else math.inf
    pairs = list(zip(low.tolist(), robust.tolist(), strict=True))
    mirrored = list(zip((-high).tolist(), (-robust).tolist(), strict=True))
    wanted = (
        twin.lower_bound(pairs, reach, ALPHA / 2),
        -twin.lower_bound(mirrored, reach, ALPHA / 2),
    )
    width = wanted[1] - wanted[0]
    assert one.low == pytest.approx(wanted[0], abs=1e-9 * width)
    assert one.high == pytest.approx(wanted[1], abs=1e-9 * width)
    assert one.low <= wanted[0] + 1e-12
    assert one.high >= wanted[1] - 1e-12
    lows, highs = sequences.running_intervals(
        low, high, robust, alpha=ALPHA, least_propensity=least, every=rows
    )
    assert (lows[0], highs[0]) == pytest.approx((one.low, one.high), abs=1e-9 * width)


@pytest.mark.parametrize("least", [0.0, 0.005])
def test_looks_between_are_wider_by_a_hair(least: float) -> None:
    """Tangents stand for the boundary between looks: never inside it, and a millionth outside."""
    log = some_log(5000, objectives=1, seed=5)
    log["propensity"] = np.maximum(log["propensity"], 0.005)
    low, high, robust = scores(
        **{k: log[k] for k in ("action", "propensity", "candidate", "baseline")},
        reward=log["reward"][:, 0],
        predicted=log["predicted"][:, :, 0],
    )
    lows, highs = sequences.running_intervals(low, high, robust, least_propensity=least)
    for n in (*range(1, 40), *range(40, 5001, 311)):
        exact = sequences.running_intervals(
            low[:n], high[:n], robust[:n], least_propensity=least, every=n
        )
        slack = 2e-6 * float(exact[1][0] - exact[0][0])
        assert exact[0][0] - slack <= lows[n - 1] <= exact[0][0] + 1e-8 * slack
        assert exact[1][0] - 1e-8 * slack <= highs[n - 1] <= exact[1][0] + slack


def test_rows_without_a_reward_add_nothing() -> None:
    random = np.random.default_rng(0)
    low = random.random(500) - 0.4
    gaps = low.copy()
    gaps[64:128] = np.nan
    bounds = sequences.running_intervals(gaps, gaps, gaps, every=500)
    assert np.isfinite(bounds).all()
    empty = np.full(100, np.nan)
    lows, highs = sequences.running_intervals(empty, empty, empty, every=50)
    assert (lows == -1).all()
    assert (highs == 1).all()


def test_the_price_of_looking_always() -> None:
    """At 10,000 rows the half-width is at most twice the asymptotic one; it needs no tuning."""
    random = np.random.default_rng(1)
    low = np.where(random.random(10_000) < 0.5, 1.0, -1.0)
    lows, _ = sequences.running_intervals(low, low, low, every=10_000)
    assert low.mean() - lows[0] < 2 * 1.96 / 100


def intervals(
    runs: worlds.Runs, candidate: Floats, baseline: Floats | None, every: int, least: float = 0.0
) -> tuple[Floats, Floats]:
    """lows and highs [runs, D, looks]; the model predicts a half for everything."""
    count, _, objectives = runs.reward.shape
    found = [
        sequences.running_intervals(
            *scores(
                reward=runs.reward[r, :, i],
                action=runs.action[r],
                propensity=runs.propensity[r],
                candidate=candidate,
                baseline=baseline,
                predicted=np.full(candidate.shape, 0.5),
            ),
            alpha=ALPHA,
            least_propensity=least,
            every=every,
        )
        for r in range(count)
        for i in range(objectives)
    ]
    lows, highs = (
        np.array(ends).reshape(count, objectives, -1) for ends in zip(*found, strict=True)
    )
    return lows, highs


MEANS = np.array([[0.7, 0.3], [0.6, 0.8]])


@pytest.mark.parametrize("policy", worlds.POLICIES)
@pytest.mark.parametrize("against", ["logged", "the other arm"])
def test_all_looks_cover_the_truth(policy: str, against: str) -> None:
    """200 runs of 1,000 rows, a look every 50 rows: hardly any run ever misses the truth."""
    rows, every = 1000, 50
    runs = worlds.play(policy, MEANS, runs=200, rows=rows, seed=11)
    candidate = worlds.always(1, 2, rows)
    baseline = None if against == "logged" else worlds.always(0, 2, rows)
    least = worlds.LEAST[policy]
    lows, highs = intervals(runs, candidate, baseline, every, least)
    earned = np.einsum("rtk,kd->rdt", runs.chances, MEANS)
    if baseline is not None:
        earned = np.broadcast_to(MEANS[0][:, np.newaxis], earned.shape)
    truth = worlds.running_mean(MEANS[1][:, np.newaxis] - earned)[:, :, every - 1 :: every]
    missed = ((truth < lows) | (truth > highs)).any(axis=2)
    assert (missed.mean(axis=0) <= ALPHA).all()
    # Not by being endless: in the end the interval is much shorter than the range of differences.
    assert np.median(highs[:, :, -1] - lows[:, :, -1]) < (1.2 if policy == "thompson" else 0.6)


@pytest.mark.parametrize("policy", worlds.POLICIES)
def test_scores_are_unbiased(policy: str) -> None:
    """The mean of R over 2,000 runs of 100 rows is the truth, within four standard errors."""
    runs = worlds.play(policy, MEANS, runs=2000, rows=100, seed=12)
    given: dict[str, Any] = {
        "action": runs.action.ravel(),
        "propensity": runs.propensity.ravel(),
        "candidate": np.tile(worlds.always(1, 2, 100), (2000, 1)),
        "predicted": np.full((200_000, 2), 0.5),
    }
    for i in range(2):
        for found in scores(reward=runs.reward[..., i].ravel(), **given):
            earned = runs.chances @ MEANS[:, i]
            error = (found.reshape(2000, 100) - (MEANS[1, i] - earned)).mean(axis=1)
            assert abs(error.mean()) < 4 * error.std() / math.sqrt(2000)


# Worlds in which "better" is wrong for arm 1 against arm 0: no arm differs; or the first objective
# is worse by just more than its tolerance of 0.1 while the second is far better.
EQUAL = np.array([[0.5, 0.5], [0.5, 0.5]])
BEYOND = np.array([[0.6, 0.2], [0.499, 0.9]])


def claims(
    runs: worlds.Runs, tolerances: tuple[float, ...], *, against_logged: bool, least: float
) -> list[list[set[str]]]:
    """Return the verdicts of every run by tolerance, with a look after every 100 rows.

    Row by row (`running_intervals`), most looks have intervals that allow no claim at all. Where
    they come near to one, `decide` says what it says in `evaluate`.
    """
    count, every = runs.action.shape[1], 100
    candidate, baseline = worlds.always(1, 2, count), worlds.always(0, 2, count)
    lows, highs = intervals(runs, candidate, None if against_logged else baseline, every, least)
    near = 1e-3 * (highs - lows)  # far more than the two ways differ by

    def found_at(r: int, stop: int, objectives: list[Objective]) -> str:
        sums = merge(
            sum_block(
                first,
                reward=runs.reward[r, first:last],
                action=runs.action[r, first:last],
                propensity=runs.propensity[r, first:last],
                candidate=candidate[first:last],
                baseline=None if against_logged else baseline[first:last],
                predicted=np.full((last - first, 2, 2), 0.5),
            )
            for first, last in blocks(0, stop)
        )
        ends = differences(sums, objectives, alpha=ALPHA, least_propensity=least)
        return decide(ends, objectives, diagnose(sums, "ab")).text

    found = []
    for tolerance in tolerances:
        objectives = [Objective(name, tolerance=tolerance) for name in "ab"]
        not_worse = (lows + near >= -tolerance)[:, 0]
        worse = (highs - near < -tolerance).any(axis=1)
        texts: list[set[str]] = [set() for _ in runs.action]
        for r, look in np.argwhere(not_worse | worse).tolist():
            texts[r].add(found_at(r, every * (look + 1), objectives))
        found.append(texts)
    return found


def false_claims(policy: str, *, runs: int, rows: int, seed: int) -> dict[str, int]:
    """Count runs that ever make a false claim, a look every 100 rows."""
    least = worlds.LEAST[policy]
    same = worlds.play(policy, EQUAL, runs=runs, rows=rows, seed=seed)
    beyond = worlds.play(policy, BEYOND, runs=runs, rows=rows, seed=seed + 1)
    exact, wide = claims(same, (0.0, 0.1), against_logged=False, least=least)
    (logged,) = claims(same, (0.0,), against_logged=True, least=least)
    (outside,) = claims(beyond, (0.1,), against_logged=False, least=least)

    def ever(texts: list[set[str]], claim: str) -> int:
        return sum(any(text.startswith(claim) for text in of_run) for of_run in texts)

    return {
        "better where equal": ever(exact, "better"),
        "better within the tolerance where equal": ever(wide, "better"),
        "worse where equal": ever(exact, "worse"),
        "better than logged where equal": ever(logged, "better"),
        "better beyond the tolerance": ever(outside, "better"),
        "as good beyond the tolerance": ever(outside, "as good"),
    }


@pytest.mark.compiled
def test_false_claims_with_optional_stopping() -> None:
    """300 runs: at most alpha of them ever say "better" or "as good" wrongly.

    The slow test below has every logging policy.
    """
    found = false_claims("thompson", runs=300, rows=1000, seed=21)
    assert max(found.values()) <= 300 * ALPHA, found


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("policy", worlds.POLICIES)
def test_false_claims_in_2000_runs(policy: str) -> None:
    """The same with 2,000 runs of 4,000 rows, for every logging policy."""
    found = false_claims(policy, runs=2000, rows=4000, seed=31)
    assert max(found.values()) <= 2000 * ALPHA, found


def test_asymptotic_intervals_do_not_survive_optional_stopping() -> None:
    """The same runs with mean ± 1.96 errors at every look: far more than alpha claim wrongly.

    So the test above could fail.
    """
    rows, every = 1000, 100
    runs = worlds.play("epsilon-greedy", EQUAL, runs=300, rows=rows, seed=21)
    candidate, baseline = worlds.always(1, 2, rows), worlds.always(0, 2, rows)
    false = 0
    for r in range(300):
        claimed = False
        for i in range(2):
            _, _, robust = scores(
                reward=runs.reward[r, :, i],
                action=runs.action[r],
                propensity=runs.propensity[r],
                candidate=candidate,
                baseline=baseline,
                predicted=np.full((rows, 2), 0.5),
            )
            for n in range(every, rows + 1, every):
                low, _ = sequences.normal_interval(robust[:n].mean(), robust[:n].var(), n, ALPHA)
                claimed |= low > 0
        false += claimed
    assert false > 2 * 300 * ALPHA


def test_a_gain_of_twice_the_width_is_found() -> None:
    """Power: where the true gain is twice the width of the interval, at least 80 % say so."""
    rows = 2000
    gain = 0.35
    means = np.array([[0.5, 0.3], [0.5, 0.3 + gain]])
    objectives = [Objective("quality", tolerance=0.2), Objective("cost")]
    runs = worlds.play("epsilon-greedy", means, runs=60, rows=rows, seed=41)
    candidate, baseline = worlds.always(1, 2, rows), worlds.always(0, 2, rows)
    found, widths = [], []
    for r in range(60):
        sums = merge(
            sum_block(
                first,
                reward=runs.reward[r, first:last],
                action=runs.action[r, first:last],
                propensity=runs.propensity[r, first:last],
                candidate=candidate[first:last],
                baseline=baseline[first:last],
                predicted=np.full((last - first, 2, 2), 0.5),
            )
            for first, last in blocks(0, rows)
        )
        ends = differences(sums, objectives, least_propensity=0.1)
        widths.append((ends[1].high - ends[1].low) / 2)
        found.append(decide(ends, objectives).text)
    assert np.median(widths) <= gain / 2
    assert found.count("better in cost") >= 0.8 * 60


def test_the_projection_of_rows_decides() -> None:
    """A bound at the projected number of rows is within the distance, and at half of it is not."""
    random = np.random.default_rng(51)
    needed = sequences.rows_needed(variance=1.0, distance=0.05, alpha=0.025)
    assert 3000 < needed < 20_000
    low = np.where(random.random(int(needed)) < 0.5, 1.0, -1.0)
    low -= low.mean()
    lows, _ = sequences.running_intervals(low, low, low, every=int(needed))
    assert abs(-lows[0] / 0.05 - 1) < 0.1
    assert sequences.rows_needed(variance=1.0, distance=0.1, alpha=0.025) < needed / 3
    assert math.isinf(sequences.rows_needed(variance=1.0, distance=1e-9, alpha=0.025))


def test_no_support_makes_bounds_wider_and_not_wrong() -> None:
    """Arm 1 has no chance in half of the rows: 0 and 1 is what may have been there."""
    random = np.random.default_rng(61)
    rows = 20_000
    tried = random.random(rows) < 0.5
    action = np.where(tried & (random.random(rows) < 0.5), 1, 0)
    propensity = np.where(tried, 0.5, 1.0)
    reward = (random.random(rows) < 0.6).astype(float)
    low, high, robust = scores(
        reward=reward,
        action=action,
        propensity=propensity,
        candidate=worlds.always(1, 2, rows),
        predicted=np.full((rows, 2), 0.9),
    )
    lows, highs = sequences.running_intervals(low, high, robust, every=rows)
    assert lows[0] < -0.2 < 0.1 < highs[0]


def test_a_broken_promise_is_refused() -> None:
    log = some_log(100)
    log["propensity"][7] = 0.001
    objectives = [Objective("a"), Objective("b")]
    with pytest.raises(InvalidInput, match=r"promises at least 0.01 .* propensity of 0.001"):
        differences(summed(log), objectives, least_propensity=0.01)
    with pytest.raises(InvalidInput, match="at most 1"):
        sequences.reach(1.5)


def test_equal_policies_differ_by_nothing() -> None:
    log = some_log(100)
    log["baseline"] = log["candidate"]
    found: tuple[Difference, ...] = differences(summed(log), [Objective("a"), Objective("b")])
    assert [(one.low, one.difference, one.high) for one in found] == [(0.0, 0.0, 0.0)] * 2
