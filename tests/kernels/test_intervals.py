"""The ends of KL intervals against bisection, and how they lie."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lexbandit.kernels.intervals import kl_lower, kl_upper, log_excess
from twins.bounds import exact_kl_upper
from twins.bounds import kl_upper as plain_kl_upper

probabilities = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-320.0, 0.0).map(lambda power: 10.0**power),
    st.floats(-16.0, 0.0).map(lambda power: 1.0 - 10.0**power),
)
levels = st.floats(-12.0, 3.0).map(lambda power: 10.0**power)


@settings(max_examples=120)
@given(mean=probabilities, level=levels)
@example(mean=0.5, level=1e-12)
@example(mean=1e-16, level=1e3)
@example(mean=1 - 1e-16, level=1e-12)
@example(mean=0.0, level=0.3)
@example(mean=1.0, level=0.3)
def test_the_root_is_right_and_rounded_outward(mean: float, level: float) -> None:
    """Against bisection with 60 digits: never inside, and at most 1.1e-12 outside."""
    exact = exact_kl_upper(mean, level)
    root = kl_upper(mean, level)
    assert root == 1.0 or float(exact) <= root
    assert root - float(exact) <= 1.1e-12
    mirrored = 1.0 - kl_upper(1.0 - mean, level)
    assert kl_lower(mean, level) == mirrored


@given(mean=probabilities, level=st.floats(1e-4, 1e3))
def test_the_root_is_the_plain_twins(mean: float, level: float) -> None:
    assert kl_upper(mean, level) == pytest.approx(plain_kl_upper(mean, level), abs=1e-10)


@given(mean=probabilities, level=levels, more=st.floats(1.0, 10.0))
def test_a_higher_level_or_mean_gives_a_higher_end(mean: float, level: float, more: float) -> None:
    """Up to the last digits, which are rounding."""
    tiny = 1e-14
    assert kl_upper(mean, level * more) >= kl_upper(mean, level) - tiny
    assert kl_lower(mean, level * more) <= kl_lower(mean, level) + tiny
    higher = min(mean * more, 1.0)
    assert kl_upper(higher, level) >= kl_upper(mean, level) - tiny
    assert kl_lower(higher, level) >= kl_lower(mean, level) - tiny


@given(mean=probabilities, level=levels)
def test_the_interval_contains_the_mean_and_lies_in_pinskers(mean: float, level: float) -> None:
    low, high = kl_lower(mean, level), kl_upper(mean, level)
    assert 0.0 <= low <= mean <= high <= 1.0
    assert high - mean <= math.sqrt(level / 2) + 1.1e-12
    assert mean - low <= math.sqrt(level / 2) + 1.1e-12


@pytest.mark.parametrize("mean", [0.0, 1e-300, 0.3, 1.0])
@pytest.mark.parametrize("level", [0.0, 5e-324, 1e-200, 1e-60])
def test_a_level_of_nothing_is_the_mean(mean: float, level: float) -> None:
    assert kl_upper(mean, level) == pytest.approx(mean, abs=1.1e-12)
    assert kl_lower(mean, level) == pytest.approx(mean, abs=1.1e-12)


@given(u=st.floats(-0.3, 0.3))
def test_log_excess_is_accurate(u: float) -> None:
    """Against its series u²/2 − u³/3 + …, which does not cancel."""
    series = math.fsum((-u) ** k / k for k in range(2, 60))
    assert log_excess(u) == pytest.approx(series, rel=2e-14, abs=1e-300)
