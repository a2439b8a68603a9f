"""Ridge regression on features, one model a row: what is known of an arm without any cells.

    grams[row, g, F, F]      A = ridge·I + Σ φφᵀ over the rounds the model learned from
    inverses[row, g, F, F]   A⁻¹
    moments[row, i, F]       b = Σ r φ of objective i
    weights[row, i, F]       θ = A⁻¹ b
    counts[row, i]           observations of objective i

A row is an arm (or an arm at a stage, see `linear_stages.py`). g has length 1 while every round was
observed in all objectives or in none: then one Gram matrix serves all. From the first reward that
is missing in some objectives only, there is one for each objective.

A⁻¹ follows A by the formula of Sherman and Morrison, and is computed anew from A, which is a plain
sum, by Cholesky's decomposition every so often. When this happens depends on the count alone, so a
replay and single steps agree to the last bit.

θ follows by θ += A⁻¹φ (r − φᵀθ) with the new A, which corrects itself where A⁻¹b would not: after a
million rounds of one context, b is rounded by more than the ridge is worth.
"""

import math

import numpy as np

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.statistics import MEAN, PLAIN_FIELDS, WIDTH, Estimates

# Updates of a Gram matrix from one computation of its inverse to the next, or four times the number
# of features if that is more: F³/(4F) operations an update are fewer than its own F².
REFRESH = 128

# What an update answers.
OUTSIDE, TOO_LARGE, PARTIAL, NO_PLAY, DONE = 0, 1, 2, 3, 4


@inlined
def multiply(inverses: Array, row: int, g: int, vectors: Array, t: int, work: Array) -> None:
    """Write A⁻¹ · vectors[t] to `work`: rows are added four at a time, for the vectoriser."""
    size = vectors.shape[1]
    fours = size - size % 4
    for k in range(size):
        work[k] = 0.0
    for j in range(0, fours, 4):
        w = vectors[t, j]
        x = vectors[t, j + 1]
        y = vectors[t, j + 2]
        z = vectors[t, j + 3]
        for k in range(size):
            first = inverses[row, g, j, k] * w + inverses[row, g, j + 1, k] * x
            second = inverses[row, g, j + 2, k] * y + inverses[row, g, j + 3, k] * z
            work[k] += first + second
    for j in range(fours, size):
        w = vectors[t, j]
        for k in range(size):
            work[k] += inverses[row, g, j, k] * w


@inlined
def spread(inverses: Array, row: int, g: int, features: Array, t: int, work: Array) -> float:
    """Return sqrt(φᵀA⁻¹φ) of φ = features[t]; leaves A⁻¹φ in `work`."""
    multiply(inverses, row, g, features, t, work)
    total = 0.0
    for k in range(features.shape[1]):
        total += work[k] * features[t, k]
    return math.sqrt(max(total, 0.0))


@inlined
def estimate(
    features: Array,
    t: int,
    gamma: float,
    start: float,
    stages: int,
    stage: int,
    inverses: Array,
    weights: Array,
    counts: Array,
    work: Array,
    known: Estimates,
) -> None:
    """Write every arm's mean φᵀθ, width γ sqrt(φᵀA⁻¹φ) and index at φ = features[t] to slot 0.

    An objective in which an arm was observed fewer than `start` times has an infinite width and
    index there: each arm is played that often before it can be left.
    """
    stats, index = known
    for arm in range(stats.shape[1]):
        row = arm * stages + stage
        width = 0.0
        for i in range(stats.shape[2]):
            if i < inverses.shape[1]:
                width = gamma * spread(inverses, row, i, features, t, work)
            mean = 0.0
            for k in range(features.shape[1]):
                mean += features[t, k] * weights[row, i, k]
            shown = width if counts[row, i] >= start else math.inf
            stats[0, arm, i, MEAN] = mean
            stats[0, arm, i, WIDTH] = shown
            index[0, i, arm] = mean + shown


@inlined
def room_for_estimates(arms: int, objectives: int) -> Estimates:
    """Return room for what is known in one context."""
    return Estimates(np.zeros((1, arms, objectives, PLAIN_FIELDS)), np.empty((1, objectives, arms)))


@kernel
def look(
    features: Array,
    gamma: float,
    start: float,
    stages: int,
    stage: int,
    arms: int,
    inverses: Array,
    weights: Array,
    counts: Array,
) -> Estimates:
    """Return every arm's estimates at features[1, F]."""
    known = room_for_estimates(arms, counts.shape[1])
    work = np.empty(features.shape[1])
    estimate(features, 0, gamma, start, stages, stage, inverses, weights, counts, work, known)
    return known


@kernel
def expect(
    kind: int, point: Array, table: Array, arm: int, weights: Array, features: Array, means: Array
) -> bool:
    """Write φ(x) of a context to features[0], and the expected rewards φᵀθ of an arm to means[D].

    Returns False, and writes nothing of use, if the context is outside [0,1]^d.
    """
    if not features_at(kind, point, table, features):
        return False
    for i in range(means.shape[0]):
        mean = 0.0
        for k in range(features.shape[1]):
            mean += features[0, k] * weights[arm, i, k]
        means[i] = mean
    return True


@kernel
def invert(grams: Array, inverses: Array, row: int, g: int, factor: Array) -> bool:
    """Compute A⁻¹ from A by Cholesky's decomposition A = LLᵀ, in `factor`.

    Returns False, and changes nothing but `factor`, if A is singular to working precision.
    """
    size = factor.shape[0]
    for j in range(size):
        pivot = grams[row, g, j, j]
        least = 1e-15 * pivot
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        if not pivot > least:
            return False
        pivot = math.sqrt(pivot)
        factor[j, j] = pivot
        for n in range(j + 1, size):
            value = grams[row, g, n, j]
            for k in range(j):
                value -= factor[n, k] * factor[j, k]
            factor[n, j] = value / pivot
    # M = L⁻¹ in the upper triangle, transposed: factor[k, j] = M[j, k] for k < j.
    for j in range(size):
        factor[j, j] = 1.0 / factor[j, j]
        for k in range(j):
            value = factor[j, k] * factor[k, k]
            for n in range(k + 1, j):
                value += factor[j, n] * factor[k, n]
            factor[k, j] = -value * factor[j, j]
    # A⁻¹ = MᵀM.
    for j in range(size):
        for k in range(j + 1):
            value = factor[j, j] * (factor[k, j] if k < j else factor[j, j])
            for n in range(j + 1, size):
                value += factor[j, n] * factor[k, n]
            inverses[row, g, j, k] = value
            inverses[row, g, k, j] = value
    return True


@inlined
def absorb(
    features: Array,
    t: int,
    row: int,
    g: int,
    count: float,
    grams: Array,
    inverses: Array,
    work: Array,
    factor: Array,
) -> None:
    """Add φφᵀ to a Gram matrix: A⁻¹ −= A⁻¹φφᵀA⁻¹/(1 + φᵀA⁻¹φ). `count` includes this round.

    Leaves the gain, the new A⁻¹φ, in `work`.
    """
    size = features.shape[1]
    width = spread(inverses, row, g, features, t, work)
    share = 1.0 / (1.0 + width * width)
    for j in range(size):
        feature = features[t, j]
        part = work[j]
        for k in range(size):
            grams[row, g, j, k] += feature * features[t, k]
            inverses[row, g, j, k] -= (part * work[k]) * share
    for k in range(size):
        work[k] *= share
    if count % max(REFRESH, 4 * size) == 0.0:
        invert(grams, inverses, row, g, factor)


@inlined
def partial(outcomes: Array, t: int, arm: int) -> bool:
    """Tell whether a reward is missing in some objectives but not in all."""
    missing = 0
    for i in range(outcomes.shape[2]):
        missing += math.isnan(outcomes[t, arm, i])
    return bool(0 < missing < outcomes.shape[2])


@inlined
def learn(
    features: Array,
    t: int,
    row: int,
    outcomes: Array,
    arm: int,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
    work: Array,
    factor: Array,
) -> None:
    """Add the rewards outcomes[t, arm] to the model of a row; NaN is "not observed"."""
    size = features.shape[1]
    for i in range(outcomes.shape[2]):
        reward = outcomes[t, arm, i]
        if math.isnan(reward):
            continue
        counts[row, i] += 1.0
        g = min(i, grams.shape[1] - 1)
        if i == g:
            absorb(features, t, row, g, counts[row, i], grams, inverses, work, factor)
        error = reward
        for k in range(size):
            error -= features[t, k] * weights[row, i, k]
        for k in range(size):
            moments[row, i, k] += reward * features[t, k]
            weights[row, i, k] += work[k] * error


@inlined
def too_large(rewards: Array, t: int) -> bool:
    """Tell whether a reward of rewards[t] is larger than any can be; NaN is not."""
    found = False
    for i in range(rewards.shape[1]):
        found |= abs(rewards[t, i]) > LARGEST_REWARD
    return found


@kernel
def update(
    kind: int,
    point: Array,
    table: Array,
    arm: int,
    row: int,
    rewards: Array,
    plays: Array,
    clock: Keys,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
) -> int:
    """Record the rewards[D] of one decision; nothing is done unless the answer is DONE.

    row −1 counts the play and learns nothing from it.
    """
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return OUTSIDE
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    if too_large(rewards.reshape((1, rewards.shape[0])), 0):
        return TOO_LARGE
    if row >= 0 and grams.shape[1] < rewards.shape[0] and partial(outcomes, 0, 0):
        return PARTIAL
    plays[arm] += 1.0
    clock[0] += 1
    if row >= 0:
        size = features.shape[1]
        work = np.empty(size)
        factor = np.empty((size, size))
        learn(
            features, 0, row, outcomes, 0, grams, inverses, moments, weights, counts, work, factor
        )
    return DONE


@kernel
def amend(
    kind: int,
    point: Array,
    table: Array,
    arm: int,
    rewards: Array,
    prior: float,
    plays: Array,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
) -> int:
    """Record further rewards[D] of a play told before; nothing is done unless DONE.

    `prior` of the counts of the arm's model are its prior's. NO_PLAY if every play of the arm was
    told a reward in one of these objectives.
    """
    features = np.empty((1, table.shape[0]))
    if not features_at(kind, point, table, features):
        return OUTSIDE
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    if too_large(rewards.reshape((1, rewards.shape[0])), 0):
        return TOO_LARGE
    for i in range(rewards.shape[0]):
        if not math.isnan(rewards[i]) and counts[arm, i] - prior >= plays[arm]:
            return NO_PLAY
    if grams.shape[1] < rewards.shape[0] and partial(outcomes, 0, 0):
        return PARTIAL
    size = features.shape[1]
    work = np.empty(size)
    factor = np.empty((size, size))
    learn(features, 0, arm, outcomes, 0, grams, inverses, moments, weights, counts, work, factor)
    return DONE


@kernel
def update_many(
    features: Array,
    arms: Keys,
    rewards: Array,
    plays: Array,
    clock: Keys,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
) -> None:
    """Record checked rewards[n, D] of many decisions at features[n, F], in order."""
    size = features.shape[1]
    work = np.empty(size)
    factor = np.empty((size, size))
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    for t in range(features.shape[0]):
        arm = arms[t]
        plays[arm] += 1.0
        clock[0] += 1
        learn(
            features, t, arm, outcomes, 0, grams, inverses, moments, weights, counts, work, factor
        )


@kernel
def invert_all(grams: Array, inverses: Array) -> bool:
    """Compute every A⁻¹ from A; False if one is singular to working precision."""
    factor = np.empty(grams.shape[2:])
    for row in range(grams.shape[0]):
        for g in range(grams.shape[1]):
            if not invert(grams, inverses, row, g, factor):
                return False
    return True
