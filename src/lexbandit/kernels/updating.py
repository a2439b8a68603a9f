"""One update of a cell found by its key, for the rules that keep nothing but the objectives."""

from lexbandit.kernels.cells import Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.statistics import LEAST, MOST, Array, observe

# What an update answers.
NO_SLOT, OUT_OF_RANGE, DONE = 0, 1, 2


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
