"""Ridge regression on features, and the loops that every rule on such regressions shares.

    plays[arm]               rounds in which the arm was played
    clock[0]                 updates so far
    grams[row, g, F, F]      A = ridge·I + Σ φφᵀ over the rounds the model learned from
    inverses[row, g, F, F]   A⁻¹
    moments[row, i, F]       b = Σ r φ of objective i
    weights[row, i, F]       θ = A⁻¹ b
    counts[row, i]           observations of objective i
    settings[...]            the rule's own numbers

A row is a model: an arm's, or an arm's at one of several stages. g has length 1 while every round
was observed in all objectives or in none: then one Gram matrix serves all. From the first reward
that is missing in some objectives only, there is one for each objective.

A⁻¹ follows A by the formula of Sherman and Morrison, and is computed anew from A, which is a plain
sum, by Cholesky's decomposition every so often. When this happens depends on the count alone, so a
replay and single steps agree to the last bit.

θ follows by θ += A⁻¹φ (r − φᵀθ) with the new A, which corrects itself where A⁻¹b would not: after a
million rounds of one context, b is rounded by more than the ridge is worth.

A rule is a few compiled functions, `look`, `pick` and `shares`, perhaps `model_for`, and
`linear_rule` compiles the loops around them. The functions here that a rule replaces say what is
expected of them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lexbandit.checks import LARGEST_REWARD
from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.cells import MEAN, PLAIN_FIELDS, WIDTH
from lexbandit.kernels.jit import bind, inlined, kernel, leaf
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import DOMINANT, ONLY_ROW, best_arm, row_of, shares_of_best

# Updates of a Gram matrix from one computation of its inverse to the next, or four times the number
# of features if that is more: F³/(4F) operations an update are fewer than its own F².
REFRESH = 128

# What an update answers.
OUTSIDE, TOO_LARGE, PARTIAL, NO_PLAY, DONE = 0, 1, 2, 3, 4


class Models(NamedTuple):
    """The arrays of all models, as described above."""

    plays: Array
    clock: Keys
    grams: Array
    inverses: Array
    moments: Array
    weights: Array
    counts: Array
    settings: Array


class LinearWork(NamedTuple):
    """What is known of the arms in one context, and space to work in.

    stats[0, arm, i, field] and indices[0, i, arm] are as those of cells, for the objectives that a
    rule looks at; ranking[0, 0, arm] is free for a rule that ranks arms by something else than an
    index; `vector` has F numbers, `factor` F × F.
    """

    stats: Array
    indices: Array
    ranking: Array
    vector: Array
    factor: Array


@inlined
def new_work(models: Models, objectives: int) -> LinearWork:
    """Return space for what is known of all arms in `objectives` objectives."""
    arms, size = models.plays.shape[0], models.weights.shape[2]
    return LinearWork(
        np.zeros((1, arms, objectives, PLAIN_FIELDS)),
        np.empty((1, objectives, arms)),
        np.empty((1, 1, arms)),
        np.empty(size),
        np.empty((size, size)),
    )


@leaf
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


@leaf
def spread(inverses: Array, row: int, g: int, features: Array, t: int, work: Array) -> float:
    """Return sqrt(φᵀA⁻¹φ) of φ = features[t]; leaves A⁻¹φ in `work`."""
    multiply(inverses, row, g, features, t, work)
    total = 0.0
    for k in range(features.shape[1]):
        total += work[k] * features[t, k]
    return math.sqrt(max(total, 0.0))


@leaf
def estimate(
    models: Models,
    features: Array,
    t: int,
    gamma: float,
    start: float,
    stages: int,
    stage: int,
    work: LinearWork,
) -> None:
    """Write every arm's mean φᵀθ, width γ sqrt(φᵀA⁻¹φ) and index at φ = features[t] to `work`.

    An objective in which an arm was observed fewer than `start` times has an infinite width and
    index there: each arm is played that often before it can be left.
    """
    stats = work.stats
    for arm in range(stats.shape[1]):
        row = arm * stages + stage
        width = 0.0
        for i in range(stats.shape[2]):
            if i < models.inverses.shape[1]:
                width = gamma * spread(models.inverses, row, i, features, t, work.vector)
            mean = 0.0
            for k in range(features.shape[1]):
                mean += features[t, k] * models.weights[row, i, k]
            shown = width if models.counts[row, i] >= start else math.inf
            stats[0, arm, i, MEAN] = mean
            stats[0, arm, i, WIDTH] = shown
            work.indices[0, i, arm] = mean + shown


@kernel
def expect(
    kind: int, point: Array, table: Array, arm: int, weights: Array, features: Array, means: Array
) -> bool:
    """Write φ(x) of a context to features[0], and the expected rewards φᵀθ of an arm to means[D].

    Returns False, and writes nothing of use, if the context is outside [0,1]^d.
    """
    inside = features_at(kind, point, table, features)
    if not inside:
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


@leaf
def absorb(
    models: Models, features: Array, t: int, row: int, g: int, count: float, work: LinearWork
) -> None:
    """Add φφᵀ to a Gram matrix: A⁻¹ −= A⁻¹φφᵀA⁻¹/(1 + φᵀA⁻¹φ). `count` includes this round.

    Leaves the gain, the new A⁻¹φ, in work.vector.
    """
    grams, inverses, gain = models.grams, models.inverses, work.vector
    size = features.shape[1]
    width = spread(inverses, row, g, features, t, gain)
    share = 1.0 / (1.0 + width * width)
    for j in range(size):
        feature = features[t, j]
        part = gain[j]
        for k in range(size):
            grams[row, g, j, k] += feature * features[t, k]
            inverses[row, g, j, k] -= (part * gain[k]) * share
    for k in range(size):
        gain[k] *= share
    if count % max(REFRESH, 4 * size) == 0.0:
        invert(grams, inverses, row, g, work.factor)


@leaf
def partial(outcomes: Array, t: int, arm: int) -> bool:
    """Tell whether a reward is missing in some objectives but not in all."""
    missing = 0
    for i in range(outcomes.shape[2]):
        missing += math.isnan(outcomes[t, arm, i])
    return bool(0 < missing < outcomes.shape[2])


@leaf
def learn(
    models: Models, features: Array, t: int, row: int, outcomes: Array, arm: int, work: LinearWork
) -> None:
    """Add the rewards outcomes[t, arm] to the model of a row; NaN is "not observed"."""
    size = features.shape[1]
    for i in range(outcomes.shape[2]):
        reward = outcomes[t, arm, i]
        if math.isnan(reward):
            continue
        models.counts[row, i] += 1.0
        g = min(i, models.grams.shape[1] - 1)
        if i == g:
            absorb(models, features, t, row, g, models.counts[row, i], work)
        error = reward
        for k in range(size):
            error -= features[t, k] * models.weights[row, i, k]
        for k in range(size):
            models.moments[row, i, k] += reward * features[t, k]
            models.weights[row, i, k] += work.vector[k] * error


@leaf
def too_large(rewards: Array) -> bool:
    """Tell whether a reward is larger than any can be; NaN is not."""
    found = False
    for i in range(rewards.shape[0]):
        found |= abs(rewards[i]) > LARGEST_REWARD
    return found


def look(
    models: Models, features: Array, t: int, ceilings: Array, row: int, work: LinearWork
) -> None:
    """Write what is known at φ = features[t] to `work`, e.g. by `estimate`.

    `ceilings[row, arm]` is ∞ for an allowed arm and −∞ for another.
    """
    raise NotImplementedError


@leaf
def pick(_models: Models, ceilings: Array, row: int, random: RandomState, work: LinearWork) -> int:
    """Return the arm to play, given what `look` wrote; nothing may change but the random state.

    A rule that draws no random number had no other arm to play. This is for rules that rank arms in
    work.ranking: an arm of the highest rank.
    """
    return best_arm(work.ranking, 0, DOMINANT, -math.inf, ceilings, row, random)


@kernel
def shares(_models: Models, ceilings: Array, row: int, work: LinearWork) -> Array:
    """Return the exact probability with which `pick` returns each arm."""
    return shares_of_best(work.ranking, 0, DOMINANT, ceilings, row)


@leaf
def model_for(_models: Models, _features: Array, _t: int, arm: int, _work: LinearWork) -> int:
    """Return the row of the model that learns from a play of `arm` at features[t]; −1 for none."""
    return arm


def examine(
    features: Array, ceilings: Array, objectives: int, models: Models
) -> tuple[LinearWork, Array]:
    """Return what is known at features[1, F] in all objectives, and the probability of each arm."""
    work = new_work(models, objectives)
    look(models, features, ONLY_ROW, ceilings, ONLY_ROW, work)
    return work, shares(models, ceilings, ONLY_ROW, work)


def select(
    kind: int,
    point: Array,
    table: Array,
    ceilings: Array,
    ranked: int,
    random: RandomState,
    plays: Array,
    clock: Keys,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
    settings: Array,
) -> tuple[int, float]:
    """Return the arm to play in a context and the exact probability of it; −1 if it is outside.

    The rule looks at the first `ranked` objectives.
    """
    features = np.empty((1, table.shape[0]))
    inside = features_at(kind, point, table, features)
    if not inside:
        return -1, 0.0
    models = Models(plays, clock, grams, inverses, moments, weights, counts, settings)
    work = new_work(models, ranked)
    look(models, features, ONLY_ROW, ceilings, ONLY_ROW, work)
    before = random[0]
    arm = pick(models, ceilings, ONLY_ROW, random, work)
    if random[0] == before:
        return arm, 1.0
    return arm, shares(models, ceilings, ONLY_ROW, work)[arm]


def select_many(
    features: Array,
    ceilings: Array,
    ranked: int,
    random: RandomState,
    arms: Keys,
    propensities: Array,
    models: Models,
) -> None:
    """Write the arms to play at features[n, F], by what is known now, and their probabilities."""
    work = new_work(models, ranked)
    for t in range(features.shape[0]):
        row, before = row_of(ceilings, t), random[0]
        look(models, features, t, ceilings, row, work)
        arm = pick(models, ceilings, row, random, work)
        arms[t], propensities[t] = arm, 1.0
        if random[0] != before:
            propensities[t] = shares(models, ceilings, row, work)[arm]


def update(
    kind: int,
    point: Array,
    table: Array,
    arm: int,
    rewards: Array,
    plays: Array,
    clock: Keys,
    grams: Array,
    inverses: Array,
    moments: Array,
    weights: Array,
    counts: Array,
    settings: Array,
) -> int:
    """Record the rewards[D] of one decision; nothing is done unless the answer is DONE."""
    features = np.empty((1, table.shape[0]))
    inside = features_at(kind, point, table, features)
    if not inside:
        return OUTSIDE
    if too_large(rewards):
        return TOO_LARGE
    models = Models(plays, clock, grams, inverses, moments, weights, counts, settings)
    work = new_work(models, 0)
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    row = model_for(models, features, ONLY_ROW, arm, work)
    if row >= 0 and grams.shape[1] < rewards.shape[0] and partial(outcomes, ONLY_ROW, ONLY_ROW):
        return PARTIAL
    plays[arm] += 1.0
    clock[0] += 1
    if row >= 0:
        learn(models, features, ONLY_ROW, row, outcomes, ONLY_ROW, work)
    return DONE


def update_many(start: int, features: Array, arms: Keys, rewards: Array, models: Models) -> int:
    """Record checked rewards[n, D] of decisions at features[n, F], in order from `start` on.

    Returns where it stopped: at the end, or before a round as for `replay`.
    """
    work = new_work(models, 0)
    outcomes = rewards.reshape((rewards.shape[0], 1, rewards.shape[1]))
    shared = models.grams.shape[1] < rewards.shape[1]
    for t in range(start, features.shape[0]):
        arm = arms[t]
        row = model_for(models, features, t, arm, work)
        if row >= 0 and shared and partial(outcomes, t, ONLY_ROW):
            return t
        models.plays[arm] += 1.0
        models.clock[0] += 1
        if row >= 0:
            learn(models, features, t, row, outcomes, ONLY_ROW, work)
    return int(features.shape[0])


def replay(
    start: int,
    features: Array,
    outcomes: Array,
    ceilings: Array,
    ranked: int,
    random: RandomState,
    arms: Keys,
    models: Models,
) -> int:
    """Select, observe and update, for each round in order from `start` on; writes the arms played.

    Returns the number of rounds, or the first round whose rewards are partly missing while one
    Gram matrix serves all objectives: its arm is chosen and nothing is learned from it yet.
    """
    work = new_work(models, ranked)
    shared = models.grams.shape[1] < outcomes.shape[2]
    for t in range(start, features.shape[0]):
        row = row_of(ceilings, t)
        look(models, features, t, ceilings, row, work)
        arm = pick(models, ceilings, row, random, work)
        arms[t] = arm
        model = model_for(models, features, t, arm, work)
        if model >= 0 and shared and partial(outcomes, t, arm):
            return t
        models.plays[arm] += 1.0
        models.clock[0] += 1
        if model >= 0:
            learn(models, features, t, model, outcomes, arm, work)
    return int(features.shape[0])


@kernel
def amend(
    kind: int, point: Array, table: Array, arm: int, rewards: Array, prior: float, models: Models
) -> int:
    """Record further rewards[D] of a play; nothing is done unless the answer is DONE.

    `prior` of the counts of the arm's model are its prior's. NO_PLAY if every play of the arm has a
    reward in one of these objectives.
    """
    features = np.empty((1, table.shape[0]))
    inside = features_at(kind, point, table, features)
    if not inside:
        return OUTSIDE
    if too_large(rewards):
        return TOO_LARGE
    for i in range(rewards.shape[0]):
        if not math.isnan(rewards[i]) and models.counts[arm, i] - prior >= models.plays[arm]:
            return NO_PLAY
    outcomes = rewards.reshape((1, 1, rewards.shape[0]))
    if models.grams.shape[1] < rewards.shape[0] and partial(outcomes, ONLY_ROW, ONLY_ROW):
        return PARTIAL
    work = new_work(models, 0)
    learn(models, features, ONLY_ROW, arm, outcomes, ONLY_ROW, work)
    return DONE


@kernel
def invert_all(grams: Array, inverses: Array) -> bool:
    """Compute every A⁻¹ from A; False if one is singular to working precision."""
    factor = np.empty(grams.shape[2:])
    for row in range(grams.shape[0]):
        for g in range(grams.shape[1]):
            if not invert(grams, inverses, row, g, factor):
                return False
    return True


class LinearRule(NamedTuple):
    """The compiled loops of a rule, and what it knows and decides in one context."""

    examine: Callable[..., tuple[LinearWork, Array]]
    select: Callable[..., tuple[int, float]]
    select_many: Callable[..., None]
    update: Callable[..., int]
    update_many: Callable[..., int]
    replay: Callable[..., int]


# Rules with one model an arm share one compiled update.
_UPDATE, _UPDATE_MANY = bind(update), bind(update_many)


def linear_rule(
    *,
    look: Callable[..., Any],
    pick: Callable[..., Any] = pick,
    shares: Callable[..., Any] = shares,
    model_for: Callable[..., Any] | None = None,
) -> LinearRule:
    """Compile the loops for a rule, from functions with the decorators of `kernels.jit`.

    A rule that writes work.ranking needs neither `pick` nor `shares`.
    """
    decide = {"look": look, "pick": pick, "shares": shares}
    record: dict[str, Callable[..., Any]] = {"model_for": model_for} if model_for else {}
    return LinearRule(
        examine=bind(examine, look=look, shares=shares),
        select=bind(select, **decide),
        select_many=bind(select_many, **decide),
        update=bind(update, kernel, **record) if model_for else _UPDATE,
        update_many=bind(update_many, kernel, **record) if model_for else _UPDATE_MANY,
        replay=bind(replay, look=look, pick=pick, **record),
    )
