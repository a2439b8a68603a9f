"""PF-LEX's rule: arms chained by overlapping intervals, objective by objective, in one cell."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.statistics import Cells, lower_of, widest_of
from lexbandit.kernels.ties import ONLY_ROW


@inlined
def chain(cells: Cells, slot: int, i: int, ceilings: Array, row: int, marked: Mask) -> None:
    """Keep the marked arms that are chained, in objective i, to the marked one of the highest U.

    Two arms are linked if their intervals [L, U] overlap, and chained if links lead from one to
    the other, over any allowed arms, marked or not. So what is linked covers one stretch of the
    line without a gap: `low` is its lower end, and no marked arm lies above it.
    """
    high = -math.inf
    low = math.inf
    for arm in range(ceilings.shape[1]):
        if marked[arm] and cells.indices[slot, i, arm] > high:
            high = cells.indices[slot, i, arm]
            low = lower_of(cells, slot, i, arm)
    grown = True
    while grown:
        grown = False
        for arm in range(ceilings.shape[1]):
            if ceilings[row, arm] > 0.0 and cells.indices[slot, i, arm] >= low:
                end = lower_of(cells, slot, i, arm)
                if end < low:
                    low = end
                    grown = True
    for arm in range(ceilings.shape[1]):
        marked[arm] = marked[arm] and cells.indices[slot, i, arm] >= low


@inlined
def prepare(cells: Cells, _settings: Array) -> tuple[Mask]:
    """Return room for the marks."""
    return (np.empty(cells.plays.shape[1], np.bool_),)


@kernel
def mark(
    cells: Cells, slot: int, ceilings: Array, row: int, settings: Array, work: tuple[Mask]
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    They are the arms of A¹ with C > settings[0] = ε/2, if any; otherwise those of the highest
    U in the last objective among the arms that the objectives before it left.
    """
    threshold, marked = settings[0], work[0]
    objectives, arms = cells.indices.shape[1], cells.indices.shape[2]
    for arm in range(arms):
        marked[arm] = ceilings[row, arm] > 0.0
    chain(cells, slot, 0, ceilings, row, marked)
    size = 0
    for arm in range(arms):
        size += marked[arm] and widest_of(cells, slot, arm, objectives) > threshold
    if size > 0:
        for arm in range(arms):
            marked[arm] = marked[arm] and widest_of(cells, slot, arm, objectives) > threshold
        return size
    for i in range(1, objectives - 1):
        chain(cells, slot, i, ceilings, row, marked)
    high = -math.inf
    for arm in range(arms):
        if marked[arm]:
            high = max(high, cells.indices[slot, objectives - 1, arm])
    for arm in range(arms):
        marked[arm] = marked[arm] and cells.indices[slot, objectives - 1, arm] == high
        size += marked[arm]
    return size


@kernel
def left_after(cells: Cells, slot: int, ceilings: Array, objectives: int) -> Mask:
    """Return which allowed arms are left after chaining in the first `objectives` objectives."""
    marked = np.empty(ceilings.shape[1], np.bool_)
    for arm in range(ceilings.shape[1]):
        marked[arm] = ceilings[ONLY_ROW, arm] > 0.0
    for i in range(objectives):
        chain(cells, slot, i, ceilings, ONLY_ROW, marked)
    return marked
