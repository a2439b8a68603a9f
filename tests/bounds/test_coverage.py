"""Coverage: an interval fails, at any time of a stream, no more often than it promises.

Each stream is a bandit of its own: arms are played by the highest index, so play is adaptive, and
the interval is looked at after every observation, so stopping at a bad moment is covered. In a cell
of margin v the conditional means vary between two values, and an adversary picks the higher one
while the mean of the arm is high: the interval must reach each value to within v.

With S streams and a promise of δ, a bound that fails with probability δ exactly is taken for a good
one unless more than δS + 4 sqrt(δ(1 − δ)S) streams fail. Seeds are fixed.
"""

import math
from typing import Any

import numpy as np
import pytest

from lexbandit.bounds import Bound, HolderBound, SubGaussianBound, make_bound
from lexbandit.checks import Floats
from lexbandit.kernels.cells import (
    COUNT,
    MEAN,
    WIDTH,
    Cells,
    channel_growth,
    empty_cells,
    lower_of,
    observe,
    rank,
)
from lexbandit.kernels.jit import kernel
from twins.bounds import spread, stitched

pytestmark = pytest.mark.compiled

DELTA = 0.15
STEPS = 1000
RUNS = 300
GUARANTEED = ["sub-gaussian", "anytime", "kl", "anytime-kl", "empirical-bernstein"]
LAWS = ["0.02", "0.3", "0.5", "0.97", "uniform", "two-point"]


@kernel
def play(rewards: Floats, means: Floats, cells: Cells, ends: Floats, worst: Floats) -> None:
    """Play rewards[n, K, 2] by the highest index; the last axis is the adversary's choice.

    `ends` gets how far the interval of an arm of means[K, 2] ever was below the lower of them, or
    above the higher, and `worst` how far it was off the average of the conditional means.
    """
    arms = means.shape[0]
    sums = np.zeros(arms)
    for t in range(rewards.shape[0]):
        arm = 0
        for other in range(1, arms):
            if cells.indices[0, 0, other] > cells.indices[0, 0, arm]:
                arm = other
        count = cells.stats[0, arm, 0, COUNT]
        choice = 1 if count > 0 and cells.stats[0, arm, 0, MEAN] * count >= sums[arm] else 0
        sums[arm] += means[arm, choice]
        observe(cells, 0, 0, arm, rewards[t, arm, choice])
        rank(cells, 0, 0, channel_growth(cells, 0, 0))
        low, high = lower_of(cells, 0, 0, arm), cells.indices[0, 0, arm]
        least, most = min(means[arm, 0], means[arm, 1]), max(means[arm, 0], means[arm, 1])
        average = sums[arm] / cells.stats[0, arm, 0, COUNT]
        ends[0] = max(ends[0], low - most, least - high)
        worst[0] = max(worst[0], low - average, average - high)


def failures(bound: Bound, rewards: Floats, means: Any) -> tuple[int, int]:
    """How many streams rewards[S, n, K, 2] leave the interval: both means, and their average."""
    row = bound.coefficients()[np.newaxis]
    table = np.array(means, np.float64)
    failed = np.zeros(2, np.int64)
    fresh = empty_cells(1, len(table), 1, bound.fields, row)
    for stream in rewards:
        cells = Cells(*(array.copy() for array in fresh))
        ends, worst = np.full(1, -np.inf), np.full(1, -np.inf)
        play(stream, table, cells, ends, worst)
        failed += ends[0] > 1e-12, worst[0] > 1e-12
    return int(failed[0]), int(failed[1])


def allowed(streams: int, delta: float = DELTA) -> float:
    return delta * streams + 4 * math.sqrt(delta * (1 - delta) * streams)


def drawn(law: str, streams: int, seed: int, steps: int = STEPS) -> tuple[Floats, float]:
    """Rewards [S, n, 1, 1 doubled to 2] of one law, and their mean."""
    random = np.random.default_rng(seed)
    u = random.random((streams, steps, 1, 1))
    if law == "uniform":
        rewards, mean = 0.2 + 0.6 * u, 0.5
    elif law == "two-point":
        rewards, mean = np.where(u < 0.1, 0.9, 0.4), 0.45
    else:
        rewards, mean = (u < float(law)).astype(float), float(law)
    return np.repeat(rewards, 2, axis=3), mean


def made(name: str, *, arms: int = 1, **parameters: Any) -> Bound:
    values = {"arms": arms, "objectives": 1, "horizon": STEPS, "delta": DELTA, **parameters}
    return make_bound(name, **values)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", GUARANTEED)
def test_the_interval_holds_at_all_times(name: str, law: str) -> None:
    rewards, mean = drawn(law, RUNS, seed=LAWS.index(law))
    failed, _ = failures(made(name), rewards, [[mean, mean]])
    assert failed <= allowed(RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", GUARANTEED)
def test_the_interval_holds_at_all_times_of_longer_streams(name: str, law: str) -> None:
    rewards, mean = drawn(law, 2000, seed=10 + LAWS.index(law), steps=2000)
    failed, _ = failures(made(name, horizon=2000, delta=0.1), rewards, [[mean, mean]])
    assert failed <= allowed(2000, 0.1)


@pytest.mark.parametrize("law", ["0.3", "0.5", "0.97"])
@pytest.mark.parametrize("name", GUARANTEED)
def test_a_shrunk_interval_fails_more_often_than_promised(name: str, law: str) -> None:
    """The check above can fail."""
    rewards, mean = drawn(law, RUNS, seed=LAWS.index(law))
    failed, _ = failures(made(name, scale=0.25), rewards, [[mean, mean]])
    assert failed > allowed(RUNS)


@pytest.mark.parametrize("shift", [0.0, 0.02])
@pytest.mark.parametrize("name", GUARANTEED)
def test_under_adaptive_play(name: str, shift: float) -> None:
    """Three arms at once, played by their own indices; all intervals hold with 1 − δ together."""
    means = np.array([0.5, 0.5 + shift, 0.45])
    random = np.random.default_rng(3)
    rewards = (random.random((RUNS, STEPS, 3)) < means).astype(float)
    bound = made(name, arms=3)
    table = np.repeat(means[:, np.newaxis], 2, axis=1)
    streams = np.repeat(rewards[..., np.newaxis], 2, axis=3)
    failed, _ = failures(bound, streams, table)
    assert failed <= allowed(RUNS)


@pytest.mark.parametrize("name", GUARANTEED)
@pytest.mark.parametrize("means", [(0.3, 0.4), (0.4, 0.3), (0.02, 0.06), (0.9, 0.99)])
def test_means_that_an_adversary_varies_inside_a_cell(
    name: str, means: tuple[float, float]
) -> None:
    """|mean − μ(x)| ≤ u + v at both extremes; for all but KL, u alone at the average."""
    random = np.random.default_rng(4)
    rewards = (random.random((RUNS, STEPS, 2, 2)) < np.array(means)).astype(float)
    at_ends, at_average = failures(made(name, arms=2), rewards, [means, means])
    assert at_ends <= allowed(RUNS)
    if "kl" not in name:
        assert at_average <= allowed(RUNS)


def test_the_margin_is_needed() -> None:
    """The interval alone does not hold for every mean of the cell: the test above needs its v."""
    random = np.random.default_rng(4)
    rewards = (random.random((200, STEPS, 1, 2)) < np.array([0.2, 0.6])).astype(float)
    bound = made("sub-gaussian")
    at_ends, _ = failures(bound, rewards, [(0.2, 0.6)])
    as_if_constant, _ = failures(bound, rewards, [(0.6, 0.6)])
    assert at_ends <= allowed(200) < as_if_constant


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_the_papers_bound_with_gaussian_noise(scale: float) -> None:
    """Noise with R = 1 exactly; T = 20 makes the promise of 1/T visible."""
    noise = np.random.default_rng(5).standard_normal((3000, 20, 1, 1))
    bound = HolderBound(arms=1, objectives=1, cells=1, horizon=20, scale=scale)
    failed, _ = failures(bound, np.repeat(noise, 2, axis=3), [[0.0, 0.0]])
    assert (failed <= allowed(3000, 1 / 20)) == (scale == 1.0)


@pytest.mark.parametrize("R", [0.5, 2.0])
def test_the_sub_gaussian_bound_with_gaussian_noise(R: float) -> None:
    noise = R * np.random.default_rng(6).standard_normal((600, STEPS, 1, 1))
    bound = SubGaussianBound(arms=1, objectives=1, delta=DELTA, R=R)
    failed, _ = failures(bound, np.repeat(noise, 2, axis=3), [[0.0, 0.0]])
    assert 0 < failed <= allowed(600)


@pytest.mark.parametrize("law", LAWS)
def test_empirical_bernstein_is_its_twin(law: str) -> None:
    """The kept spread and the stitched boundary, against sums written from the theorems."""
    rewards = drawn(law, 1, seed=7, steps=200)[0][0, :, 0, 0].tolist()
    bound = make_bound("empirical-bernstein", arms=3, objectives=2, cells=5, delta=0.1)
    for n in (1, 2, 17, 200):
        mean = sum(rewards[:n]) / n
        width = stitched(spread(rewards[:n]), 0.1 / (2 * 3 * 2 * 5)) / n
        assert bound.interval(rewards[:n]) == pytest.approx((mean - width, mean + width))


def test_width_is_half_the_interval() -> None:
    bound = made("kl")
    cells = empty_cells(1, 1, 1, bound.fields, bound.coefficients()[np.newaxis])
    for reward in (1.0, 0.0, 1.0, 0.5):
        observe(cells, 0, 0, 0, reward)
    length = cells.indices[0, 0, 0] - lower_of(cells, 0, 0, 0)
    assert cells.stats[0, 0, 0, WIDTH] == 0.5 * length
