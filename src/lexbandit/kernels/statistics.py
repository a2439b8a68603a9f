"""What is kept for each cell: plays, and per channel and arm a count, sum, mean, width and index.

    plays[slot, arm]                   rounds in which the arm was played in the cell
    stats[slot, channel, field, arm]   fields COUNT, SUM, MEAN, WIDTH, INDEX (, LOWER, SPREAD)

A channel is an objective (or a function of them, see `scalarized.py`). Counts are per channel,
since a reward may be observed in some objectives only; with nothing missing COUNT equals plays.
MEAN, WIDTH and INDEX follow from what was observed; they are kept so that selecting needs no
division, square root or logarithm. Slot 0 is never written: it is the cell nobody visited, with
every count 0 and every width and index as they are without observations.

LOWER and SPREAD are kept only by the bounds that need them (`intervals.py`): their intervals are
not centred at the mean, or depend on how much the rewards vary.

Kernels are given whole arrays and positions in them, never slices: in a loop, a slice that is not
optimised away costs two atomic operations, which is more than the arithmetic here.
"""

import math
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels import intervals
from lexbandit.kernels.jit import inlined, kernel

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

COUNT, SUM, MEAN, WIDTH, INDEX, LOWER, SPREAD = 0, 1, 2, 3, 4, 5, 6
PLAIN_FIELDS = 5
ALL_FIELDS = 7

# Typed on purpose: numba would compile a callee anew for each plain literal it is called with.
DOMINANT = cast("int", np.int64(0))
SECOND = cast("int", np.int64(1))

# What a cell's intervals are is told by a row of `bounds`, so that a new bound needs no new kernel:
# bounds[slot], or bounds[0] where all cells are alike. For KIND = CENTRED,
#   width(N, n) = SCALE · sqrt(ROUNDS_CONSTANT + ROUNDS_LOG · ln n)
#       · sqrt((COUNT_CONSTANT + COUNT_LOG · ln(1 + N)) · (1 + EXTRA / N) / (OFFSET + N))
# with N the observations of the arm and n those of all arms in the cell. The first root, `growth`,
# is one number for the whole channel, and 1 if ROUNDS_LOG is 0; the rest is kept in WIDTH. The
# other kinds are in `intervals.py`. MARGIN is v, what the cell itself blurs; LEAST and MOST are the
# rewards that the bound is valid for.
KIND, SCALE, ROUNDS_CONSTANT, ROUNDS_LOG = 0, 1, 2, 3
COUNT_CONSTANT, COUNT_LOG, EXTRA, OFFSET, MARGIN, LEAST, MOST = 4, 5, 6, 7, 8, 9, 10
COLUMNS = 11
CENTRED, KL, BERNSTEIN = 0.0, 1.0, 2.0

# Keeps growth · ∞ = ∞ where growth would be 0 (ln 1), and is too small to change a finite sum.
_TINY = 1e-300


@inlined
def bound_row(bounds: Array, slot: int) -> int:
    """Return the row that holds for a slot: there is one for each slot, or one for all."""
    return slot if bounds.shape[0] > 1 else 0


@inlined
def kept_width(count: float, bounds: Array, b: int) -> float:
    """Return the part of the width that depends on the arm's own count.

    ∞ without observations, unless OFFSET makes it finite.
    """
    if count == 0.0 and bounds[b, OFFSET] == 0.0:
        return math.inf
    level = bounds[b, COUNT_CONSTANT]
    if bounds[b, COUNT_LOG] != 0.0:
        level += bounds[b, COUNT_LOG] * math.log1p(count)
    if bounds[b, EXTRA] != 0.0:
        level *= 1.0 + bounds[b, EXTRA] / count
    return float(bounds[b, SCALE] * math.sqrt(level / (bounds[b, OFFSET] + count)))


@kernel
def growth(rounds: float, bounds: Array, b: int) -> float:
    """Return the part of the width that depends on the observations of all arms in the cell."""
    if bounds[b, ROUNDS_LOG] == 0.0:
        return 1.0
    level = bounds[b, ROUNDS_CONSTANT] + bounds[b, ROUNDS_LOG] * math.log(max(rounds, 1.0))
    return max(math.sqrt(level), _TINY)


@kernel
def channel_growth(stats: Array, slot: int, i: int, bounds: Array) -> float:
    """Return the growth of channel i in a cell: its rounds are the sum of its counts."""
    rounds = 0.0
    for arm in range(stats.shape[3]):
        rounds += stats[slot, i, COUNT, arm]
    return growth(rounds, bounds, bound_row(bounds, slot))


@inlined
def widest_of(stats: Array, slot: int, arm: int, objectives: int) -> float:
    """Return the width of an arm in the objective least is known of."""
    width = 0.0
    for i in range(objectives):
        width = max(width, stats[slot, i, WIDTH, arm])
    return width


@inlined
def lower_of(stats: Array, slot: int, i: int, arm: int) -> float:
    """Return the lower end of an arm's interval."""
    if stats.shape[2] > PLAIN_FIELDS:
        return float(stats[slot, i, LOWER, arm])
    return float(stats[slot, i, MEAN, arm] - stats[slot, i, WIDTH, arm])


@kernel
def set_interval(stats: Array, slot: int, i: int, arm: int, factor: float, bounds: Array) -> None:
    """Set INDEX, LOWER and WIDTH of a bound whose interval is not mean ± width alone.

    WIDTH is half the interval's length. `factor` is the channel's growth.
    """
    b = bound_row(bounds, slot)
    count = stats[slot, i, COUNT, arm]
    mean = stats[slot, i, MEAN, arm]
    if count == 0.0:
        low, high = -math.inf, math.inf
    elif bounds[b, KIND] == KL:
        level = factor * bounds[b, SCALE]
        level *= level / count
        level *= intervals.stitched_level(
            count, bounds[b, COUNT_CONSTANT], bounds[b, COUNT_LOG], bounds[b, EXTRA]
        )
        low, high = intervals.kl_lower(mean, level), intervals.kl_upper(mean, level)
    else:
        spread = stats[slot, i, SPREAD, arm]
        width = bounds[b, SCALE] * intervals.bernstein(spread, count, bounds[b, COUNT_CONSTANT])
        low, high = mean - width, mean + width
    stats[slot, i, INDEX, arm] = high
    stats[slot, i, LOWER, arm] = low
    stats[slot, i, WIDTH, arm] = 0.5 * (high - low)


@kernel
def rank_all(stats: Array, slot: int, i: int, bounds: Array) -> None:
    """Bring every arm's index in channel i up to date: equation (3)."""
    factor = channel_growth(stats, slot, i, bounds)
    if stats.shape[2] > PLAIN_FIELDS:
        for arm in range(stats.shape[3]):
            set_interval(stats, slot, i, arm, factor, bounds)
        return
    for arm in range(stats.shape[3]):
        stats[slot, i, INDEX, arm] = stats[slot, i, MEAN, arm] + factor * stats[slot, i, WIDTH, arm]


@kernel
def observe_interval(
    stats: Array, slot: int, i: int, arm: int, reward: float, bounds: Array, ranked: bool
) -> None:
    """Add a reward to channel i, for bounds whose interval is not mean ± width alone.

    SPREAD sums (reward − what the earlier rewards predicted)², ½ for the first.
    """
    count = stats[slot, i, COUNT, arm]
    predicted = stats[slot, i, MEAN, arm] if count > 0.0 else 0.5
    stats[slot, i, SPREAD, arm] += (reward - predicted) ** 2
    stats[slot, i, COUNT, arm] = count + 1.0
    stats[slot, i, SUM, arm] += reward
    stats[slot, i, MEAN, arm] = stats[slot, i, SUM, arm] / (count + 1.0)
    if bounds[bound_row(bounds, slot), ROUNDS_LOG] == 0.0:
        set_interval(stats, slot, i, arm, 1.0, bounds)
    elif ranked:
        rank_all(stats, slot, i, bounds)


@inlined
def observe(
    stats: Array, slot: int, i: int, arm: int, reward: float, bounds: Array, ranked: bool
) -> None:
    """Add a reward to channel i: Algorithm 1, lines 16 and 17. NaN is "not observed".

    Where the rule ranks arms by this channel, its indices are brought up to date; if the bound
    does not depend on the rounds, no other arm's index has changed.
    """
    if math.isnan(reward):
        return
    if stats.shape[2] > PLAIN_FIELDS:
        observe_interval(stats, slot, i, arm, reward, bounds, ranked)
        return
    b = bound_row(bounds, slot)
    count = stats[slot, i, COUNT, arm] + 1.0
    total = stats[slot, i, SUM, arm] + reward
    mean = total / count
    width = kept_width(count, bounds, b)
    stats[slot, i, COUNT, arm] = count
    stats[slot, i, SUM, arm] = total
    stats[slot, i, MEAN, arm] = mean
    stats[slot, i, WIDTH, arm] = width
    if bounds[b, ROUNDS_LOG] == 0.0:
        stats[slot, i, INDEX, arm] = mean + width
    elif ranked:
        rank_all(stats, slot, i, bounds)


@kernel
def derive(stats: Array, first: int, last: int, bounds: Array) -> None:
    """Set MEAN, WIDTH, INDEX and LOWER from what was observed, in slots `first` to `last`−1."""
    for slot in range(first, last):
        for i in range(stats.shape[1]):
            for arm in range(stats.shape[3]):
                count = stats[slot, i, COUNT, arm]
                stats[slot, i, MEAN, arm] = stats[slot, i, SUM, arm] / count if count else 0.0
                stats[slot, i, WIDTH, arm] = kept_width(count, bounds, bound_row(bounds, slot))
            rank_all(stats, slot, i, bounds)
