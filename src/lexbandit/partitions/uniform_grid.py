"""The paper's partition: m^d identical hypercubes with edges of length 1/m."""

from dataclasses import dataclass

import numpy as np

from lexbandit.checks import Floats, Integers, whole
from lexbandit.errors import InvalidInput
from lexbandit.kernels import cells as kernel
from lexbandit.partitions.base import Partition
from lexbandit.smoothness import margin_of


@dataclass(frozen=True)
class UniformGrid(Partition):
    """`cells_per_side`^`dimension` identical cells.

    Cells are half-open, [k/m, (k+1)/m) in each dimension, and the last one is closed; the double
    nearest to k/m lies in cell k. The paper draws a cell at random for a context on a boundary, see
    `RandomBoundaryGrid`; any fixed rule serves its analysis and makes a context's cell a fact.
    """

    dimension: int
    cells_per_side: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, least=1))
        side = whole("cells_per_side", self.cells_per_side, least=1)
        object.__setattr__(self, "cells_per_side", side)
        if side > 2**53:
            raise InvalidInput(f"cells_per_side can be at most 2^53, got {side}.")
        if self.cells >= 2**63:
            raise InvalidInput(
                f"a grid of {side}^{self.dimension} cells is too fine: at most 2^63 − 1 cells can "
                f"be told apart; use fewer context features or a smaller cells_per_side."
            )
        object.__setattr__(self, "sides", np.full(self.dimension, side, np.int64))

    @property
    def cells(self) -> int:
        """The number of cells m^d."""
        return int(self.cells_per_side**self.dimension)

    def locate(self, context: Floats) -> int:
        """Return the key of the cell that holds a context; −1 if it is outside [0,1]^d."""
        return kernel.grid_key(context, self.sides)

    def locate_all(self, contexts: Floats) -> Integers:
        """Return the keys for a block of checked contexts."""
        return kernel.grid_keys(contexts, self.sides)

    def signature(self) -> Integers:
        """Return (dimension, cells_per_side)."""
        return np.array([self.dimension, self.cells_per_side], np.int64)

    def margin(self, *, L: float, alpha: float, level: int = 0) -> float:
        """Return v = L d^(α/2) m^(−α), below equation (3)."""
        return margin_of(
            L=L, alpha=alpha, dimension=self.dimension, cells_per_side=self.cells_per_side
        )
