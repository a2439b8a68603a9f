"""Annealing Pareto's rule: arms near the best mean of some objective, with a shrinking distance.

Channels 0 to D−1 are the objectives. Channel D keeps the previous set: its COUNT is 1 for an arm
that is not in it and 0 for a member, so that a cell nobody visited starts with every arm.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.marking import draw, shares_of
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import COUNT, MEAN, Array, Mask, observe
from lexbandit.kernels.ties import ONLY_ROW, row_of
from lexbandit.kernels.updating import DONE, NO_SLOT, OUT_OF_RANGE, any_out_of_range


@inlined
def value_of(stats: Array, slot: int, i: int, arm: int) -> float:
    """Return an arm's mean, ∞ where nothing was observed: what is unknown is worth a look."""
    return float(stats[slot, i, MEAN, arm]) if stats[slot, i, COUNT, arm] > 0.0 else math.inf


@inlined
def distance(plays: Array, slot: int, epsilon: float, decay: float) -> float:
    """Return ε_t = ε_0 · decay^t, with t the rounds so far in the cell."""
    rounds = 0.0
    for arm in range(plays.shape[1]):
        rounds += plays[slot, arm]
    return float(epsilon * decay**rounds)


@inlined
def mark_near(
    stats: Array, slot: int, ceilings: Array, row: int, distance: float, near: Mask
) -> None:
    """Mark the allowed arms whose mean is within `distance` of the best in some objective."""
    for arm in range(stats.shape[3]):
        near[arm] = False
    for i in range(stats.shape[1] - 1):
        best = -math.inf
        for arm in range(stats.shape[3]):
            best = max(best, min(value_of(stats, slot, i, arm), ceilings[row, arm]))
        for arm in range(stats.shape[3]):
            if ceilings[row, arm] > 0.0:
                near[arm] |= value_of(stats, slot, i, arm) >= best - distance


@inlined
def beaten(stats: Array, slot: int, arm: int, near: Mask) -> bool:
    """Tell whether a near arm's means dominate those of `arm`: ≥ in each objective, > in one."""
    for rival in range(stats.shape[3]):
        if near[rival]:
            at_least = True
            better = False
            for i in range(stats.shape[1] - 1):
                mine = value_of(stats, slot, i, arm)
                theirs = value_of(stats, slot, i, rival)
                at_least &= theirs >= mine
                better |= theirs > mine
            if at_least and better:
                return True
    return False


@inlined
def count_new(plays: Array, slot: int, ceilings: Array, row: int) -> int:
    """Return how many allowed arms were never played in the cell."""
    size = 0
    for arm in range(plays.shape[1]):
        size += ceilings[row, arm] > 0.0 and plays[slot, arm] == 0.0
    return size


@kernel
def mark_set(
    plays: Array,
    stats: Array,
    slot: int,
    ceilings: Array,
    row: int,
    epsilon: float,
    decay: float,
    near: Mask,
    marked: Mask,
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    Arms never played in the cell come first. Then it is the near arms, and those of the previous
    set that no near arm dominates. `near` is room to work in.
    """
    size = count_new(plays, slot, ceilings, row)
    if size > 0:
        for arm in range(plays.shape[1]):
            marked[arm] = ceilings[row, arm] > 0.0 and plays[slot, arm] == 0.0
        return size
    mark_near(stats, slot, ceilings, row, distance(plays, slot, epsilon, decay), near)
    previous = stats.shape[1] - 1
    for arm in range(plays.shape[1]):
        marked[arm] = near[arm] or (
            ceilings[row, arm] > 0.0
            and stats[slot, previous, COUNT, arm] == 0.0
            and not beaten(stats, slot, arm, near)
        )
        size += marked[arm]
    return size


@inlined
def learn(
    plays: Array,
    stats: Array,
    slot: int,
    arm: int,
    outcomes: Array,
    t: int,
    bounds: Array,
    started: bool,
    marked: Mask,
) -> None:
    """Let the marked arms be the previous set, then record the rewards outcomes[t, arm].

    `marked` is this round's set if all arms are allowed, whatever the round's own mask. It stays
    unused until the start is over: until every arm was played once in the cell.
    """
    previous = stats.shape[1] - 1
    if started:
        for other in range(plays.shape[1]):
            stats[slot, previous, COUNT, other] = 0.0 if marked[other] else 1.0
    plays[slot, arm] += 1.0
    for i in range(previous):
        observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, False)


@kernel
def shares(
    plays: Array, stats: Array, slot: int, ceilings: Array, epsilon: float, decay: float
) -> Array:
    """Return the exact probability with which each arm is played."""
    near = np.empty(plays.shape[1], np.bool_)
    marked = np.empty(plays.shape[1], np.bool_)
    size = mark_set(plays, stats, slot, ceilings, ONLY_ROW, epsilon, decay, near, marked)
    return shares_of(marked, size)


@kernel
def select(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    ceilings: Array,
    epsilon: float,
    decay: float,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    near = np.empty(plays.shape[1], np.bool_)
    marked = np.empty(plays.shape[1], np.bool_)
    slot = slot_of(table, key)
    size = mark_set(plays, stats, slot, ceilings, ONLY_ROW, epsilon, decay, near, marked)
    return draw(marked, size, random), 1.0 / size


@kernel
def update(
    key: int,
    table: Table,
    plays: Array,
    stats: Array,
    arm: int,
    rewards: Array,
    everyone: Array,
    bounds: Array,
    epsilon: float,
    decay: float,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE."""
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    near = np.empty(plays.shape[1], np.bool_)
    marked = np.empty(plays.shape[1], np.bool_)
    started = count_new(plays, slot, everyone, ONLY_ROW) == 0
    mark_set(plays, stats, slot, everyone, ONLY_ROW, epsilon, decay, near, marked)
    outcomes = np.empty((1, plays.shape[1], rewards.shape[0]))
    for i in range(rewards.shape[0]):
        outcomes[0, arm, i] = rewards[i]
    learn(plays, stats, slot, arm, outcomes, ONLY_ROW, bounds, started, marked)
    return DONE


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    everyone: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    epsilon: float,
    decay: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    near = np.empty(plays.shape[1], np.bool_)
    marked = np.empty(plays.shape[1], np.bool_)
    playable = np.empty(plays.shape[1], np.bool_)
    for t in range(slots.shape[0]):
        slot = slots[t]
        row = row_of(ceilings, t)
        started = count_new(plays, slot, everyone, ONLY_ROW) == 0
        size = mark_set(plays, stats, slot, everyone, ONLY_ROW, epsilon, decay, near, marked)
        masked = False
        for arm in range(plays.shape[1]):
            masked |= ceilings[row, arm] < 0.0
        if masked:
            size = mark_set(plays, stats, slot, ceilings, row, epsilon, decay, near, playable)
            arm = draw(playable, size, random)
        else:
            arm = draw(marked, size, random)
        learn(plays, stats, slot, arm, outcomes, t, bounds, started, marked)
        arms[t] = arm
    return arms
