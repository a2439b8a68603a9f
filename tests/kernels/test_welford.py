"""Means and squared distances of many numbers, as one after the other gives them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.kernels.welford import add_numbers

VALUES = st.lists(st.floats(-1e140, 1e140), max_size=30)


@given(VALUES, VALUES)
def test_numbers_are_added_in_their_order(before: list[float], values: list[float]) -> None:
    count, mean, squares = 0, 0.0, 0.0
    for value in [*before, *values]:
        count += 1
        apart = value - mean
        mean += apart / count
        squares += apart * (value - mean)
    spread = np.zeros(3)
    add_numbers(spread, np.array(before))
    add_numbers(spread, np.array(values))
    assert spread.tolist() == [count, mean, squares]
