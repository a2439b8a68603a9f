"""The eliminating lexicographic rule: play the widest arm that may still be optimal.

With U and L the ends of an arm's interval, v the margin, and S the allowed arms (docs/theory.md):

    repeat until nothing is removed:
        for i = 1..D:
            e_b = `lam` · max over j < i of max(0, top_j − L^j_b + 2v)           (e_b = 0 at i = 1)
            top_i = max over S of U^i
            S = {a in S : U^i_a ≥ max over b in S of (L^i_b − e_b) − allowances[i]}
    if every width in S is at most v: play the highest U^D of S, otherwise the widest arm of S

No arm that is optimal somewhere in the cell is ever removed while the intervals hold, and S is
never empty: the arm of the highest L − e stays.
"""

import math

import numpy as np

from lexbandit.kernels.cells import Keys, Table, slot_of
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.lexicographic import set_allowances
from lexbandit.kernels.marking import draw, shares_of
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import (
    INDEX,
    MARGIN,
    Array,
    Mask,
    bound_row,
    lower_of,
    observe,
    widest_of,
)
from lexbandit.kernels.ties import ONLY_ROW, row_of


@kernel
def remove_at_level(
    stats: Array,
    slot: int,
    i: int,
    allowance: float,
    blur: float,
    lam: float,
    tops: Array,
    active: Mask,
) -> int:
    """Remove arms from `active` by objective i, and set tops[i]; returns how many were removed."""
    floor = -math.inf
    tops[i] = -math.inf
    for arm in range(active.shape[0]):
        if active[arm]:
            tops[i] = max(tops[i], stats[slot, i, INDEX, arm])
            excess = 0.0
            if lam > 0.0:
                for j in range(i):
                    excess = max(excess, tops[j] - lower_of(stats, slot, j, arm) + blur)
            floor = max(floor, lower_of(stats, slot, i, arm) - lam * excess)
    floor -= allowance
    removed = 0
    for arm in range(active.shape[0]):
        if active[arm] and stats[slot, i, INDEX, arm] < floor:
            active[arm] = False
            removed += 1
    return removed


@kernel
def mark_active(
    stats: Array,
    slot: int,
    ceilings: Array,
    row: int,
    allowances: Array,
    blur: float,
    lam: float,
    tops: Array,
    active: Mask,
) -> float:
    """Mark the arms that may be optimal; returns the largest width among them.

    While an allowed arm was not observed in some objective, all are.
    """
    objectives = allowances.shape[0]
    widest = 0.0
    for arm in range(active.shape[0]):
        active[arm] = ceilings[row, arm] > 0.0
        if active[arm]:
            widest = max(widest, widest_of(stats, slot, arm, objectives))
    if widest == math.inf:
        return widest
    removed = 1
    while removed > 0:
        removed = 0
        for i in range(objectives):
            removed += remove_at_level(stats, slot, i, allowances[i], blur, lam, tops, active)
    widest = 0.0
    for arm in range(active.shape[0]):
        if active[arm]:
            widest = max(widest, widest_of(stats, slot, arm, objectives))
    return widest


@inlined
def mark_playable(
    stats: Array, slot: int, objectives: int, margin: float, widest: float, active: Mask
) -> int:
    """Narrow `active` to the arms that may be played now; returns how many there are."""
    best = widest
    if widest <= margin:
        best = -math.inf
        for arm in range(active.shape[0]):
            if active[arm]:
                best = max(best, stats[slot, objectives - 1, INDEX, arm])
    size = 0
    for arm in range(active.shape[0]):
        if active[arm]:
            value = widest_of(stats, slot, arm, objectives)
            if widest <= margin:
                value = stats[slot, objectives - 1, INDEX, arm]
            active[arm] = value == best
            size += active[arm]
    return size


@kernel
def shares(
    stats: Array, slot: int, ceilings: Array, margin: float, allowances: Array, lam: float
) -> Array:
    """Return the exact probability with which each arm is played."""
    active = np.empty(ceilings.shape[1], np.bool_)
    tops = np.empty(allowances.shape[0])
    widest = mark_active(
        stats, slot, ceilings, ONLY_ROW, allowances, 2.0 * margin, lam, tops, active
    )
    size = mark_playable(stats, slot, allowances.shape[0], margin, widest, active)
    return shares_of(active, size)


@inlined
def decide(
    slot: int,
    stats: Array,
    ceilings: Array,
    row: int,
    bounds: Array,
    tolerances: Array,
    lam: float,
    random: RandomState,
    allowances: Array,
    tops: Array,
    active: Mask,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    margin = bounds[bound_row(bounds, slot), MARGIN]
    set_allowances(tolerances, margin, allowances)
    widest = mark_active(stats, slot, ceilings, row, allowances, 2.0 * margin, lam, tops, active)
    size = mark_playable(stats, slot, allowances.shape[0], margin, widest, active)
    return draw(active, size, random), 1.0 / size


@kernel
def select(
    key: int,
    table: Table,
    stats: Array,
    ceilings: Array,
    bounds: Array,
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability with which it is played."""
    slot = slot_of(table, key)
    allowances = np.empty(tolerances.shape[0])
    tops = np.empty(tolerances.shape[0])
    active = np.empty(ceilings.shape[1], np.bool_)
    return decide(
        slot,
        stats,
        ceilings,
        ONLY_ROW,
        bounds,
        tolerances,
        lam,
        random,
        allowances,
        tops,
        active,
    )


@kernel
def select_many(
    keys: Keys,
    table: Table,
    stats: Array,
    ceilings: Array,
    bounds: Array,
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> tuple[Keys, Array]:
    """Return the arms to play in many cells, by what is known now, and their probabilities."""
    arms, propensities = np.empty(keys.shape[0], np.int64), np.empty(keys.shape[0])
    allowances = np.empty(tolerances.shape[0])
    tops = np.empty(tolerances.shape[0])
    active = np.empty(ceilings.shape[1], np.bool_)
    for t in range(keys.shape[0]):
        arms[t], propensities[t] = decide(
            slot_of(table, keys[t]),
            stats,
            ceilings,
            row_of(ceilings, t),
            bounds,
            tolerances,
            lam,
            random,
            allowances,
            tops,
            active,
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
    tolerances: Array,
    lam: float,
    random: RandomState,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    active = np.empty(ceilings.shape[1], np.bool_)
    objectives = tolerances.shape[0]
    allowances = np.empty(objectives)
    tops = np.empty(objectives)
    for t in range(slots.shape[0]):
        slot = slots[t]
        row = row_of(ceilings, t)
        arm, _ = decide(
            slot, stats, ceilings, row, bounds, tolerances, lam, random, allowances, tops, active
        )
        plays[slot, arm] += 1.0
        for i in range(objectives):
            observe(stats, slot, i, arm, outcomes[t, arm, i], bounds, True)
        arms[t] = arm
    return arms
