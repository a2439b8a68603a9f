"""Scalarized UCB1's rule: one UCB1 instance per weight vector, drawn uniformly each round.

Channels 0 to D−1 are the objectives; channel D + s is the instance of weight vector s, which
records the weighted sum of the rewards of the rounds it is credited with.

The paper's round is: draw s, play an arm a that is best for s, credit s. `update` is told only the
arm, so it draws the credited instance anew from the law of s given a:

    P(s | a) ∝ [a is best for s] / (number of arms that are best for s).

(a, credited s) then has the law of the paper's (a, s), and rewards may come late or from a log. If
the arm is best for no s (possible only then), s is uniform. "Best" is among the allowed arms, so a
mask must be told to `update` again. The draw is by position (seed, cell, rounds so far), so
`update` depends on nothing but the state and its arguments.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState, below, unit_at
from lexbandit.kernels.statistics import INDEX, Array, observe
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, share_among_best
from lexbandit.kernels.updating import DONE, NO_SLOT, OUT_OF_RANGE, any_out_of_range


@inlined
def choose(
    stats: Array, slot: int, weights: Array, ceilings: Array, row: int, random: RandomState
) -> int:
    """Draw an instance uniformly and return an arm of its highest index."""
    instance = weights.shape[1] + below(random, weights.shape[0])
    return best_arm(stats, slot, instance, -math.inf, ceilings, row, random)


@kernel
def shares(stats: Array, slot: int, weights: Array, ceilings: Array) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(ceilings.shape[1])
    instances, objectives = weights.shape
    for s in range(instances):
        share_among_best(
            stats, slot, objectives + s, -math.inf, ceilings, ONLY_ROW, 1.0 / instances, out
        )
    return out


@inlined
def chance(stats: Array, slot: int, instance: int, arm: int, ceilings: Array, row: int) -> float:
    """Return the probability that the instance, once drawn, plays the arm."""
    mine = stats[slot, instance, INDEX, arm]
    ties = 0
    above = 0
    for rival in range(stats.shape[3]):
        index = min(stats[slot, instance, INDEX, rival], ceilings[row, rival])
        ties += index == mine
        above += index > mine
    return 1.0 / ties if above == 0 and ties > 0 else 0.0


@inlined
def credited(
    stats: Array, slot: int, weights: Array, arm: int, ceilings: Array, row: int, u: float
) -> int:
    """Return the instance s drawn from P(s | a) by `u`, uniform on [0, 1).

    One pass: each instance replaces the one held with probability chance / (chances so far), and
    what is left of u after that comparison is uniform again.
    """
    instances, objectives = weights.shape
    total = 0.0
    held = -1
    fresh = u
    for s in range(instances):
        part = chance(stats, slot, objectives + s, arm, ceilings, row)
        if part > 0.0:
            total += part
            odds = part / total
            if fresh < odds:
                held = s
                fresh = fresh / odds
            else:
                fresh = (fresh - odds) / (1.0 - odds)
    return held if held >= 0 else int(u * instances)


@inlined
def credit(
    slot: int,
    key: int,
    plays: Array,
    stats: Array,
    arm: int,
    outcomes: Array,
    t: int,
    ceilings: Array,
    row: int,
    weights: Array,
    bounds: Array,
    random: RandomState,
) -> None:
    """Record the rewards outcomes[t, arm] in the objectives, their sum in the credited instance.

    A weighted sum that needs an unobserved reward is itself unobserved.
    """
    rounds = 0.0
    for other in range(plays.shape[1]):
        rounds += plays[slot, other]
    u = unit_at(random, key, int(rounds))
    s = credited(stats, slot, weights, arm, ceilings, row, u)
    total = 0.0
    for i in range(weights.shape[1]):
        observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)
        if weights[s, i] != 0.0:
            total += weights[s, i] * outcomes[t, arm, i]
    observe(stats, slot, weights.shape[1] + s, arm, total, bounds, True)
    plays[slot, arm] += 1.0


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    ceilings: Array,
    weights: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    slot = slot_of(table, key)
    arm = choose(stats, slot, weights, ceilings, ONLY_ROW, random)
    return arm, shares(stats, slot, weights, ceilings)[arm]


@kernel
def update(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    ceilings: Array,
    bounds: Array,
    weights: Array,
    random: RandomState,
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
    credit(
        slot,
        key,
        plays,
        stats,
        arm,
        outcomes,
        ONLY_ROW,
        ceilings,
        ONLY_ROW,
        weights,
        bounds,
        random,
    )
    return DONE


@kernel
def replay(
    slots: Keys,
    keys: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    weights: Array,
    bounds: Array,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    for t in range(slots.shape[0]):
        slot = slots[t]
        row = row_of(ceilings, t)
        arm = choose(stats, slot, weights, ceilings, row, random)
        credit(
            slot,
            keys[slot],
            plays,
            stats,
            arm,
            outcomes,
            t,
            ceilings,
            row,
            weights,
            bounds,
            random,
        )
        arms[t] = arm
    return arms
