"""What a partition is: cells that cover [0,1]^d, each with a whole number as its key."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers


class Partition(ABC):
    """A split of [0,1]^d into cells. It says where a context lies.

    A partition that is refined as contexts arrive (`refines`) also remembers how many came to each
    cell, and belongs to one policy. Its cells have levels; those of a fixed one are all of level 0.
    """

    dimension: int
    refines: bool = False
    counts_arrivals: bool = False
    """Whether `locate` depends on how many contexts came to each cell: `enter_all` counts them."""
    draws: bool = False
    """Whether a context on a boundary is assigned at random, and one play's cell is not known."""
    sides: Integers = np.empty(0, np.int64)
    """The cells in each dimension of a grid, which kernels can locate in; empty for others."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of possible keys, m^d for a grid; visited or not."""

    @abstractmethod
    def locate(self, context: Floats) -> int:
        """Return the key of the cell that holds one checked context; −1 if it is outside [0,1]^d.

        `context` must be a contiguous float64 array of length d: this is the path of one decision.
        """

    @abstractmethod
    def locate_all(self, contexts: Floats) -> Integers:
        """Return the keys for checked contexts[n, d]: this is the path of a block of rounds."""

    @abstractmethod
    def margin(self, *, L: float, alpha: float, level: int = 0) -> float:
        """Return v, the most a mean can vary inside a cell if it is (L, α)-Hölder."""

    @abstractmethod
    def signature(self) -> Integers:
        """Return the numbers that define the partition: equal ones give the same cells and keys."""

    def enter_all(self, contexts: Floats) -> Integers:
        """Return the keys of contexts that arrive one after the other."""
        return self.locate_all(contexts)

    def arrived(self, key: int) -> None:  # noqa: B027  a fixed partition has nothing to note
        """Note that a context came to a cell."""

    def restore(self, keys: Integers, arrivals: Integers, seed: int) -> None:  # noqa: B027
        """Set how many came to each cell, and the seed of a partition that draws."""

    def impossible(self, keys: Integers, arrivals: Integers) -> Booleans:
        """Tell which keys cannot be visited cells."""
        return np.asarray((keys < 0) | (keys >= self.cells))

    def level_of(self, key: int) -> int:
        """Return the level of a cell."""
        return 0

    def above(self, key: int) -> int:
        """Return the cell that was split into this one and others; −1 if there is none."""
        return -1

    def cells_at(self, level: int) -> int:
        """Return by how many cells a bound that is to hold in all of them divides δ at a level."""
        return self.cells

    def assign(self, contexts: Any) -> Integers:
        """Return the key of the cell of each row of contexts[n, d]."""
        array = checks.floats("contexts", contexts, (None, self.dimension))
        checks.in_unit_cube("contexts", array)
        return np.asarray(self.locate_all(array))
