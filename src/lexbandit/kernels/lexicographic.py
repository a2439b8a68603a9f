"""MOC-MAB's rule: Algorithm 1 of the paper, lines 7 to 14, in one cell."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, MEAN, SECOND, WIDTH, Array, observe
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, share_among_best, top_of, value_of


@inlined
def candidate_floor(stats: Array, slot: int, top: int, beta: float, margin: float) -> float:
    """Return the index in the dominant objective from which an arm is a candidate.

    Equation (4): g¹_a ≥ mean¹_top − u_top − 2v. +∞ if the learner is not confident about the top
    arm (u_top > βv, line 9): then there are no candidates and the top arm itself is played.
    """
    width = stats[slot, 0, WIDTH, top]
    if width > beta * margin:
        return math.inf
    return float(stats[slot, 0, MEAN, top] - width - 2.0 * margin)


@inlined
def choose(
    stats: Array,
    slot: int,
    ceilings: Array,
    row: int,
    beta: float,
    margin: float,
    random: RandomState,
) -> int:
    """Return the arm to play in a cell."""
    top = best_arm(stats, slot, DOMINANT, -math.inf, ceilings, row, random)
    if stats.shape[1] == 1:
        return top
    floor = candidate_floor(stats, slot, top, beta, margin)
    if floor == math.inf:
        return top
    return best_arm(stats, slot, SECOND, floor, ceilings, row, random)


@kernel
def shares(stats: Array, slot: int, ceilings: Array, beta: float, margin: float) -> Array:
    """Return the exact probability with which `choose` returns each arm.

    Every arm tied at the top may be the one whose confidence is tested, and each may lead to
    other candidates; neighbours that lead to the same ones are worked out together.
    """
    arms = ceilings.shape[1]
    out = np.zeros(arms)
    highest, ties, _ = top_of(stats, slot, DOMINANT, -math.inf, ceilings, ONLY_ROW)
    shared_floor = math.inf
    shared = 0.0
    for top in range(arms):
        if value_of(stats, slot, DOMINANT, top, -math.inf, ceilings, ONLY_ROW) != highest:
            continue
        floor = candidate_floor(stats, slot, top, beta, margin)
        if stats.shape[1] == 1 or floor == math.inf:
            out[top] += 1.0 / ties
            continue
        if floor != shared_floor and shared > 0.0:
            share_among_best(stats, slot, SECOND, shared_floor, ceilings, ONLY_ROW, shared, out)
            shared = 0.0
        shared_floor = floor
        shared += 1.0 / ties
    if shared > 0.0:
        share_among_best(stats, slot, SECOND, shared_floor, ceilings, ONLY_ROW, shared, out)
    return out


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    ceilings: Array,
    beta: float,
    margin: float,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    slot = slot_of(table, key)
    before = random[0]
    arm = choose(stats, slot, ceilings, ONLY_ROW, beta, margin, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    return arm, shares(stats, slot, ceilings, beta, margin)[arm]


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bound: Array,
    beta: float,
    margin: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    for t in range(slots.shape[0]):
        slot = slots[t]
        arm = choose(stats, slot, ceilings, row_of(ceilings, t), beta, margin, random)
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bound, True)
        arms[t] = arm
    return arms
