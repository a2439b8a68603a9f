"""The feature maps that linear policies are made with, for `register`."""

from collections.abc import Callable
from typing import Any

from lexbandit.features import FeatureMap, features_for
from lexbandit.policies.linear.pooled import pooled_features


def any_features(default: str) -> Callable[..., FeatureMap]:
    """Return a maker of the feature map that is chosen by name, `default` if none is."""

    def make(*, dimension: int, features: Any = default) -> FeatureMap:
        return features_for(features, dimension=dimension)

    return make


def mixed_features(*, dimension: int, features: Any = "mixed", layout: Any = ()) -> FeatureMap:
    """Return the feature map of a policy on the pooled regression, by default by the layout."""
    return pooled_features(features, layout=layout, dimension=dimension)
