"""PF-LEX's rule: arms chained by overlapping intervals, objective by objective, in one cell."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.marking import draw, shares_of
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import INDEX, Array, Mask, lower_of, observe, widest_of
from lexbandit.kernels.ties import ONLY_ROW, row_of


@inlined
def chain(stats: Array, slot: int, i: int, ceilings: Array, row: int, marked: Mask) -> None:
    """Keep the marked arms that are chained, in objective i, to the marked one of the highest U.

    Two arms are linked if their intervals [L, U] overlap, and chained if links lead from one to
    the other, over any allowed arms, marked or not. So what is linked covers one stretch of the
    line without a gap: `low` is its lower end, and no marked arm lies above it.
    """
    high = -math.inf
    low = math.inf
    for arm in range(stats.shape[3]):
        if marked[arm] and stats[slot, i, INDEX, arm] > high:
            high = stats[slot, i, INDEX, arm]
            low = lower_of(stats, slot, i, arm)
    grown = True
    while grown:
        grown = False
        for arm in range(stats.shape[3]):
            if ceilings[row, arm] > 0.0 and stats[slot, i, INDEX, arm] >= low:
                end = lower_of(stats, slot, i, arm)
                if end < low:
                    low = end
                    grown = True
    for arm in range(stats.shape[3]):
        marked[arm] = marked[arm] and stats[slot, i, INDEX, arm] >= low


@kernel
def mark_chained(
    stats: Array, slot: int, ceilings: Array, row: int, threshold: float, marked: Mask
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    They are the arms of A¹ with C > `threshold`, if any; otherwise those of the highest U in the
    last objective among the arms that the objectives before it left.
    """
    objectives, arms = stats.shape[1], stats.shape[3]
    for arm in range(arms):
        marked[arm] = ceilings[row, arm] > 0.0
    chain(stats, slot, 0, ceilings, row, marked)
    size = 0
    for arm in range(arms):
        size += marked[arm] and widest_of(stats, slot, arm, objectives) > threshold
    if size > 0:
        for arm in range(arms):
            marked[arm] = marked[arm] and widest_of(stats, slot, arm, objectives) > threshold
        return size
    for i in range(1, objectives - 1):
        chain(stats, slot, i, ceilings, row, marked)
    high = -math.inf
    for arm in range(arms):
        if marked[arm]:
            high = max(high, stats[slot, objectives - 1, INDEX, arm])
    for arm in range(arms):
        marked[arm] = marked[arm] and stats[slot, objectives - 1, INDEX, arm] == high
        size += marked[arm]
    return size


@kernel
def left_after(stats: Array, slot: int, ceilings: Array, objectives: int) -> Mask:
    """Return which allowed arms are left after chaining in the first `objectives` objectives."""
    marked = np.empty(stats.shape[3], np.bool_)
    for arm in range(stats.shape[3]):
        marked[arm] = ceilings[ONLY_ROW, arm] > 0.0
    for i in range(objectives):
        chain(stats, slot, i, ceilings, ONLY_ROW, marked)
    return marked


@kernel
def shares(stats: Array, slot: int, ceilings: Array, threshold: float) -> Array:
    """Return the exact probability with which each arm is played."""
    marked = np.empty(stats.shape[3], np.bool_)
    size = mark_chained(stats, slot, ceilings, ONLY_ROW, threshold, marked)
    return shares_of(marked, size)


@kernel
def select(
    key: int, table: Table, stats: Array, ceilings: Array, threshold: float, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    marked = np.empty(stats.shape[3], np.bool_)
    size = mark_chained(stats, slot_of(table, key), ceilings, ONLY_ROW, threshold, marked)
    return draw(marked, size, random), 1.0 / size


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    threshold: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    marked = np.empty(stats.shape[3], np.bool_)
    for t in range(slots.shape[0]):
        slot = slots[t]
        size = mark_chained(stats, slot, ceilings, row_of(ceilings, t), threshold, marked)
        arm = draw(marked, size, random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, True)
        arms[t] = arm
    return arms
