"""Pooled regression: one linear model an arm and objective, drawn towards what all arms share.

For objective i and arm a the mean reward at features φ is φᵀθ_a, with

    θ_a ~ N(θ_0, diag(c)),    θ_0 ~ N(m_0 e, 20 diag(c)),    reward = φᵀθ_a + noise of variance σ²

where e picks the constant feature and c[f] is the prior variance of feature f. With G = Σφφᵀ and
b = Σrφ over the rewards of the arm and Λ = diag(σ²/c),

    B_a = (Λ + G_a)⁻¹                                            posterior covariance over σ²
    θ_0 = C_0 (Λ m_0 e/20 + Σ_a Λ B_a b_a)                       posterior mean, plugged in
    C_0 = (Λ/20 + Σ_a (Λ − Λ B_a Λ))⁻¹
    mean = φᵀB_a(b_a + Λθ_0),    deviation = σ_a sqrt(φᵀB_aφ)

so an arm, a category or a region without data falls back to what all arms have in common. This is
the hierarchical normal model of Lindley and Smith (1972, "Bayes estimates for the linear model",
JRSS B 34), with its variances replaced by estimates (empirical Bayes):

    noise    Q_a = Σr'² − b'ᵀB_ab', with r' = r − φᵀθ_0 and b' = b − Gθ_0, is σ² times a χ² of n_a
             degrees of freedom under the model. σ² = (2g + Σ_a Q_a)/(2 + Σ_a n_a): two pseudo
             rewards of variance g = min(1, 8/n)/16, which fade. σ_a² = (10σ² + Q_a)/(10 + n_a).
    binary   Where every reward was 0 or 1, σ_a² = p(1 − p) instead, with p the estimate drawn to
             the mean of all rewards by two pseudo rewards, and to ½ by one (Jeffreys' prior): an
             arm of a few plays without a success is not sure to have none.
    c        c_f = V v_f x_f. V is the square of min(0.2, 0.8 S), at least 0.4 S, with S the
             deviation of all rewards. v are the relative variances of the feature map. The scale x
             is shared by the features of a block, and is the fixed point at which the evidence is
             largest (MacKay 1992, "Bayesian interpolation", Neural Computation 4): the sum of
             (θ_a − θ_0)_f²/(V v_f) over that of γ_af = 1 − Λ_f B_a,ff, how much of a weight the
             rewards determine, both over the features of the block and the arms that were
             observed. Pseudo weights with γ = 1 draw it to 1 for the constant (three), and to 0.15
             for the other blocks (one): what depends on the context is alike for all arms until
             rewards tell otherwise.

A refresh computes everything anew from the sums, in three steps of scales, posterior and noise. It
is due at counts that grow by a quarter each time. A reward that is off by more than four
deviations, e² > 16σ²(1 + φᵀBφ) with e the error of the prediction, halves the time until the next
one: the model does not expect what it sees.
In between the noise of all arms, the scales and θ_0 stay as they are, and what is known of the arm
that was played follows: B by the formula of Sherman and Morrison, Bb with it, and Q_a by
e²/(1 + φᵀBφ). When a refresh happens depends on the rewards alone, so a replay and single steps
agree to the last bit.

    tallies[arm, i, field]         COUNT, TOTAL = Σr, SQUARE = Σr², RESIDUAL = Q, WEIGHT and MEAN of
                                   the prior, which is part of COUNT and the sums
    vectors[arm, i, field, F]      MOMENT = b, OWN = Bb, ERRORS = Σφe²/(1 + φᵀBφ), with e and B as
                                   they were before each reward: where the noise is larger
    matrices[arm, i, field, F, F]  GRAM = G, INVERSE = B
    shared[i, field, F]            PENALTY = Λ, COMMON = θ_0, PULL = Λθ_0, WEIGHTED = Λm_0e/20 and
                                   ΛBb of all arms, SCALE = x
    common[i, F, F]                C_0
    facts[i, field]                SEEN = Σ_a n_a, UNEXPLAINED = Σ_a Q_a, NOISE = σ², OTHER = how
                                   many rewards were neither 0 nor 1, DUE = SEEN of the next
                                   refresh, CENTRE = m_0, the mean of all rewards
    prior[field, F]                VARIANCE = v, BLOCK = number of the block, CONSTANT = e
"""

import math
from typing import NamedTuple

import numpy as np

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import deferred, kernel, leaf, once

COUNT, TOTAL, SQUARE, RESIDUAL, WEIGHT, MEAN = 0, 1, 2, 3, 4, 5
MOMENT, OWN, ERRORS = 0, 1, 2
GRAM, INVERSE = 0, 1
PENALTY, COMMON, PULL, WEIGHTED, SCALE = 0, 1, 2, 3, 4
SEEN, UNEXPLAINED, NOISE, OTHER, DUE, CENTRE = 0, 1, 2, 3, 4, 5
VARIANCE, BLOCK, CONSTANT = 0, 1, 2
TALLIES, VECTORS, MATRICES, SHARED, FACTS = 6, 3, 2, 5, 6

# What a refresh begins with, before anything is seen: rewards that vary by a quarter.
FIRST_NOISE = 1 / 16
_PSEUDO_REWARDS = 2.0
_FADING = 8.0
# The pseudo rewards by which an arm's noise is drawn to that of all arms, and the chance of a
# binary reward to the share of ones in all, and to ½.
_POOLED_NOISE = 10.0
POOLED_SHARE = 2.0
EVEN_SHARE = 1.0
# θ_0 varies by so much more than an arm does around it.
COMMON_WIDTH = 20.0
# The noise is at least this share of the mean square of the rewards, for rounding, and of the prior
# variance; penalties are at least this share of the number of rewards, for the condition of the
# matrices.
_ROUNDING = 1e-14
_LEAST_NOISE = 1e-6
LEAST_PENALTY = 1e-9
# The diagonal of a scaled matrix is raised by this first, where rounding made it indefinite.
_LEAST_RAISED = 1e-12
# The learned scale of a block stays above this, and is learned once so many rewards are seen.
_LEAST_SCALE = 0.0025
_LEARN_FROM = 8.0
# The pseudo weights that scales are drawn to, as many and of this size: those of the constant, and
# those of every other block.
_CONSTANT_WEIGHTS, _CONSTANT_SCALE = 3.0, 1.0
_BLOCK_WEIGHTS, _BLOCK_SCALE = 1.0, 0.15
# The steps of a refresh that goes on from the present scales, and of one from the sums alone.
_STEPS = 3
_STEPS_ANEW = 12
# The counts of two refreshes differ by a quarter, and by no more than this; a reward whose squared
# error is so many times what is expected of it halves the rest.
_GROWTH = 0.25
_MOST_APART = 16_384.0
_SURPRISE = 16.0


class Model(NamedTuple):
    """The arrays of the model, as the module describes them."""

    tallies: Array
    vectors: Array
    matrices: Array
    shared: Array
    common: Array
    facts: Array
    prior: Array


@once
def noise_of(model: Model, arm: int, i: int, mean: float, leverage: float) -> float:
    """Return σ_a² of one arm at an estimate of this mean and leverage φᵀBφ."""
    facts, tallies = model.facts, model.tallies
    if facts[i, OTHER] == 0.0 and facts[i, SEEN] > 0.0:
        inside = min(max(mean, 0.0), 1.0)
        drawn = POOLED_SHARE * facts[i, CENTRE] + EVEN_SHARE * 0.5
        share = (inside + leverage * drawn) / (1.0 + leverage * (POOLED_SHARE + EVEN_SHARE))
        noise = share * (1.0 - share)
    else:
        seen = tallies[arm, i, COUNT] - tallies[arm, i, WEIGHT]
        pooled = _POOLED_NOISE * facts[i, NOISE] + tallies[arm, i, RESIDUAL]
        noise = max(pooled, 0.0) / (_POOLED_NOISE + seen)
    return float(noise)


def noises_of(model: Model, means: Array, leverages: Array) -> Array:
    """Return `noise_of` of every objective and arm, for means and leverages of shape [D, K]."""
    centres, noise = model.facts[:, CENTRE, np.newaxis], model.facts[:, NOISE, np.newaxis]
    binary = (model.facts[:, OTHER] == 0.0) & (model.facts[:, SEEN] > 0.0)
    drawn = POOLED_SHARE * centres + EVEN_SHARE * 0.5
    shares = np.clip(means, 0.0, 1.0) + leverages * drawn
    shares /= 1.0 + leverages * (POOLED_SHARE + EVEN_SHARE)
    seen = (model.tallies[:, :, COUNT] - model.tallies[:, :, WEIGHT]).T
    pooled = np.maximum(_POOLED_NOISE * noise + model.tallies[:, :, RESIDUAL].T, 0.0)
    return np.where(binary[:, np.newaxis], shares * (1.0 - shares), pooled / (_POOLED_NOISE + seen))


@leaf
def multiply(model: Model, arm: int, i: int, features: Array, t: int, work: Array) -> float:
    """Write B·features[t] to `work` and return the leverage φᵀBφ."""
    size = features.shape[1]
    matrices = model.matrices
    fours = size - size % 4
    for k in range(size):
        work[k] = 0.0
    for j in range(0, fours, 4):
        w, x = features[t, j], features[t, j + 1]
        y, z = features[t, j + 2], features[t, j + 3]
        for k in range(size):
            first = matrices[arm, i, INVERSE, j, k] * w + matrices[arm, i, INVERSE, j + 1, k] * x
            second = (
                matrices[arm, i, INVERSE, j + 2, k] * y + matrices[arm, i, INVERSE, j + 3, k] * z
            )
            work[k] += first + second
    for j in range(fours, size):
        w = features[t, j]
        for k in range(size):
            work[k] += matrices[arm, i, INVERSE, j, k] * w
    leverage = 0.0
    for k in range(size):
        leverage += work[k] * features[t, k]
    return max(leverage, 0.0)


@once
def mean_at(model: Model, arm: int, i: int, features: Array, t: int, work: Array) -> float:
    """Return φᵀB(b + Λθ_0); `work` holds Bφ."""
    mean = 0.0
    for k in range(features.shape[1]):
        own = model.vectors[arm, i, OWN, k] * features[t, k]
        mean += own + model.shared[i, PULL, k] * work[k]
    return mean


@once
def unknown_of_common(model: Model, i: int, work: Array) -> float:
    """Return uᵀC_0u with u = ΛBφ, which the leverage grows by as θ_0 is not known; `work` is Bφ."""
    size = work.shape[0]
    found = 0.0
    for j in range(size):
        part = 0.0
        for k in range(size):
            part += model.common[i, j, k] * model.shared[i, PENALTY, k] * work[k]
        found += model.shared[i, PENALTY, j] * work[j] * part
    return found


@leaf
def estimate(
    model: Model,
    features: Array,
    t: int,
    fully: bool,
    work: Array,
    sight: Array,
) -> None:
    """Write means and deviations of every objective and arm at φ = features[t] to sight[:2, D, K].

    `fully` counts what is not known of θ_0 too.
    """
    for i in range(sight.shape[1]):
        for arm in range(sight.shape[2]):
            leverage = multiply(model, arm, i, features, t, work)
            mean = mean_at(model, arm, i, features, t, work)
            if fully:
                unknown = unknown_of_common(model, i, work)
                leverage += unknown
            noise = noise_of(model, arm, i, mean, leverage)
            sight[0, i, arm] = mean
            sight[1, i, arm] = math.sqrt(noise * leverage)


@leaf
def decompose(matrix: Array, half: Array) -> None:
    """Write U, the upper half with UᵀU = matrix[F, F] scaled to ones on its diagonal (Cholesky).

    Where rounding made the matrix indefinite its diagonal is raised until it is not.
    """
    size = matrix.shape[0]
    raised, more = 0.0, _LEAST_RAISED
    definite = False
    while not definite:
        definite = True
        for j in range(size):
            for k in range(j, size):
                half[j, k] = matrix[j, k] / math.sqrt(matrix[j, j]) / math.sqrt(matrix[k, k])
            half[j, j] += raised
        for j in range(size):
            if half[j, j] <= 0.0:
                definite = False
                raised += more
                more *= 1e3
                break
            pivot = math.sqrt(half[j, j])
            for k in range(j, size):
                half[j, k] /= pivot
            for row in range(j + 1, size):
                factor = half[j, row]
                for k in range(row, size):
                    half[row, k] -= factor * half[j, k]


@kernel
def invert(matrix: Array, half: Array, inverse: Array) -> None:
    """Write the inverse of a symmetric positive definite matrix[F, F], exactly symmetric.

    The result of finite numbers is finite. `half` is space for F² numbers. Inner loops run along
    rows, so that they are vectors.
    """
    size = matrix.shape[0]
    decompose(matrix, half)
    # The inverse of Uᵀ, row by row.
    for j in range(size):
        for k in range(j):
            inverse[j, k] = 0.0
        inverse[j, j] = 1.0
        for row in range(j):
            factor = half[row, j]
            for k in range(row + 1):
                inverse[j, k] -= factor * inverse[row, k]
        for k in range(j + 1):
            inverse[j, k] /= half[j, j]
    # The product of that with itself, scaled back.
    half[:] = 0.0
    for row in range(size):
        for j in range(row + 1):
            factor = inverse[row, j]
            for k in range(j + 1):
                half[j, k] += factor * inverse[row, k]
    for j in range(size):
        for k in range(j + 1):
            found = half[j, k] / math.sqrt(matrix[j, j]) / math.sqrt(matrix[k, k])
            inverse[j, k] = found
            inverse[k, j] = found


@leaf
def noise_now(seen: float, unexplained: float, square: float, variance: float) -> float:
    """Return σ² from Σn, ΣQ, the sum of squares of all rewards and V."""
    fading = FIRST_NOISE * min(1.0, _FADING / max(seen, 1.0))
    noise = (_PSEUDO_REWARDS * fading + max(unexplained, 0.0)) / (_PSEUDO_REWARDS + seen)
    return max(noise, _ROUNDING * square / max(seen, 1.0), _LEAST_NOISE * variance)


@leaf
def prior_variance(seen: float, total: float, square: float) -> float:
    """Return V from the number, sum and sum of squares of all rewards of an objective."""
    centred = square - total * total / max(seen, 1.0)
    variance = (_PSEUDO_REWARDS * FIRST_NOISE + max(centred, 0.0)) / (_PSEUDO_REWARDS + seen)
    deviation = math.sqrt(variance)
    prior = max(min(0.2, 0.8 * deviation), 0.4 * deviation)
    return prior * prior


@once
def learn_scales(model: Model, i: int, variance: float, squares: Array, known: Array) -> None:
    """Set the scale x of every block by one step to the largest evidence.

    `squares` and `known` are space for one number a block.
    """
    size = model.prior.shape[1]
    for block in range(known.shape[0]):
        squares[block], known[block] = 0.0, 0.0
    for j in range(size):
        if model.prior[CONSTANT, j] > 0.0:
            block = int(model.prior[BLOCK, j])
            known[block] = _CONSTANT_WEIGHTS
            squares[block] = _CONSTANT_WEIGHTS * _CONSTANT_SCALE
    for block in range(known.shape[0]):
        if known[block] == 0.0:
            known[block] = _BLOCK_WEIGHTS
            squares[block] = _BLOCK_WEIGHTS * _BLOCK_SCALE
    for arm in range(model.tallies.shape[0]):
        if model.tallies[arm, i, COUNT] > 0.0:
            for j in range(size):
                block = int(model.prior[BLOCK, j])
                difference = model.vectors[arm, i, OWN, j] - model.shared[i, COMMON, j]
                for k in range(size):
                    difference += model.matrices[arm, i, INVERSE, j, k] * model.shared[i, PULL, k]
                squares[block] += difference * difference / (variance * model.prior[VARIANCE, j])
                share = model.matrices[arm, i, INVERSE, j, j] * model.shared[i, PENALTY, j]
                known[block] += min(max(1.0 - share, 0.0), 1.0)
    for j in range(size):
        block = int(model.prior[BLOCK, j])
        model.shared[i, SCALE, j] = max(squares[block] / known[block], _LEAST_SCALE)


@once
def solve_arms(model: Model, i: int, whole: Array, half: Array) -> None:
    """Write B and Bb of every arm by its sums and the penalties; B = Λ⁻¹ where nothing was seen."""
    size = model.prior.shape[1]
    for arm in range(model.tallies.shape[0]):
        for j in range(size):
            model.vectors[arm, i, OWN, j] = 0.0
            for k in range(size):
                whole[j, k] = model.matrices[arm, i, GRAM, j, k]
                model.matrices[arm, i, INVERSE, j, k] = 0.0
            whole[j, j] += model.shared[i, PENALTY, j]
            model.matrices[arm, i, INVERSE, j, j] = 1.0 / model.shared[i, PENALTY, j]
        if model.tallies[arm, i, COUNT] > 0.0:
            invert(whole, half, model.matrices[arm, i, INVERSE])
            for j in range(size):
                own = 0.0
                for k in range(size):
                    own += model.matrices[arm, i, INVERSE, j, k] * model.vectors[arm, i, MOMENT, k]
                model.vectors[arm, i, OWN, j] = own


@once
def solve_common(model: Model, i: int, whole: Array, half: Array) -> None:
    """Write C_0, θ_0 and what is computed with them, given B and Bb of every arm."""
    shared, common, size = model.shared, model.common, model.prior.shape[1]
    for j in range(size):
        penalty = shared[i, PENALTY, j]
        weighted = model.facts[i, CENTRE] / COMMON_WIDTH * model.prior[CONSTANT, j]
        for k in range(size):
            whole[j, k] = 0.0
        whole[j, j] = penalty / COMMON_WIDTH
        for arm in range(model.tallies.shape[0]):
            if model.tallies[arm, i, COUNT] > 0.0:  # of the others Λ − ΛBΛ and Bb are 0
                weighted += model.vectors[arm, i, OWN, j]
                whole[j, j] += penalty
                for k in range(size):
                    inverse = model.matrices[arm, i, INVERSE, j, k]
                    whole[j, k] -= penalty * inverse * shared[i, PENALTY, k]
        shared[i, WEIGHTED, j] = penalty * weighted
    invert(whole, half, common[i])
    for j in range(size):
        mean = 0.0
        for k in range(size):
            mean += common[i, j, k] * shared[i, WEIGHTED, k]
        shared[i, COMMON, j] = mean
        shared[i, PULL, j] = shared[i, PENALTY, j] * mean


@once
def leave_residuals(model: Model, i: int, rest: Array) -> None:
    """Write Q of every arm and their sum, given B and θ_0; `rest` is space for F numbers."""
    tallies, vectors, matrices = model.tallies, model.vectors, model.matrices
    size = model.prior.shape[1]
    model.facts[i, UNEXPLAINED] = 0.0
    for arm in range(tallies.shape[0]):
        tallies[arm, i, RESIDUAL] = 0.0
        if tallies[arm, i, COUNT] > 0.0:
            left = tallies[arm, i, SQUARE]
            for j in range(size):
                rest[j] = vectors[arm, i, MOMENT, j]
                for k in range(size):
                    rest[j] -= matrices[arm, i, GRAM, j, k] * model.shared[i, COMMON, k]
                left -= (vectors[arm, i, MOMENT, j] + rest[j]) * model.shared[i, COMMON, j]
            for j in range(size):
                part = 0.0
                for k in range(size):
                    part += matrices[arm, i, INVERSE, j, k] * rest[k]
                left -= rest[j] * part
            # Of an arm with a prior, the share that belongs to rewards: a prior is no noise.
            rewarded = 1.0 - tallies[arm, i, WEIGHT] / tallies[arm, i, COUNT]
            tallies[arm, i, RESIDUAL] = max(left, 0.0) * rewarded
            model.facts[i, UNEXPLAINED] += tallies[arm, i, RESIDUAL]


@deferred(matrices=20_000)
def refresh_one(
    i: int,
    anew: bool,
    tallies: Array,
    vectors: Array,
    matrices: Array,
    shared: Array,
    common: Array,
    facts: Array,
    prior: Array,
) -> None:
    """Compute all that follows from the sums of objective i, in steps from the present scales.

    `anew` begins from scales of 1 instead, and takes more steps: then the outcome depends on the
    sums alone, as a merge needs.
    """
    model = Model(tallies, vectors, matrices, shared, common, facts, prior)
    size = prior.shape[1]
    whole, half, rest = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    blocks = int(prior[BLOCK].max()) + 1
    by_block, known = np.empty(blocks), np.empty(blocks)
    seen, total, square = 0.0, 0.0, 0.0
    for arm in range(tallies.shape[0]):
        # A prior is no reward: what its mean added is left out.
        weight, mean = tallies[arm, i, WEIGHT], tallies[arm, i, MEAN]
        seen += tallies[arm, i, COUNT] - weight
        total += tallies[arm, i, TOTAL] - weight * mean
        square += tallies[arm, i, SQUARE] - weight * mean * mean
    facts[i, SEEN] = seen
    facts[i, CENTRE] = (_PSEUDO_REWARDS * 0.5 + total) / (_PSEUDO_REWARDS + seen)
    variance = prior_variance(seen, total, square)
    if anew:
        facts[i, NOISE] = FIRST_NOISE
        for j in range(size):
            shared[i, SCALE, j] = 1.0
    for step in range(_STEPS_ANEW if anew else _STEPS):
        if seen >= _LEARN_FROM and not (anew and step == 0):
            learn_scales(model, i, variance, by_block, known)
        noise = max(facts[i, NOISE], _LEAST_NOISE * variance)
        for j in range(size):
            scale = variance * prior[VARIANCE, j] * shared[i, SCALE, j]
            shared[i, PENALTY, j] = max(noise / scale, LEAST_PENALTY * seen)
        solve_arms(model, i, whole, half)
        solve_common(model, i, whole, half)
        leave_residuals(model, i, rest)
        noise = noise_now(seen, facts[i, UNEXPLAINED], square, variance)
        facts[i, NOISE] = noise
    facts[i, DUE] = seen + min(math.floor(_GROWTH * seen) + 1.0, _MOST_APART)


def refresh(model: Model, *, anew: bool = False, only_due: bool = False) -> None:
    """Compute all that follows from the sums, for every objective or those where it is due."""
    for i in range(len(model.facts)):
        if not only_due or model.facts[i, SEEN] >= model.facts[i, DUE]:
            refresh_one(i, anew, *model)


@leaf
def learn(
    model: Model, arm: int, i: int, features: Array, t: int, reward: float, work: Array
) -> float:
    """Add one reward of an arm at φ = features[t]; returns what was expected of it before.

    A refresh is due once SEEN reaches DUE. `work` is space for F numbers.
    """
    tallies, vectors, matrices, facts = model.tallies, model.vectors, model.matrices, model.facts
    size = features.shape[1]
    leverage = multiply(model, arm, i, features, t, work)
    mean = mean_at(model, arm, i, features, t, work)
    error = reward - mean
    own = 0.0
    for k in range(size):
        own += features[t, k] * vectors[arm, i, OWN, k]
    share = 1.0 / (1.0 + leverage)
    gain = (reward - own) * share
    square = error * error * share
    tallies[arm, i, COUNT] += 1.0
    tallies[arm, i, TOTAL] += reward
    tallies[arm, i, SQUARE] += reward * reward
    tallies[arm, i, RESIDUAL] += square
    facts[i, SEEN] += 1.0
    facts[i, OTHER] += reward not in (0.0, 1.0)
    if square > _SURPRISE * facts[i, NOISE]:
        facts[i, DUE] = facts[i, SEEN] + math.floor(0.5 * (facts[i, DUE] - facts[i, SEEN]))
    for j in range(size):
        feature = features[t, j]
        part = work[j]
        vectors[arm, i, MOMENT, j] += reward * feature
        vectors[arm, i, OWN, j] += gain * part
        vectors[arm, i, ERRORS, j] += square * feature
        for k in range(size):
            matrices[arm, i, GRAM, j, k] += feature * features[t, k]
            matrices[arm, i, INVERSE, j, k] -= (part * work[k]) * share
    return mean
