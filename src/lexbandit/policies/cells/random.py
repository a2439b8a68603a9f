"""The baseline that learns nothing."""

import numpy as np

from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import Cells
from lexbandit.partitions import SingleCell
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.registry import REGISTRY


@leaf
def choose(
    _cells: Cells,
    _slot: int,
    ceilings: Array,
    row: int,
    _settings: Array,
    random: RandomState,
    _work: tuple[()],
) -> int:
    """Return an allowed arm, drawn uniformly."""
    size = 0
    for arm in range(ceilings.shape[1]):
        size += ceilings[row, arm] > 0.0
    skip = below(random, size) if size > 1 else 0
    arm = -1
    while skip >= 0:
        arm += 1
        skip -= ceilings[row, arm] > 0.0
    return arm


@kernel
def shares(_cells: Cells, _slot: int, ceilings: Array, row: int, _settings: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(ceilings.shape[1])
    size = 0
    for arm in range(ceilings.shape[1]):
        size += ceilings[row, arm] > 0.0
    for arm in range(ceilings.shape[1]):
        out[arm] = (ceilings[row, arm] > 0.0) / size
    return out


class UniformRule(CellPolicy):
    """Any allowed arm, with equal probability. Rewards are recorded, for `explain` only."""

    _rule = cell_rule(choose=choose, shares=shares)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return np.asarray(ceilings[0] > 0), "Any allowed arm, drawn uniformly."


@REGISTRY.register("random")
def random(*, arms: int, dimension: int, objectives: int = 2, seed: int = 0) -> UniformRule:
    """Any arm, drawn uniformly: the baseline without learning."""
    return UniformRule(
        arms=arms,
        objectives=objectives,
        partition=SingleCell(dimension),
        bound=UCB1Bound(arms=arms),
        seed=seed,
    )
