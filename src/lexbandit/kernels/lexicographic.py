"""The lexicographic rule for any number of objectives, in one cell.

Algorithm 1 of the paper, lines 7 to 14, and beyond two objectives LexMOC (docs/theory.md). With U
the index and L the lower end of an arm's interval, and all arms in A_0:

    for i = 1..D:
        h_i = argmax over A_{i−1} of U^i                                  (random ties)
        if i = D or a width of h_i, in an objective up to i, exceeds `threshold`: play h_i
        e_i = `lam` · max over j < i of max(0, U^j(h_j) − L^j(h_i) + `blur`)         (e_1 = 0)
        A_i = {a in A_{i−1} : U^i(a) ≥ L^i(h_i) − allowances[i] − e_i}

In a cell of margin v the threshold is βv and `blur` is 2v (equation 4). An arm may lack the blur,
or the objective's tolerance if that is more: allowances[i] = max(blur, tolerances[i]). The
statistics need not be a cell's: the policies on features have those of one context, in slot 0.
Where `tolerances` is longer than the number of objectives, the rest are other settings of a rule.

Up to two objectives and more have functions of their own, which a policy picks once: the usual ones
are short and need no arrays to work in.
"""

import math
from typing import NamedTuple

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.cells import WIDTH, ArmStatistics, lower_of
from lexbandit.kernels.jit import inlined, kernel, leaf
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import (
    DOMINANT,
    ONLY_ROW,
    SECOND,
    best_arm,
    share_among_best,
    top_of,
    value_of,
)


class Limits(NamedTuple):
    """What the rule goes by, besides the tolerances; see above."""

    threshold: float
    blur: float
    lam: float


@leaf
def candidate_floor(
    known: ArmStatistics, slot: int, top: int, tolerances: Array, limits: Limits
) -> float:
    """Return the index in the dominant objective from which an arm is a candidate.

    Equation (4): g¹_a ≥ mean¹_top − u_top − 2v. +∞ if the learner is not confident about the top
    arm (u_top > βv, line 9): then there are no candidates and the top arm itself is played.
    """
    if known.stats[slot, top, 0, WIDTH] > limits.threshold:
        return math.inf
    return float(lower_of(known, slot, DOMINANT, top) - max(limits.blur, tolerances[0]))


@kernel
def floor_at(
    known: ArmStatistics, slot: int, i: int, tops: Keys, tolerances: Array, limits: Limits
) -> float:
    """Return L^i(h_i) − allowances[i] − e_i: the index from which arms stay candidates at level i.

    tops[j] is h_j.
    """
    top = tops[i]
    excess = 0.0
    if limits.lam > 0.0:  # 0 · ∞ is no number
        for j in range(i):
            reach = known.indices[slot, j, tops[j]] - lower_of(known, slot, j, top) + limits.blur
            excess = max(excess, limits.lam * reach)
    return float(lower_of(known, slot, i, top) - max(limits.blur, tolerances[i]) - excess)


@kernel
def close_arms(
    known: ArmStatistics,
    slot: int,
    i: int,
    tops: Keys,
    tolerances: Array,
    limits: Limits,
    before: Array,
    after: Array,
) -> bool:
    """Copy the ceilings before[0] to after[0], at −∞ for arms that are no candidates after level i.

    tops[j] is h_j. False, and nothing is copied, if a width of h_i exceeds
    the threshold, in objective i or one above: e_i is small only if h_i is known there too.
    """
    for j in range(i + 1):
        if known.stats[slot, tops[i], j, WIDTH] > limits.threshold:
            return False
    floor = floor_at(known, slot, i, tops, tolerances, limits)
    for arm in range(before.shape[1]):
        is_open = known.indices[slot, i, arm] >= floor
        after[0, arm] = before[0, arm] if is_open else -math.inf
    return True


@leaf
def choose_of_two(
    known: ArmStatistics,
    slot: int,
    ceilings: Array,
    row: int,
    tolerances: Array,
    limits: Limits,
    random: RandomState,
) -> int:
    """Return the arm to play for one or two objectives."""
    top = best_arm(known.indices, slot, DOMINANT, -math.inf, ceilings, row, random)
    if known.indices.shape[1] == 1:
        return top
    floor = candidate_floor(known, slot, top, tolerances, limits)
    if floor == math.inf:
        return top
    return best_arm(known.indices, slot, SECOND, floor, ceilings, row, random)


@kernel
def choose_of_many(
    known: ArmStatistics,
    slot: int,
    ceilings: Array,
    row: int,
    tolerances: Array,
    limits: Limits,
    random: RandomState,
) -> int:
    """Return the arm to play for any number of objectives."""
    levels = known.indices.shape[1]
    tops = np.empty(levels, np.int64)
    open_arms = np.empty((1, ceilings.shape[1]))
    for arm in range(ceilings.shape[1]):
        open_arms[0, arm] = ceilings[row, arm]
    tops[0] = best_arm(known.indices, slot, DOMINANT, -math.inf, ceilings, row, random)
    for i in range(levels - 1):
        if not close_arms(known, slot, i, tops, tolerances, limits, open_arms, open_arms):
            return int(tops[i])
        tops[i + 1] = best_arm(known.indices, slot, i + 1, -math.inf, open_arms, ONLY_ROW, random)
    return int(tops[levels - 1])


@inlined
def shares_of_two(
    known: ArmStatistics,
    slot: int,
    ceilings: Array,
    row: int,
    tolerances: Array,
    limits: Limits,
) -> Array:
    """Return the exact probability with which `choose_of_two` returns each arm.

    Every arm tied at the top may be the one whose confidence is tested, and each may lead to
    other candidates; neighbours that lead to the same ones are worked out together.
    """
    arms = ceilings.shape[1]
    out = np.zeros(arms)
    highest, ties, _ = top_of(known.indices, slot, DOMINANT, -math.inf, ceilings, row)
    shared_floor = math.inf
    shared = 0.0
    for top in range(arms):
        if value_of(known.indices, slot, DOMINANT, top, -math.inf, ceilings, row) != highest:
            continue
        floor = candidate_floor(known, slot, top, tolerances, limits)
        if known.indices.shape[1] == 1 or floor == math.inf:
            out[top] += 1.0 / ties
            continue
        if floor != shared_floor and shared > 0.0:
            share_among_best(known.indices, slot, SECOND, shared_floor, ceilings, row, shared, out)
            shared = 0.0
        shared_floor = floor
        shared += 1.0 / ties
    if shared > 0.0:
        share_among_best(known.indices, slot, SECOND, shared_floor, ceilings, row, shared, out)
    return out


@kernel
def shares_of_many(
    known: ArmStatistics,
    slot: int,
    ceilings: Array,
    row: int,
    tolerances: Array,
    limits: Limits,
) -> Array:
    """Return the exact probability with which `choose_of_many` returns each arm.

    It follows every path of tied top arms, depth first.

    weights[i] is the probability of the path h_1..h_{i−1}; opened[i] are the candidates after it.
    """
    arms, levels = ceilings.shape[1], known.indices.shape[1]
    out = np.zeros(arms)
    tops = np.full(levels, -1, np.int64)
    weights = np.ones(levels)
    opened = np.empty((levels, 1, arms))
    for arm in range(arms):
        opened[0, 0, arm] = ceilings[row, arm]
    i = 0
    while i >= 0:
        if i == levels - 1:
            share_among_best(
                known.indices, slot, i, -math.inf, opened[i], ONLY_ROW, weights[i], out
            )
            i -= 1
            continue
        highest, ties, _ = top_of(known.indices, slot, i, -math.inf, opened[i], ONLY_ROW)
        tops[i] += 1
        while (
            tops[i] < arms
            and value_of(known.indices, slot, i, tops[i], -math.inf, opened[i], ONLY_ROW) != highest
        ):
            tops[i] += 1
        if tops[i] == arms:
            tops[i] = -1
            i -= 1
            continue
        weight = weights[i] / ties
        if close_arms(known, slot, i, tops, tolerances, limits, opened[i], opened[i + 1]):
            i += 1
            weights[i] = weight
        else:
            out[tops[i]] += weight
    return out
