"""SupLinUCB's rule: stages of finer and finer widths, each with data of its own.

The model of an arm at stage s = 0, …, S − 1 is row arm·S + s. In the paper stages count from 1, so
that its 2^(−s) is 2^(−(s+1)) here.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear import estimate, learn, partial, room_for_estimates, spread
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.statistics import DOMINANT, WIDTH, Estimates
from lexbandit.kernels.ties import ONLY_ROW, best_arm, row_of, shares_of_best


@inlined
def decide(
    features: Array,
    t: int,
    ceilings: Array,
    row: int,
    alpha: float,
    finest: float,
    stages: int,
    inverses: Array,
    weights: Array,
    counts: Array,
    work: Array,
    known: Estimates,
    ranking: Array,
) -> tuple[int, bool]:
    """Walk the stages (Chu et al., 2011, Algorithm 2); return the last and whether it explores.

    ranking[0, 0, arm] is what the arm to play has the most of, −∞ for an arm that will not
    be played: the index if all widths are at most `finest` = 1/√T, else the width if it exceeds
    2^(−s). `known` holds the estimates of the last stage.
    """
    arms = ceilings.shape[1]
    for arm in range(arms):
        ranking[0, 0, arm] = ceilings[row, arm]
    stage = 0
    while True:
        estimate(features, t, alpha, 1.0, stages, stage, inverses, weights, counts, work, known)
        widest = 0.0
        top = -math.inf
        for arm in range(arms):
            if ranking[0, 0, arm] > -math.inf:
                widest = max(widest, known.stats[0, arm, 0, WIDTH])
                top = max(top, known.indices[0, 0, arm])
        explores = widest > finest
        limit = 2.0 ** -(stage + 1.0)
        if explores and widest <= limit:
            for arm in range(arms):
                if known.indices[0, 0, arm] < top - 2.0 * limit:
                    ranking[0, 0, arm] = -math.inf
            stage += 1
            continue
        for arm in range(arms):
            if ranking[0, 0, arm] > -math.inf:
                value = known.indices[0, 0, arm]
                if explores:
                    value = known.stats[0, arm, 0, WIDTH]
                    value = value if value > limit else -math.inf
                ranking[0, 0, arm] = value
        return stage, explores


@inlined
def home_of(
    features: Array,
    t: int,
    arm: int,
    alpha: float,
    finest: float,
    stages: int,
    inverses: Array,
    counts: Array,
    work: Array,
) -> int:
    """Return the model that stores a round of `arm`: its first stage with a width above 2^(−s).

    −1, for none, if a width of at most `finest` comes first. For the arm that `decide` explores
    this is the stage that chose it, unless the arm was already finer than `finest` at a stage where
    a rival was not, which happens at small scales only.
    """
    for stage in range(stages):
        row = arm * stages + stage
        if counts[row, 0] == 0.0:
            return row
        width = alpha * spread(inverses, row, DOMINANT, features, t, work)
        if width <= finest:
            return -1
        if width > 2.0 ** -(stage + 1.0):
            return row
    return -1


@kernel
def home(
    features: Array,
    arm: int,
    alpha: float,
    finest: float,
    stages: int,
    inverses: Array,
    counts: Array,
) -> int:
    """Return `home_of` at features[1, F]."""
    work = np.empty(features.shape[1])
    return home_of(features, 0, arm, alpha, finest, stages, inverses, counts, work)


@kernel
def walk(
    features: Array,
    ceilings: Array,
    alpha: float,
    finest: float,
    stages: int,
    inverses: Array,
    weights: Array,
    counts: Array,
) -> tuple[int, bool, Array]:
    """Return the stage that decides at features[1, F], whether it explores, and the ranking."""
    known = room_for_estimates(ceilings.shape[1], 1)
    ranking = np.empty((1, 1, ceilings.shape[1]))
    work = np.empty(features.shape[1])
    stage, explores = decide(
        features,
        0,
        ceilings,
        ONLY_ROW,
        alpha,
        finest,
        stages,
        inverses,
        weights,
        counts,
        work,
        known,
        ranking,
    )
    return stage, explores, ranking


@kernel
def select(
    kind: int,
    point: Array,
    table: Array,
    ceilings: Array,
    alpha: float,
    finest: float,
    stages: int,
    inverses: Array,
    weights: Array,
    counts: Array,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside."""
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return -1, 0.0
    _, _, ranking = walk(features, ceilings, alpha, finest, stages, inverses, weights, counts)
    before = random[0]
    arm = best_arm(ranking, 0, DOMINANT, -math.inf, ceilings, ONLY_ROW, random)
    if random[0] == before:  # nothing was drawn, so there was no tie
        return arm, 1.0
    return arm, shares_of_best(ranking, 0, DOMINANT, ceilings, ONLY_ROW)[arm]


@kernel
def replay(
    start: int,
    features: Array,
    outcomes: Array,
    ceilings: Array,
    plays: Array,
    clock: Keys,
    alpha: float,
    finest: float,
    stages: int,
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
    ranking = np.empty((1, 1, ceilings.shape[1]))
    shared = grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        row = row_of(ceilings, t)
        decide(
            features,
            t,
            ceilings,
            row,
            alpha,
            finest,
            stages,
            inverses,
            weights,
            counts,
            work,
            known,
            ranking,
        )
        arm = best_arm(ranking, 0, DOMINANT, -math.inf, ceilings, row, random)
        arms[t] = arm
        row = home_of(features, t, arm, alpha, finest, stages, inverses, counts, work)
        if row >= 0 and shared and partial(outcomes, t, arm):
            return t
        plays[arm] += 1.0
        clock[0] += 1
        if row >= 0:
            learn(
                features,
                t,
                row,
                outcomes,
                arm,
                grams,
                inverses,
                moments,
                weights,
                counts,
                work,
                factor,
            )
    return int(features.shape[0])
