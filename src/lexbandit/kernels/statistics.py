"""What is kept for each cell: plays, and per channel and arm a count, sum, mean, width and index.

    plays[slot, arm]                   rounds in which the arm was played in the cell
    stats[slot, channel, field, arm]   fields COUNT, SUM, MEAN, WIDTH, INDEX

A channel is an objective (or a function of them, see `scalarized.py`). Counts are per channel,
since a reward may be observed in some objectives only; with nothing missing COUNT equals plays.
MEAN, WIDTH and INDEX follow from COUNT and SUM; they are kept so that selecting needs no division,
square root or logarithm. Slot 0 is never written: it is the cell nobody visited, with every count
0 and every width and index infinite.

Kernels are given whole arrays and positions in them, never slices: in a loop, a slice that is not
optimised away costs two atomic operations, which is more than the arithmetic here.
"""

import math
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.jit import inlined, kernel

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

COUNT, SUM, MEAN, WIDTH, INDEX = 0, 1, 2, 3, 4
FIELDS = 5

# Typed on purpose: numba would compile a callee anew for each plain literal it is called with.
DOMINANT = cast("int", np.int64(0))
SECOND = cast("int", np.int64(1))

# A bound is six numbers, so that a new one needs no new kernel:
#   width(N, n) = SCALE · sqrt(ROUNDS_CONSTANT + ROUNDS_LOG · ln n)
#                       · sqrt((COUNT_CONSTANT + COUNT_LOG · ln(1 + N)) · (1 + EXTRA / N) / N)
# with N the observations of the arm and n those of all arms in the cell. The first root, `growth`,
# is one number for the whole channel, and 1 if ROUNDS_LOG is 0; the rest is kept in WIDTH.
SCALE, ROUNDS_CONSTANT, ROUNDS_LOG, COUNT_CONSTANT, COUNT_LOG, EXTRA = 0, 1, 2, 3, 4, 5

# Keeps growth · ∞ = ∞ where growth would be 0 (ln 1), and is too small to change a finite sum.
_TINY = 1e-300


@inlined
def kept_width(count: float, bound: Array) -> float:
    """Return the part of the width that depends on the arm's own count; ∞ without observations."""
    if count == 0.0:
        return math.inf
    level = bound[COUNT_CONSTANT]
    if bound[COUNT_LOG] != 0.0:
        level += bound[COUNT_LOG] * math.log1p(count)
    if bound[EXTRA] != 0.0:
        level *= 1.0 + bound[EXTRA] / count
    return float(bound[SCALE] * math.sqrt(level / count))


@kernel
def growth(rounds: float, bound: Array) -> float:
    """Return the part of the width that depends on the observations of all arms in the cell."""
    if bound[ROUNDS_LOG] == 0.0:
        return 1.0
    level = bound[ROUNDS_CONSTANT] + bound[ROUNDS_LOG] * math.log(max(rounds, 1.0))
    return max(math.sqrt(level), _TINY)


@kernel
def channel_growth(stats: Array, slot: int, i: int, bound: Array) -> float:
    """Return the growth of channel i in a cell: its rounds are the sum of its counts."""
    rounds = 0.0
    for arm in range(stats.shape[3]):
        rounds += stats[slot, i, COUNT, arm]
    return growth(rounds, bound)


@kernel
def rank_all(stats: Array, slot: int, i: int, bound: Array) -> None:
    """Bring every arm's index in channel i up to date: equation (3)."""
    factor = channel_growth(stats, slot, i, bound)
    for arm in range(stats.shape[3]):
        stats[slot, i, INDEX, arm] = stats[slot, i, MEAN, arm] + factor * stats[slot, i, WIDTH, arm]


@inlined
def observe(
    stats: Array, slot: int, i: int, arm: int, reward: float, bound: Array, ranked: bool
) -> None:
    """Add a reward to channel i: Algorithm 1, lines 16 and 17. NaN is "not observed".

    Where the rule ranks arms by this channel, its indices are brought up to date; if the bound
    does not depend on the rounds, no other arm's index has changed.
    """
    if math.isnan(reward):
        return
    count = stats[slot, i, COUNT, arm] + 1.0
    total = stats[slot, i, SUM, arm] + reward
    mean = total / count
    width = kept_width(count, bound)
    stats[slot, i, COUNT, arm] = count
    stats[slot, i, SUM, arm] = total
    stats[slot, i, MEAN, arm] = mean
    stats[slot, i, WIDTH, arm] = width
    if bound[ROUNDS_LOG] == 0.0:
        stats[slot, i, INDEX, arm] = mean + width
    elif ranked:
        rank_all(stats, slot, i, bound)


@kernel
def derive(stats: Array, slots: int, bound: Array) -> None:
    """Set MEAN, WIDTH and INDEX from COUNT and SUM in slots 0 to `slots`−1."""
    for slot in range(slots):
        for i in range(stats.shape[1]):
            for arm in range(stats.shape[3]):
                count = stats[slot, i, COUNT, arm]
                stats[slot, i, MEAN, arm] = stats[slot, i, SUM, arm] / count if count else 0.0
                stats[slot, i, WIDTH, arm] = kept_width(count, bound)
            rank_all(stats, slot, i, bound)
