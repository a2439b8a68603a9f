"""LinUCB's rule: the highest index of ridge regressions, in the dominant objective only."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear import estimate, learn, partial, room_for_estimates
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, Estimates
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, shares_of_best


@inlined
def decide_and_tell(
    features: Array,
    t: int,
    ceilings: Array,
    row: int,
    alpha: float,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
    work: Array,
    known: Estimates,
) -> tuple[int, float]:
    """Return the arm to play at φ = features[t] and the exact probability of it."""
    estimate(features, t, alpha, 1.0, 1, 0, inverses, weights, counts, work, known)
    before = random[0]
    arm = best_arm(known.indices, 0, DOMINANT, -math.inf, ceilings, row, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    return arm, shares_of_best(known.indices, 0, DOMINANT, ceilings, row)[arm]


@kernel
def select(
    kind: int,
    point: Array,
    table: Array,
    ceilings: Array,
    alpha: float,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return -1, 0.0
    known = room_for_estimates(ceilings.shape[1], 1)
    work = np.empty(features.shape[1])
    return decide_and_tell(
        features, 0, ceilings, ONLY_ROW, alpha, inverses, weights, counts, random, work, known
    )


@kernel
def select_many(
    features: Array,
    ceilings: Array,
    alpha: float,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
    arms: Keys,
    propensities: Array,
) -> None:
    """Write the arms to play at features[n, F], by what is known now, and their probabilities."""
    known = room_for_estimates(ceilings.shape[1], 1)
    work = np.empty(features.shape[1])
    for t in range(features.shape[0]):
        row = row_of(ceilings, t)
        arms[t], propensities[t] = decide_and_tell(
            features, t, ceilings, row, alpha, inverses, weights, counts, random, work, known
        )


@kernel
def replay(
    start: int,
    features: Array,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    clock: Keys,
    alpha: float,
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
    known = room_for_estimates(ceilings.shape[1], 1)
    shared = grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        estimate(features, t, alpha, 1.0, 1, 0, inverses, weights, counts, work, known)
        arm = best_arm(known.indices, 0, DOMINANT, -math.inf, ceilings, row_of(ceilings, t), random)
        arms[t] = arm
        if shared and partial(outcomes, t, arm):
            return t
        plays[arm] += 1.0
        clock[0] += 1
        learn(
            features, t, arm, outcomes, arm, grams, inverses, moments, weights, counts, work, factor
        )
    return int(features.shape[0])
