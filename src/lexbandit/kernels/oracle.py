"""The oracle's rule: a uniform pick from the lexicographically optimal arms of known means."""

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.optimality import mark_optimal
from lexbandit.kernels.pareto import draw
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import Array, Mask, learn


@kernel
def select(means: Array, allowed: Mask, random: RandomState) -> tuple[int, float]:
    """Return an optimal arm of means[K, D] and the exact probability with which it is played."""
    optimal = np.empty(allowed.shape[0], np.bool_)
    size = mark_optimal(means, allowed, optimal)
    return draw(optimal, size, random), 1.0 / size


@kernel
def replay(
    slots: Keys,
    means: Array,
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
        arm, _ = select(means[t], allowed[t if masks > 1 else 0], random)
        learn(plays, stats, slots[t], arm, outcomes[t, arm], bound)
        arms[t] = arm
    return arms
