"""Epoch-Greedy's rule: one round of exploration, then some greedy ones, over and over.

Channels 0 to D−1 are the objectives, with all that was observed. Channel D has the dominant
objective again, of the exploration rounds only: the greedy rounds decide by it.
`settings[EXPLORATIONS]` counts the exploration rounds so far, `settings[LEFT]` the greedy rounds
that are still to come in this epoch, in all cells together. LEFT = 0 means that the
next round explores.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import COUNT, MEAN, Cells, observe, observe_all

EXPLORATIONS, LEFT = 0, 1


@kernel
def greedy_rounds(explorations: int, arms: int) -> int:
    """Return ⌊sqrt(n/(K ln n))⌋, the greedy rounds after the n-th exploration; 0 for n = 1."""
    if explorations <= 1:
        return 0
    return int(math.sqrt(explorations / (arms * math.log(explorations))))


@inlined
def prepare(cells: Cells, _settings: Array) -> tuple[Mask]:
    """Return room for the marks."""
    return (np.empty(cells.plays.shape[1], np.bool_),)


@kernel
def mark(
    cells: Cells, slot: int, ceilings: Array, row: int, settings: Array, work: tuple[Mask]
) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    In a greedy round the allowed arms of the highest mean in the cell's exploration data; all
    allowed arms if there are no such data, and in a round of exploration.
    """
    stats, marked = cells.stats, work[0]
    explored = stats.shape[2] - 1
    best = -math.inf
    if settings[LEFT] > 0.0:
        for arm in range(stats.shape[1]):
            if ceilings[row, arm] > 0.0 and stats[slot, arm, explored, COUNT] > 0.0:
                best = max(best, stats[slot, arm, explored, MEAN])
    size = 0
    for arm in range(stats.shape[1]):
        marked[arm] = ceilings[row, arm] > 0.0 and (
            best == -math.inf
            or (
                stats[slot, arm, explored, COUNT] > 0.0 and stats[slot, arm, explored, MEAN] == best
            )
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
    _work: tuple[Mask],
) -> None:
    """Record the rewards outcomes[t, r], and go on to the next round of the epoch."""
    cells.plays[slot, arm] += 1.0
    cells.totals[slot, 0] += 1.0
    observe_all(cells, slot, arm, outcomes, t, r, ranked)
    if settings[LEFT] > 0.0:
        settings[LEFT] -= 1.0
    else:
        if not math.isnan(outcomes[t, r, 0]):
            observe(cells, slot, outcomes.shape[2], arm, outcomes[t, r, 0])
        settings[EXPLORATIONS] += 1.0
        settings[LEFT] = greedy_rounds(int(settings[EXPLORATIONS]), cells.plays.shape[1])
