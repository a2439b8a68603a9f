"""Scalarized UCB1's rule: one UCB1 instance per weight vector, drawn uniformly each round.

Channels 0 to D−1 are the objectives; channel D + s is the instance of weight vector s, which
records the weighted sum of the rewards of the rounds it is credited with.

The paper's round is: draw s, play an arm a that is best for s, credit s. `update` is told only the
arm, so it draws the credited instance anew from the law of s given a:

    P(s | a) ∝ [a is best for s] / (number of arms that are best for s).

(a, credited s) then has the law of the paper's (a, s), and rewards may come late or from a log.
If the arm is best for no s (possible only then, or where it was not among the allowed arms of the
whole set), s is uniform. The draw is by position (seed, cell, rounds so far), so `update` depends on
nothing but the state and its arguments.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, below, unit_at
from lexbandit.kernels.statistics import COUNT, Array, Mask, arrivals_in, growth, learn, record
from lexbandit.kernels.ties import best_arm, index_of, share_among_best

@kernel
def instance_growth(channel: Array, bound: Array) -> float:
    """Return the growth of one instance: its own rounds are the sum of its own counts."""
    rounds = 0.0
    for arm in range(channel.shape[1]):
        rounds += channel[COUNT, arm]
    return growth(rounds, bound)


@kernel
def choose(
    cell: Array, weights: Array, allowed: Mask, bound: Array, random: RandomState
) -> int:
    """Draw an instance uniformly and return an arm of its highest index."""
    channel = cell[weights.shape[1] + below(random, weights.shape[0])]
    factor = instance_growth(channel, bound)
    return best_arm(channel, factor, channel, -math.inf, allowed, random)


@kernel
def shares(cell: Array, weights: Array, allowed: Mask, bound: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(allowed.shape[0])
    for s in range(weights.shape[0]):
        channel = cell[weights.shape[1] + s]
        factor = instance_growth(channel, bound)
        share_among_best(
            channel, factor, channel, -math.inf, allowed, 1.0 / weights.shape[0], out
        )
    return out


@kernel
def chance(channel: Array, arm: int, bound: Array) -> float:
    """Return the probability that the instance, once drawn, plays the arm."""
    factor = instance_growth(channel, bound)
    index = index_of(channel, arm, factor)
    ties = 0
    for rival in range(channel.shape[1]):
        other = index_of(channel, rival, factor)
        if other > index:
            return 0.0
        ties += other == index
    return 1.0 / ties


@kernel
def credited(cell: Array, weights: Array, arm: int, bound: Array, u: float) -> int:
    """Return the instance drawn from P(s | a) by `u`, uniform on [0, 1).

    One pass: each instance replaces the one held with probability chance / (chances so far), and
    what is left of u after that comparison is uniform again.
    """
    instances, objectives = weights.shape
    total = 0.0
    held = -1
    fresh = u
    for s in range(instances):
        part = chance(cell[objectives + s], arm, bound)
        if part > 0.0:
            total += part
            odds = part / total
            if fresh < odds:
                held = s
                fresh = fresh / odds
            else:
                fresh = (fresh - odds) / (1.0 - odds)
    return held if held >= 0 else int(u * instances)


@kernel
def update(
    slot: int,
    key: int,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    weights: Array,
    bound: Array,
    random: RandomState,
) -> None:
    """Record the rewards in the objectives, and their weighted sum in the credited instance.

    A sum that needs an unobserved reward is itself unobserved.
    """
    u = unit_at(random, key, int(arrivals_in(plays, slot)))
    s = credited(stats[slot], weights, arm, bound, u)
    total = 0.0
    for i in range(rewards.shape[0]):
        if weights[s, i] != 0.0:
            total += weights[s, i] * rewards[i]
    if not math.isnan(total):
        record(stats[slot, rewards.shape[0] + s], arm, total, bound)
    learn(plays, stats, slot, arm, rewards, bound)


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    allowed: Mask,
    weights: Array,
    bound: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    cell = stats[slot_of(table, key)]
    arm = choose(cell, weights, allowed, bound, random)
    return arm, shares(cell, weights, allowed, bound)[arm]


@kernel
def replay(
    slots: Keys,
    keys: Keys,
    outcomes: Array,
    allowed: Mask,
    plays: Array,
    stats: Array,
    weights: Array,
    bound: Array,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    masks = allowed.shape[0]
    for t in range(slots.shape[0]):
        slot = slots[t]
        arm = choose(stats[slot], weights, allowed[t if masks > 1 else 0], bound, random)
        update(slot, keys[slot], plays, stats, arm, outcomes[t, arm], weights, bound, random)
        arms[t] = arm
    return arms
