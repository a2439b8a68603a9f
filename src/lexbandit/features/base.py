"""What a feature map is: a function from [0,1]^d to F numbers that remembers nothing."""

import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats


class FeatureMap(ABC):
    """φ: [0,1]^d → R^F. `count` is F; a linear model has one weight a feature."""

    name: str = ""
    dimension: int
    count: int

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

    @abstractmethod
    def of_checked(self, contexts: Floats) -> Floats:
        """Return float[n, F] for contexts[n, d] that were checked: one compiled loop.

        A row depends on its own context only, to the last bit.
        """

    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """Return the numbers that, with dimension and count, define the map."""

    def signature(self) -> Floats:
        """Return the numbers that define the map: equal ones give the same features."""
        kind = float(zlib.crc32(type(self).__name__.encode()))
        return np.array([kind, self.dimension, self.count, *self.parameters()], np.float64)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.count} features of {self.dimension} numbers>"
