"""Annealing Pareto's rule: arms near the best mean of some objective, with a shrinking distance.

Channels 0 to D−1 are the objectives. Channel D keeps the previous set: its COUNT is 1 for an arm
that is not in it and 0 for a member, so that a cell nobody visited starts with every arm.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import COUNT, MEAN, Cells, observe_all
from lexbandit.kernels.ties import ONLY_ROW

Work = tuple[Mask, Mask, Array]

# Where the rule finds its settings.
EPSILON, DECAY = 0, 1


@inlined
def value_of(cells: Cells, slot: int, i: int, arm: int) -> float:
    """Return an arm's mean, ∞ where nothing was observed: what is unknown is worth a look."""
    return (
        float(cells.stats[slot, arm, i, MEAN])
        if cells.stats[slot, arm, i, COUNT] > 0.0
        else math.inf
    )


@inlined
def distance(cells: Cells, slot: int, settings: Array) -> float:
    """Return ε_t = ε_0 · decay^t, with t the rounds so far in the cell."""
    return float(settings[EPSILON] * settings[DECAY] ** cells.totals[slot, 0])


@inlined
def mark_near(
    cells: Cells, slot: int, ceilings: Array, row: int, distance: float, near: Mask
) -> None:
    """Mark the allowed arms whose mean is within `distance` of the best in some objective."""
    for arm in range(cells.plays.shape[1]):
        near[arm] = False
    for i in range(cells.indices.shape[1] - 1):
        best = -math.inf
        for arm in range(cells.plays.shape[1]):
            best = max(best, min(value_of(cells, slot, i, arm), ceilings[row, arm]))
        for arm in range(cells.plays.shape[1]):
            if ceilings[row, arm] > 0.0:
                near[arm] |= value_of(cells, slot, i, arm) >= best - distance


@inlined
def beaten(cells: Cells, slot: int, arm: int, near: Mask) -> bool:
    """Tell whether a near arm's means dominate those of `arm`: ≥ in each objective, > in one."""
    for rival in range(cells.plays.shape[1]):
        if near[rival]:
            at_least = True
            better = False
            for i in range(cells.indices.shape[1] - 1):
                mine = value_of(cells, slot, i, arm)
                theirs = value_of(cells, slot, i, rival)
                at_least &= theirs >= mine
                better |= theirs > mine
            if at_least and better:
                return True
    return False


@inlined
def count_new(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Return how many allowed arms were never played in the cell."""
    size = 0
    for arm in range(cells.plays.shape[1]):
        size += ceilings[row, arm] > 0.0 and cells.plays[slot, arm] == 0.0
    return size


@inlined
def prepare(cells: Cells, _settings: Array) -> Work:
    """Return room for the marks and for the near arms, and a mask that allows all."""
    arms = cells.plays.shape[1]
    return np.empty(arms, np.bool_), np.empty(arms, np.bool_), np.full((1, arms), np.inf)


@kernel
def mark(cells: Cells, slot: int, ceilings: Array, row: int, settings: Array, work: Work) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    Arms never played in the cell come first. Then it is the near arms, and those of the previous
    set that no near arm dominates.
    """
    marked, near, _ = work
    size = count_new(cells, slot, ceilings, row)
    if size > 0:
        for arm in range(cells.plays.shape[1]):
            marked[arm] = ceilings[row, arm] > 0.0 and cells.plays[slot, arm] == 0.0
        return size
    mark_near(cells, slot, ceilings, row, distance(cells, slot, settings), near)
    previous = cells.indices.shape[1] - 1
    for arm in range(cells.plays.shape[1]):
        marked[arm] = near[arm] or (
            ceilings[row, arm] > 0.0
            and cells.stats[slot, arm, previous, COUNT] == 0.0
            and not beaten(cells, slot, arm, near)
        )
        size += marked[arm]
    return size


@inlined
def learn(
    cells: Cells,
    slot: int,
    _key: int,
    arm: int,
    outcomes: Array,
    t: int,
    r: int,
    ranked: int,
    _ceilings: Array,
    _row: int,
    settings: Array,
    _random: RandomState,
    work: Work,
) -> None:
    """Let this round's set be the previous one, then record the rewards outcomes[t, r].

    The set is that of all arms, whatever the round's own mask. It is kept once every arm was
    played in the cell.
    """
    marked, _, everyone = work
    previous = cells.indices.shape[1] - 1
    if count_new(cells, slot, everyone, ONLY_ROW) == 0:
        mark(cells, slot, everyone, ONLY_ROW, settings, work)
        for other in range(cells.plays.shape[1]):
            cells.stats[slot, other, previous, COUNT] = 0.0 if marked[other] else 1.0
    cells.plays[slot, arm] += 1.0
    cells.totals[slot, 0] += 1.0
    observe_all(cells, slot, arm, outcomes, t, r, ranked)
