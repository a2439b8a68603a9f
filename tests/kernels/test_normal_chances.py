"""Posterior draws: the normal generator, and the probability of each arm to be drawn highest."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.kernels.normal_chances import chances
from lexbandit.kernels.random import normal, seeded, unit


def phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def test_normal_draws_are_normal() -> None:
    """Mean, variance, fourth moment and one tail of 100,000 draws, within 5 standard errors."""
    random = seeded(4)
    draws = np.array([normal(random) for _ in range(100_000)])
    for value, mean, variance in [
        (draws, 0, 1), (draws**2, 1, 2), (draws**4, 3, 96), (draws > 1.5, 1 - phi(1.5), 0.0623),
    ]:  # fmt: skip
        assert abs(value.mean() - mean) < 5 * math.sqrt(variance / len(draws))


def test_a_normal_draw_takes_two_steps_and_a_uniform_one_takes_one() -> None:
    one, other = seeded(1), seeded(1)
    normal(one)
    assert 0 <= unit(other) < 1
    unit(other)
    assert (one == other).all()


@given(
    difference=st.floats(-20, 20),
    first=st.floats(1e-3, 1e3),
    second=st.floats(1e-3, 1e3),
    origin=st.sampled_from([0.0, 100.0]),
)
def test_two_arms_have_a_closed_form(
    difference: float, first: float, second: float, origin: float
) -> None:
    """P(first is larger) = Φ((μ_1 − μ_2)/sqrt(σ_1² + σ_2²)), however unequal the deviations."""
    means = np.array([origin + difference, origin])
    found = chances(means, np.array([first, second]))
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    expected = phi((means[0] - origin) / math.hypot(first, second))
    assert found[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("second", [1.0, 0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("difference", [0.0, 0.4, 2.0])
def test_a_third_that_has_no_chance_changes_nothing(difference: float, second: float) -> None:
    """By points that are even where deviations are alike, and by panels where they are not."""
    found = chances(np.array([difference, 0.0, -40.0]), np.array([1.0, second, 1.0]))
    expected = phi(difference / math.hypot(1.0, second))
    np.testing.assert_allclose(found, [expected, 1 - expected, 0.0], atol=1e-10)


@pytest.mark.parametrize("arms", [1, 2, 3, 10, 300])
def test_equal_arms_have_equal_chances(arms: int) -> None:
    found = chances(np.full(arms, 0.3), np.full(arms, 0.01))
    np.testing.assert_allclose(found, 1 / arms, rtol=1e-10)


def test_many_unequal_arms_against_a_fine_sum() -> None:
    """The same integral by two million points of the trapezoidal rule."""
    random = np.random.default_rng(0)
    means, deviations = random.normal(0, 0.3, 6), random.uniform(0.05, 0.6, 6)
    x = np.linspace(-6, 6, 2_000_001)[:, np.newaxis]
    z = (x - means) / deviations
    below = 0.5 * (1 + np.vectorize(math.erf)(z[::40] / math.sqrt(2)))
    density = np.exp(-0.5 * z[::40] ** 2) / (deviations * math.sqrt(2 * math.pi))
    expected = [
        (density[:, a] * np.delete(below, a, axis=1).prod(axis=1)).sum() * 12 / 50_000
        for a in range(6)
    ]
    np.testing.assert_allclose(chances(means, deviations), expected, atol=1e-12)


def test_a_certain_arm_among_uncertain_ones() -> None:
    """One deviation a billion times smaller than the others: a step, which panels find."""
    found = chances(np.array([0.5, 0.0]), np.array([1e-9, 1.0]))
    assert found[0] == pytest.approx(phi(0.5), abs=1e-9)
    found = chances(np.array([0.5, 0.0, 0.0]), np.array([1e-30, 1.0, 1.0]))
    assert found[0] == pytest.approx(phi(0.5) ** 2, abs=1e-8)


def test_hopeless_arms_have_next_to_no_chance() -> None:
    found = chances(np.array([1.0, 0.0, -50.0]), np.array([0.01, 0.01, 0.01]))
    assert found[0] == pytest.approx(1.0, abs=1e-14)
    assert found[1:].max() < 1e-14
