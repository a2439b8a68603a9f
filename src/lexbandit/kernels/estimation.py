"""Sums over the rows of a log, in one pass: estimators, intervals and diagnostics follow from them.

A row has the arm a that was played, its propensity p, rewards y[D] in [0, 1] (NaN: missing), the
probabilities π of a candidate, those of a baseline π' (or none: what was logged), and a reward
model's predictions q[K, D] (or none: 0). With the weights w = π(a)/p and w' = π'(a)/p, and the
values e = Σ_k π(k)q(k) and e' = Σ_k π'(k)q(k) by the model, an objective's sums are over

    values       1, y, e, e', wy, w'y, w, w', w(y − q), w'(y − q)
    other        s(y − q), s'(y − q) and ((e − e') + (s − s')(y − q))² for the weights
                 s = 1{w ≤ τ}w (Switch) and s = λw/(w² + λ) (shrinkage), and the same of
                 s = min(w, c) with q = e = e' = 0 (clipping)
    sequences    the scores L, U and R of `logs.sequences`; L², LR, R², U² and UR
    products     w², w'², ww'; and with I = (w − w')y: I², Iw, Iw', Rw and Rw';
                 and (e − e')², with y for e' if the baseline is what was logged
    explore      what L² and U² would have been, had the log explored with probability ε

What was logged counts as a baseline with w' = s' = 1 and e' = q(a): by every estimator that
corrects for the played arm it is then worth y.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import kernel, leaf

# Fields of an objective.
COUNT, REWARD, VALUE, BASE_VALUE, EARNED, BASE_EARNED = 0, 1, 2, 3, 4, 5
WEIGHT, BASE_WEIGHT, CORRECTION, BASE_CORRECTION = 6, 7, 8, 9
SWITCHED, BASE_SWITCHED, SWITCHED_SQUARE = 10, 11, 12
SHRUNK, BASE_SHRUNK, SHRUNK_SQUARE = 13, 14, 15
CLIPPED, BASE_CLIPPED, CLIPPED_SQUARE = 16, 17, 18
LOWER, UPPER, ROBUST = 19, 20, 21
LOWER_SQUARE, LOWER_ROBUST, ROBUST_SQUARE, UPPER_SQUARE, UPPER_ROBUST = 22, 23, 24, 25, 26
WEIGHT_SQUARE, BASE_WEIGHT_SQUARE, WEIGHT_PRODUCT = 27, 28, 29
GAIN_SQUARE, GAIN_WEIGHT, GAIN_BASE, ROBUST_WEIGHT, ROBUST_BASE = 30, 31, 32, 33, 34
DIRECT_SQUARE = 35
# The number of rows that `explore` is judged by, then two fields for each of its values.
SAMPLED, EXPLORED = 36, 37

# Fields of a policy's weights; MOVED is the probability that it has elsewhere than the other one,
# summed over rows (NaN if one is what was logged). The largest does not add.
ROWS, WEIGHTS, SQUARES, MOVED, LARGEST, POLICY_FIELDS = 0, 1, 2, 3, 4, 5
# Fields of an arm, then the number of its rewards in each objective. The least does not add.
PLAYS, INVERSE, INVERSE_SQUARE, ALLOWED, MASS, BASE_MASS, LEAST, ARM_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7

# What can be wrong with a row.
FINE, BAD_ACTION, BAD_PROPENSITY, BAD_CANDIDATE, BAD_BASELINE, BAD_REWARD, BAD_PREDICTED = range(7)
NOT_ALLOWED, BASE_NOT_ALLOWED, PLAYED_NOT_ALLOWED = 7, 8, 9
# Probabilities of a row sum to 1 within this.
_ROUNDING = 1e-6

# Entries of a row that its objectives share.
_WEIGHT, _BASE_WEIGHT, _POSITIVE, _NEGATIVE, SHARED = 0, 1, 2, 3, 4
# Every such row adds to what is summed for values of `explore`.
STRIDE = 8


@leaf
def _lower(logged: bool, ratio: float, negative: float, reward: float) -> float:
    """Return the score L; `ratio` is (π − π')(a)/p, w − 1 if the baseline is what was logged."""
    if logged:
        return ratio * reward
    return -negative + (ratio * reward if ratio > 0.0 else -ratio * (1.0 - reward))


@leaf
def _upper(logged: bool, ratio: float, positive: float, reward: float) -> float:
    """Return the score U, the mirror image of L."""
    if logged:
        return -ratio * (1.0 - reward)
    return positive - (ratio * (1.0 - reward) if ratio > 0.0 else -ratio * reward)


@leaf
def _mass(probabilities: Array, t: int, arms: Array, field: int) -> float:
    """Add a row's probabilities to a field of the arms; returns their sum.

    It is NaN if one of them is negative.
    """
    mass = 0.0
    negative = False
    for k in range(probabilities.shape[1]):
        probability = probabilities[t, k]
        mass += probability
        negative |= probability < 0.0
        arms[k, field] += probability
    return math.nan if negative else mass


@leaf
def _allow(allowed: Mask, t: int, candidate: Array, baseline: Array, arms: Array) -> int:
    """Count the allowed arms of a row; returns what is wrong with probabilities of other arms."""
    for k in range(candidate.shape[1]):
        if allowed[t, k]:
            arms[k, ALLOWED] += 1.0
        elif candidate[t, k] > 0.0:
            return NOT_ALLOWED
        elif baseline.shape[0] > 0 and baseline[t, k] > 0.0:
            return BASE_NOT_ALLOWED
    return FINE


@leaf
def _compare(candidate: Array, baseline: Array, t: int, shared: Array) -> None:
    """Write Σδ⁺ and Σδ⁻ of a row."""
    gained, lost = 0.0, 0.0
    for k in range(candidate.shape[1]):
        gained += max(candidate[t, k] - baseline[t, k], 0.0)
        lost += max(baseline[t, k] - candidate[t, k], 0.0)
    shared[_POSITIVE, t] = gained
    shared[_NEGATIVE, t] = lost


@kernel
def weigh(
    action: NDArray[np.int64],
    propensity: Array,
    candidate: Array,
    baseline: Array,
    allowed: Mask,
    policies: Array,
    arms: Array,
    shared: Array,
) -> tuple[int, int]:
    """Write the weights of n rows to shared[4, n] and add to policies[2, fields], arms[K, fields].

    `baseline` and `allowed` have no rows where there are none. Returns what is wrong with the first
    bad row, and its number; the sums are of no use then.
    """
    size = candidate.shape[1]
    logged = baseline.shape[0] == 0
    for t in range(len(action)):
        problem = FINE
        a, p = action[t], propensity[t]
        if not 0 <= a < size:
            return BAD_ACTION, t
        if not abs(_mass(candidate, t, arms, MASS) - 1.0) <= _ROUNDING:
            problem = BAD_CANDIDATE
        if not logged and not abs(_mass(baseline, t, arms, BASE_MASS) - 1.0) <= _ROUNDING:
            problem = BAD_BASELINE
        if allowed.shape[0] > 0 and problem == FINE:
            problem = _allow(allowed, t, candidate, baseline, arms)
            if not allowed[t, a]:
                problem = PLAYED_NOT_ALLOWED
        if not 0.0 < p <= 1.0:
            problem = BAD_PROPENSITY
        if problem != FINE:
            return problem, t
        shared[_WEIGHT, t] = candidate[t, a] / p
        shared[_BASE_WEIGHT, t] = 1.0
        if not logged:
            _compare(candidate, baseline, t, shared)
            shared[_BASE_WEIGHT, t] = baseline[t, a] / p
            policies[0, MOVED] += shared[_POSITIVE, t]
            policies[1, MOVED] += shared[_NEGATIVE, t]
        arms[a, PLAYS] += 1.0
        arms[a, INVERSE] += 1.0 / p
        arms[a, INVERSE_SQUARE] += 1.0 / (p * p)
        arms[a, LEAST] = min(arms[a, LEAST], p)
        for policy in range(2):
            weight = shared[policy, t]
            policies[policy, WEIGHTS] += weight
            policies[policy, SQUARES] += weight * weight
            policies[policy, LARGEST] = max(policies[policy, LARGEST], weight)
    policies[:, ROWS] += len(action)
    if logged:
        policies[:, MOVED] = math.nan
    if allowed.shape[0] == 0:
        arms[:, ALLOWED] += len(action)
    return FINE, 0


@leaf
def _values(
    predicted: Array, candidate: Array, baseline: Array, t: int, a: int, i: int
) -> tuple[float, float]:
    """Return the model's values e and e' of a row; NaN if a prediction is outside [0, 1]."""
    value, base_value = 0.0, 0.0
    least, most = 0.0, 1.0
    for k in range(candidate.shape[1]):
        expected = predicted[t, k, i]
        least, most = min(least, expected), max(most, expected)
        value += candidate[t, k] * expected
    if baseline.shape[0] > 0:
        for k in range(candidate.shape[1]):
            base_value += baseline[t, k] * predicted[t, k, i]
    else:
        base_value = predicted[t, a, i]
    return math.nan if (least < 0.0) | (most > 1.0) else value, base_value


@leaf
def _add_other(
    sums: Array, i: int, field: int, weight: float, base_weight: float, error: float, gain: float
) -> None:
    """Add a row by other weights: of the candidate, of the baseline, and the squared difference."""
    sums[i, field] += weight * error
    sums[i, field + 1] += base_weight * error
    sums[i, field + 2] += (gain + (weight - base_weight) * error) ** 2


@leaf
def _add_scores(sums: Array, i: int, low: float, high: float, robust: float) -> None:
    """Add the scores of sequences and their products."""
    sums[i, LOWER] += low
    sums[i, UPPER] += high
    sums[i, ROBUST] += robust
    sums[i, LOWER_SQUARE] += low * low
    sums[i, LOWER_ROBUST] += low * robust
    sums[i, ROBUST_SQUARE] += robust * robust
    sums[i, UPPER_SQUARE] += high * high
    sums[i, UPPER_ROBUST] += high * robust


@leaf
def _add_products(sums: Array, i: int, w: float, v: float, gained: float, robust: float) -> None:
    """Add what the variance of self-normalised estimators needs."""
    sums[i, WEIGHT_SQUARE] += w * w
    sums[i, BASE_WEIGHT_SQUARE] += v * v
    sums[i, WEIGHT_PRODUCT] += w * v
    sums[i, GAIN_SQUARE] += gained * gained
    sums[i, GAIN_WEIGHT] += gained * w
    sums[i, GAIN_BASE] += gained * v
    sums[i, ROBUST_WEIGHT] += robust * w
    sums[i, ROBUST_BASE] += robust * v


@leaf
def _add_explored(
    sums: Array,
    i: int,
    logged: bool,
    explores: Array,
    size: int,
    p: float,
    shared: Array,
    t: int,
    y: float,
) -> None:
    """Add what L² and U² would have been for values of `explore`, seen from the logged draw.

    A row of propensity p would have had p' = (1 − ε)p + ε/K, and p'/p as its weight in a mean over
    rows that were drawn so.
    """
    sums[i, SAMPLED] += 1.0
    w, v = shared[_WEIGHT, t], shared[_BASE_WEIGHT, t]
    for j in range(len(explores)):
        share = p / ((1.0 - explores[j]) * p + explores[j] / size)
        changed = w * share - 1.0 if logged else (w - v) * share
        low = _lower(logged, changed, shared[_NEGATIVE, t], y)
        high = _upper(logged, changed, shared[_POSITIVE, t], y)
        sums[i, EXPLORED + 2 * j] += low * low / share
        sums[i, EXPLORED + 2 * j + 1] += high * high / share


@kernel
def sum_rewards(
    reward: Array,
    action: NDArray[np.int64],
    propensity: Array,
    candidate: Array,
    baseline: Array,
    predicted: Array,
    shared: Array,
    settings: Array,
    explores: Array,
    objectives: Array,
    arms: Array,
) -> tuple[int, int]:
    """Add n rows to objectives[D, fields], and the number of rewards to arms[K, fields].

    `shared` is what `weigh` wrote. `predicted` has no rows where there are none; `settings` are τ,
    λ and c. Returns as `weigh`.
    """
    size = candidate.shape[1]
    logged = baseline.shape[0] == 0
    threshold, shrinkage, clip = settings[0], settings[1], settings[2]
    for t in range(len(action)):
        a = action[t]
        w, v = shared[_WEIGHT, t], shared[_BASE_WEIGHT, t]
        switched = w if w <= threshold else 0.0
        shrunk = shrinkage * w / (w * w + shrinkage)
        base_switched, base_shrunk, base_clipped = 1.0, 1.0, 1.0
        if not logged:
            base_switched = v if v <= threshold else 0.0
            base_shrunk = shrinkage * v / (v * v + shrinkage)
            base_clipped = min(v, clip)
        for i in range(reward.shape[1]):
            y = reward[t, i]
            if math.isnan(y):
                continue
            if not 0.0 <= y <= 1.0:
                return BAD_REWARD, t
            q, value, base_value = 0.0, 0.0, 0.0
            if predicted.shape[0] > 0:
                q = predicted[t, a, i]
                value, base_value = _values(predicted, candidate, baseline, t, a, i)
                if math.isnan(value):
                    return BAD_PREDICTED, t
            error, gain = y - q, value - base_value
            arms[a, ARM_FIELDS + i] += 1.0
            objectives[i, COUNT] += 1.0
            objectives[i, REWARD] += y
            objectives[i, VALUE] += value
            objectives[i, BASE_VALUE] += base_value
            objectives[i, EARNED] += w * y
            objectives[i, BASE_EARNED] += v * y
            objectives[i, WEIGHT] += w
            objectives[i, BASE_WEIGHT] += v
            objectives[i, CORRECTION] += w * error
            objectives[i, BASE_CORRECTION] += v * error
            objectives[i, DIRECT_SQUARE] += (value - (y if logged else base_value)) ** 2
            _add_other(objectives, i, SWITCHED, switched, base_switched, error, gain)
            _add_other(objectives, i, SHRUNK, shrunk, base_shrunk, error, gain)
            _add_other(objectives, i, CLIPPED, min(w, clip), base_clipped, y, 0.0)
            robust = gain + (w - v) * error
            low = _lower(logged, w - v, shared[_NEGATIVE, t], y)
            high = _upper(logged, w - v, shared[_POSITIVE, t], y)
            _add_scores(objectives, i, low, high, robust)
            _add_products(objectives, i, w, v, (w - v) * y, robust)
            if t % STRIDE == 0:
                _add_explored(objectives, i, logged, explores, size, propensity[t], shared, t, y)
    return FINE, 0
