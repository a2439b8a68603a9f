"""MOC-MAB's rule: Algorithm 1 of the paper, lines 7 to 14, in one cell."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import MEAN, WIDTH, Array, Mask, learn
from lexbandit.kernels.ties import best_arm, index_of, share_among_best, top_of


@kernel
def candidate_floor(dominant: Array, top: int, beta: float, margin: float) -> float:
    """Return the index in the dominant objective from which an arm is a candidate.

    Equation (4): g¹_a ≥ mean¹_top − u_top − 2v. +∞ if the learner is not confident about the top
    arm (u_top > βv, line 9): then there are no candidates and the top arm itself is played.
    """
    if dominant[WIDTH, top] > beta * margin:
        return math.inf
    return dominant[MEAN, top] - dominant[WIDTH, top] - 2.0 * margin


@kernel
def choose(cell: Array, allowed: Mask, beta: float, margin: float, random: RandomState) -> int:
    """Return the arm to play in the cell `cell[channel, field, arm]`."""
    dominant = cell[0]
    top = best_arm(dominant, 1.0, dominant, -math.inf, allowed, random)
    if cell.shape[0] == 1:
        return top
    floor = candidate_floor(dominant, top, beta, margin)
    if floor == math.inf:
        return top
    return best_arm(cell[1], 1.0, dominant, floor, allowed, random)


@kernel
def shares(cell: Array, allowed: Mask, beta: float, margin: float) -> Array:
    """Return the exact probability with which `choose` returns each arm.

    Every arm tied at the top may be the one whose confidence is tested, and each may lead to
    other candidates; arms that lead to the same ones are worked out once.
    """
    out = np.zeros(allowed.shape[0])
    dominant = cell[0]
    highest, ties, first = top_of(dominant, 1.0, dominant, -math.inf, allowed)
    known_floor = math.nan
    known = np.zeros(allowed.shape[0])
    for top in range(first, allowed.shape[0]):
        if not allowed[top] or index_of(dominant, top, 1.0) != highest:
            continue
        floor = candidate_floor(dominant, top, beta, margin)
        if cell.shape[0] == 1 or floor == math.inf:
            out[top] += 1.0 / ties
            continue
        if floor != known_floor:
            known[:] = 0.0
            share_among_best(cell[1], 1.0, dominant, floor, allowed, 1.0 / ties, known)
            known_floor = floor
        out += known
    return out


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    allowed: Mask,
    beta: float,
    margin: float,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    cell = stats[slot_of(table, key)]
    arm = choose(cell, allowed, beta, margin, random)
    return arm, shares(cell, allowed, beta, margin)[arm]


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    allowed: Mask,
    plays: Array,
    stats: Array,
    bound: Array,
    beta: float,
    margin: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    masks = allowed.shape[0]
    for t in range(slots.shape[0]):
        arm = choose(stats[slots[t]], allowed[t if masks > 1 else 0], beta, margin, random)
        learn(plays, stats, slots[t], arm, outcomes[t, arm], bound)
        arms[t] = arm
    return arms
