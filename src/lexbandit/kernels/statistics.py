"""What is kept for each cell: plays, and per channel and arm a count, sum, mean and width.

    plays[slot, arm]                   rounds in which the arm was played in the cell
    stats[slot, channel, field, arm]   fields COUNT, SUM, MEAN, WIDTH

A channel is an objective (or a function of them, see `scalarized.py`). Counts are per channel,
since a reward may be observed in some objectives only; with nothing missing COUNT equals plays.
MEAN and WIDTH follow from COUNT and SUM; they are kept so that selecting needs no division and
no square root: both change only for the arm just played. Slot 0 is never written: it is the cell
nobody visited, with every count 0 and every width infinite.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.jit import kernel

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

COUNT, SUM, MEAN, WIDTH = 0, 1, 2, 3
FIELDS = 4

# A bound is seven numbers, so that a new one needs no new kernel:
#   width(N, n) = SCALE · sqrt(ARRIVAL_CONSTANT + ARRIVAL_LOG · ln n)
#                       · sqrt((COUNT_CONSTANT + COUNT_LOG · ln(1 + N)) · (1 + EXTRA / N) / N)
# with N the observations of the arm and n the rounds so far in the cell. The second root is kept
# in WIDTH (times SCALE); the first, `growth`, is one number for the whole cell.
SCALE, ARRIVAL_CONSTANT, ARRIVAL_LOG, COUNT_CONSTANT, COUNT_LOG, EXTRA = 0, 1, 2, 3, 4, 5
COEFFICIENTS = 6

# Keeps growth · ∞ = ∞ where growth would be 0 (ln 1), and is too small to change a finite sum.
_TINY = 1e-300


@kernel
def kept_width(count: float, bound: Array) -> float:
    """Return the part of the width that depends on the arm's own count; ∞ without observations."""
    if count == 0.0:
        return math.inf
    level = bound[COUNT_CONSTANT]
    if bound[COUNT_LOG] != 0.0:
        level += bound[COUNT_LOG] * math.log1p(count)
    return bound[SCALE] * math.sqrt(level * (1.0 + bound[EXTRA] / count) / count)


@kernel
def growth(arrivals: float, bound: Array) -> float:
    """Return the part of the width that depends on the rounds so far in the cell."""
    level = bound[ARRIVAL_CONSTANT]
    if bound[ARRIVAL_LOG] != 0.0:
        level += bound[ARRIVAL_LOG] * math.log(max(arrivals, 1.0))
    return max(math.sqrt(level), _TINY)


@kernel
def record(channel: Array, arm: int, reward: float, bound: Array) -> None:
    """Add one observed reward to `channel[field, arm]`: Algorithm 1, lines 16 and 17."""
    count = channel[COUNT, arm] + 1.0
    total = channel[SUM, arm] + reward
    channel[COUNT, arm] = count
    channel[SUM, arm] = total
    channel[MEAN, arm] = total / count
    channel[WIDTH, arm] = kept_width(count, bound)


@kernel
def learn(plays: Array, stats: Array, slot: int, arm: int, rewards: Array, bound: Array) -> None:
    """Record a played arm's rewards, one channel per objective; NaN entries are not observed."""
    plays[slot, arm] += 1.0
    for i in range(rewards.shape[0]):
        if not math.isnan(rewards[i]):
            record(stats[slot, i], arm, rewards[i], bound)


@kernel
def derive(stats: Array, slots: int, bound: Array) -> None:
    """Set MEAN and WIDTH from COUNT and SUM in slots 0 to `slots`−1."""
    for slot in range(slots):
        for i in range(stats.shape[1]):
            for arm in range(stats.shape[3]):
                count = stats[slot, i, COUNT, arm]
                stats[slot, i, MEAN, arm] = stats[slot, i, SUM, arm] / count if count else 0.0
                stats[slot, i, WIDTH, arm] = kept_width(count, bound)


@kernel
def arrivals_in(plays: Array, slot: int) -> float:
    """Return the rounds so far in the cell."""
    total = 0.0
    for arm in range(plays.shape[1]):
        total += plays[slot, arm]
    return total
