"""One update of a cell found by its key, for the rules that keep nothing but the objectives."""

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels.cells import Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.statistics import Array, observe

# What an update answers.
NO_SLOT, TOO_LARGE, DONE = 0, 1, 2


@kernel
def any_too_large(rewards: Array) -> bool:
    """Tell whether a reward is too large to be summed; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= abs(rewards[i]) > LARGEST_REWARD
    return found


@kernel
def update(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    bound: Array,
    ranked: int,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE.

    `ranked` says by how many of the objectives, the first ones, the rule ranks arms.
    """
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_too_large(rewards):
        return TOO_LARGE
    plays[slot, arm] += 1.0
    for i in range(rewards.shape[0]):
        observe(stats, slot, i, arm, rewards[i], bound, i < ranked)
    return DONE
