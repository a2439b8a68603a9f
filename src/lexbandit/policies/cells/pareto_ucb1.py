"""Empirical Pareto UCB1, with and without contexts."""

from typing import Any

import numpy as np

from lexbandit.bounds import Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import PLAIN_FIELDS, VECTORS, Cells, cell_rule, write_indices
from lexbandit.kernels.jit import leaf
from lexbandit.kernels.pareto import mark_front
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import any_bound, one_cell, paper_grid
from lexbandit.policies.explain import drawn, likely, listed
from lexbandit.policies.registry import register


@leaf
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms whose index vectors no other dominates; return how many there are."""
    objectives, arms = cells.indices.shape[1], cells.indices.shape[2]
    write_indices(cells, slot, ceilings, row)
    return mark_front(cells.work, VECTORS, VECTORS + objectives, arms)


class ParetoRule(CellPolicy):
    """Empirical Pareto UCB1 in every cell (Drugan and Nowé, 2013; the twin is in tests/naive.py).

    Each arm once, then a uniform pick from the arms whose index vectors no other dominates, with
    the width of `ParetoUCB1Bound` in every objective, or another bound.
    """

    _rule = cell_rule(mark=mark)

    def __init__(self, *, objectives: int, bound: Bound, **cells: Any) -> None:
        computed = objectives == 2 and bound.fields == PLAIN_FIELDS  # by `write_indices`
        ranked = 0 if computed else objectives
        super().__init__(objectives=objectives, bound=bound, ranked=ranked, **cells)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: no other arm has a better index vector{drawn(chosen)}."
        return np.asarray(shares > 0), reason


register(
    "cp-ucb1",
    ParetoRule,
    "CP-UCB1: Empirical Pareto UCB1 in each cell of MOC-MAB's grid.",
    partition=paper_grid,
    bound=any_bound("pareto-ucb1"),
)
register(
    "p-ucb1",
    ParetoRule,
    "P-UCB1: Empirical Pareto UCB1, without contexts (Drugan and Nowé, 2013).",
    partition=one_cell,
    bound=any_bound("pareto-ucb1"),
)
