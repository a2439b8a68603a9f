"""The eliminating lexicographic rule: play the widest arm that may still be optimal.

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

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.statistics import MARGIN, Cells, bound_row, lower_of, widest_of

# Where the rule finds its settings: λ, then the tolerances.
LAM, TOLERANCES = 0, 1


@kernel
def remove_at_level(
    cells: Cells,
    slot: int,
    i: int,
    allowance: float,
    blur: float,
    lam: float,
    tops: Array,
    active: Mask,
) -> int:
    """Remove arms from `active` by objective i, and set tops[i]; returns how many were removed."""
    floor = -math.inf
    tops[i] = -math.inf
    for arm in range(active.shape[0]):
        if active[arm]:
            tops[i] = max(tops[i], cells.indices[slot, i, arm])
            excess = 0.0
            if lam > 0.0:
                for j in range(i):
                    excess = max(excess, tops[j] - lower_of(cells, slot, j, arm) + blur)
            floor = max(floor, lower_of(cells, slot, i, arm) - lam * excess)
    floor -= allowance
    removed = 0
    for arm in range(active.shape[0]):
        if active[arm] and cells.indices[slot, i, arm] < floor:
            active[arm] = False
            removed += 1
    return removed


@kernel
def mark_active(
    cells: Cells,
    slot: int,
    ceilings: Array,
    row: int,
    settings: Array,
    tops: Array,
    active: Mask,
) -> float:
    """Mark the arms that may be optimal; returns the largest width among them.

    While an allowed arm was not observed in some objective, all are.
    """
    objectives = tops.shape[0]
    blur = 2.0 * cells.bounds[bound_row(cells.bounds, slot), MARGIN]
    lam = settings[LAM]
    widest = 0.0
    for arm in range(active.shape[0]):
        active[arm] = ceilings[row, arm] > 0.0
        if active[arm]:
            widest = max(widest, widest_of(cells, slot, arm, objectives))
    if widest == math.inf:
        return widest
    removed = 1
    while removed > 0:
        removed = 0
        for i in range(objectives):
            allowance = max(blur, settings[TOLERANCES + i])
            removed += remove_at_level(cells, slot, i, allowance, blur, lam, tops, active)
    widest = 0.0
    for arm in range(active.shape[0]):
        if active[arm]:
            widest = max(widest, widest_of(cells, slot, arm, objectives))
    return widest


@inlined
def prepare(cells: Cells, _settings: Array) -> tuple[Mask, Array]:
    """Return room for the marks and for the highest index of each objective."""
    return np.empty(cells.plays.shape[1], np.bool_), np.empty(cells.indices.shape[1])


@kernel
def mark(
    cells: Cells, slot: int, ceilings: Array, row: int, settings: Array, work: tuple[Mask, Array]
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are."""
    active, tops = work
    objectives = tops.shape[0]
    margin = cells.bounds[bound_row(cells.bounds, slot), MARGIN]
    widest = mark_active(cells, slot, ceilings, row, settings, tops, active)
    best = widest
    if widest <= margin:
        best = -math.inf
        for arm in range(active.shape[0]):
            if active[arm]:
                best = max(best, cells.indices[slot, objectives - 1, arm])
    size = 0
    for arm in range(active.shape[0]):
        if active[arm]:
            value = widest_of(cells, slot, arm, objectives)
            if widest <= margin:
                value = cells.indices[slot, objectives - 1, arm]
            active[arm] = value == best
            size += active[arm]
    return size
