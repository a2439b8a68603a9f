"""Feature maps: a context becomes the numbers a linear model weighs. One map a file."""

from lexbandit.features.base import FeatureMap
from lexbandit.features.registry import REGISTRY, features_for, make_features

__all__ = ["REGISTRY", "FeatureMap", "features_for", "make_features"]
