"""Posterior sampling of the dominant objective only."""

from typing import Any

from lexbandit.policies.linear.pooled import pooled_features
from lexbandit.policies.registry import REGISTRY
from lexbandit.policies.related.sum_thompson import WeightedThompson, weights_of


@REGISTRY.register("thompson")
def thompson(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    features: Any = "mixed",
    layout: Any = (),
    exploration: float = 1.0,
    seed: int = 0,
) -> WeightedThompson:
    """Thompson sampling of the first objective; the others never decide (Thompson, 1933).

    The posterior is that of a pooled linear regression, as in Agrawal and Goyal (2013, ICML).
    """
    return WeightedThompson(
        arms=arms,
        objectives=objectives,
        features=pooled_features(features, layout=layout, dimension=dimension),
        weights=weights_of(0.0, objectives),
        exploration=exploration,
        seed=seed,
    )
