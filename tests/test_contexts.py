import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.contexts import time_feature
from lexbandit.errors import InvalidInput


def test_rounds_count_from_1_and_the_period_is_0_again() -> None:
    assert time_feature([1, 2, 3, 4, 5], 4).tolist() == [0.25, 0.5, 0.75, 0.0, 0.25]
    assert float(time_feature(24, 24)) == 0.0
    assert time_feature(7, 1) == 0.0
    assert time_feature(np.arange(6).reshape(2, 3), 10).shape == (2, 3)
    assert time_feature(3.0, 4) == 0.75  # a whole number, if a float


@given(t=st.integers(1, 2**53), period=st.integers(1, 10**9))
def test_it_is_the_remainder_and_a_context_feature(t: int, period: int) -> None:
    feature = float(time_feature(t, period))
    assert feature == (t % period) / period
    assert 0 <= feature < 1


@pytest.mark.parametrize("period", [0, -1, 1.5, math.nan, math.inf, "24", True, None])
def test_bad_periods(period: object) -> None:
    with pytest.raises(InvalidInput, match="period must be a whole number of at least 1"):
        time_feature(3, period)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("t", "words"),
    [
        (2.5, "t must be a whole number"),
        (math.nan, "t must be a whole number"),
        (math.inf, "t must be a whole number"),
        (-1, "t must be a whole number"),
        ([1, 2.5], r"t\[1\] is .*2\.5.*whole number"),
        ([1, math.nan], r"t\[1\] is .*nan.*whole number"),
        (2**60, "t must be a whole number"),
        ("noon", "t must be"),
        ([[1, 2], [3]], "t must be"),
    ],
)
def test_bad_rounds(t: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        time_feature(t, 10)
