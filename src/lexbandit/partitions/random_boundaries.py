"""The paper's grid with its own rule for boundaries: a context on one is assigned at random."""

from collections import Counter

import numpy as np

from lexbandit.checks import Floats, Integers, whole
from lexbandit.kernels.random import seeded, unit_at
from lexbandit.partitions.base import Partition
from lexbandit.partitions.uniform_grid import UniformGrid


class RandomBoundaryGrid(Partition):
    """m^d closed cells; a context on the boundary of several belongs to one of them, drawn anew.

    The footnote to the paper's Algorithm 1. The draw is uniform, and fixed by `seed`, the cells and
    how many contexts came to them: so `update` finds the cell in which `select` decided, until a
    reward is learned there; one that comes late is learned in one of the cells, drawn again. A
    boundary is where a coordinate is the double nearest to k/m. Other contexts lie where
    `UniformGrid` has them.
    """

    counts_arrivals = True
    draws = True

    def __init__(self, dimension: int, cells_per_side: int, *, seed: int = 0) -> None:
        self.grid = UniformGrid(dimension, cells_per_side)
        self.dimension = self.grid.dimension
        self._random = seeded(whole("seed", seed, least=0))
        self._arrivals: Counter[int] = Counter()

    @property
    def cells(self) -> int:
        """The number of cells m^d."""
        return self.grid.cells

    def touching(self, context: Floats) -> list[int]:
        """Return the keys of all closed cells that hold a context in [0,1]^d; [−1] if outside."""
        key, side = self.grid.locate(context), self.grid.cells_per_side
        if key < 0:
            return [key]
        keys, place = [key], 1
        for x in reversed(context.tolist()):
            k = key // place % side
            if k > 0 and x == k / side:
                keys = [found - place for found in keys] + keys
            place *= side
        return keys

    def locate(self, context: Floats) -> int:
        """Return the key of the cell that a context is assigned to; −1 if it is outside [0,1]^d."""
        keys = self.touching(context)
        if len(keys) == 1:
            return keys[0]
        came = sum(self._arrivals[key] for key in keys)
        return keys[int(unit_at(self._random, keys[0], came) * len(keys))]

    def locate_all(self, contexts: Floats) -> Integers:
        """Return the keys for a block of checked contexts, none of which arrives."""
        return np.array([self.locate(context) for context in contexts], np.int64)

    def enter_all(self, contexts: Floats) -> Integers:
        """Return the keys of contexts that arrive one after the other."""
        keys = np.empty(len(contexts), np.int64)
        for t, context in enumerate(contexts):
            keys[t] = self.locate(context)
            self.arrived(int(keys[t]))
        return keys

    def arrived(self, key: int) -> None:
        """Count a context that came to a cell."""
        self._arrivals[key] += 1

    def restore(self, keys: Integers, arrivals: Integers, seed: int) -> None:
        """Set how many came to each cell, and the seed of the draws."""
        self._arrivals = Counter(dict(zip(keys.tolist(), arrivals.tolist(), strict=True)))
        self._random = seeded(seed)

    def margin(self, *, L: float, alpha: float, level: int = 0) -> float:
        """Return v = L d^(α/2) m^(−α)."""
        return self.grid.margin(L=L, alpha=alpha)

    def signature(self) -> Integers:
        """Return (dimension, cells_per_side, 1): a state of a half-open grid is not loaded."""
        return np.append(self.grid.signature(), 1)
