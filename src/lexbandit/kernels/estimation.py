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

# What a row is to an objective: its sums are over products of two of these.
_ONE, _REWARD, _VALUE, _BASE_VALUE, _WEIGHT, _BASE_WEIGHT, _ERROR = 0, 1, 2, 3, 4, 5, 6
_SWITCHED, _BASE_SWITCHED, _SWITCHED_SCORE = 7, 8, 9
_SHRUNK, _BASE_SHRUNK, _SHRUNK_SCORE = 10, 11, 12
_CLIPPED, _BASE_CLIPPED, _CLIPPED_SCORE = 13, 14, 15
_LOWER, _UPPER, _ROBUST, _GAIN, _DIRECT, _QUANTITIES = 16, 17, 18, 19, 20, 21
# The two factors of every field, from COUNT to DIRECT_SQUARE.
_FACTORS: NDArray[np.int64] = np.array(
    [
        *((_ONE, factor) for factor in (_ONE, _REWARD, _VALUE, _BASE_VALUE)),
        *((factor, _REWARD) for factor in (_WEIGHT, _BASE_WEIGHT)),
        *((_ONE, factor) for factor in (_WEIGHT, _BASE_WEIGHT)),
        *((factor, _ERROR) for factor in (_WEIGHT, _BASE_WEIGHT)),
        *((factor, _ERROR) for factor in (_SWITCHED, _BASE_SWITCHED)),
        (_SWITCHED_SCORE, _SWITCHED_SCORE),
        *((factor, _ERROR) for factor in (_SHRUNK, _BASE_SHRUNK)),
        (_SHRUNK_SCORE, _SHRUNK_SCORE),
        *((factor, _REWARD) for factor in (_CLIPPED, _BASE_CLIPPED)),
        (_CLIPPED_SCORE, _CLIPPED_SCORE),
        *((_ONE, factor) for factor in (_LOWER, _UPPER, _ROBUST)),
        *((_LOWER, _LOWER), (_LOWER, _ROBUST), (_ROBUST, _ROBUST)),
        *((_UPPER, _UPPER), (_UPPER, _ROBUST)),
        *((_WEIGHT, _WEIGHT), (_BASE_WEIGHT, _BASE_WEIGHT), (_WEIGHT, _BASE_WEIGHT)),
        *((_GAIN, factor) for factor in (_GAIN, _WEIGHT, _BASE_WEIGHT)),
        *((_ROBUST, factor) for factor in (_WEIGHT, _BASE_WEIGHT)),
        (_DIRECT, _DIRECT),
    ]
)
# Rows are taken in chunks, and each place in a chunk has sums of its own: vector instructions then
# do several at once, and the result does not depend on how many.
_CHUNK = 64

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
_W, _BASE_W, _MOVED, SHARED = 0, 1, 2, 3
# Every such row adds to what is summed for values of `explore`.
STRIDE = 8


@leaf
def _lower(logged: bool, ratio: float, moved: float, reward: float) -> float:
    """Return the score L; `ratio` is (π − π')(a)/p, w − 1 if the baseline is what was logged.

    `moved` is Σδ⁺, which equals Σδ⁻ since both policies have probabilities that sum to 1.
    """
    if logged:
        return ratio * reward
    return -moved + (ratio * reward if ratio > 0.0 else -ratio * (1.0 - reward))


@leaf
def _upper(logged: bool, ratio: float, moved: float, reward: float) -> float:
    """Return the score U, the mirror image of L."""
    if logged:
        return -ratio * (1.0 - reward)
    return moved - (ratio * (1.0 - reward) if ratio > 0.0 else -ratio * reward)


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
def _add_masses(candidate: Array, baseline: Array, t: int, masses: Array) -> tuple[int, float]:
    """Add a row's probabilities to masses[2, K]; returns what is wrong with them, and Σδ⁺."""
    mass, base_mass, gained = 0.0, 0.0, 0.0
    least, base_least = 0.0, 0.0
    for k in range(candidate.shape[1]):
        probability = candidate[t, k]
        mass += probability
        least = min(least, probability)
        masses[0, k] += probability
    if least < 0.0 or not abs(mass - 1.0) <= _ROUNDING:
        return BAD_CANDIDATE, 0.0
    if baseline.shape[0] > 0:
        for k in range(candidate.shape[1]):
            probability = baseline[t, k]
            base_mass += probability
            base_least = min(base_least, probability)
            gained += max(candidate[t, k] - probability, 0.0)
            masses[1, k] += probability
        if base_least < 0.0 or not abs(base_mass - 1.0) <= _ROUNDING:
            return BAD_BASELINE, 0.0
    return FINE, gained


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
    masses = np.zeros((2, size))
    for t in range(len(action)):
        a, p = action[t], propensity[t]
        if not 0 <= a < size:
            return BAD_ACTION, t
        problem, gained = _add_masses(candidate, baseline, t, masses)
        if allowed.shape[0] > 0 and problem == FINE:
            problem = _allow(allowed, t, candidate, baseline, arms)
            if not allowed[t, a]:
                problem = PLAYED_NOT_ALLOWED
        if not 0.0 < p <= 1.0:
            problem = BAD_PROPENSITY
        if problem != FINE:
            return problem, t
        shared[_W, t] = candidate[t, a] / p
        shared[_BASE_W, t] = 1.0
        if not logged:
            shared[_BASE_W, t] = baseline[t, a] / p
            shared[_MOVED, t] = gained
            policies[0, MOVED] += gained
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
    arms[:, MASS] += masses[0]
    arms[:, BASE_MASS] += masses[1]
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
    if baseline.shape[0] > 0:
        for k in range(candidate.shape[1]):
            expected = predicted[t, k, i]
            least, most = min(least, expected), max(most, expected)
            value += candidate[t, k] * expected
            base_value += baseline[t, k] * expected
    else:
        for k in range(candidate.shape[1]):
            expected = predicted[t, k, i]
            least, most = min(least, expected), max(most, expected)
            value += candidate[t, k] * expected
        base_value = predicted[t, a, i]
    return math.nan if (least < 0.0) | (most > 1.0) else value, base_value


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
    w, v = shared[_W, t], shared[_BASE_W, t]
    for j in range(len(explores)):
        share = p / ((1.0 - explores[j]) * p + explores[j] / size)
        changed = w * share - 1.0 if logged else (w - v) * share
        low = _lower(logged, changed, shared[_MOVED, t], y)
        high = _upper(logged, changed, shared[_MOVED, t], y)
        sums[i, EXPLORED + 2 * j] += low * low / share
        sums[i, EXPLORED + 2 * j + 1] += high * high / share


@leaf
def _weigh_chunk(
    logged: bool, shared: Array, first: int, rows: int, settings: Array, chunk: Array
) -> None:
    """Write the other weights of a chunk of rows, which its objectives share."""
    threshold, shrinkage, clip = settings[0], settings[1], settings[2]
    for n in range(rows):
        w, v = shared[_W, first + n], shared[_BASE_W, first + n]
        chunk[_SWITCHED, n] = w if w <= threshold else 0.0
        chunk[_SHRUNK, n] = shrinkage * w / (w * w + shrinkage)
        chunk[_CLIPPED, n] = min(w, clip)
        chunk[_BASE_SWITCHED, n] = v if logged or v <= threshold else 0.0
        chunk[_BASE_SHRUNK, n] = v if logged else shrinkage * v / (v * v + shrinkage)
        chunk[_BASE_CLIPPED, n] = v if logged else min(v, clip)


@leaf
def _score_chunk(logged: bool, shared: Array, first: int, rows: int, chunk: Array) -> None:
    """Write what follows from rewards, values and weights; all 0 where the reward is missing."""
    for n in range(rows):
        one, y, error = chunk[_ONE, n], chunk[_REWARD, n], chunk[_ERROR, n]
        value, base_value = chunk[_VALUE, n], chunk[_BASE_VALUE, n]
        w, v = one * shared[_W, first + n], one * shared[_BASE_W, first + n]
        moved = one * shared[_MOVED, first + n]
        gain = value - base_value
        switched = chunk[_SWITCHED, n] - chunk[_BASE_SWITCHED, n]
        shrunk = chunk[_SHRUNK, n] - chunk[_BASE_SHRUNK, n]
        chunk[_WEIGHT, n] = w
        chunk[_BASE_WEIGHT, n] = v
        chunk[_SWITCHED_SCORE, n] = gain + switched * error
        chunk[_SHRUNK_SCORE, n] = gain + shrunk * error
        chunk[_CLIPPED_SCORE, n] = (chunk[_CLIPPED, n] - chunk[_BASE_CLIPPED, n]) * y
        chunk[_LOWER, n] = _lower(logged, w - v, moved, y)
        chunk[_UPPER, n] = _upper(logged, w - v, moved, y)
        chunk[_ROBUST, n] = gain + (w - v) * error
        chunk[_GAIN, n] = (w - v) * y
        chunk[_DIRECT, n] = value - (y if logged else base_value)


@leaf
def _add_products(chunk: Array, rows: int, lanes: Array, i: int) -> None:
    """Add the products of the quantities of a chunk to lanes[D, fields, rows] of an objective."""
    for field in range(len(_FACTORS)):
        one, other = _FACTORS[field, 0], _FACTORS[field, 1]
        for n in range(rows):
            lanes[i, field, n] += chunk[one, n] * chunk[other, n]


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
    chunk = np.zeros((_QUANTITIES, _CHUNK))
    lanes = np.zeros((reward.shape[1], len(_FACTORS), _CHUNK))
    for first in range(0, len(action), _CHUNK):
        rows = min(_CHUNK, len(action) - first)
        _weigh_chunk(logged, shared, first, rows, settings, chunk)
        for i in range(reward.shape[1]):
            for n in range(rows):
                t = first + n
                y, a = reward[t, i], action[t]
                missing = math.isnan(y)
                if not (missing or 0.0 <= y <= 1.0):
                    return BAD_REWARD, t
                q, value, base_value = 0.0, 0.0, 0.0
                if predicted.shape[0] > 0 and not missing:
                    q = predicted[t, a, i]
                    value, base_value = _values(predicted, candidate, baseline, t, a, i)
                    if math.isnan(value):
                        return BAD_PREDICTED, t
                chunk[_ONE, n] = 0.0 if missing else 1.0
                chunk[_REWARD, n] = 0.0 if missing else y
                chunk[_ERROR, n] = 0.0 if missing else y - q
                chunk[_VALUE, n] = value
                chunk[_BASE_VALUE, n] = base_value
                arms[a, ARM_FIELDS + i] += chunk[_ONE, n]
                if t % STRIDE == 0 and not missing:
                    _add_explored(
                        objectives, i, logged, explores, size, propensity[t], shared, t, y
                    )
            _score_chunk(logged, shared, first, rows, chunk)
            _add_products(chunk, rows, lanes, i)
    for i in range(reward.shape[1]):
        for field in range(len(_FACTORS)):
            for n in range(_CHUNK):
                objectives[i, field] += lanes[i, field, n]
    return FINE, 0
