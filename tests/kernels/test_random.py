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


@given(
    seed=st.integers(0, 2**64 - 1),
    share=st.floats(0, 1),
    counts=st.lists(st.integers(1, 50), min_size=1, max_size=20),
)
def test_draws_now_and_then_are_those_of_the_plain_twin(
    seed: int, share: float, counts: list[int]
) -> None:
    dice = Dice(seed)
    twin = [dice.below(n) if dice.below(2**53) < share * 2**53 else -1 for n in counts]
    state = random.seeded(seed)
    assert [random.now_and_then(state, share, n) for n in counts] == twin
    state, drawn = random.seeded(seed), np.empty(len(counts), np.int64)
    random.now_and_then_many(state, share, np.array(counts), drawn)
    assert drawn.tolist() == twin
    assert state[0] == dice.counter


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


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_draws_by_position_are_not_those_of_the_counter(seed: int) -> None:
    """Not even at seed 0 and place 0, where a plain mix would give 0."""
    by_position = {random.unit_at(random.seeded(seed), p, c) for p in range(4) for c in range(50)}
    state = random.seeded(seed)
    by_counter = {random.below(state, 2**53) * 2.0**-53 for _ in range(300)}
    assert len(by_position) == 200
    assert not by_position & by_counter


@pytest.mark.compiled
def test_draws_by_position_are_uniform() -> None:
    state = random.seeded(0)
    draws = np.array([random.unit_at(state, p, c) for p in range(100) for c in range(300)])
    counts = np.histogram(draws, bins=10, range=(0, 1))[0]
    assert ((counts - 3000) ** 2 / 3000).sum() < 39.4  # 1 − 10⁻⁵ quantile, 9 degrees
