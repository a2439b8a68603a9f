"""Posterior sampling of the dominant objective only."""

from typing import Any

from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.registry import register
from lexbandit.policies.related.sum_thompson import WeightedThompson


class DominantThompson(WeightedThompson):
    """A weighted sum in which only the first objective has a weight."""

    def __init__(self, *, draw_width: float = 1.0, **pooled: Any) -> None:
        super().__init__(price=0.0, draw_width=draw_width, **pooled)


register(
    "thompson",
    DominantThompson,
    """Thompson sampling of the first objective; the others never decide (Thompson, 1933).

    The posterior is that of a pooled linear regression, as in Agrawal and Goyal (2013, ICML).
    """,
    features=mixed_features,
)
