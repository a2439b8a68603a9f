"""The baseline that learns nothing."""

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import Cells, cell_rule
from lexbandit.kernels.jit import inlined, leaf
from lexbandit.kernels.random import RandomState, below
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import explanation_only, one_cell
from lexbandit.policies.registry import register


@leaf
def count_allowed(ceilings: Array, row: int) -> int:
    """Return how many arms are allowed."""
    size = 0
    for arm in range(ceilings.shape[1]):
        size += ceilings[row, arm] > 0.0
    return size


@leaf
def choose(_cells: Cells, _slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Return an allowed arm, drawn uniformly."""
    size = count_allowed(ceilings, row)
    skip = below(random, size) if size > 1 else 0
    arm = -1
    while skip >= 0:
        arm += 1
        skip -= ceilings[row, arm] > 0.0
    return arm


@inlined
def shares(_cells: Cells, _slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(ceilings.shape[1])
    for arm in range(ceilings.shape[1]):
        out[arm] = (ceilings[row, arm] > 0.0) / count_allowed(ceilings, row)
    return out


class UniformRule(CellPolicy):
    """Any allowed arm, with equal probability. Rewards are recorded, for `explain` only."""

    _rule = cell_rule(choose=choose, shares=shares)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return np.asarray(ceilings[0] > 0), "Any allowed arm, drawn uniformly."


register(
    "random",
    UniformRule,
    "Any arm, drawn uniformly: the baseline without learning.",
    partition=one_cell,
    bound=explanation_only,
)
