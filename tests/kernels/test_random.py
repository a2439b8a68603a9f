import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.kernels import random
from naive import Dice


@given(seed=st.integers(0, 2**64 - 1), n=st.integers(1, 10_000))
def test_draws_are_those_of_the_plain_twin(seed: int, n: int) -> None:
    state, dice = random.seeded(seed), Dice(seed)
    assert [random.below(state, n) for _ in range(5)] == [dice.below(n) for _ in range(5)]
    assert random.unit_at(state, n, 7) == dice.unit_at(n, 7)


@pytest.mark.compiled
def test_draws_are_uniform_and_unrelated() -> None:
    """Chi-square of 7 values (6 degrees of freedom) and of neighbouring pairs (48)."""
    state = random.seeded(1)
    draws = np.array([random.below(state, 7) for _ in range(70_000)])
    counts = np.bincount(draws)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 33.1  # 1 − 10⁻⁵ quantile
    pairs = np.bincount(draws[:-1] * 7 + draws[1:], minlength=49)
    expected = len(draws[1:]) / 49
    assert ((pairs - expected) ** 2 / expected).sum() < 102.0  # 1 − 10⁻⁵ quantile


@pytest.mark.compiled
def test_draws_by_position_are_uniform() -> None:
    state = random.seeded(5)
    draws = np.array([random.unit_at(state, p, c) for p in range(100) for c in range(300)])
    counts = np.histogram(draws, bins=10, range=(0, 1))[0]
    assert ((counts - 3000) ** 2 / 3000).sum() < 39.4  # 1 − 10⁻⁵ quantile, 9 degrees
