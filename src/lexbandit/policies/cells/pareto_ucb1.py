"""Empirical Pareto UCB1, with and without contexts."""

import numpy as np

from lexbandit.bounds import Bound, make_bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.jit import inlined, leaf
from lexbandit.kernels.pareto import mark_front
from lexbandit.kernels.statistics import Cells
from lexbandit.partitions import SingleCell
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, grid_for
from lexbandit.policies.explain import drawn, likely, listed
from lexbandit.policies.registry import REGISTRY


@inlined
def prepare(cells: Cells, _settings: Array) -> tuple[Mask, Array]:
    """Return room for the front and for the index vectors."""
    return np.empty(cells.indices.shape[2], np.bool_), np.empty(cells.indices.shape[1:])


@leaf
def mark(
    cells: Cells, slot: int, ceilings: Array, row: int, _settings: Array, work: tuple[Mask, Array]
) -> int:
    """Mark the arms whose index vectors no other dominates; return how many there are."""
    front, vectors = work
    for i in range(vectors.shape[0]):
        for arm in range(vectors.shape[1]):
            vectors[i, arm] = min(cells.indices[slot, i, arm], ceilings[row, arm])
    return mark_front(vectors, front)


class ParetoRule(CellPolicy):
    """Empirical Pareto UCB1 in every cell (Drugan and Nowé, 2013).

    Each arm once, then a uniform pick from the arms whose index vectors no other dominates, with
    the width of `ParetoUCB1Bound` in every objective, or another bound.
    """

    _rule = cell_rule(prepare=prepare, mark=mark)

    @property
    def _ranked(self) -> int:  # type: ignore[override]
        return self.objectives

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: no other arm has a better index vector{drawn(chosen)}."
        return np.asarray(shares > 0), reason


@REGISTRY.register("cp-ucb1")
def cp_ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    alpha: float = 1.0,
    bound: str | Bound = "pareto-ucb1",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> ParetoRule:
    """CP-UCB1: Empirical Pareto UCB1 in each cell of MOC-MAB's grid."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    return ParetoRule(
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


@REGISTRY.register("p-ucb1")
def p_ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int | None = None,
    bound: str | Bound = "pareto-ucb1",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> ParetoRule:
    """P-UCB1: Empirical Pareto UCB1, without contexts (Drugan and Nowé, 2013)."""
    return ParetoRule(
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
