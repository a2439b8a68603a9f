"""What a partition is: cells that cover [0,1]^d, each with a whole number as its key."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers


class Partition(ABC):
    """A split of [0,1]^d into cells. It says where a context lies and remembers nothing."""

    dimension: int

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of cells, m^d for a grid; visited or not."""

    @abstractmethod
    def locate(self, context: Floats) -> int:
        """Return the key of the cell that holds one checked context; −1 if it is outside [0,1]^d.

        `context` must be a contiguous float64 array of length d: this is the path of one decision.
        """

    @abstractmethod
    def locate_all(self, contexts: Floats) -> Integers:
        """Return the keys for checked contexts[n, d]: this is the path of a block of rounds."""

    @abstractmethod
    def margin(self, *, L: float, alpha: float) -> float:
        """Return v, the most a mean can vary inside a cell if it is (L, α)-Hölder."""

    @abstractmethod
    def signature(self) -> Integers:
        """Return the numbers that define the partition: equal ones give the same cells and keys."""

    def assign(self, contexts: Any) -> Integers:
        """Return the key of the cell of each row of contexts[n, d]."""
        array = checks.floats("contexts", contexts, (None, self.dimension))
        checks.in_unit_cube("contexts", array)
        return np.asarray(self.locate_all(array))
