"""Quantiles of Student's t distribution, against tables."""

import pytest

from lexbandit._internal.student import student_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        *((1, 12.7062), (5, 2.57058), (10, 2.22814), (11, 2.20099)),
        *((13, 2.160369), (15, 2.131450), (20, 2.085963), (60, 2.000298)),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, rel=3e-5)
