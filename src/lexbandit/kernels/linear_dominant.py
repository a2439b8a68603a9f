"""LinUCB's rule: the highest index of ridge regressions, in the dominant objective only."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.dominant import shares
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.linear import estimate, learn, partial
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, PLAIN_FIELDS, Array
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of


@kernel
def select(
    features: Array,
    ceilings: Array,
    alpha: float,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play at features[1, F] and the exact probability of it."""
    stats = np.empty((1, 1, PLAIN_FIELDS, ceilings.shape[1]))
    work = np.empty(features.shape[1])
    estimate(features, 0, alpha, 1, 0, inverses, weights, counts, work, stats)
    before = random[0]
    arm = best_arm(stats, 0, DOMINANT, -math.inf, ceilings, ONLY_ROW, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    return arm, shares(stats, 0, ceilings)[arm]


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
    stats = np.empty((1, 1, PLAIN_FIELDS, ceilings.shape[1]))
    shared = grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        estimate(features, t, alpha, 1, 0, inverses, weights, counts, work, stats)
        arm = best_arm(stats, 0, DOMINANT, -math.inf, ceilings, row_of(ceilings, t), random)
        arms[t] = arm
        if shared and partial(outcomes, t, arm):
            return t
        plays[arm] += 1.0
        clock[0] += 1
        learn(
            features, t, arm, outcomes, arm, grams, inverses, moments, weights, counts, work, factor
        )
    return int(features.shape[0])
