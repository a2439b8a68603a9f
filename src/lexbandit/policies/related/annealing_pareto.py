"""Annealing Pareto.

Channels 0 to D−1 are the objectives. Channel D stores the previous set: its COUNT is 1 for an arm
that is not in it and 0 for a member, so that a cell nobody visited starts with every arm.
"""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import (
    COUNT,
    MARKS,
    MEAN,
    OTHER,
    VECTORS,
    Cells,
    cell_rule,
)
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import explanation_only, optional_grid
from lexbandit.policies.explain import likely, listed, one_of
from lexbandit.policies.registry import register

# The settings.
EPSILON, DECAY = 0, 1


@leaf
def value_of(cells: Cells, slot: int, i: int, arm: int) -> float:
    """Return an arm's mean, ∞ where nothing was observed: what is unknown is worth a look."""
    known = cells.stats[slot, arm, i, COUNT] > 0.0
    return float(cells.stats[slot, arm, i, MEAN]) if known else math.inf


@leaf
def distance(cells: Cells, slot: int) -> float:
    """Return ε_t = ε_0 · decay^t, with t the rounds so far in the cell."""
    return float(cells.settings[EPSILON] * cells.settings[DECAY] ** cells.totals[slot, 0])


@leaf
def mark_near(cells: Cells, slot: int, ceilings: Array, row: int) -> None:
    """Mark in work[OTHER] the allowed arms within ε_t of the best mean in some objective."""
    near, distant = cells.work, distance(cells, slot)
    for arm in range(cells.plays.shape[1]):
        near[OTHER, arm] = 0.0
    for i in range(cells.indices.shape[1] - 1):
        best = -math.inf
        for arm in range(cells.plays.shape[1]):
            best = max(best, min(value_of(cells, slot, i, arm), ceilings[row, arm]))
        for arm in range(cells.plays.shape[1]):
            if ceilings[row, arm] > 0.0 and value_of(cells, slot, i, arm) >= best - distant:
                near[OTHER, arm] = 1.0


@leaf
def beaten(cells: Cells, slot: int, arm: int) -> bool:
    """Tell whether a near arm's means dominate those of `arm`: ≥ in each objective, > in one."""
    for rival in range(cells.plays.shape[1]):
        if cells.work[OTHER, rival] > 0.0:
            at_least = True
            better = False
            for i in range(cells.indices.shape[1] - 1):
                mine = value_of(cells, slot, i, arm)
                theirs = value_of(cells, slot, i, rival)
                at_least &= theirs >= mine
                better |= theirs > mine
            if at_least and better:
                return True
    return False


@leaf
def mark_new(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the allowed arms that were never played in the cell; return how many there are."""
    size = 0
    for arm in range(cells.plays.shape[1]):
        new = ceilings[row, arm] > 0.0 and cells.plays[slot, arm] == 0.0
        cells.work[MARKS, arm] = new
        size += new
    return size


@kernel
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    Arms never played in the cell come first. Then it is the near arms, and those of the previous
    set that no near arm dominates.
    """
    size = mark_new(cells, slot, ceilings, row)
    if size > 0:
        return size
    mark_near(cells, slot, ceilings, row)
    previous = cells.indices.shape[1] - 1
    for arm in range(cells.plays.shape[1]):
        marked = cells.work[OTHER, arm] > 0.0 or (
            ceilings[row, arm] > 0.0
            and cells.stats[slot, arm, previous, COUNT] == 0.0
            and not beaten(cells, slot, arm)
        )
        cells.work[MARKS, arm] = marked
        size += marked
    return size


@leaf
def prepare(cells: Cells, slot: int, _arm: int, _outcomes: Array, _t: int, _r: int) -> None:
    """Let this round's set be the previous one.

    The set is that of all arms, whatever the round's own mask. It is stored once every arm was
    played in the cell.
    """
    previous = cells.indices.shape[1] - 1
    everyone = VECTORS  # a row that allows all
    for other in range(cells.plays.shape[1]):
        cells.work[everyone, other] = math.inf
    if mark_new(cells, slot, cells.work, everyone) == 0:
        mark(cells, slot, cells.work, everyone)
        for other in range(cells.plays.shape[1]):
            cells.stats[slot, other, previous, COUNT] = 1.0 - cells.work[MARKS, other]


class AnnealingRule(CellPolicy):
    """Annealing Pareto in every cell (Yahyaa, Drugan and Manderick, 2014).

    Each arm once; then, with t the rounds so far in the cell,

        ε_t = ε_0 · decay^t
        Sⁱ  = the arms with meanⁱ ≥ max meanⁱ − ε_t, and S = S¹ ∪ ... ∪ Sᴰ
        A_t = S ∪ {a in A_{t−1} that no arm of S dominates}, with A_0 = all arms

    and an arm of A_t is drawn uniformly. The set A_{t−1} is part of the state: `update` alone
    changes it, in its last channel (1 for an arm that is not in the set).

    Our own additions: an objective in which an arm was not observed counts as mean ∞; under a mask
    both S and what is drawn from are of the allowed arms, while A_t goes on over all arms. The twin
    is in tests/twins/related_cells.py.
    """

    _rule = cell_rule(mark=mark, prepare=prepare)

    def __init__(self, *, epsilon: float = 1.0, decay: float = 0.99, **cells: Any) -> None:
        self.epsilon = checks.positive("epsilon", epsilon)
        self.decay = checks.positive("decay", decay, most=1.0)
        super().__init__(extra_channels=1, settings=[self.epsilon, self.decay], **cells)

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        self._check_marks(arrays, "left the set")

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        if self._memory.cells.plays[slot, chosen[0]] == 0.0:
            return np.asarray(shares > 0), f"{listed(chosen)}: never played here{one_of(chosen)}."
        near = distance(self._memory.cells, slot)
        return np.asarray(shares > 0), (
            f"{listed(chosen)}: within ε = {near:.3g} of the best mean in some objective, or "
            f"of the set before and not dominated by those{one_of(chosen)}."
        )


register(
    "annealing-pareto",
    AnnealingRule,
    """Annealing Pareto, without contexts (Yahyaa, Drugan and Manderick, 2014).

    epsilon           ε_0, the distance at the start; 1 takes in all rewards from 0 to 1
    decay             what the distance is multiplied by each round in the cell, at most 1
    cells_per_side    above 1, an independent instance in each cell of the grid
    """,
    partition=optional_grid,
    bound=explanation_only,
)
