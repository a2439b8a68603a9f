"""Pareto UCB1's rule: a uniform pick from the arms whose index vectors nobody dominates."""

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import Array, Mask, arrivals_in, growth, learn
from lexbandit.kernels.ties import index_of


@kernel
def dominates(vectors: Array, winner: int, loser: int) -> bool:
    """Tell whether `winner` is ≥ `loser` in every row of vectors[objective, arm], > in some."""
    better = False
    for i in range(vectors.shape[0]):
        if vectors[i, winner] < vectors[i, loser]:
            return False
        better = better or vectors[i, winner] > vectors[i, loser]
    return better


@kernel
def mark_front(vectors: Array, allowed: Mask, front: Mask) -> int:
    """Set front[arm] where an allowed arm is dominated by no allowed arm; return how many are.

    Equal vectors stay on the front together.
    """
    size = 0
    for arm in range(allowed.shape[0]):
        front[arm] = allowed[arm]
        if allowed[arm]:
            for rival in range(allowed.shape[0]):
                if allowed[rival] and dominates(vectors, rival, arm):
                    front[arm] = False
                    break
            size += front[arm]
    return size


@kernel
def mark_candidates(
    plays: Array,
    stats: Array,
    slot: int,
    allowed: Mask,
    bound: Array,
    vectors: Array,
    front: Mask,
) -> int:
    """Set front[arm] for the index vectors of the cell; `vectors` is room to work in."""
    factor = growth(arrivals_in(plays, slot), bound)
    for i in range(vectors.shape[0]):
        for arm in range(vectors.shape[1]):
            vectors[i, arm] = index_of(stats[slot, i], arm, factor)
    return mark_front(vectors, allowed, front)


@kernel
def draw(front: Mask, size: int, random: RandomState) -> int:
    """Return one of the `size` marked arms, uniformly."""
    skip = below(random, size) if size > 1 else 0
    arm = 0
    while True:
        if front[arm]:
            if skip == 0:
                return arm
            skip -= 1
        arm += 1


@kernel
def shares(plays: Array, stats: Array, slot: int, allowed: Mask, bound: Array) -> Array:
    """Return the exact probability with which each arm is played."""
    front = np.empty(allowed.shape[0], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    size = mark_candidates(plays, stats, slot, allowed, bound, vectors, front)
    return front / size


@kernel
def select(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    allowed: Mask,
    bound: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    front = np.empty(allowed.shape[0], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    slot = slot_of(table, key)
    size = mark_candidates(plays, stats, slot, allowed, bound, vectors, front)
    return draw(front, size, random), 1.0 / size


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    allowed: Mask,
    plays: Array,
    stats: Array,
    bound: Array,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    front = np.empty(allowed.shape[1], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    masks = allowed.shape[0]
    for t in range(slots.shape[0]):
        mask = allowed[t if masks > 1 else 0]
        size = mark_candidates(plays, stats, slots[t], mask, bound, vectors, front)
        arm = draw(front, size, random)
        learn(plays, stats, slots[t], arm, outcomes[t, arm], bound)
        arms[t] = arm
    return arms
