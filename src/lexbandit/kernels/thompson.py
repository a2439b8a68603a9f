"""Pareto Thompson sampling's rule: a uniform pick from the arms whose samples nobody dominates."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.marking import draw
from lexbandit.kernels.pareto import mark_front
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.sampling import beta
from lexbandit.kernels.statistics import COUNT, SUM, Array, Mask, observe
from lexbandit.kernels.ties import ONLY_ROW, row_of


@inlined
def choose(
    stats: Array,
    slot: int,
    ceilings: Array,
    row: int,
    vectors: Array,
    front: Mask,
    random: RandomState,
) -> int:
    """Sample every allowed arm in every objective and return one of the samples' front.

    With S the sum of N rewards, each in [0, 1], the sample is from Beta(1 + S, 1 + N − S).
    `vectors` and `front` are room to work in.
    """
    for i in range(vectors.shape[0]):
        for arm in range(vectors.shape[1]):
            if ceilings[row, arm] > 0.0:
                successes = stats[slot, i, SUM, arm]
                failures = stats[slot, i, COUNT, arm] - successes
                vectors[i, arm] = beta(random, 1.0 + successes, 1.0 + failures)
            else:
                vectors[i, arm] = -math.inf
    size = mark_front(vectors, front)
    return draw(front, size, random)


@kernel
def select(key: int, table: Table, stats: Array, ceilings: Array, random: RandomState) -> int:
    """Return the arm to play; its probability has no closed form."""
    front = np.empty(stats.shape[3], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    return choose(stats, slot_of(table, key), ceilings, ONLY_ROW, vectors, front, random)


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
    front = np.empty(stats.shape[3], np.bool_)
    vectors = np.empty((stats.shape[1], stats.shape[3]))
    for t in range(slots.shape[0]):
        slot = slots[t]
        arm = choose(stats, slot, ceilings, row_of(ceilings, t), vectors, front, random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)
        arms[t] = arm
    return arms
