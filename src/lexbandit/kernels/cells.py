"""Cells: where a context lies, what is known there, and the loops that every rule on cells shares.

**Slots.** A cell's key is a number below m^d, far too many to keep an array of. Only visited cells
have a slot; `table[bucket] = (key, slot)` finds it, by open addressing with linear probing, at most
half full. Slot 0 means "not visited".

**Statistics.** For each slot:

    plays[slot, arm]                   rounds in which the arm was played in the cell
    totals[slot, 1 + channel]          sums over the arms: plays first, then counts by channel
    stats[slot, arm, channel, field]   fields COUNT, SUM, MEAN, WIDTH (, LOWER, SPREAD)
    indices[slot, channel, arm]        the upper end of the arm's interval, which rules rank by
    bounds[slot or 0, column]          what defines the intervals, see below
    settings[...]                      the rule's own numbers, the same in all cells
    work[2 + channels, arm]            scratch space of rules that mark arms, see `mark`

A channel is an objective, or a further one of the rule's own. Counts are per channel, since a
reward may be observed in some objectives only; with nothing missing COUNT equals plays. Totals,
MEAN, WIDTH and the index follow from what was observed; they are stored so that selecting needs no
division, square root or logarithm. Slot 0 is never written: it stands for every cell that was not
visited, with every count 0 and every width and index as they are without observations.

What an update changes of an arm lies together, and so do the indices that a rule compares: with two
objectives each is one line of the processor's cache.

LOWER and SPREAD are stored only for the bounds that need them (`intervals.py`): their intervals are
not centred at the mean, or depend on how much the rewards vary.

**Loops.** A rule is a few compiled functions, `choose` and `shares` or `mark`, perhaps `learn`, and
`cell_rule` compiles the loops around them. The functions here that a rule may replace say what is
expected of them. What learns is compiled twice where both are used: for plain bounds, whose
interval is mean ± width, and for any bound.

Kernels are given whole arrays and positions in them, never slices: in a loop, a slice that is not
optimised away costs two atomic operations, more than the arithmetic here.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from lexbandit.kernels import intervals
from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import Direct, bind, deferred, inlined, kernel, leaf
from lexbandit.kernels.random import RandomState, mix
from lexbandit.kernels.ties import ONLY_ROW, draw_marked, row_of

COUNT, SUM, MEAN, WIDTH, LOWER, SPREAD = 0, 1, 2, 3, 4, 5
PLAIN_FIELDS = 4
ALL_FIELDS = 6

# The intervals of a cell are defined by a row of `bounds`, so that a new bound needs no new kernel:
# bounds[slot], or bounds[0] where all cells are alike. For KIND = CENTRED,
#   width(N, n) = SCALE · sqrt(ROUNDS_CONSTANT + ROUNDS_LOG · ln n)
#       · sqrt((COUNT_CONSTANT + COUNT_LOG · ln(1 + N)) · (1 + EXTRA / N) / (OFFSET + N))
# with N the observations of the arm and n those of all arms in the cell. The first root, `growth`,
# is one number for the whole channel, and 1 if ROUNDS_LOG is 0; the rest is stored in WIDTH. The
# other kinds are in `intervals.py`. MARGIN is v, what the cell itself blurs; LEAST and MOST are the
# rewards that the bound is valid for.
KIND, SCALE, ROUNDS_CONSTANT, ROUNDS_LOG = 0, 1, 2, 3
COUNT_CONSTANT, COUNT_LOG, EXTRA, OFFSET, MARGIN, LEAST, MOST = 4, 5, 6, 7, 8, 9, 10
COLUMNS = 11
CENTRED, KL, BERNSTEIN = 0.0, 1.0, 2.0

# Keeps growth · ∞ = ∞ where growth would be 0 (ln 1), and is too small to change a finite sum.
_TINY = 1e-300


_NO_SETTINGS: Array = np.empty(0)


class Cells(NamedTuple):
    """The arrays of all cells, as described above."""

    plays: Array
    totals: Array
    stats: Array
    indices: Array
    bounds: Array
    settings: Array
    work: Array


class ArmStatistics(Protocol):
    """Means, widths and indices of arms: of cells, or of one context in slot 0."""

    @property
    def stats(self) -> Array: ...  # noqa: D102

    @property
    def indices(self) -> Array: ...  # noqa: D102


def empty_cells(
    slots: int, arms: int, channels: int, fields: int, bounds: Array, settings: Array = _NO_SETTINGS
) -> Cells:
    """Return cells in which nothing was observed: what `derive` would set, without compiling it."""
    stats = np.zeros((slots, arms, channels, fields))
    indices = np.full((slots, channels, arms), math.inf)
    if fields > PLAIN_FIELDS:
        stats[..., WIDTH], stats[..., LOWER] = math.inf, -math.inf
    else:
        rows, kinds = np.unique(bounds, axis=0, return_inverse=True)
        with np.errstate(divide="ignore"):
            widths = np.array([_plain(count_width)(0.0, rows, b) for b in range(len(rows))])
        factors = np.array([_plain(growth)(0.0, rows, b) for b in range(len(rows))])
        stats[..., WIDTH] = widths[kinds.ravel()][:, None, None]
        indices[:] = (factors * widths)[kinds.ravel()][:, None, None]
    work = np.empty((VECTORS + channels, max(arms, channels)))
    plays, totals = np.zeros((slots, arms)), np.zeros((slots, 1 + channels))
    return Cells(plays, totals, stats, indices, bounds, settings, work)


def _plain(function: Callable[..., float]) -> Callable[..., float]:
    """Return a function as Python runs it, not compiled."""
    return cast("Callable[..., float]", getattr(function, "py_func", function))


@leaf
def bound_row(bounds: Array, slot: int) -> int:
    """Return the row that holds for a slot: there is one for each slot, or one for all."""
    return slot if bounds.shape[0] > 1 else 0


@leaf
def count_width(count: float, bounds: Array, b: int) -> float:
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
def widest_of(known: ArmStatistics, slot: int, arm: int, objectives: int) -> float:
    """Return the width of an arm in the objective least is known of."""
    width = 0.0
    for i in range(objectives):
        width = max(width, known.stats[slot, arm, i, WIDTH])
    return width


@leaf
def lower_of(known: ArmStatistics, slot: int, i: int, arm: int) -> float:
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
def rank_plain(cells: Cells, slot: int, i: int, factor: float) -> None:
    """Bring every arm's index in channel i up to date, for a plain bound; see `rank`."""
    stats = cells.stats
    for arm in range(stats.shape[1]):
        width = factor * stats[slot, arm, i, WIDTH]
        cells.indices[slot, i, arm] = stats[slot, arm, i, MEAN] + width


@leaf
def rank(cells: Cells, slot: int, i: int, factor: float) -> None:
    """Bring every arm's index in channel i up to date, given the channel's growth."""
    if cells.stats.shape[3] > PLAIN_FIELDS:
        set_intervals(cells, slot, i, factor)
    else:
        rank_plain(cells, slot, i, factor)


@leaf
def channel_growth(cells: Cells, slot: int, i: int) -> float:
    """Return the growth of channel i in a cell: its rounds are its count over all arms."""
    return growth(cells.totals[slot, 1 + i], cells.bounds, bound_row(cells.bounds, slot))


@kernel
def observe_interval(cells: Cells, slot: int, i: int, arm: int, reward: float) -> None:
    """Add a reward to channel i, for bounds whose interval is not mean ± width alone.

    SPREAD sums (reward − what the earlier rewards predicted)², ½ for the first.
    """
    stats = cells.stats
    count = stats[slot, arm, i, COUNT]
    predicted = stats[slot, arm, i, MEAN] if count > 0.0 else 0.5
    error = reward - predicted
    stats[slot, arm, i, SPREAD] += error * error
    stats[slot, arm, i, COUNT] = count + 1.0
    stats[slot, arm, i, SUM] += reward
    stats[slot, arm, i, MEAN] = stats[slot, arm, i, SUM] / (count + 1.0)
    if cells.bounds[bound_row(cells.bounds, slot), ROUNDS_LOG] == 0.0:
        set_interval(cells, slot, i, arm, 1.0)


@leaf
def observe_plain(cells: Cells, slot: int, i: int, arm: int, reward: float) -> None:
    """Add a reward that is not NaN to channel i, for a plain bound; see `observe`."""
    stats = cells.stats
    cells.totals[slot, 1 + i] += 1.0
    b = bound_row(cells.bounds, slot)
    count = stats[slot, arm, i, COUNT] + 1.0
    total = stats[slot, arm, i, SUM] + reward
    mean = total / count
    if i > 0 and stats[slot, arm, i - 1, COUNT] == count:  # mostly all objectives are observed
        width = stats[slot, arm, i - 1, WIDTH]
    else:
        width = count_width(count, cells.bounds, b)
    stats[slot, arm, i, COUNT] = count
    stats[slot, arm, i, SUM] = total
    stats[slot, arm, i, MEAN] = mean
    stats[slot, arm, i, WIDTH] = width
    if cells.bounds[b, ROUNDS_LOG] == 0.0:
        cells.indices[slot, i, arm] = mean + width


@leaf
def observe(cells: Cells, slot: int, i: int, arm: int, reward: float) -> None:
    """Add a reward that is not NaN to channel i: Algorithm 1, lines 16 and 17.

    The index is brought up to date if the bound does not grow with the rounds: then no other arm's
    has changed. Otherwise `rank` does that.
    """
    if cells.stats.shape[3] > PLAIN_FIELDS:
        cells.totals[slot, 1 + i] += 1.0
        observe_interval(cells, slot, i, arm, reward)
    else:
        observe_plain(cells, slot, i, arm, reward)


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


def _derive(cells: Cells, first: int, last: int) -> None:
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
                stats[slot, arm, i, WIDTH] = count_width(count, cells.bounds, row)
            rank(cells, slot, i, channel_growth(cells, slot, i))


# What plain bounds have in place of the functions that know all of them.
_PLAIN: dict[str, Callable[..., Any]] = {"observe": observe_plain, "rank": rank_plain}
_PLAIN["observe_all"] = bind(observe_all, leaf, **_PLAIN)
_DERIVE, _DERIVE_PLAIN = bind(_derive), bind(_derive, rank=rank_plain)


def is_plain(cells: Cells) -> bool:
    """Tell whether the bound of cells is plain: an interval is mean ± width."""
    return bool(cells.stats.shape[3] == PLAIN_FIELDS)


def derive(cells: Cells, first: int, last: int) -> None:
    """Set all that follows from plays, COUNT, SUM and SPREAD, in slots `first` to `last`−1.

    The indices of every channel are those of equation (3).
    """
    (_DERIVE_PLAIN if is_plain(cells) else _DERIVE)(cells, first, last)


@leaf
def bucket_of(table: Keys, key: int) -> int:
    """Return the bucket that holds `key`, or the vacant one where it belongs."""
    last = table.shape[0] - 1  # the number of buckets is a power of two
    bucket = np.int64(mix(np.uint64(key)) & np.uint64(last))
    while table[bucket, 1] != 0 and table[bucket, 0] != key:
        bucket = (bucket + 1) & last
    return int(bucket)


@leaf
def slot_of(table: Keys, key: int) -> int:
    """Return the slot of the cell `key`; 0 if it was never visited."""
    return int(table[bucket_of(table, key), 1])


@kernel
def insert(table: Keys, keys: Keys, first: int, last: int) -> None:
    """Enter keys[first:last], each at the slot of its own position."""
    for slot in range(first, last):
        bucket = bucket_of(table, keys[slot])
        table[bucket, 0] = keys[slot]
        table[bucket, 1] = slot


@deferred(block=64)
def visit(table: Keys, keys: Keys, used: int, block: Keys, slots: Keys) -> tuple[int, int]:
    """Write the slot of each key of `block` to `slots`; a new key is given the next free slot.

    Stops before a new key that `keys` has no space for. Returns the number of slots then used and
    the number of keys done.
    """
    for t in range(block.shape[0]):
        bucket = bucket_of(table, block[t])
        if table[bucket, 1] == 0:
            if used == keys.shape[0]:
                return used, t
            keys[used] = block[t]
            table[bucket, 0] = block[t]
            table[bucket, 1] = used
            used += 1
        slots[t] = table[bucket, 1]
    return used, block.shape[0]


@leaf
def grid_key(context: Array, sides: Keys) -> int:
    """Return the cell of a context in a grid of sides[j] cells in dimension j; −1 if outside.

    In each dimension the cell is the largest k < side with k/side ≤ x, where k/side is the double
    nearest to it: cells are half-open, the last one is closed, and the double k/side itself lies
    in cell k. Multiplying alone would not do: 0.29·100 is 28.999999999999996.
    """
    key = 0
    for j in range(context.shape[0]):
        x, side = context[j], sides[j]
        if not (0.0 <= x <= 1.0):
            return -1
        k = min(int(x * side), side - 1)
        if k / side > x:
            k -= 1
        elif k + 1 < side and (k + 1) / side <= x:
            k += 1
        key = key * side + k
    return key


@deferred(contexts=256)
def grid_keys(contexts: Array, sides: Keys) -> Keys:
    """Return `grid_key` of every row."""
    keys = np.empty(contexts.shape[0], np.int64)
    for t in range(contexts.shape[0]):
        keys[t] = grid_key(contexts[t], sides)
    return keys


# What an update answers.
NO_SLOT, OUT_OF_RANGE, NO_PLAY, OUTSIDE, DONE = 0, 1, 2, 3, 4

# Rows of `work`: the marks of arms, 1 or 0; another row; and from VECTORS on one a channel.
MARKS, OTHER, VECTORS = 0, 1, cast("int", np.int64(2))


@inlined
def new_work(indices: Array) -> Array:
    """Return scratch space of 2 + C rows, with a column for each of K arms (or C channels)."""
    channels, arms = indices.shape[1], indices.shape[2]
    return np.empty((VECTORS + channels, max(arms, channels)))


@inlined
def work_for(indices: Array) -> Array:
    """Return scratch space, for a rule without marks none: some array of the same type."""
    work: Array = indices[0]
    return work


@leaf
def write_indices(cells: Cells, slot: int, ceilings: Array, row: int) -> None:
    """Write the indices of arms to work[VECTORS + i, arm], −∞ for those that may not be played.

    Those of two objectives with a plain bound are computed here, from means and widths, and need
    not be `ranked`: storing and reading them for all arms takes longer.
    """
    stats, work = cells.stats, cells.work
    if (stats.shape[2] == 2) & (stats.shape[3] == PLAIN_FIELDS):
        first = channel_growth(cells, slot, 0)
        second = first
        if cells.totals[slot, 2] != cells.totals[slot, 1]:
            second = channel_growth(cells, slot, 1)
        for arm in range(stats.shape[1]):
            x = stats[slot, arm, 0, MEAN] + first * stats[slot, arm, 0, WIDTH]
            y = stats[slot, arm, 1, MEAN] + second * stats[slot, arm, 1, WIDTH]
            work[VECTORS, arm] = min(x, ceilings[row, arm])
            work[VECTORS + 1, arm] = min(y, ceilings[row, arm])
    else:
        for i in range(stats.shape[2]):
            for arm in range(stats.shape[1]):
                work[VECTORS + i, arm] = min(cells.indices[slot, i, arm], ceilings[row, arm])


@leaf
def mark_allowed(cells: Cells, _slot: int, ceilings: Array, row: int) -> int:
    """Mark the allowed arms, as a `mark` that has no rule; return how many there are."""
    size = 0
    for arm in range(ceilings.shape[1]):
        allowed = ceilings[row, arm] > 0.0
        cells.work[MARKS, arm] = allowed
        size += allowed
    return size


def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is drawn uniformly; return how many there are.

    cells.work[MARKS, arm] is to be 1 for those and 0 for the others. The other rows are free to
    work in. The rest is as for `choose`.
    """
    raise NotImplementedError


def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Return the arm to play; nothing may change but the random state and `cells.work`.

    `ceilings[row, arm]` is ∞ for an allowed arm and −∞ for another. A rule that draws no random
    number had no other arm to play.
    """
    size = mark(cells, slot, ceilings, row)
    return draw_marked(cells.work, size, ceilings.shape[1], random)


def shares(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    size = mark(cells, slot, ceilings, row)
    out = np.zeros(ceilings.shape[1])
    for arm in range(ceilings.shape[1]):
        out[arm] = cells.work[MARKS, arm] / size
    return out


@leaf
def prepare(cells: Cells, slot: int, arm: int, outcomes: Array, t: int, r: int) -> None:
    """Change what a rule stores beyond the objectives, before the rewards are recorded."""


@leaf
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
    _random: RandomState,
) -> None:
    """Record the rewards outcomes[t, r] of an arm played in the cell `key`; NaN: not observed."""
    prepare(cells, slot, arm, outcomes, t, r)
    cells.plays[slot, arm] += 1.0
    cells.totals[slot, 0] += 1.0
    observe_all(cells, slot, arm, outcomes, t, r, ranked)


@leaf
def any_out_of_range(rewards: Array, bounds: Array) -> bool:
    """Tell whether a reward is one that the bound is not valid for; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= (rewards[i] < bounds[0, LEAST]) | (rewards[i] > bounds[0, MOST])
    return found


def select(
    context: Array,
    sides: Keys,
    key: int,
    ceilings: Array,
    random: RandomState,
    table: Keys,
    plays: Array,
    totals: Array,
    stats: Array,
    indices: Array,
    bounds: Array,
    settings: Array,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside.

    The cell is that of a grid of sides[j] cells in dimension j, or `key` if there are no sides.
    """
    if sides.shape[0] > 0:
        key = grid_key(context, sides)
        if key < 0:
            return -1, 0.0
    cells = Cells(plays, totals, stats, indices, bounds, settings, work_for(indices))
    slot = slot_of(table, key)
    before = random[0]
    arm = choose(cells, slot, ceilings, ONLY_ROW, random)
    if random[0] == before:
        return arm, 1.0
    return arm, shares(cells, slot, ceilings, ONLY_ROW)[arm]


def select_many(
    keys: Keys, ceilings: Array, random: RandomState, table: Keys, cells: Cells
) -> tuple[Keys, Array]:
    """Return the arms to play in many cells, by what is known now, and their probabilities."""
    arms, propensities = np.empty(keys.shape[0], np.int64), np.ones(keys.shape[0])
    for t in range(keys.shape[0]):
        slot, row, before = slot_of(table, keys[t]), row_of(ceilings, t), random[0]
        arm = choose(cells, slot, ceilings, row, random)
        arms[t] = arm
        if random[0] != before:
            propensities[t] = shares(cells, slot, ceilings, row)[arm]
    return arms, propensities


def update(
    context: Array,
    sides: Keys,
    key: int,
    arm: int,
    rewards: Array,
    ranked: int,
    ceilings: Array,
    random: RandomState,
    table: Keys,
    plays: Array,
    totals: Array,
    stats: Array,
    indices: Array,
    bounds: Array,
    settings: Array,
) -> int:
    """Record one decision's rewards; nothing is done unless the answer is DONE.

    `ranked` says by how many of the objectives, the first ones, the rule ranks arms.
    """
    if sides.shape[0] > 0:
        key = grid_key(context, sides)
        if key < 0:
            return OUTSIDE
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    if any_out_of_range(rewards, bounds):
        return OUT_OF_RANGE
    cells = Cells(plays, totals, stats, indices, bounds, settings, work_for(indices))
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    learn(cells, slot, key, arm, outcomes, ONLY_ROW, ONLY_ROW, ranked, ceilings, ONLY_ROW, random)
    return DONE


def update_many(
    slots: Keys,
    keys: Keys,
    arms: Keys,
    rewards: Array,
    ranked: int,
    ceilings: Array,
    random: RandomState,
    cells: Cells,
) -> None:
    """Record checked rewards[n, D] of many decisions, in order; keys[slot] is a slot's cell."""
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    for t in range(slots.shape[0]):
        slot, row = slots[t], row_of(ceilings, t)
        learn(
            cells, slot, keys[slot], arms[t], outcomes, t, ONLY_ROW, ranked, ceilings, row, random
        )


def replay(
    slots: Keys,
    keys: Keys,
    outcomes: Array,
    ranked: int,
    ceilings: Array,
    random: RandomState,
    cells: Cells,
) -> Keys:
    """Select, observe and update, for each round in order; returns the arms played."""
    arms = np.empty(slots.shape[0], np.int64)
    for t in range(slots.shape[0]):
        slot, row = slots[t], row_of(ceilings, t)
        arm = choose(cells, slot, ceilings, row, random)
        learn(cells, slot, keys[slot], arm, outcomes, t, arm, ranked, ceilings, row, random)
        arms[t] = arm
    return arms


def _amend(
    key: int,
    arm: int,
    rewards: Array,
    prior: float,
    ranked: int,
    table: Keys,
    cells: Cells,
) -> int:
    if any_out_of_range(rewards, cells.bounds):
        return OUT_OF_RANGE
    slot = slot_of(table, key)
    if slot == 0:
        return NO_SLOT
    for i in range(rewards.shape[0]):
        observed = cells.stats[slot, arm, i, COUNT] - prior
        if not math.isnan(rewards[i]) and observed >= cells.plays[slot, arm]:
            return NO_PLAY
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    observe_all(cells, slot, arm, outcomes, ONLY_ROW, ONLY_ROW, ranked)
    return DONE


_AMEND, _AMEND_PLAIN = bind(_amend), bind(_amend, observe_all=_PLAIN["observe_all"])


def amend(
    key: int, arm: int, rewards: Array, prior: float, ranked: int, table: Keys, cells: Cells
) -> int:
    """Record further rewards of a play; nothing is done unless the answer is DONE.

    `prior` of the arm's counts are its prior's. NO_PLAY if every play of the arm in the cell has a
    reward in one of these objectives.
    """
    kernel_ = _AMEND_PLAIN if is_plain(cells) else _AMEND
    return kernel_(key, arm, rewards, prior, ranked, table, cells)


class Loops(NamedTuple):
    """The compiled loops of a rule, and the probabilities of its arms."""

    select: Direct
    select_many: Callable[..., tuple[Keys, Array]]
    update: Direct
    update_many: Callable[..., None]
    replay: Callable[..., Keys]
    shares: Callable[..., Array]


class CellRule(NamedTuple):
    """The loops of a rule with a plain bound, and with any bound."""

    plain: Loops
    general: Loops


# One decision among few arms is made by Python at first.
_FOR_FEW_ARMS = deferred(ceilings=64)

# Rules that store nothing but the objectives share one compiled update.
_LEARN, _LEARN_PLAIN = learn, bind(learn, leaf, **_PLAIN)
_UPDATES = tuple(
    (Direct(bind(update, _FOR_FEW_ARMS, learn=made)), bind(update_many, learn=made))
    for made in (_LEARN_PLAIN, _LEARN)
)


_CHOOSE, _SHARES = choose, shares


def cell_rule(
    *,
    choose: Callable[..., Any] | None = None,
    shares: Callable[..., Any] | None = None,
    mark: Callable[..., Any] | None = None,
    prepare: Callable[..., Any] | None = None,
    learn: Callable[..., Any] | None = None,
    work: bool = False,
) -> CellRule:
    """Compile the loops for a rule: `mark`, or `choose` and `shares`; `prepare` or `learn` if any.

    A rule with `mark`, or that says `work`, has scratch space in `cells.work`.

    All are functions with the decorators of `kernels.jit` and the arguments they have here. They
    may call kernels and functions of their own file.
    """
    space: dict[str, Callable[..., Any]] = {"work_for": new_work} if mark or work else {}
    rule = dict(space)
    if mark:
        rule["choose"] = bind(_CHOOSE, leaf, mark=mark)
        rule["shares"] = bind(_SHARES, inlined, mark=mark)
    if choose and shares:
        rule["choose"], rule["shares"] = choose, shares
    selects = Direct(bind(select, _FOR_FEW_ARMS, **rule)), bind(select_many, **rule)
    probabilities = _FOR_FEW_ARMS(rule["shares"])
    loops = []
    for n, default in enumerate((_LEARN_PLAIN, _LEARN)):
        record, updates = default, _UPDATES[n]
        if prepare or learn:
            plain = _PLAIN if default is _LEARN_PLAIN else {}
            hook = {"prepare": bind(prepare, leaf, **plain)} if prepare else {}
            record = bind(learn or _LEARN, leaf, **plain, **hook)
            own: dict[str, Callable[..., Any]] = {**space, "learn": record}
            updates = Direct(bind(update, _FOR_FEW_ARMS, **own)), bind(update_many, **own)
        replays = bind(replay, deferred(outcomes=1024), **rule, learn=record)
        loops.append(Loops(*selects, *updates, replays, probabilities))
    return CellRule(*loops)
