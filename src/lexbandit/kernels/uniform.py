"""The uniform rule: any allowed arm, with equal probability."""

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import Array, observe
from lexbandit.kernels.ties import row_of


@inlined
def choose(ceilings: Array, row: int, random: RandomState) -> tuple[int, float]:
    """Return an allowed arm and the exact probability with which it is played."""
    size = 0
    for arm in range(ceilings.shape[1]):
        size += ceilings[row, arm] > 0.0
    skip = below(random, size) if size > 1 else 0
    arm = -1
    while skip >= 0:
        arm += 1
        skip -= ceilings[row, arm] > 0.0
    return arm, 1.0 / size


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
        arm, _ = choose(ceilings, row_of(ceilings, t), random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)
        arms[t] = arm
    return arms
