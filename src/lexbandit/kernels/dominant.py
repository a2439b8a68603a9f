"""UCB1's rule on the dominant objective: the highest index, one objective only."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import Array, Mask, arrivals_in, growth, learn
from lexbandit.kernels.ties import best_arm, share_among_best


@kernel
def choose(
    plays: Array, stats: Array, slot: int, allowed: Mask, bound: Array, random: RandomState
) -> int:
    """Return an arm of the highest index in channel 0."""
    channel = stats[slot, 0]
    factor = growth(arrivals_in(plays, slot), bound)
    return best_arm(channel, factor, channel, -math.inf, allowed, random)


@kernel
def shares(plays: Array, stats: Array, slot: int, allowed: Mask, bound: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(allowed.shape[0])
    channel = stats[slot, 0]
    factor = growth(arrivals_in(plays, slot), bound)
    share_among_best(channel, factor, channel, -math.inf, allowed, 1.0, out)
    return out


@kernel
def select(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    allowed: Mask,
    bound: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    slot = slot_of(table, key)
    arm = choose(plays, stats, slot, allowed, bound, random)
    return arm, shares(plays, stats, slot, allowed, bound)[arm]


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
        mask = allowed[t if masks > 1 else 0]
        arm = choose(plays, stats, slots[t], mask, bound, random)
        learn(plays, stats, slots[t], arm, outcomes[t, arm], bound)
        arms[t] = arm
    return arms
