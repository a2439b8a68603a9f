import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.errors import InvalidInput
from lexbandit.smoothness import cells_per_side_for, margin_of, uncertainty_constant


def test_the_floating_point_trap() -> None:
    assert math.ceil(100_000 ** (1 / 5)) == 11  # the trap
    assert cells_per_side_for(horizon=100_000, alpha=1.0, dimension=2) == 10


@pytest.mark.parametrize(
    ("horizon", "alpha", "dimension", "m"),
    [(10**6, 1, 2, 16), (4_500_000, 1, 4, 9), (1, 1, 1, 1), (2, 1, 1, 2), (10**6, 1, 50, 2),
     (81, 1, 1, 3), (82, 1, 1, 4), (10**30, 1, 2, 10**6), (10**30 + 1, 1, 2, 10**6 + 1)],
)  # fmt: skip
def test_known_values(horizon: int, alpha: float, dimension: int, m: int) -> None:
    assert cells_per_side_for(horizon=horizon, alpha=alpha, dimension=dimension) == m


@pytest.mark.parametrize(
    ("horizon", "alpha", "dimension", "m"),
    [(10**4, 1, 2, 10), (10**4 + 1, 1, 2, 11), (10**6, 0.5, 2, 100), (10**6, 0.5, 1, 1000)],
)
def test_cells_for_the_staged_rule(horizon: int, alpha: float, dimension: int, m: int) -> None:
    found = cells_per_side_for(horizon=horizon, alpha=alpha, dimension=dimension, smoothings=2)
    assert found == m


@given(
    m=st.integers(2, 60), d=st.integers(1, 6), p=st.integers(1, 4), q=st.integers(1, 4)
)  # fmt: skip
def test_exact_at_powers(m: int, d: int, p: int, q: int) -> None:
    """With T^q = m^(3p+qd) the answer is m, with one round more it is m + 1 or still enough."""
    p = min(p, q)
    alpha = Fraction(p, q)
    power = 3 * alpha + d
    horizon = m ** int(power) if power.denominator == 1 else math.isqrt(m ** int(2 * power))
    found = cells_per_side_for(horizon=horizon, alpha=float(alpha), dimension=d)
    assert found ** (3 * alpha.numerator + alpha.denominator * d) >= horizon**alpha.denominator
    assert (found - 1) ** (3 * alpha.numerator + alpha.denominator * d) < horizon**alpha.denominator
    if power.denominator == 1:
        assert found == m
        assert cells_per_side_for(horizon=horizon + 1, alpha=float(alpha), dimension=d) == m + 1


def test_margin_and_constant() -> None:
    assert margin_of(L=2.0, alpha=0.5, dimension=4, cells_per_side=9) == pytest.approx(
        2.0 * 4**0.25 * 9**-0.5
    )
    A = uncertainty_constant(arms=4, objectives=2, cells=100, horizon=10**5)
    assert pytest.approx(1 + 2 * math.log(4 * 4 * 10**2 * (10**5) ** 1.5)) == A
    # Observations of an arm in a cell before Experiment 1 could be confident at scale 1.
    v = margin_of(L=1, alpha=1, dimension=2, cells_per_side=10)
    assert math.ceil(2 * A / v**2) == 5030


@pytest.mark.parametrize("alpha", [0, -1, 1.01, math.nan, "1"])
def test_bad_alpha(alpha: float) -> None:
    with pytest.raises(InvalidInput, match="alpha must be a finite number above 0 and at most 1"):
        cells_per_side_for(horizon=10, alpha=alpha, dimension=1)


def test_bad_smoothings() -> None:
    with pytest.raises(InvalidInput, match="smoothings must be a whole number of at least 1"):
        cells_per_side_for(horizon=10, alpha=1, dimension=1, smoothings=0)
