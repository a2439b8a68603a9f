"""Wilson's upper limit, as lex-thompson has it for rewards of 0 or 1."""

import math

import pytest

from lexbandit.kernels.pooled_rules import above_share

SHARES = [0.0, 1e-9, 0.012, 0.3, 0.5, 0.97, 1.0]
SQUARES = [0.0, 1e-12, 1e-3, 0.4, 7.0, 1e6]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("square", SQUARES)
def test_it_solves_its_equation(share: float, square: float) -> None:
    """(x − q)² = k² h x(1 − x), to rounding, at an x from q to 1."""
    x = share + above_share(share, square)
    assert share <= x <= 1.0 + 1e-12
    assert (x - share) ** 2 == pytest.approx(square * x * (1.0 - x), rel=1e-6, abs=1e-12)


def test_it_is_that_of_wilson() -> None:
    """Of 2 successes in 10 at 1.96 deviations the upper end is 0.5098 (Wilson, 1927)."""
    assert 0.2 + above_share(0.2, 1.96**2 / 10) == pytest.approx(0.5098, abs=1e-4)


def test_no_success_yet_leaves_room_and_no_failure_none() -> None:
    assert above_share(0.0, 0.1) == pytest.approx(0.1 / 1.1)
    assert above_share(1.0, 0.1) == 0.0


@pytest.mark.parametrize("mean", [-0.3, -1e-15, 1.0 + 1e-15, 1.4])
def test_a_mean_outside_counts_as_the_end(mean: float) -> None:
    """A linear estimate may be outside of [0, 1]."""
    end = min(max(mean, 0.0), 1.0)
    assert above_share(mean, 0.2) == above_share(end, 0.2)


def test_with_much_data_it_is_the_usual_limit() -> None:
    """Few doubts: k sqrt(h q(1 − q)), to a thousandth."""
    assert above_share(0.3, 1e-8) == pytest.approx(1e-4 * math.sqrt(0.21), rel=1e-3)
