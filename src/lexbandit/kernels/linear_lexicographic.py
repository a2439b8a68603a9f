"""LexLinUCB's rule: the lexicographic levels of MOC-MAB on ridge regressions instead of cells."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.lexicographic import choose, shares
from lexbandit.kernels.linear import estimate, learn, partial, room_for_estimates
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import Estimates
from lexbandit.kernels.ties import ONLY_ROW, row_of

# What sets the widths and the threshold, in one array.
EXPLORATION, THRESHOLD, POWER, LAM, START = 0, 1, 2, 3, 4


@inlined
def gamma_at(clock: Keys, settings: Array) -> float:
    """Return γ_t = exploration · sqrt(2 ln(1 + t)) of the coming round t, the clock plus one."""
    return float(settings[EXPLORATION] * math.sqrt(2.0 * math.log(clock[0] + 2.0)))


@inlined
def threshold_at(clock: Keys, settings: Array, allowances: Array) -> float:
    """Return τ_t = c · t^(−p) of the coming round t, or the least tolerance if that is more.

    The last objective's tolerance does not count: nothing comes after it.
    """
    least = math.inf if allowances.shape[0] > 1 else 0.0
    for i in range(allowances.shape[0] - 1):
        least = min(least, allowances[i])
    return float(max(settings[THRESHOLD] * (clock[0] + 1.0) ** -settings[POWER], least))


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
    known: Estimates,
) -> int:
    """Return the arm to play at φ = features[t]; what is known of all is left in `known`."""
    gamma, start = gamma_at(clock, settings), settings[START]
    estimate(features, t, gamma, start, 1, 0, inverses, weights, counts, work, known)
    threshold = threshold_at(clock, settings, allowances)
    return choose(known, 0, ceilings, row, threshold, allowances, 0.0, settings[LAM], random)


@inlined
def decide_and_tell(
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
    known: Estimates,
) -> tuple[int, float]:
    """Return the arm to play and the exact probability of it."""
    before = random[0]
    arm = decide(
        features,
        t,
        ceilings,
        row,
        clock,
        settings,
        allowances,
        inverses,
        weights,
        counts,
        random,
        work,
        known,
    )
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    threshold = threshold_at(clock, settings, allowances)
    return arm, shares(known, 0, ceilings, row, threshold, allowances, 0.0, settings[LAM])[arm]


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
    return decide_and_tell(
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
        room_for_estimates(ceilings.shape[1], counts.shape[1]),
    )


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
    known = room_for_estimates(ceilings.shape[1], counts.shape[1])
    for t in range(features.shape[0]):
        arms[t], propensities[t] = decide_and_tell(
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
            known,
        )


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
    """Select, observe and update, for each round in order from `start` on; writes the arms played.

    Returns the number of rounds, or the first round whose rewards are partly missing while one
    Gram matrix serves all objectives: its arm is chosen and nothing is learned from it yet.
    """
    size = features.shape[1]
    work = np.empty(size)
    factor = np.empty((size, size))
    known = room_for_estimates(ceilings.shape[1], counts.shape[1])
    shared = grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        arm = decide(
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
            known,
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
