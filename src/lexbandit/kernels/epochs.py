"""Epoch-Greedy's rule: one round of exploration, then some greedy ones, over and over.

Channels 0 to D−1 are the objectives, with all that was observed. Channel D has the dominant
objective again, of the exploration rounds only: the greedy rounds decide by it.
`epochs[EXPLORATIONS]` counts the exploration rounds so far, `epochs[LEFT]` the greedy rounds that
are still to come in this epoch, in all cells together. LEFT = 0 means that the next round explores.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.marking import draw, shares_of
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import COUNT, MEAN, Array, Mask, observe
from lexbandit.kernels.ties import ONLY_ROW, row_of
from lexbandit.kernels.updating import DONE, NO_SLOT, OUT_OF_RANGE, any_out_of_range

EXPLORATIONS, LEFT = 0, 1


@kernel
def greedy_rounds(explorations: int, arms: int) -> int:
    """Return ⌊sqrt(n/(K ln n))⌋, the greedy rounds after the n-th exploration; 0 for n = 1."""
    if explorations <= 1:
        return 0
    return int(math.sqrt(explorations / (arms * math.log(explorations))))


@kernel
def mark_best(
    stats: Array, slot: int, ceilings: Array, row: int, epochs: Keys, marked: Mask
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    In a greedy round the allowed arms of the highest mean in the cell's exploration data; all
    allowed arms if there are no such data, and in a round of exploration.
    """
    explored = stats.shape[1] - 1
    best = -math.inf
    if epochs[LEFT] > 0:
        for arm in range(stats.shape[3]):
            if ceilings[row, arm] > 0.0 and stats[slot, explored, COUNT, arm] > 0.0:
                best = max(best, stats[slot, explored, MEAN, arm])
    size = 0
    for arm in range(stats.shape[3]):
        marked[arm] = ceilings[row, arm] > 0.0 and (
            best == -math.inf
            or (
                stats[slot, explored, COUNT, arm] > 0.0 and stats[slot, explored, MEAN, arm] == best
            )
        )
        size += marked[arm]
    return size


@inlined
def learn(
    plays: Array,
    stats: Array,
    slot: int,
    arm: int,
    outcomes: Array,
    t: int,
    bounds: Array,
    epochs: Keys,
) -> None:
    """Record the rewards outcomes[t, arm], and go on to the next round of the epoch."""
    explored = stats.shape[1] - 1
    plays[slot, arm] += 1.0
    for i in range(explored):
        observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)
    if epochs[LEFT] > 0:
        epochs[LEFT] -= 1
    else:
        observe(stats, slot, explored, arm, outcomes[t, arm, 0], bounds, False)
        epochs[EXPLORATIONS] += 1
        epochs[LEFT] = greedy_rounds(epochs[EXPLORATIONS], plays.shape[1])


@kernel
def shares(stats: Array, slot: int, ceilings: Array, epochs: Keys) -> Array:
    """Return the exact probability with which each arm is played."""
    marked = np.empty(stats.shape[3], np.bool_)
    size = mark_best(stats, slot, ceilings, ONLY_ROW, epochs, marked)
    return shares_of(marked, size)


@kernel
def select(
    key: int, table: Table, stats: Array, ceilings: Array, epochs: Keys, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    marked = np.empty(stats.shape[3], np.bool_)
    size = mark_best(stats, slot_of(table, key), ceilings, ONLY_ROW, epochs, marked)
    return draw(marked, size, random), 1.0 / size


@kernel
def update(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    bounds: Array,
    epochs: Keys,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE."""
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    outcomes = np.empty((1, plays.shape[1], rewards.shape[0]))
    for i in range(rewards.shape[0]):
        outcomes[0, arm, i] = rewards[i]
    learn(plays, stats, slot, arm, outcomes, ONLY_ROW, bounds, epochs)
    return DONE


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    epochs: Keys,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    marked = np.empty(stats.shape[3], np.bool_)
    for t in range(slots.shape[0]):
        slot = slots[t]
        size = mark_best(stats, slot, ceilings, row_of(ceilings, t), epochs, marked)
        arm = draw(marked, size, random)
        learn(plays, stats, slot, arm, outcomes, t, bounds, epochs)
        arms[t] = arm
    return arms
