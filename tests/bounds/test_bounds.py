import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.bounds import CentredBound, HolderBound, ParetoUCB1Bound, UCB1Bound
from lexbandit.errors import InvalidInput

HOLDER = HolderBound(arms=4, cells=100, horizon=10**5)
EVERY = [HOLDER, UCB1Bound(arms=4), ParetoUCB1Bound(arms=4, objectives=3)]
counts = st.integers(1, 10**9)


@given(n=counts, scale=st.floats(0.01, 10), R=st.floats(0.1, 5))
def test_the_papers_width(n: int, scale: float, R: float) -> None:
    bound = HolderBound(arms=4, cells=100, horizon=10**5, scale=scale, R=R)
    A = 1 + 2 * math.log(4 * 4 * 100 * (10**5) ** 1.5)
    assert bound.width(n) == pytest.approx(scale * R * math.sqrt(2 * A / n))
    assert bound.width(n, rounds=123) == bound.width(n)


@given(n=counts, extra=counts)
def test_ucb1_and_pareto_ucb1(n: int, extra: int) -> None:
    rounds = n + extra
    assert UCB1Bound(arms=4).width(n, rounds) == pytest.approx(math.sqrt(2 * math.log(rounds) / n))
    assert ParetoUCB1Bound(arms=4, objectives=3, scale=0.5).width(n, rounds) == pytest.approx(
        0.5 * math.sqrt(2 * math.log(rounds * 12**0.25) / n)
    )


@pytest.mark.parametrize("bound", EVERY)
@given(n=counts, rounds=counts)
def test_the_width_falls_as_observations_come(bound: CentredBound, n: int, rounds: int) -> None:
    """The index is the mean plus the width, so it is monotone in N as well."""
    assert bound.width(n + 1, rounds) <= bound.width(n, rounds)
    assert bound.width(n, rounds + 1) >= bound.width(n, rounds)


@pytest.mark.parametrize("bound", EVERY)
@pytest.mark.parametrize("rounds", [0, 1, 2, 100])
def test_nothing_observed_is_infinite_and_never_nan(bound: CentredBound, rounds: int) -> None:
    assert bound.width(0, rounds) == math.inf
    assert not math.isnan(bound.width(1, rounds))


def test_a_bound_for_another_number_of_arms() -> None:
    assert pytest.approx(HOLDER.A + 2 * math.log(5 / 4)) == HOLDER.with_arms(5).A
    assert HOLDER.with_arms(5).horizon == HOLDER.horizon


def test_a_new_bound_needs_no_new_kernel() -> None:
    class Anytime(CentredBound):
        def growth(self) -> tuple[float, float]:
            return 4.0, 0.0

        def decay(self) -> tuple[float, float, float]:
            return 1.0, 2.0, 1.0

    width = Anytime(arms=2).width(7)
    assert width == pytest.approx(2 * math.sqrt((1 + 2 * math.log(8)) * (1 + 1 / 7) / 7))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: UCB1Bound(arms=0), "arms must be"),
        (lambda: UCB1Bound(arms=2, scale=0), "scale must be"),
        (lambda: HolderBound(arms=2, cells=4, horizon=0), "horizon must be"),
        (lambda: HolderBound(arms=2, cells=4, horizon=9, R=np.nan), "R must be"),
        (lambda: ParetoUCB1Bound(arms=2, objectives=0), "objectives must be"),
    ],
)
def test_bad_parameters(build: type, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        build()
