"""What is kept for each cell: plays, and per arm and channel a count, sum, mean and width.

    plays[slot, arm]                   rounds in which the arm was played in the cell
    totals[slot, 1 + channel]          sums over the arms: plays first, then counts by channel
    stats[slot, arm, channel, field]   fields COUNT, SUM, MEAN, WIDTH (, LOWER, SPREAD)
    indices[slot, channel, arm]        the upper end of the arm's interval, which rules rank by

A channel is an objective (or a function of them, see `scalarized.py`). Counts are per channel,
since a reward may be observed in some objectives only; with nothing missing COUNT equals plays.
TOTALS, MEAN, WIDTH and the index follow from what was observed; they are kept so that selecting
needs no division, square root or logarithm. Slot 0 is never written: it stands for every cell that
was not visited, with every count 0 and every width and index as they are without observations.

What an update changes of an arm lies together, and so do the indices that a rule compares: with two
objectives each is one line of the processor's cache.

LOWER and SPREAD are kept only by the bounds that need them (`intervals.py`): their intervals are
not centred at the mean, or depend on how much the rewards vary.

Kernels are given whole arrays and positions in them, never slices: in a loop, a slice that is not
optimised away costs two atomic operations, which is more than the arithmetic here.
"""

import math
from typing import NamedTuple, cast

import numpy as np

from lexbandit.kernels import intervals
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel, leaf

COUNT, SUM, MEAN, WIDTH, LOWER, SPREAD = 0, 1, 2, 3, 4, 5
PLAIN_FIELDS = 4
ALL_FIELDS = 6

# Typed on purpose: numba would compile a callee anew for each plain literal it is called with.
DOMINANT = cast("int", np.int64(0))
SECOND = cast("int", np.int64(1))

# The intervals of a cell are defined by a row of `bounds`, so that a new bound needs no new kernel:
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


class Cells(NamedTuple):
    """The arrays of all cells, as described above."""

    plays: Array
    totals: Array
    stats: Array
    indices: Array
    bounds: Array


class Estimates(NamedTuple):
    """Means, widths and indices of arms that are no cell's: of one context, in slot 0."""

    stats: Array
    indices: Array


def empty_cells(slots: int, arms: int, channels: int, fields: int, bounds: Array) -> Cells:
    """Return cells in which nothing was observed."""
    cells = Cells(
        np.zeros((slots, arms)),
        np.zeros((slots, 1 + channels)),
        np.zeros((slots, arms, channels, fields)),
        np.zeros((slots, channels, arms)),
        bounds,
    )
    derive(cells, 0, slots)
    return cells


@leaf
def bound_row(bounds: Array, slot: int) -> int:
    """Return the row that holds for a slot: there is one for each slot, or one for all."""
    return slot if bounds.shape[0] > 1 else 0


@leaf
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


@leaf
def growth(rounds: float, bounds: Array, b: int) -> float:
    """Return the part of the width that depends on the observations of all arms in the cell."""
    if bounds[b, ROUNDS_LOG] == 0.0:
        return 1.0
    level = bounds[b, ROUNDS_CONSTANT] + bounds[b, ROUNDS_LOG] * math.log(max(rounds, 1.0))
    return max(math.sqrt(level), _TINY)


@leaf
def widest_of(known: Cells, slot: int, arm: int, objectives: int) -> float:
    """Return the width of an arm in the objective least is known of."""
    width = 0.0
    for i in range(objectives):
        width = max(width, known.stats[slot, arm, i, WIDTH])
    return width


@leaf
def lower_of(known: Cells | Estimates, slot: int, i: int, arm: int) -> float:
    """Return the lower end of an arm's interval."""
    stats = known.stats
    if stats.shape[3] > PLAIN_FIELDS:
        return float(stats[slot, arm, i, LOWER])
    return float(stats[slot, arm, i, MEAN] - stats[slot, arm, i, WIDTH])


@kernel
def set_interval(cells: Cells, slot: int, i: int, arm: int, factor: float) -> None:
    """Set index, LOWER and WIDTH of a bound whose interval is not mean ± width alone.

    WIDTH is half the interval's length. `factor` is the channel's growth.
    """
    bounds, stats = cells.bounds, cells.stats
    b = bound_row(bounds, slot)
    count = stats[slot, arm, i, COUNT]
    mean = stats[slot, arm, i, MEAN]
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
        spread = stats[slot, arm, i, SPREAD]
        width = bounds[b, SCALE] * intervals.bernstein(spread, count, bounds[b, COUNT_CONSTANT])
        low, high = mean - width, mean + width
    cells.indices[slot, i, arm] = high
    stats[slot, arm, i, LOWER] = low
    stats[slot, arm, i, WIDTH] = 0.5 * (high - low)


@kernel
def set_intervals(cells: Cells, slot: int, i: int, factor: float) -> None:
    """Set the intervals of all arms in channel i."""
    for arm in range(cells.indices.shape[2]):
        set_interval(cells, slot, i, arm, factor)


@leaf
def rank(cells: Cells, slot: int, i: int, factor: float) -> None:
    """Bring every arm's index in channel i up to date, given the channel's growth."""
    stats = cells.stats
    if stats.shape[3] > PLAIN_FIELDS:
        set_intervals(cells, slot, i, factor)
        return
    for arm in range(stats.shape[1]):
        width = factor * stats[slot, arm, i, WIDTH]
        cells.indices[slot, i, arm] = stats[slot, arm, i, MEAN] + width


@leaf
def channel_growth(cells: Cells, slot: int, i: int) -> float:
    """Return the growth of channel i in a cell: its rounds are its count over all arms."""
    return growth(cells.totals[slot, 1 + i], cells.bounds, bound_row(cells.bounds, slot))


@kernel
def rank_all(cells: Cells, slot: int, i: int) -> None:
    """Bring every arm's index in channel i up to date: equation (3)."""
    rank(cells, slot, i, channel_growth(cells, slot, i))


@kernel
def observe_interval(cells: Cells, slot: int, i: int, arm: int, reward: float) -> None:
    """Add a reward to channel i, for bounds whose interval is not mean ± width alone.

    SPREAD sums (reward − what the earlier rewards predicted)², ½ for the first.
    """
    stats = cells.stats
    count = stats[slot, arm, i, COUNT]
    predicted = stats[slot, arm, i, MEAN] if count > 0.0 else 0.5
    stats[slot, arm, i, SPREAD] += (reward - predicted) ** 2
    stats[slot, arm, i, COUNT] = count + 1.0
    stats[slot, arm, i, SUM] += reward
    stats[slot, arm, i, MEAN] = stats[slot, arm, i, SUM] / (count + 1.0)
    if cells.bounds[bound_row(cells.bounds, slot), ROUNDS_LOG] == 0.0:
        set_interval(cells, slot, i, arm, 1.0)


@leaf
def observe(cells: Cells, slot: int, i: int, arm: int, reward: float) -> None:
    """Add a reward that is not NaN to channel i: Algorithm 1, lines 16 and 17.

    The index is brought up to date if the bound does not grow with the rounds: then no other arm's
    has changed. Otherwise `rank` does that.
    """
    stats = cells.stats
    cells.totals[slot, 1 + i] += 1.0
    if stats.shape[3] > PLAIN_FIELDS:
        observe_interval(cells, slot, i, arm, reward)
        return
    b = bound_row(cells.bounds, slot)
    count = stats[slot, arm, i, COUNT] + 1.0
    total = stats[slot, arm, i, SUM] + reward
    mean = total / count
    if i > 0 and stats[slot, arm, i - 1, COUNT] == count:  # mostly all objectives are observed
        width = stats[slot, arm, i - 1, WIDTH]
    else:
        width = kept_width(count, cells.bounds, b)
    stats[slot, arm, i, COUNT] = count
    stats[slot, arm, i, SUM] = total
    stats[slot, arm, i, MEAN] = mean
    stats[slot, arm, i, WIDTH] = width
    if cells.bounds[b, ROUNDS_LOG] == 0.0:
        cells.indices[slot, i, arm] = mean + width


@leaf
def observe_all(
    cells: Cells, slot: int, arm: int, outcomes: Array, t: int, r: int, ranked: int
) -> None:
    """Add the rewards outcomes[t, r] of an arm to the objectives; NaN is "not observed".

    The indices of the first `ranked` objectives, those the rule ranks by, are brought up to date.
    """
    for i in range(outcomes.shape[2]):
        if not math.isnan(outcomes[t, r, i]):
            observe(cells, slot, i, arm, outcomes[t, r, i])
    if cells.bounds[bound_row(cells.bounds, slot), ROUNDS_LOG] != 0.0:
        rounds = -1.0
        factor = 1.0
        for i in range(ranked):
            if cells.totals[slot, 1 + i] != rounds:
                rounds = cells.totals[slot, 1 + i]
                factor = channel_growth(cells, slot, i)
            if not math.isnan(outcomes[t, r, i]):
                rank(cells, slot, i, factor)


@kernel
def derive(cells: Cells, first: int, last: int) -> None:
    """Set all that follows from plays, COUNT, SUM and SPREAD, in slots `first` to `last`−1."""
    plays, stats = cells.plays, cells.stats
    for slot in range(first, last):
        cells.totals[slot, 0] = 0.0
        for arm in range(stats.shape[1]):
            cells.totals[slot, 0] += plays[slot, arm]
        for i in range(stats.shape[2]):
            cells.totals[slot, 1 + i] = 0.0
            for arm in range(stats.shape[1]):
                count = stats[slot, arm, i, COUNT]
                cells.totals[slot, 1 + i] += count
                stats[slot, arm, i, MEAN] = stats[slot, arm, i, SUM] / count if count else 0.0
                row = bound_row(cells.bounds, slot)
                stats[slot, arm, i, WIDTH] = kept_width(count, cells.bounds, row)
            rank_all(cells, slot, i)
