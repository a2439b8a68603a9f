"""Staged LexMOC: eliminate by all objectives, explore the widest arm; a better exponent.

With U and L the ends of an arm's interval, v the margin, and S the allowed arms (docs/theory.md):

    repeat until nothing is removed:
        for i = 1..D:
            e_b = `lam` · max over j < i of max(0, top_j − L^j_b + 2v)           (e_b = 0 at i = 1)
            top_i = max over S of U^i
            S = {a in S : U^i_a ≥ max over b in S of (L^i_b − e_b) − allowances[i]}
    if every width in S is at most v: play the highest U^D of S, otherwise the widest arm of S

No arm that is optimal somewhere in the cell is ever removed while the intervals hold, and S is
never empty: the arm of the highest L − e stays.
"""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import (
    MARGIN,
    MARKS,
    OTHER,
    Cells,
    bound_row,
    cell_rule,
    lower_of,
    widest_of,
)
from lexbandit.kernels.jit import kernel
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import any_bound, fine_grid
from lexbandit.policies.explain import drawn, is_are, likely, listed, objective
from lexbandit.policies.registry import register

# The settings are the tolerances, one an objective; then λ.
LAM = 0


@kernel
def remove_at_level(
    cells: Cells, slot: int, i: int, allowance: float, blur: float, lam: float
) -> int:
    """Unmark arms by objective i, and set its top index in work[OTHER]; return how many."""
    work = cells.work
    floor = -math.inf
    work[OTHER, i] = -math.inf
    for arm in range(cells.plays.shape[1]):
        if work[MARKS, arm] > 0.0:
            work[OTHER, i] = max(work[OTHER, i], cells.indices[slot, i, arm])
            excess = 0.0
            if lam > 0.0:
                for j in range(i):
                    excess = max(excess, work[OTHER, j] - lower_of(cells, slot, j, arm) + blur)
            floor = max(floor, lower_of(cells, slot, i, arm) - lam * excess)
    floor -= allowance
    removed = 0
    for arm in range(cells.plays.shape[1]):
        if work[MARKS, arm] > 0.0 and cells.indices[slot, i, arm] < floor:
            work[MARKS, arm] = 0.0
            removed += 1
    return removed


@kernel
def mark_active(cells: Cells, slot: int, ceilings: Array, row: int) -> float:
    """Mark the arms that may be optimal; returns the largest width among them.

    While an allowed arm was not observed in some objective, all are.
    """
    arms, objectives = cells.plays.shape[1], cells.indices.shape[1]
    blur = 2.0 * cells.bounds[bound_row(cells.bounds, slot), MARGIN]
    lam = cells.settings[objectives + LAM]
    widest = 0.0
    for arm in range(arms):
        cells.work[MARKS, arm] = ceilings[row, arm] > 0.0
        if cells.work[MARKS, arm] > 0.0:
            widest = max(widest, widest_of(cells, slot, arm, objectives))
    if widest == math.inf:
        return widest
    removed = 1
    while removed > 0:
        removed = 0
        for i in range(objectives):
            allowance = max(blur, cells.settings[i])
            removed += remove_at_level(cells, slot, i, allowance, blur, lam)
    widest = 0.0
    for arm in range(arms):
        if cells.work[MARKS, arm] > 0.0:
            widest = max(widest, widest_of(cells, slot, arm, objectives))
    return widest


@kernel
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are."""
    arms, last = cells.plays.shape[1], cells.indices.shape[1] - 1
    margin = cells.bounds[bound_row(cells.bounds, slot), MARGIN]
    widest = mark_active(cells, slot, ceilings, row)
    best = widest
    if widest <= margin:
        best = -math.inf
        for arm in range(arms):
            if cells.work[MARKS, arm] > 0.0:
                best = max(best, cells.indices[slot, last, arm])
    size = 0
    for arm in range(arms):
        if cells.work[MARKS, arm] > 0.0:
            value = widest_of(cells, slot, arm, last + 1)
            if widest <= margin:
                value = cells.indices[slot, last, arm]
            cells.work[MARKS, arm] = value == best
            size += value == best
    return size


class EliminatingRule(CellPolicy):
    """Among the arms that may still be optimal, the one least is known of; at last the best.

    An arm is out once its interval in some objective lies below another's, with the margins of the
    cell, the tolerance and what λ adds. While an arm that is in has a width above v, the widest is
    played; after that, the highest index in the last objective. What was called stages (halving the
    wanted width) needs no memory here: which arms are in follows from the intervals. See
    the head of this file, docs/theory.md for its regret, tests/twins/lexicographic.py for its twin.

    Unlike MOC-MAB it needs the λ-assumption with two objectives already, since it eliminates by the
    last one too; λ = 0 says that no arm is better than the optimal one in any later objective.
    """

    _rule = cell_rule(mark=mark)

    def __init__(
        self,
        *,
        objectives: int,
        L: float = 1.0,
        alpha: float = 1.0,
        lam: float = 1.0,
        tolerance: Any = 0.0,
        **cells: Any,
    ) -> None:
        cells["bound"].refuse_growth()
        self.lam = checks.at_least_zero("lam", lam)
        self.tolerances = checks.tolerances(tolerance, objectives)
        settings = [*self.tolerances, self.lam]
        super().__init__(
            objectives=objectives, L=L, alpha=alpha, settings=settings, ranked=objectives, **cells
        )

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        v = self._margin(slot)
        cells = self._memory.cells
        widest = mark_active(cells, slot, ceilings, 0)
        active: Booleans = cells.work[MARKS, : self.arms] > 0.0
        chosen = likely(shares)
        if widest == np.inf:
            return active, f"{listed(chosen)}: not observed yet in this cell{drawn(chosen)}."
        left = f"Arms that may be optimal: {listed(np.flatnonzero(active).tolist())}."
        if widest > v:
            least = f"Of these {listed(chosen)} {is_are(chosen)} known least,"
            known = least if active.sum() > 1 else "It is known"
            return active, (
                f"{left} {known} to within {widest:.4g}, which is more than v = {v:.4g}; played "
                f"to learn{drawn(chosen)}."
            )
        return active, (
            f"{left} All are known to within v = {v:.4g}. To be played: {listed(chosen)}, the "
            f"highest index in {objective(self.objectives - 1)}{drawn(chosen)}."
        )


register(
    "staged-lex",
    EliminatingRule,
    "Eliminates by all objectives, on a finer grid: a better exponent than MOC-MAB's.",
    partition=fine_grid,
    bound=any_bound("sub-gaussian"),
)
