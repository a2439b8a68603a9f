"""Quantiles of Student's t distribution, against tables."""

import pytest

from lexbandit._internal.student import student_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (5, 2.57058), (10, 2.22814), (11, 2.20099), (20, 2.08596), (60, 2.00030)],
)
def test_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, rel=1e-4)
