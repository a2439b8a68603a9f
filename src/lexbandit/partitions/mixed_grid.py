"""A grid with a number of cells of its own in each dimension, some of them exact."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Floats, Integers, positive, whole
from lexbandit.errors import InvalidInput
from lexbandit.kernels import cells as kernel
from lexbandit.partitions.base import Partition

# One number for all dimensions, or one for each; None stands for the theory's m.
Sides = int | Sequence[int | None] | None


class Exact(int):
    """A number of cells each of which holds a single value, so that nothing is blurred in them."""


class MixedGrid(Partition):
    """Cells with edges of length 1/sides[j] in dimension j; half-open as those of `UniformGrid`.

    A side that is `Exact` has a single value in each cell, such as one of a category: contexts of
    a cell do not differ there, so it adds nothing to the margin, v = L (Σ 1/sides[j]²)^(α/2) over
    the other dimensions j. With m cells in each of d dimensions, none exact, this is the paper's.
    If all are exact nothing is blurred, and `finest` stands for the sum's root: it says from which
    width on an arm counts as known.
    """

    def __init__(self, sides: Sequence[int], *, finest: float = 0.001) -> None:
        given = sides_of(sides)
        self.sides: Integers = np.array(given, np.int64)
        self.dimension = len(given)
        self.exact: Booleans = np.array([isinstance(side, Exact) for side in given], np.bool_)
        self.finest = positive("finest", finest, most=1.0)
        if self.cells >= 2**63:
            raise InvalidInput(
                f"a grid of {'·'.join(map(str, self.sides))} cells is too fine: at most 2^63 − 1 "
                "cells can be told apart; use fewer context features or fewer cells_per_side."
            )

    @property
    def cells(self) -> int:
        """The number of cells, the product of the sides."""
        return math.prod(self.sides.tolist())

    def locate(self, context: Floats) -> int:
        """Return the key of the cell that holds a context; −1 if it is outside [0,1]^d."""
        return kernel.grid_key(context, self.sides)

    def locate_all(self, contexts: Floats) -> Integers:
        """Return the keys for a block of checked contexts."""
        return kernel.grid_keys(contexts, self.sides)

    def signature(self) -> Integers:
        """Return (sides…, exact…): each cell means the same where these are equal."""
        return np.concatenate([self.sides, self.exact.astype(np.int64)])

    def margin(self, *, L: float, alpha: float, level: int = 0) -> float:
        """Return v = L (Σ 1/sides[j]²)^(α/2) over the dimensions that are not exact."""
        across = math.sqrt(np.sum(self.sides[~self.exact].astype(np.float64) ** -2.0))
        if self.exact.all():
            across = self.finest
        return float(positive("L", L) * across ** positive("alpha", alpha, most=1.0))

    def __repr__(self) -> str:
        sides = (
            f"Exact({side})" if exact else str(side)
            for side, exact in zip(self.sides, self.exact, strict=True)
        )
        return f"MixedGrid([{', '.join(sides)}])"


def sides_of(value: object) -> list[int]:
    """Return the number of cells in each dimension, a list of whole numbers."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) == 0:
        raise InvalidInput(
            f"cells_per_side must be a whole number, or one for each dimension, got {value!r}."
        )
    return [_side(j, side) for j, side in enumerate(value)]


def _side(j: int, side: object) -> int:
    number = whole(f"cells_per_side[{j}]", side, least=1, most=2**53)
    return Exact(number) if isinstance(side, Exact) else number


def checked_sides(value: Any) -> Sides:
    """Return cells_per_side: None, one whole number, or a list with one (or None) for each."""
    if value is None or isinstance(value, str):
        return None if value is None else whole("cells_per_side", value, least=1)
    try:
        listed = list(value)
    except TypeError:
        return whole("cells_per_side", value, least=1)
    for j, side in enumerate(listed):
        if side is not None:
            whole(f"cells_per_side[{j}]", side, least=1)
    return listed
