"""The oracle's rule: a uniform pick from the lexicographically optimal arms of known means."""

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.marking import draw
from lexbandit.kernels.optimality import mark_optimal
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import Array, observe
from lexbandit.kernels.ties import row_of


@kernel
def select(means: Array, ceilings: Array, random: RandomState) -> tuple[int, float]:
    """Return an optimal arm of means[K, D] and the exact probability with which it is played."""
    optimal = np.empty(ceilings.shape[1], np.bool_)
    size = mark_optimal(means, ceilings[0], optimal)
    return draw(optimal, size, random), 1.0 / size


@kernel
def replay(
    slots: Keys,
    means: Array,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    optimal = np.empty(ceilings.shape[1], np.bool_)
    for t in range(slots.shape[0]):
        slot = slots[t]
        size = mark_optimal(means[t], ceilings[row_of(ceilings, t)], optimal)
        arm = draw(optimal, size, random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)
        arms[t] = arm
    return arms
