"""Diagnostics of weights and propensities, by hand and on made-up logs."""

import math
from typing import Any

import numpy as np
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.logs.diagnostics import HEAVY, NEGLIGIBLE, _missing_test, diagnose, pareto_k
from lexbandit.logs.sums import TAIL
from logs import worlds
from logs.test_estimators import some_log, summed


def test_weights_by_hand() -> None:
    log = some_log(2000, seed=1)
    found = diagnose(summed(log), ["a", "b", "c", "d"])
    weights = log["candidate"][np.arange(2000), log["action"]] / log["propensity"]
    assert found.rows == 2000
    assert found.effective_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.largest_weight == weights.max()
    assert found.mean_weight == pytest.approx(weights.mean())
    assert found.unsupported == 0.0
    assert found.enough_overlap
    for k, arm in enumerate(found.arms):
        played = log["action"] == k
        assert arm.plays == played.sum()
        assert arm.share == pytest.approx(played.mean())
        assert arm.mean_propensity == pytest.approx(1 / (1 / log["propensity"][played]).mean())
        assert arm.mass == pytest.approx(log["candidate"][:, k].mean())
    assert len(found.sentences) == 6
    assert all(sentence.endswith(".") for sentence in found.sentences)


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_pareto_k_finds_the_shape(shape: float) -> None:
    """Weights with a tail of known shape, to within 0.12 on average over ten samples."""
    random = np.random.default_rng(3)
    found = []
    for _ in range(10):
        weights = np.sort((random.random(20_000) ** -shape - 1) / shape)[::-1]
        found.append(pareto_k(weights[np.newaxis, :TAIL], 20_000))
    assert np.mean(found) == pytest.approx(shape, abs=0.12)


def test_pareto_k_of_few_weights_is_that_of_the_papers() -> None:
    """Zhang and Stephens (2009) by plain loops, with the prior of Vehtari et al. (2024)."""
    weights = np.sort(np.random.default_rng(5).pareto(1.5, 150))[::-1]
    size = 30  # a fifth of the rows
    x = sorted(weight - weights[size] for weight in weights[:size])
    m, quarter = 30 + int(math.sqrt(size)), x[int(size / 4 + 0.5) - 1]
    b = [1 / x[-1] + (1 - math.sqrt(m / (j - 0.5))) / (3 * quarter) for j in range(1, m + 1)]
    k = [sum(math.log1p(-one * value) for value in x) / size for one in b]
    likelihood = [
        size * (math.log(-one / shape) - shape - 1) for one, shape in zip(b, k, strict=True)
    ]
    shares = [1 / sum(math.exp(other - one) for other in likelihood) for one in likelihood]
    mean = sum(one * share for one, share in zip(b, shares, strict=True))
    shape = sum(math.log1p(-mean * value) for value in x) / size
    tail = np.zeros((1, TAIL))
    tail[0, :150] = weights
    assert pareto_k(tail, 150) == pytest.approx((size * shape + 10 * 0.5) / (size + 10))


def test_missing_rewards_are_tested_by_pearsons_statistic() -> None:
    """Three arms lack 10, 20 and 30 of 100 rewards: χ² is 12.5 with two degrees of freedom."""
    found = _missing_test(np.array([100.0, 100.0, 100.0, 0.0]), np.array([90.0, 80.0, 70.0, 0.0]))
    assert found == pytest.approx(math.exp(-12.5 / 2), rel=0.15)  # by the cube root


def test_equal_weights_have_no_tail() -> None:
    assert math.isnan(pareto_k(np.full((1, TAIL), 2.0), 5000))
    assert math.isnan(pareto_k(np.zeros((1, TAIL)), 5000))


def test_a_tail_of_equal_weights_is_short() -> None:
    # With 100 of them the grid of b has a point at 0, where k is 0 too.
    weights = np.concatenate([np.full(100, 50.0), np.ones(TAIL)])[:TAIL]
    assert pareto_k(weights[np.newaxis], 20_000) < 0.5


def a_log(rows: int, chances: Any, **changes: Any) -> dict[str, Any]:
    random = np.random.default_rng(4)
    chances = np.tile(chances, (rows, 1))
    action = (chances.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    return {
        "reward": random.random((rows, 1)),
        "action": action,
        "propensity": chances[np.arange(rows), action],
        "candidate": worlds.always(1, chances.shape[1], rows),
        **changes,
    }


def test_right_propensities_pass_and_wrong_ones_do_not() -> None:
    good = a_log(5000, [0.7, 0.2, 0.1])
    found = diagnose(summed(good), ["a", "b", "c"])
    assert found.calibration > 0.01
    assert "as often as their propensities say" in found.sentences[5]
    small = {**good, "propensity": good["propensity"] / 2}
    found = diagnose(summed(small), ["a", "b", "c"])
    assert found.calibration < 1e-6
    assert "the logged propensities are wrong" in found.sentences[5]
    assert "too small" in found.sentences[2]
    large = {**good, "propensity": np.full(5000, 1.0)}
    found = diagnose(summed(large), ["a", "b", "c"])
    assert found.calibration < 1e-6
    assert "no chance in part of the rows, or" in found.sentences[5]


def test_calibration_counts_how_many_arms_were_tested() -> None:
    log = a_log(5000, [0.7, 0.2, 0.1])
    log["propensity"] *= 0.97
    found = diagnose(summed(log), ["a", "b", "c"])
    assert found.calibration < 0.5
    assert found.calibration == pytest.approx(3 * min(arm.p_value for arm in found.arms))


def test_calibration_is_rarely_doubted_without_reason() -> None:
    """Of 200 logs of a learning policy at most 1 % have a p-value below 0.001."""
    runs = worlds.play("epsilon-greedy", np.array([[0.7], [0.6]]), runs=200, rows=500, seed=5)
    doubted = 0
    for r in range(200):
        log = {
            "reward": runs.reward[r],
            "action": runs.action[r],
            "propensity": runs.propensity[r],
            "candidate": worlds.always(1, 2, 500),
        }
        doubted += diagnose(summed(log), "ab").calibration < 0.001
    assert doubted <= 2


def test_arms_that_were_not_allowed_do_not_count() -> None:
    log = a_log(3000, [0.5, 0.5])
    log["candidate"] = worlds.always(0, 2, 3000)
    log["propensity"] = np.where(np.arange(3000) % 2, 1.0, log["propensity"])
    log["action"] = np.where(np.arange(3000) % 2, 0, log["action"])
    log["allowed"] = np.stack([np.ones(3000, np.bool_), np.arange(3000) % 2 == 0], axis=1)
    found = diagnose(summed(log), "ab")
    assert found.arms[1].share == pytest.approx(0.5, abs=0.05)
    assert found.calibration > 0.01


def test_missing_arms_are_named() -> None:
    log = a_log(500, [0.5, 0.5, 0.0])
    log["candidate"] = np.tile([0.5, 0.3, 0.2], (500, 1))
    found = diagnose(summed(log), ["small", "medium", "large"])
    assert found.missing_arms == ("large",)
    assert found.unsupported == pytest.approx(0.2)
    assert not found.enough_overlap
    assert (
        "20.0% of the candidate's decisions fall on arms that the log never played: large"
        in (found.sentences[4])
    )


def test_rewards_that_are_missing_for_one_arm() -> None:
    log = a_log(4000, [0.5, 0.5])
    even = {**log, "reward": np.where(np.arange(4000)[:, np.newaxis] % 5, log["reward"], np.nan)}
    assert diagnose(summed(even), "ab").missing_p_values[0] > 0.001
    lost = (log["action"] == 1) & (np.arange(4000) % 5 == 0)
    uneven = {**log, "reward": np.where(lost[:, np.newaxis], np.nan, log["reward"])}
    found = diagnose(summed(uneven), "ab")
    assert found.missing_p_values[0] < 1e-6
    assert "missing more often for some arms" in found.sentences[-1]


@pytest.mark.parametrize(
    ("rows", "alpha", "most", "words"),
    [
        (2_000, 8.0, np.inf, "light."),
        (2_000, 1.6, np.inf, "heavy, a few rows count for much"),
        (20_000, 1.5, 200.0, "heavy, but no single row counts for much"),
        (2_000, 0.8, np.inf, "very heavy, estimates hang on a few rows"),
    ],
)
def test_what_is_said_of_a_tail(rows: int, alpha: float, most: float, words: str) -> None:
    """Weights are the quantiles of a Pareto distribution, whose k is 1/alpha, up to `most`.

    A heavy tail of which the heaviest row has less than 0.5 % of all weight is said to do no harm.
    """
    weights = np.minimum((1.0 - (np.arange(rows) + 0.5) / rows) ** (-1.0 / alpha), most)
    log = {
        "reward": np.full((rows, 1), 0.5),
        "action": np.ones(rows, np.int64),
        "propensity": 1.0 / weights,
        "candidate": worlds.always(1, 2, rows),
    }
    found = diagnose(summed(log), "ab")
    heaviest = weights.max() / weights.sum()
    assert (heaviest < NEGLIGIBLE) == ("no single row" in words or "light" in words)
    assert f"Pareto k of {found.pareto_k:.2f}: {words}" in found.sentences[3]
    assert (found.pareto_k >= HEAVY) == ("heavy" in words)


def test_wrong_names() -> None:
    with pytest.raises(InvalidInput, match="4 arms, got 2 names"):
        diagnose(summed(some_log(100)), ["a", "b"])
