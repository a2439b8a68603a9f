"""UCB1 on the dominant objective, with and without contexts."""

import math
from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import Cells, cell_rule
from lexbandit.kernels.jit import inlined, leaf
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import DOMINANT, best_arm, shares_of_best
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import any_bound, one_cell, paper_grid
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.registry import register


@leaf
def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Return an arm of the highest index in the dominant objective."""
    return best_arm(cells.indices, slot, DOMINANT, -math.inf, ceilings, row, random)


@inlined
def shares(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    return shares_of_best(cells.indices, slot, DOMINANT, ceilings, row)


class DominantRule(CellPolicy):
    """The highest index in the dominant objective, in every cell; UCB1 with UCB1's bound.

    That is each arm once, then the highest mean¹ + sqrt(2 ln n / N) (Auer, Cesa-Bianchi and
    Fischer, 2002; the twin is in tests/naive.py). n counts the observations of the dominant
    objective so far in the cell, N those of the arm; with nothing missing they are rounds and
    plays. Another bound takes the place of the width. Rewards in other objectives are recorded, for
    `explain`, and never decide.
    """

    _rule = cell_rule(choose=choose, shares=shares)

    def __init__(self, **cells: Any) -> None:
        super().__init__(ranked=1, **cells)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: highest index in {objective(0)}{drawn(chosen)}."
        return np.asarray(shares > 0), reason


register(
    "cd-ucb1",
    DominantRule,
    "CD-UCB1: UCB1 on the dominant objective in each cell of MOC-MAB's grid.",
    partition=paper_grid,
    bound=any_bound("ucb1"),
)
register(
    "ucb1",
    DominantRule,
    "UCB1 on the dominant objective, without contexts (Auer et al., 2002).",
    partition=one_cell,
    bound=any_bound("ucb1"),
)
