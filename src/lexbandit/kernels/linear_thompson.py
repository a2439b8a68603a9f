"""LexThompson's rule: LexLinUCB's levels, and a posterior draw where the last level decides."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear import estimate, learn, partial
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.linear_lexicographic import LAM, START, gamma_at, threshold_at
from lexbandit.kernels.normal_chances import chances
from lexbandit.kernels.random import RandomState, below, normal
from lexbandit.kernels.statistics import INDEX, MEAN, PLAIN_FIELDS, WIDTH, Array, Mask
from lexbandit.kernels.ties import ONLY_ROW, row_of


@inlined
def settle(
    stats: Array,
    ceilings: Array,
    row: int,
    threshold: float,
    allowances: Array,
    lam: float,
    tops: Array,
    left: Mask,
) -> int:
    """Set left[arm] for the arms left at the level that decides, and return that level.

    As `lexicographic.choose`, but nothing is drawn: of arms tied at the top, all must be known to
    within the threshold, and the lowest floor of theirs holds.
    """
    last = int(stats.shape[1]) - 1
    for arm in range(left.shape[0]):
        left[arm] = ceilings[row, arm] > 0.0
    for i in range(last):
        tops[i] = -math.inf
        for arm in range(left.shape[0]):
            if left[arm] and stats[0, i, INDEX, arm] > tops[i]:
                tops[i] = stats[0, i, INDEX, arm]
        floor = math.inf
        for arm in range(left.shape[0]):
            if left[arm] and stats[0, i, INDEX, arm] == tops[i]:
                width = stats[0, i, WIDTH, arm]
                if width > threshold:
                    return i
                short = 0.0
                for j in range(i):
                    lower = stats[0, j, MEAN, arm] - stats[0, j, WIDTH, arm]
                    short = max(short, tops[j] - lower)
                floor = min(floor, stats[0, i, MEAN, arm] - width - allowances[i] - lam * short)
        for arm in range(left.shape[0]):
            left[arm] = left[arm] and stats[0, i, INDEX, arm] >= floor
    return last


@inlined
def unseen_among(stats: Array, level: int, left: Mask) -> tuple[int, int]:
    """Return how many of the arms left were never observed at this level, and how many are left."""
    unseen = 0
    total = 0
    for arm in range(left.shape[0]):
        total += left[arm]
        unseen += left[arm] and stats[0, level, WIDTH, arm] == math.inf
    return unseen, total


@inlined
def draw(stats: Array, level: int, left: Mask, random: RandomState) -> int:
    """Return the arm of the highest draw from N(mean, width²) at this level, among those left.

    An arm never observed comes first, drawn uniformly among such arms. Two steps of the random
    state an arm, none if one arm is left.
    """
    unseen, total = unseen_among(stats, level, left)
    best = -1
    if unseen > 0 or total == 1:
        skip = below(random, unseen) if unseen > 1 else 0
        for arm in range(left.shape[0]):
            if left[arm] and (unseen == 0 or stats[0, level, WIDTH, arm] == math.inf):
                if skip == 0:
                    best = arm
                skip -= 1
        return best
    highest = -math.inf
    for arm in range(left.shape[0]):
        if left[arm]:
            value = stats[0, level, MEAN, arm] + stats[0, level, WIDTH, arm] * normal(random)
            if value > highest or best < 0:
                highest = value
                best = arm
    return best


@kernel
def candidates(
    stats: Array, ceilings: Array, threshold: float, allowances: Array, lam: float
) -> tuple[int, Mask]:
    """Return the level that decides and the arms left at it."""
    left = np.empty(stats.shape[3], np.bool_)
    tops = np.empty(stats.shape[1])
    level = settle(stats, ceilings, ONLY_ROW, threshold, allowances, lam, tops, left)
    return level, left


@kernel
def shares_among(stats: Array, level: int, left: Mask) -> Array:
    """Return the exact probability of every arm, given those left at the level that decides."""
    out = np.zeros(left.shape[0])
    unseen, total = unseen_among(stats, level, left)
    means, widths = np.empty(total), np.empty(total)
    n = 0
    for arm in range(left.shape[0]):
        if left[arm]:
            means[n] = stats[0, level, MEAN, arm]
            widths[n] = stats[0, level, WIDTH, arm]
            n += 1
    found = (widths == math.inf) / unseen if unseen > 0 else chances(means, widths)
    n = 0
    for arm in range(left.shape[0]):
        if left[arm]:
            out[arm] = found[n]
            n += 1
    return out


@kernel
def shares(stats: Array, ceilings: Array, threshold: float, allowances: Array, lam: float) -> Array:
    """Return the exact probability of every arm."""
    level, left = candidates(stats, ceilings, threshold, allowances, lam)
    return shares_among(stats, level, left)


@inlined
def decide(
    features: Array,
    t: int,
    ceilings: Array,
    row: int,
    clock: Keys,
    settings: Array,
    allowances: Array,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
    work: Array,
    stats: Array,
    tops: Array,
    left: Mask,
) -> tuple[int, int]:
    """Return the arm to play at φ = features[t] and the level that decided, among those `left`."""
    gamma, start = gamma_at(clock, settings), settings[START]
    estimate(features, t, gamma, start, 1, 0, inverses, weights, counts, work, stats)
    threshold = threshold_at(clock, settings, allowances)
    level = settle(stats, ceilings, row, threshold, allowances, settings[LAM], tops, left)
    return draw(stats, level, left, random), level


@kernel
def select(
    kind: int,
    point: Array,
    table: Array,
    ceilings: Array,
    clock: Keys,
    settings: Array,
    allowances: Array,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return -1, 0.0
    stats = np.empty((1, counts.shape[1], PLAIN_FIELDS, ceilings.shape[1]))
    left = np.empty(ceilings.shape[1], np.bool_)
    arm, level = decide(
        features,
        0,
        ceilings,
        ONLY_ROW,
        clock,
        settings,
        allowances,
        inverses,
        weights,
        counts,
        random,
        np.empty(features.shape[1]),
        stats,
        np.empty(counts.shape[1]),
        left,
    )
    return arm, shares_among(stats, level, left)[arm]


@kernel
def select_many(
    features: Array,
    ceilings: Array,
    clock: Keys,
    settings: Array,
    allowances: Array,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
    arms: Keys,
    propensities: Array,
) -> None:
    """Write the arms to play at features[n, F], by what is known now, and their probabilities."""
    work = np.empty(features.shape[1])
    stats = np.empty((1, counts.shape[1], PLAIN_FIELDS, ceilings.shape[1]))
    left = np.empty(ceilings.shape[1], np.bool_)
    tops = np.empty(counts.shape[1])
    for t in range(features.shape[0]):
        arm, level = decide(
            features,
            t,
            ceilings,
            row_of(ceilings, t),
            clock,
            settings,
            allowances,
            inverses,
            weights,
            counts,
            random,
            work,
            stats,
            tops,
            left,
        )
        arms[t] = arm
        propensities[t] = shares_among(stats, level, left)[arm]


@kernel
def replay(
    start: int,
    features: Array,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    clock: Keys,
    settings: Array,
    allowances: Array,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
    arms: Keys,
) -> int:
    """Select, observe and update from round `start` on, as `linear_lexicographic.replay`."""
    size = features.shape[1]
    work = np.empty(size)
    factor = np.empty((size, size))
    stats = np.empty((1, counts.shape[1], PLAIN_FIELDS, ceilings.shape[1]))
    left = np.empty(ceilings.shape[1], np.bool_)
    tops = np.empty(counts.shape[1])
    shared = grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        arm, _ = decide(
            features,
            t,
            ceilings,
            row_of(ceilings, t),
            clock,
            settings,
            allowances,
            inverses,
            weights,
            counts,
            random,
            work,
            stats,
            tops,
            left,
        )
        arms[t] = arm
        if shared and partial(outcomes, t, arm):
            return t
        plays[arm] += 1.0
        clock[0] += 1
        learn(
            features, t, arm, outcomes, arm, grams, inverses, moments, weights, counts, work, factor
        )
    return int(features.shape[0])
