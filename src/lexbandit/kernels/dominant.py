"""UCB1's rule on the dominant objective: the highest index, one objective only."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, Array, observe
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, share_among_best


@kernel
def shares(stats: Array, slot: int, ceilings: Array) -> Array:
    """Return the exact probability with which each arm is played."""
    out = np.zeros(ceilings.shape[1])
    share_among_best(stats, slot, DOMINANT, -math.inf, ceilings, ONLY_ROW, 1.0, out)
    return out


@inlined
def decide(
    stats: Array, slot: int, ceilings: Array, row: int, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    before = random[0]
    arm = best_arm(stats, slot, DOMINANT, -math.inf, ceilings, row, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    return arm, shares(stats, slot, ceilings[row : row + 1])[arm]


@kernel
def select(
    key: int, table: Table, stats: Array, ceilings: Array, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    return decide(stats, slot_of(table, key), ceilings, ONLY_ROW, random)


@kernel
def select_many(
    keys: Keys, table: Table, stats: Array, ceilings: Array, random: RandomState
) -> tuple[Keys, Array]:
    """Return the arms to play in many cells, by what is known now, and their probabilities."""
    arms, propensities = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0])
    for t in range(keys.shape[0]):
        slot = slot_of(table, keys[t])
        arms[t], propensities[t] = decide(stats, slot, ceilings, row_of(ceilings, t), random)
    return arms, propensities


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
    for t in range(slots.shape[0]):
        slot = slots[t]
        arm = best_arm(stats, slot, DOMINANT, -math.inf, ceilings, row_of(ceilings, t), random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, i == 0)
        arms[t] = arm
    return arms
