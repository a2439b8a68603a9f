"""`make_features`: a feature map by its name."""

from collections.abc import Mapping
from typing import Any

from lexbandit import checks
from lexbandit.errors import InvalidInput, counted, unknown_name
from lexbandit.features.base import FeatureMap
from lexbandit.registry import Registry

REGISTRY: Registry[FeatureMap] = Registry("feature map", "lexbandit.features")


def make_features(name: str, *, dimension: int, **parameters: Any) -> FeatureMap:
    """Build the map called `name`, e.g. `make_features("legendre", dimension=2, degree=3)`."""
    taken = REGISTRY.parameters(name)
    for given in parameters:
        if given not in taken:
            raise unknown_name(f"parameter of {name}", given, taken)
    features = REGISTRY.builder(name)(
        dimension=checks.whole("dimension", dimension, least=1), **parameters
    )
    features.name = name
    return features


def features_for(features: Any, *, dimension: int) -> FeatureMap:
    """Return the map a policy was asked to use, for contexts of `dimension` numbers.

    `features` is a name, a mapping such as {"name": "fourier", "count": 200}, or a map, which must
    be for the same dimension.
    """
    if isinstance(features, str):
        return make_features(features, dimension=dimension)
    if isinstance(features, Mapping):
        given = {str(key): value for key, value in features.items()}
        if "name" not in given:
            raise InvalidInput(
                f"features needs a 'name' among {REGISTRY.names()}, got {features!r}."
            )
        return _fitting(
            make_features(given.pop("name"), **{"dimension": dimension, **given}), dimension
        )
    if not isinstance(features, FeatureMap):
        raise InvalidInput(
            f"features must be a name among {REGISTRY.names()}, a mapping with a 'name' or a "
            f"feature map, got {features!r}."
        )
    return _fitting(features, dimension)


def _fitting(features: FeatureMap, dimension: int) -> FeatureMap:
    if features.dimension != dimension:
        raise InvalidInput(
            f"features take contexts of {counted(features.dimension, 'number')}, "
            f"the policy's contexts have {dimension}."
        )
    return features
