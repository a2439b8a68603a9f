"""The context as it is, with a constant."""

import numpy as np

from lexbandit.checks import Floats
from lexbandit.features.base import FeatureMap
from lexbandit.features.registry import REGISTRY
from lexbandit.kernels import linear_features as kernel


@REGISTRY.register("raw")
class Raw(FeatureMap):
    """A constant and the context's numbers: d + 1 features.

    φ(x) = (1, x_1, …, x_d): the means are affine in the context.
    """

    has_constant = True
    kind = kernel.RAW

    def __init__(self, *, dimension: int) -> None:
        self.dimension = dimension
        self.count = dimension + 1
        self.table = np.empty((self.count, 0))

    def expectations(self) -> tuple[Floats, Floats]:
        """Return (1, ½, …, ½), and E[x_j²] = ⅓, E[x_j x_k] = ¼."""
        mean = np.full(self.count, 0.5)
        mean[0] = 1.0
        second = np.outer(mean, mean)
        second[np.arange(1, self.count), np.arange(1, self.count)] = 1 / 3
        return mean, second

    def parameters(self) -> tuple[float, ...]:
        """Return nothing: the dimension says all."""
        return ()
