"""Updates of cells, for the rules that keep nothing but the objectives."""

import math

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.statistics import COUNT, LEAST, MOST, Array, observe

# What an update answers.
NO_SLOT, OUT_OF_RANGE, NO_PLAY, DONE = 0, 1, 2, 3


@kernel
def any_out_of_range(rewards: Array, bounds: Array) -> bool:
    """Tell whether a reward is one that the bound is not valid for; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= (rewards[i] < bounds[0, LEAST]) | (rewards[i] > bounds[0, MOST])
    return found


@kernel
def update(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    bounds: Array,
    ranked: int,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE.

    `ranked` says by how many of the objectives, the first ones, the rule ranks arms.
    """
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    plays[slot, arm] += 1.0
    for i in range(rewards.shape[0]):
        observe(stats, slot, i, arm, rewards[i], bounds, i < ranked)
    return DONE


@kernel
def amend(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    prior: float,
    bounds: Array,
    ranked: int,
) -> int:
    """Record further rewards of a play told before; nothing is done unless the answer is DONE.

    `prior` of the arm's counts are its prior's. NO_PLAY if every play of the arm in the cell was
    told a reward in one of these objectives.
    """
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    for i in range(rewards.shape[0]):
        if not math.isnan(rewards[i]) and stats[slot, i, COUNT, arm] - prior >= plays[slot, arm]:
            return NO_PLAY
    for i in range(rewards.shape[0]):
        observe(stats, slot, i, arm, rewards[i], bounds, i < ranked)
    return DONE


@kernel
def update_many(
    slots: Keys,
    plays: Array,
    stats: Array,
    arms: Keys,
    rewards: Array,
    bounds: Array,
    ranked: int,
) -> None:
    """Record checked rewards[n, D] of many decisions, in order."""
    for t in range(slots.shape[0]):
        plays[slots[t], arms[t]] += 1.0
        for i in range(rewards.shape[1]):
            observe(stats, slots[t], i, arms[t], rewards[t, i], bounds, i < ranked)
