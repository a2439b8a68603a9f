"""A partition that is refined where contexts arrive."""

import math

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.kernels import tree as kernel
from lexbandit.kernels.cells import insert
from lexbandit.partitions.base import Partition

_FIRST_NODES = 64
_KEY_BITS = 61


class AdaptiveTree(Partition):
    """Cubes that split into 2^d children: one of level l once `split_after` · 2^(ρl) contexts came.

    The leaves are the cells. With ρ = 3α, a cube stays whole about as long as the paper's grid of
    its edge would suit the number of contexts that came near, so no horizon is needed, and where
    there are no contexts nothing is stored. Finding a leaf takes one look-up a level. Keys have
    bits for ⌊61/d⌋ levels; the cubes of the last are not split.
    """

    refines = True
    counts_arrivals = True

    def __init__(self, dimension: int, *, rho: float = 3.0, split_after: float = 1.0) -> None:
        self.dimension = checks.whole("dimension", dimension, least=1)
        self.rho = checks.positive("rho", rho)
        self.split_after = checks.positive("split_after", split_after)
        deepest = _KEY_BITS // self.dimension
        self._limits = np.ceil(self.split_after * 2.0 ** (self.rho * np.arange(deepest)))
        self._clear(_FIRST_NODES)

    def _clear(self, size: int) -> None:
        self._nodes: Integers = np.full(size, -1, np.int64)
        self._arrivals: Integers = np.zeros(size, np.int64)
        self._table: Integers = np.zeros((2 * size, 2), np.int64)
        self._used = 1

    @property
    def cells(self) -> int:
        """The number of possible keys."""
        return int(2 ** (self.dimension * len(self._limits) + 1))

    def locate(self, context: Floats) -> int:
        """Return the key of the leaf that holds a context; −1 if it is outside [0,1]^d."""
        point = context.reshape(1, self.dimension)
        return kernel.leaf_of(point, 0, self._table, self._arrivals, self._limits)

    def locate_all(self, contexts: Floats) -> Integers:
        """Return the leaves of a block of contexts, as the tree is now."""
        return kernel.leaves(contexts, self._table, self._arrivals, self._limits)

    def enter_all(self, contexts: Floats) -> Integers:
        """Return the leaves of contexts that arrive one after the other, and count them."""
        checks.in_unit_cube("contexts", contexts)
        keys = np.empty(len(contexts), np.int64)
        start = 0
        while start < len(contexts):
            self._used, start = kernel.enter(
                contexts,
                start,
                self._table,
                self._nodes,
                self._arrivals,
                self._used,
                self._limits,
                keys,
            )
            if start < len(contexts):
                self._grow()
        return keys

    def arrived(self, key: int) -> None:
        """Count a context that came to a cell."""
        used = kernel.arrive(self._table, self._nodes, self._arrivals, self._used, key)
        if used < 0:
            self._grow()
            used = kernel.arrive(self._table, self._nodes, self._arrivals, self._used, key)
        self._used = used

    def restore(self, keys: Integers, arrivals: Integers, seed: int) -> None:
        """Set how many came to each cell; a tree draws nothing."""
        self._clear(max(_FIRST_NODES, 2 ** (len(keys) + 1).bit_length()))
        self._used = len(keys) + 1
        self._nodes[1 : self._used] = keys
        self._arrivals[1 : self._used] = arrivals
        insert(self._table, self._nodes, 1, self._used)

    def _grow(self) -> None:
        """Double the number of nodes that fit."""
        self.restore(self._nodes[1 : self._used], self._arrivals[1 : self._used].copy(), 0)

    def impossible(self, keys: Integers, arrivals: Integers) -> Booleans:
        """Tell which keys cannot be cells: outside the range, or below a node that is not full."""
        wrong = (keys < 1) | (keys >= self.cells)
        came = dict(zip(keys.tolist(), arrivals.tolist(), strict=True))
        for n, key in enumerate(keys.tolist()):
            if wrong[n] or key == 1:
                continue
            above = key >> self.dimension
            level = self.level_of(above)
            wrong[n] = above < 1 or came.get(above, 0) < self._limits[level]
        return np.asarray(wrong)

    def level_of(self, key: int) -> int:
        """Return the level of a cell: its edges are 2^(−level)."""
        return max(int(key).bit_length() - 1, 0) // self.dimension

    def above(self, key: int) -> int:
        """Return the cell one level above; −1 for the root."""
        return int(key) >> self.dimension if key > 1 else -1

    def cells_at(self, level: int) -> int:
        """Return 2^(dl) (l+1)(l+2).

        There are 2^(dl) cubes of level l, and the reciprocals of (l+1)(l+2) sum to 1: so a δ that
        is divided by this at each level sums to δ over all cubes of all levels.
        """
        return int(2 ** (self.dimension * level) * (level + 1) * (level + 2))

    def signature(self) -> Integers:
        """Return (d, ρ, split_after), the latter two by their bits."""
        numbers = np.array([self.rho, self.split_after]).view(np.int64)
        return np.array([self.dimension, *numbers], np.int64)

    def margin(self, *, L: float, alpha: float, level: int = 0) -> float:
        """Return v = L d^(α/2) 2^(−αl) of a cube of level l."""
        return float(L * (math.sqrt(self.dimension) / 2.0**level) ** alpha)

    def __repr__(self) -> str:
        return (
            f"AdaptiveTree(dimension={self.dimension}, rho={self.rho:g}, "
            f"split_after={self.split_after:g}, nodes={self._used - 1})"
        )
