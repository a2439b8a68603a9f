"""UCB1 on the dominant objective, with and without contexts."""

import math

import numpy as np

from lexbandit.bounds import Bound, make_bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, Cells
from lexbandit.kernels.ties import best_arm, shares_of_best
from lexbandit.partitions import SingleCell
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, grid_for
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.registry import REGISTRY


@leaf
def choose(
    cells: Cells,
    slot: int,
    ceilings: Array,
    row: int,
    _settings: Array,
    random: RandomState,
    _work: tuple[()],
) -> int:
    """Return an arm of the highest index in the dominant objective."""
    return best_arm(cells.indices, slot, DOMINANT, -math.inf, ceilings, row, random)


@kernel
def shares(cells: Cells, slot: int, ceilings: Array, row: int, _settings: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    return shares_of_best(cells.indices, slot, DOMINANT, ceilings, row)


class DominantRule(CellPolicy):
    """The highest index in the dominant objective, in every cell; UCB1 with UCB1's bound.

    That is each arm once, then the highest mean¹ + sqrt(2 ln n / N). n counts the observations of
    the dominant objective so far in the cell, N those of the arm; with nothing missing they are
    rounds and plays. Another bound takes the place of the width. Rewards in other objectives are
    recorded, for `explain`, and never decide.
    """

    _rule = cell_rule(choose=choose, shares=shares)
    _ranked = 1

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: highest index in {objective(0)}{drawn(chosen)}."
        return np.asarray(shares > 0), reason


@REGISTRY.register("cd-ucb1")
def cd_ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    alpha: float = 1.0,
    bound: str | Bound = "ucb1",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> DominantRule:
    """CD-UCB1: UCB1 on the dominant objective in each cell of MOC-MAB's grid."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    return DominantRule(
        arms=arms,
        objectives=objectives,
        partition=grid,
        bound=make_bound(
            bound,
            arms=arms,
            objectives=objectives,
            cells=grid.cells,
            horizon=horizon,
            delta=delta,
            R=R,
            scale=scale,
        ),
        seed=seed,
    )


@REGISTRY.register("ucb1")
def ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int | None = None,
    bound: str | Bound = "ucb1",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> DominantRule:
    """UCB1 on the dominant objective, without contexts (Auer et al., 2002)."""
    return DominantRule(
        arms=arms,
        objectives=objectives,
        partition=SingleCell(dimension),
        bound=make_bound(
            bound,
            arms=arms,
            objectives=objectives,
            horizon=horizon,
            delta=delta,
            R=R,
            scale=scale,
        ),
        seed=seed,
    )
