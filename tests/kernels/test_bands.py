"""The rule of bands: its probabilities against the twin's, and against how often arms are drawn."""

import math
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.kernels import bands
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from naive import Dice
from support import cached
from twins.bands import Bands

CHANCES, NORMAL_AT = cached(bands.chances), cached(bands.normal_at)
EXACT = 1e-9
# 1 − 10⁻⁵ quantiles of chi-square by degrees of freedom
QUANTILES = [0.0, 19.5, 23.0, 25.9, 28.5, 30.9]


class Posterior(NamedTuple):
    means: np.ndarray
    spreads: np.ndarray
    reaches: np.ndarray
    bands: np.ndarray
    allowed: np.ndarray

    def of(self, arms: list[int] | np.ndarray) -> "Posterior":
        """The same of these arms only, in this order."""
        means, spreads, reaches = (
            np.ascontiguousarray(rows[:, arms]) for rows in (self.means, self.spreads, self.reaches)
        )
        return Posterior(means, spreads, reaches, self.bands, self.allowed[arms])


def sight(at: Posterior) -> np.ndarray:
    """The tables as the rule takes them; it does not look at deviations."""
    return np.stack([at.means, np.full_like(at.means, math.nan), at.spreads, at.reaches])


def chances(at: Posterior) -> np.ndarray:
    out = np.full(at.means.shape[1], math.nan)
    CHANCES(np.empty(0), sight(at), at.bands, ceilings_of(at.allowed[None]), 0, out)
    return out


def twin(at: Posterior) -> Bands:
    rows = (at.means.tolist(), at.spreads.tolist(), at.reaches.tolist())
    return Bands(*rows, at.bands.tolist(), np.flatnonzero(at.allowed).tolist())


def check(at: Posterior) -> None:
    ours = chances(at)
    np.testing.assert_allclose(ours, twin(at).chances(), rtol=0, atol=EXACT)
    assert (ours >= 0).all()
    assert abs(ours.sum() - 1) < EXACT


def some(D: int, K: int, seed: int = 0, *, spread: float = 0.1, band: float = 0.05) -> Posterior:
    random = np.random.default_rng(seed)
    means, deviations = random.normal(0.5, 0.1, (D, K)), spread * random.uniform(0.3, 1, (D, K))
    reaches = means + deviations
    return Posterior(means, 0.7 * deviations, reaches, np.full(D, band), np.ones(K, np.bool_))


@st.composite
def posteriors(draw: st.DrawFn, max_arms: int = 5) -> Posterior:
    """Ordinary and degenerate ones: equal means, no spreads, spreads apart by 10⁶, any scale."""
    D = draw(st.integers(1, 4))
    K = draw(st.integers(1, max_arms if D <= 2 else 3))
    means = draw(st.sampled_from([st.floats(-1, 1), st.sampled_from([0.0, 0.5, 0.6])]))
    spreads = draw(
        st.sampled_from(
            [
                st.floats(0.01, 0.5),
                st.sampled_from([0.0, 0.1, 0.2]),
                st.just(0.0),
                st.floats(-6, 0).map(lambda x: 10.0**x),
            ]
        )
    )

    def table(numbers: st.SearchStrategy[float]) -> np.ndarray:
        row = st.lists(numbers, min_size=K, max_size=K)
        return np.array(draw(st.lists(row, min_size=D, max_size=D)))

    m, s = table(means), table(spreads)
    reaches = m + table(st.sampled_from([0.0, 1.0, 1.0, 2.0, math.inf])) * np.where(s > 0, s, 0.1)
    widths = np.array(draw(st.lists(st.sampled_from([0.0, 0.05, 0.1]), min_size=D, max_size=D)))
    scale = draw(st.sampled_from([1.0, 1.0, 1e15, 1e-15]))
    allowed = np.array(draw(st.lists(st.booleans(), min_size=K, max_size=K)))
    allowed[draw(st.integers(0, K - 1))] = True
    return Posterior(m * scale, s * scale, reaches * scale, widths * scale, allowed)


@settings(max_examples=12)  # the twin integrates in plain Python
@given(posteriors())
def test_chances_are_those_of_the_twin(at: Posterior) -> None:
    check(at)


@pytest.mark.parametrize("D", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_chances_are_those_of_the_twin_with_more_arms(D: int, seed: int) -> None:
    check(some(D, {1: 12, 2: 9, 3: 5, 4: 4}[D], seed, band=[0.0, 0.05, 0.02, 0.1][seed]))


@given(posteriors(), st.randoms(use_true_random=False))
def test_chances_move_with_the_arms(at: Posterior, random: Random) -> None:
    order = list(range(at.means.shape[1]))
    random.shuffle(order)
    np.testing.assert_allclose(chances(at.of(order)), chances(at)[order], rtol=0, atol=EXACT)


@given(posteriors())
def test_barred_arms_are_as_if_they_were_not_there(at: Posterior) -> None:
    ours = chances(at)
    assert (ours[~at.allowed] == 0).all()
    np.testing.assert_allclose(chances(at.of(at.allowed)), ours[at.allowed], rtol=0, atol=EXACT)


def test_equal_draws_share_evenly_and_the_edge_of_the_band_is_inside() -> None:
    means = np.array([[0.75, 0.75, 0.5, 0.25], [0.1, 0.1, 0.9, 1.0]])
    exact = Posterior(means, 0 * means, means, np.array([0.25, 0.0]), np.ones(4, np.bool_))
    np.testing.assert_array_equal(chances(exact), [0, 0, 1, 0])
    strict = exact._replace(bands=np.zeros(2))
    np.testing.assert_allclose(chances(strict), [0.5, 0.5, 0, 0], atol=EXACT)


@pytest.mark.parametrize("ties", [2, 3, 40])
def test_a_point_among_draws(ties: int) -> None:
    """Arms at 0 without spread, and one of N(0, 1): it is above them half of the time."""
    means = np.zeros((1, ties + 1))
    spreads = np.zeros((1, ties + 1))
    spreads[0, 0] = 1.0
    at = Posterior(means, spreads, means, np.zeros(1), np.ones(ties + 1, np.bool_))
    expected = [0.5] + [0.5 / ties] * ties
    np.testing.assert_allclose(chances(at), expected, rtol=0, atol=EXACT)


def test_a_spread_that_rounding_hides_is_none() -> None:
    means = np.array([[1e15, 1e15, 1e15 - 1]])
    spreads = np.array([[1e-3, 0.0, 1e-3]])
    at = Posterior(means, spreads, means, np.zeros(1), np.ones(3, np.bool_))
    np.testing.assert_allclose(chances(at), [0.5, 0.5, 0], rtol=0, atol=EXACT)


@pytest.mark.parametrize("D", [1, 2, 3])
def test_numbers_of_any_size_give_numbers(D: int) -> None:
    random = np.random.default_rng(D)
    for _ in range(20):
        means, spreads = 10 ** random.uniform(-270, 270, (2, D, 4))
        at = Posterior(means, spreads, means + spreads, spreads[:, 0].copy(), np.ones(4, np.bool_))
        assert abs(chances(at).sum() - 1) < EXACT


def test_one_arm() -> None:
    for D in (1, 2, 3):
        at = some(D, 3)._replace(allowed=np.array([False, True, False]))
        np.testing.assert_array_equal(chances(at), [0, 1, 0])


def drawn(at: Posterior, n: int, seed: int) -> np.ndarray:
    random, ceilings = seeded(seed), ceilings_of(at.allowed[None])
    members, draws = np.empty(at.means.shape[1], np.int64), np.empty(at.means.shape[1])
    rows = np.empty(0), sight(at), at.bands
    return np.array([bands.decide(*rows, ceilings, 0, random, members, draws) for _ in range(n)])


@given(posteriors(), st.integers(0, 2**64 - 1))
def test_decisions_are_those_of_the_twin(at: Posterior, seed: int) -> None:
    plain, dice = twin(at), Dice(seed)
    assert drawn(at, 5, seed).tolist() == [plain.decide(dice) for _ in range(5)]


@pytest.mark.compiled
@pytest.mark.parametrize("D", [1, 2, 3, 4])
@pytest.mark.parametrize("points", [False, True])
def test_chances_are_how_often_arms_are_drawn(D: int, points: bool) -> None:
    """Chi-square of 200,000 decisions among four allowed arms of five."""
    at = some(D, 5, seed=D, band=0.02)
    at.allowed[2] = False
    if points:
        at.means[:, 1:] = np.round(at.means[:, 1:], 1)
        at.spreads[:, 3:] = 0.0
    n = 200_000
    expected = n * chances(at)
    counts = np.bincount(drawn(at, n, seed=D), minlength=5)
    seen = expected > 0
    assert counts[~seen].sum() == 0
    statistic = ((counts[seen] - expected[seen]) ** 2 / expected[seen]).sum()
    assert statistic < QUANTILES[seen.sum() - 1]


@given(st.floats(-40, 40))
def test_the_normal_table_is_exact(z: float) -> None:
    density, share = NORMAL_AT(z)
    assert abs(density - math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)) < 1e-12
    assert abs(share - 0.5 * math.erfc(-z * math.sqrt(0.5))) < 1e-12
