"""What a feature map is: a function from [0,1]^d to F numbers that remembers nothing."""

import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import counted
from lexbandit.kernels import linear_features as kernel

# Points over which the expectation of features without a closed form is taken.
_SAMPLE = 4096


class FeatureMap(ABC):
    """φ: [0,1]^d → R^F. `count` is F; a linear model has one weight a feature.

    The policies' kernels are given a map that `kernels.linear_features` knows as `kind` and
    `table`; any other brings its own `of_checked`.
    """

    name: str = ""
    dimension: int
    count: int
    has_constant: bool = False
    """Whether the first feature is 1 in every context."""
    kind: int = kernel.GIVEN
    table: Floats

    def apply(self, context: Any) -> Floats:
        """Return φ(x) of one context as float[F]."""
        point = checks.floats("context", context, (self.dimension,))
        checks.in_unit_cube("context", point)
        return np.asarray(self.of_checked(point[np.newaxis])[0])

    def apply_all(self, contexts: Any) -> Floats:
        """Return φ(x) of every row of contexts[n, d] as float[n, F]."""
        points = checks.floats("contexts", contexts, (None, self.dimension))
        checks.in_unit_cube("contexts", points)
        return self.of_checked(points)

    def of_checked(self, contexts: Floats) -> Floats:
        """Return float[n, F] for contexts[n, d] that were checked: one compiled loop.

        A row depends on its own context only, to the last bit.
        """
        return kernel.features_of(self.kind, contexts, self.table)

    def expectations(self) -> tuple[Floats, Floats]:
        """Return E[φ] and E[φφᵀ] for contexts uniform on [0,1]^d.

        This is the average over 4,096 points that fill the cube evenly, always the same ones; maps
        with a closed form bring it.
        """
        features = self.of_checked(kernel.spread_evenly(self.dimension, _SAMPLE))
        second = features.T @ features / _SAMPLE
        return features.mean(axis=0), np.asarray(0.5 * (second + second.T))

    def prior(self) -> Floats:
        """Return what a model expects of the weights, float[3, F], before it has seen a reward.

        The rows are their relative variances; blocks, numbered from 0, whose features share a
        learned scale; and 1 for the constant feature, if there is one. By default all weights vary
        alike, the constant's in a block of its own.
        """
        constant = self.constant
        return np.array([np.ones(self.count), 1.0 - constant, constant])

    @property
    def constant(self) -> Floats:
        """1 for the feature that is 1 in every context, 0 for the others; all 0 if none is."""
        return np.asarray(self.has_constant * np.eye(1, self.count)[0])

    def left_out(self) -> Floats:
        """Return how the learned weights tell what the map cannot represent, float[F].

        With c[f] the learned variance of the weight of feature f, left_out() @ c is the variance
        that is expected of the rest of the function: of higher degrees and interactions that are no
        features. By default nothing is left out.
        """
        return np.zeros(self.count)

    def unlike(self) -> Booleans:
        """Return which features an arm may weigh quite unlike all other arms, bool[F].

        The learned variances say what arms are like in general, which tells little of such a
        feature. By default there is none: functions are taken to be smooth in what the map sees.
        """
        return np.zeros(self.count, np.bool_)

    @property
    def squared_norm(self) -> float:
        """A bound on ‖φ(x)‖²: F, since features lie in [−1, 1]; maps with a better one bring it."""
        return float(self.count)

    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """Return the numbers that, with dimension and count, define the map."""

    def signature(self) -> Floats:
        """Return the numbers that define the map: equal ones give the same features."""
        kind = float(zlib.crc32(type(self).__name__.encode()))
        return np.array([kind, self.dimension, self.count, *self.parameters()], np.float64)

    def __repr__(self) -> str:
        numbers = counted(self.dimension, "number")
        return f"<{type(self).__name__}: {counted(self.count, 'feature')} of {numbers}>"
