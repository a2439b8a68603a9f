"""The lexicographic rule for any number of objectives, in one cell.

Algorithm 1 of the paper, lines 7 to 14, and beyond two objectives LexMOC (docs/theory.md). With U
the index and L the lower end of an arm's interval, and all arms in A_0:

    for i = 1..D:
        h_i = argmax over A_{i−1} of U^i                                  (random ties)
        if i = D or a width of h_i, in an objective up to i, exceeds `threshold`: play h_i
        e_i = `lam` · max over j < i of max(0, U^j(h_j) − L^j(h_i) + `blur`)         (e_1 = 0)
        A_i = {a in A_{i−1} : U^i(a) ≥ L^i(h_i) − allowances[i] − e_i}

In a cell of margin v the threshold is βv, allowances and blur are 2v (equation 4). What is told of
the arms need not be a cell's statistics: the policies on features fill a slot for one context.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import (
    DOMINANT,
    INDEX,
    MARGIN,
    SECOND,
    WIDTH,
    Array,
    bound_row,
    lower_of,
    observe,
)
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, share_among_best, top_of, value_of


@inlined
def candidate_floor(
    stats: Array, slot: int, top: int, threshold: float, allowances: Array
) -> float:
    """Return the index in the dominant objective from which an arm is a candidate.

    Equation (4): g¹_a ≥ mean¹_top − u_top − 2v. +∞ if the learner is not confident about the top
    arm (u_top > βv, line 9): then there are no candidates and the top arm itself is played.
    """
    if stats[slot, 0, WIDTH, top] > threshold:
        return math.inf
    return float(lower_of(stats, slot, DOMINANT, top) - allowances[0])


@kernel
def floor_at(
    stats: Array, slot: int, i: int, tops: Keys, allowances: Array, blur: float, lam: float
) -> float:
    """Return L^i(h_i) − allowances[i] − e_i: the index from which arms stay candidates at level i.

    tops[j] is h_j.
    """
    top = tops[i]
    excess = 0.0
    if lam > 0.0:  # 0 · ∞ is no number
        for j in range(i):
            reach = stats[slot, j, INDEX, tops[j]] - lower_of(stats, slot, j, top) + blur
            excess = max(excess, lam * reach)
    return float(lower_of(stats, slot, i, top) - allowances[i] - excess)


@kernel
def close_arms(
    stats: Array,
    slot: int,
    i: int,
    tops: Keys,
    threshold: float,
    allowances: Array,
    blur: float,
    lam: float,
    before: Array,
    after: Array,
) -> bool:
    """Copy the ceilings before[0] to after[0], at −∞ for arms that are no candidates after level i.

    tops[j] is h_j. False, and nothing is copied, if a width of h_i exceeds
    the threshold, in objective i or one above: e_i is small only if h_i is known there too.
    """
    for j in range(i + 1):
        if stats[slot, j, WIDTH, tops[i]] > threshold:
            return False
    floor = floor_at(stats, slot, i, tops, allowances, blur, lam)
    for arm in range(before.shape[1]):
        is_open = stats[slot, i, INDEX, arm] >= floor
        after[0, arm] = before[0, arm] if is_open else -math.inf
    return True


@kernel
def choose_among_many(
    stats: Array,
    slot: int,
    first: int,
    ceilings: Array,
    row: int,
    threshold: float,
    allowances: Array,
    blur: float,
    lam: float,
    random: RandomState,
) -> int:
    """Return the arm to play for more than two objectives, given h_1 = `first`."""
    levels = allowances.shape[0]
    tops = np.empty(levels, np.int64)
    open_arms = np.empty((1, ceilings.shape[1]))
    for arm in range(ceilings.shape[1]):
        open_arms[0, arm] = ceilings[row, arm]
    tops[0] = first
    for i in range(levels - 1):
        if not close_arms(
            stats, slot, i, tops, threshold, allowances, blur, lam, open_arms, open_arms
        ):
            return int(tops[i])
        tops[i + 1] = best_arm(stats, slot, i + 1, -math.inf, open_arms, ONLY_ROW, random)
    return int(tops[levels - 1])


@inlined
def choose(
    stats: Array,
    slot: int,
    ceilings: Array,
    row: int,
    threshold: float,
    allowances: Array,
    blur: float,
    lam: float,
    random: RandomState,
) -> int:
    """Return the arm to play. Up to two objectives need no room to work in."""
    top = best_arm(stats, slot, DOMINANT, -math.inf, ceilings, row, random)
    if allowances.shape[0] == 1:
        return top
    if allowances.shape[0] > 2:
        return choose_among_many(
            stats, slot, top, ceilings, row, threshold, allowances, blur, lam, random
        )
    floor = candidate_floor(stats, slot, top, threshold, allowances)
    if floor == math.inf:
        return top
    return best_arm(stats, slot, SECOND, floor, ceilings, row, random)


@kernel
def shares_of_two(
    stats: Array, slot: int, ceilings: Array, threshold: float, allowances: Array
) -> Array:
    """Return `shares` for up to two objectives.

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
        floor = candidate_floor(stats, slot, top, threshold, allowances)
        if allowances.shape[0] == 1 or floor == math.inf:
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
def shares_of_many(
    stats: Array,
    slot: int,
    ceilings: Array,
    threshold: float,
    allowances: Array,
    blur: float,
    lam: float,
) -> Array:
    """Return `shares` for more than two objectives: every path of tied top arms, depth first.

    weights[i] is the probability of the path h_1..h_{i−1}; opened[i] are the candidates after it.
    """
    arms, levels = ceilings.shape[1], allowances.shape[0]
    out = np.zeros(arms)
    tops = np.full(levels, -1, np.int64)
    weights = np.ones(levels)
    opened = np.empty((levels, 1, arms))
    opened[0, 0] = ceilings[0]
    i = 0
    while i >= 0:
        if i == levels - 1:
            share_among_best(stats, slot, i, -math.inf, opened[i], ONLY_ROW, weights[i], out)
            i -= 1
            continue
        highest, ties, _ = top_of(stats, slot, i, -math.inf, opened[i], ONLY_ROW)
        tops[i] += 1
        while (
            tops[i] < arms
            and value_of(stats, slot, i, tops[i], -math.inf, opened[i], ONLY_ROW) != highest
        ):
            tops[i] += 1
        if tops[i] == arms:
            tops[i] = -1
            i -= 1
            continue
        weight = weights[i] / ties
        if close_arms(
            stats, slot, i, tops, threshold, allowances, blur, lam, opened[i], opened[i + 1]
        ):
            i += 1
            weights[i] = weight
        else:
            out[tops[i]] += weight
    return out


@kernel
def shares(
    stats: Array,
    slot: int,
    ceilings: Array,
    threshold: float,
    allowances: Array,
    blur: float,
    lam: float,
) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    if allowances.shape[0] > 2:
        return shares_of_many(stats, slot, ceilings, threshold, allowances, blur, lam)
    return shares_of_two(stats, slot, ceilings, threshold, allowances)


@inlined
def set_allowances(tolerances: Array, margin: float, allowances: Array) -> None:
    """Set what an arm may lack and still be a candidate: 2v, or the tolerance where it is more."""
    for i in range(tolerances.shape[0]):
        allowances[i] = max(2.0 * margin, tolerances[i])


@inlined
def decide(
    slot: int,
    stats: Array,
    ceilings: Array,
    row: int,
    bounds: Array,
    beta: float,
    tolerances: Array,
    lam: float,
    random: RandomState,
    allowances: Array,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    margin = bounds[bound_row(bounds, slot), MARGIN]
    set_allowances(tolerances, margin, allowances)
    before = random[0]
    blur, threshold = 2.0 * margin, beta * margin
    arm = choose(stats, slot, ceilings, row, threshold, allowances, blur, lam, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    mine = ceilings[row : row + 1]
    return arm, shares(stats, slot, mine, threshold, allowances, blur, lam)[arm]


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    ceilings: Array,
    bounds: Array,
    beta: float,
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    slot = slot_of(table, key)
    allowances = np.empty(tolerances.shape[0])
    return decide(
        slot, stats, ceilings, ONLY_ROW, bounds, beta, tolerances, lam, random, allowances
    )


@kernel
def select_many(
    keys: Keys,
    table: Table,
    stats: Array,
    ceilings: Array,
    bounds: Array,
    beta: float,
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> tuple[Keys, Array]:
    """Return the arms to play in many cells, by what is known now, and their probabilities."""
    arms, propensities = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0])
    allowances = np.empty(tolerances.shape[0])
    for t in range(keys.shape[0]):
        slot, row = slot_of(table, keys[t]), row_of(ceilings, t)
        arms[t], propensities[t] = decide(
            slot, stats, ceilings, row, bounds, beta, tolerances, lam, random, allowances
        )
    return arms, propensities


@kernel
def replay(
    slots: Keys,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    stats: Array,
    bounds: Array,
    beta: float,
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    allowances = np.empty(tolerances.shape[0])
    for t in range(slots.shape[0]):
        slot = slots[t]
        margin = bounds[bound_row(bounds, slot), MARGIN]
        set_allowances(tolerances, margin, allowances)
        arm = choose(
            stats,
            slot,
            ceilings,
            row_of(ceilings, t),
            beta * margin,
            allowances,
            2.0 * margin,
            lam,
            random,
        )
        plays[slot, arm] += 1.0
        for i in range(outcomes.shape[2]):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, True)
        arms[t] = arm
    return arms
