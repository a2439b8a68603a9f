"""The context as it is, with a constant."""

import numpy as np

from lexbandit.checks import Floats
from lexbandit.features.base import FeatureMap
from lexbandit.features.making import REGISTRY


class Raw(FeatureMap):
    """φ(x) = (1, x_1, …, x_d): the means are affine in the context."""

    def __init__(self, *, dimension: int) -> None:
        self.dimension = dimension
        self.count = dimension + 1

    def of_checked(self, contexts: Floats) -> Floats:
        """Return float[n, d + 1]."""
        out = np.ones((len(contexts), self.count))
        out[:, 1:] = contexts
        return out

    def parameters(self) -> tuple[float, ...]:
        """Return nothing: the dimension says all."""
        return ()


@REGISTRY.register("raw")
def raw(*, dimension: int) -> Raw:
    """A constant and the context's numbers: d + 1 features."""
    return Raw(dimension=dimension)
