"""The uniform rule: any allowed arm, with equal probability."""

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.pareto import draw
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import Array, Mask, learn


@kernel
def select(allowed: Mask, random: RandomState) -> tuple[int, float]:
    """Return an allowed arm and the exact probability with which it is played."""
    size = 0
    for arm in range(allowed.shape[0]):
        size += allowed[arm]
    return draw(allowed, size, random), 1.0 / size


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
    masks = allowed.shape[0]
    for t in range(slots.shape[0]):
        arm, _ = select(allowed[t if masks > 1 else 0], random)
        learn(plays, stats, slots[t], arm, outcomes[t, arm], bound)
        arms[t] = arm
    return arms
