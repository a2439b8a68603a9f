"""Pareto UCB1's rule: a uniform pick from the arms whose index vectors nobody dominates."""

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.marking import draw, shares_of
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import INDEX, Array, Mask, observe
from lexbandit.kernels.ties import ONLY_ROW, row_of


@inlined
def dominators(vectors: Array, arm: int) -> int:
    """Return how many arms dominate `arm` in vectors[objective, arm]: ≥ in every row, > in some.

    Two objectives have a loop of their own: without branches it is ten times as fast.
    """
    count = 0
    if vectors.shape[0] == 2:
        x = vectors[0, arm]
        y = vectors[1, arm]
        for rival in range(vectors.shape[1]):
            p = vectors[0, rival]
            q = vectors[1, rival]
            count += (p >= x) & (q >= y) & ((p > x) | (q > y))
    else:
        for rival in range(vectors.shape[1]):
            at_least = True
            better = False
            for i in range(vectors.shape[0]):
                at_least &= vectors[i, rival] >= vectors[i, arm]
                better |= vectors[i, rival] > vectors[i, arm]
            count += at_least & better
    return count


@inlined
def mark_front(vectors: Array, front: Mask) -> int:
    """Set front[arm] where no other arm dominates it; return how many such arms there are.

    Equal vectors stay on the front together. An arm that may not be played has −∞ everywhere, so
    any other dominates it.
    """
    size = 0
    for arm in range(vectors.shape[1]):
        front[arm] = dominators(vectors, arm) == 0
        size += front[arm]
    return size


@inlined
def mark_candidates(
    stats: Array, slot: int, ceilings: Array, row: int, vectors: Array, front: Mask
) -> int:
    """Set front[arm] for the index vectors of the cell; `vectors` is room to work in."""
    for i in range(vectors.shape[0]):
        for arm in range(vectors.shape[1]):
            vectors[i, arm] = min(stats[slot, i, INDEX, arm], ceilings[row, arm])
    return mark_front(vectors, front)


@kernel
def shares(stats: Array, slot: int, ceilings: Array) -> Array:
    """Return the exact probability with which each arm is played."""
    front = np.empty(ceilings.shape[1], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    size = mark_candidates(stats, slot, ceilings, ONLY_ROW, vectors, front)
    return shares_of(front, size)


@kernel
def select(
    key: int, table: Table, stats: Array, ceilings: Array, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    front = np.empty(ceilings.shape[1], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    size = mark_candidates(stats, slot_of(table, key), ceilings, ONLY_ROW, vectors, front)
    return draw(front, size, random), 1.0 / size


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    front = np.empty(ceilings.shape[1], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    for t in range(slots.shape[0]):
        slot = slots[t]
        size = mark_candidates(stats, slot, ceilings, row_of(ceilings, t), vectors, front)
        arm = draw(front, size, random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, True)
        arms[t] = arm
    return arms
