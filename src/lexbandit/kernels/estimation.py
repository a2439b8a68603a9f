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

Rows are taken in chunks that stay in the first cache. What a chunk needs of the log's arrays is
copied to a few rows of 32 numbers, and each place in the chunk has sums of its own: vector
instructions then do several rows at once, and the result does not depend on how many. Loops that
look for bad rows only tell whether there is one; which, is looked for when there is.
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

# Probabilities of a row sum to 1 within this.
ROUNDING = 1e-6

# Rows in a chunk, and how many of them are added side by side to the sums of arms.
CHUNK, _GROUP = 32, 8
# Every such chunk adds to what is summed for values of `explore`.
_STRIDE = 8

# What a chunk has of its rows: weights, Σδ⁺, the other weights, 1/p, and the sums of π and π'.
_W, _BASE_W, _MOVED, _SWITCHED, _BASE_SWITCHED, _SHRUNK, _BASE_SHRUNK = 0, 1, 2, 3, 4, 5, 6
_CLIPPED, _BASE_CLIPPED, _INVERSE, _MASS, _BASE_MASS, _SHARED = 7, 8, 9, 10, 11, 12
# What it has for each objective: 1 where there is a reward (else all are 0), y, e, e' and q(a).
_ONE, _REWARD, _VALUE, _BASE_VALUE, _PLAYED, _OWN = 0, 1, 2, 3, 4, 5


@leaf
def _outside(values: Array, first: int, last: int, most: float) -> bool:
    """Tell whether one of values[first:last] is negative, above `most` or NaN."""
    found = False
    for j in range(np.uint64(first), np.uint64(last)):
        found |= not ((values[j] >= 0.0) & (values[j] <= most))
    return found


@leaf
def _add_columns(
    values: Array, first: int, last: int, step: int, masses: Array, policy: int
) -> None:
    """Add values[first:last] to masses[policy], `step` at a time: some rows of a matrix."""
    for start in range(first, last, step):
        at = np.uint64(start)
        for j in range(np.uint64(min(step, last - start))):
            masses[policy, j] += values[at + j]


@leaf
def _take_masses(candidate: Array, size: int, first: int, rows: int, shared: Array) -> None:
    """Write Σπ of each row."""
    at = np.uint64(first * size)
    for n in range(rows):
        mass = 0.0
        for _ in range(size):
            mass += candidate[at]
            at += np.uint64(1)
        shared[_MASS, n] = mass


@leaf
def _take_both_masses(
    candidate: Array, baseline: Array, size: int, first: int, rows: int, shared: Array
) -> None:
    """Write Σπ, Σπ' and Σδ⁺ of each row."""
    for n in range(rows):
        at = np.uint64((first + n) * size)
        mass, base_mass, gained = 0.0, 0.0, 0.0
        for k in range(np.uint64(size)):
            mass += candidate[at + k]
            base_mass += baseline[at + k]
            gained += max(candidate[at + k] - baseline[at + k], 0.0)
        shared[_MASS, n], shared[_BASE_MASS, n], shared[_MOVED, n] = mass, base_mass, gained


@leaf
def _take_played(
    action: NDArray[np.int64],
    propensity: Array,
    candidate: Array,
    baseline: Array,
    first: int,
    rows: int,
    shared: Array,
) -> bool:
    """Write p, π(a) and π'(a), 1 if there is no baseline; returns whether an arm is none."""
    unknown = False
    for n in range(rows):
        unknown |= (action[first + n] < 0) | (action[first + n] >= candidate.shape[1])
    if unknown:
        return True
    for n in range(rows):
        shared[_INVERSE, n] = propensity[first + n]
        shared[_W, n] = candidate[first + n, action[first + n]]
        shared[_BASE_W, n] = 1.0
    if baseline.shape[0] > 0:
        for n in range(rows):
            shared[_BASE_W, n] = baseline[first + n, action[first + n]]
    return False


@leaf
def _weigh(logged: bool, settings: Array, shared: Array, policies: Array) -> bool:
    """Write all weights and add to policies[2, fields, chunk]; returns whether a row is bad."""
    threshold, shrinkage, clip = settings[0], settings[1], settings[2]
    bad = False
    for n in range(CHUNK):
        p = shared[_INVERSE, n]
        bad |= not ((p > 0.0) & (p <= 1.0))
        bad |= not (abs(shared[_MASS, n] - 1.0) <= ROUNDING)
        bad |= not (abs(shared[_BASE_MASS, n] - 1.0) <= ROUNDING)
        inverse = 1.0 / p if p > 0.0 else 0.0
        w = shared[_W, n] * inverse
        v = shared[_BASE_W, n] if logged else shared[_BASE_W, n] * inverse
        shared[_INVERSE, n], shared[_W, n], shared[_BASE_W, n] = inverse, w, v
        shared[_SWITCHED, n] = w if w <= threshold else 0.0
        shared[_SHRUNK, n] = shrinkage * w / (w * w + shrinkage)
        shared[_CLIPPED, n] = min(w, clip)
        shared[_BASE_SWITCHED, n] = v if logged or v <= threshold else 0.0
        shared[_BASE_SHRUNK, n] = v if logged else shrinkage * v / (v * v + shrinkage)
        shared[_BASE_CLIPPED, n] = v if logged else min(v, clip)
        policies[0, WEIGHTS, n] += w
        policies[0, SQUARES, n] += w * w
        policies[0, LARGEST, n] = max(policies[0, LARGEST, n], w)
        policies[0, MOVED, n] += shared[_MOVED, n]
        policies[1, WEIGHTS, n] += v
        policies[1, SQUARES, n] += v * v
        policies[1, LARGEST, n] = max(policies[1, LARGEST, n], v)
    return bad


@leaf
def _count_plays(
    action: NDArray[np.int64], propensity: Array, first: int, rows: int, shared: Array, arms: Array
) -> None:
    """Add the played arms of a chunk and their propensities to arms[K, fields]."""
    for n in range(rows):
        a, inverse = np.uint64(action[first + n]), shared[_INVERSE, n]
        arms[a, PLAYS] += 1.0
        arms[a, INVERSE] += inverse
        arms[a, INVERSE_SQUARE] += inverse * inverse
        arms[a, LEAST] = min(arms[a, LEAST], propensity[first + n])


@leaf
def _count_allowed(
    allowed: Mask,
    action: NDArray[np.int64],
    candidate: Array,
    baseline: Array,
    first: int,
    rows: int,
    arms: Array,
) -> bool:
    """Add the allowed arms of a chunk; returns whether another one was played or may be."""
    bad = False
    for n in range(rows):
        t = first + n
        bad |= not allowed[t, action[t]]
        for k in range(candidate.shape[1]):
            if allowed[t, k]:
                arms[k, ALLOWED] += 1.0
            else:
                bad |= candidate[t, k] > 0.0
                bad |= baseline.shape[0] > 0 and baseline[t, k] > 0.0
    return bad


@leaf
def _take_rewards(
    reward: Array,
    action: NDArray[np.int64],
    first: int,
    rows: int,
    i: int,
    chunk: Array,
    arms: Array,
) -> bool:
    """Write the rewards of an objective and count them; returns whether one is outside [0, 1]."""
    for n in range(rows):
        chunk[i, _REWARD, n] = reward[first + n, i]
    bad = False
    for n in range(CHUNK):
        y = chunk[i, _REWARD, n]
        missing = math.isnan(y)
        chunk[i, _ONE, n] = 0.0 if missing else 1.0
        y = 0.0 if missing else y
        bad |= (y < 0.0) | (y > 1.0)
        chunk[i, _REWARD, n] = y
    for n in range(rows):
        arms[np.uint64(action[first + n]), np.uint64(ARM_FIELDS + i)] += chunk[i, _ONE, n]
    return bad


@leaf
def _take_values(
    predicted: Array,
    probabilities: Array,
    size: int,
    first: int,
    rows: int,
    i: int,
    field: int,
    chunk: Array,
) -> None:
    """Write Σ_k π(k)q(k) for objectives i and i + 1 (the last one alone): one pass over π."""
    step, other = np.uint64(len(chunk)), min(i + 1, len(chunk) - 1)
    beside = np.uint64(other - i)
    for n in range(rows):
        at = np.uint64((first + n) * size)
        to = at * step + np.uint64(i)
        value, other_value = 0.0, 0.0
        for k in range(np.uint64(size)):
            value += probabilities[at + k] * predicted[to + k * step]
            other_value += probabilities[at + k] * predicted[to + k * step + beside]
        chunk[i, field, n] = value
        chunk[other, field, n] = other_value


@leaf
def _take_predictions(
    predicted: Array,
    action: NDArray[np.int64],
    size: int,
    first: int,
    rows: int,
    i: int,
    chunk: Array,
) -> None:
    """Write q(a) of an objective."""
    for n in range(rows):
        cell = (first + n) * size + action[first + n]
        chunk[i, _PLAYED, n] = predicted[np.uint64(cell * len(chunk) + i)]


@leaf
def _ends(logged: bool, ratio: float, moved: float, reward: float) -> tuple[float, float]:
    """Return the scores L and U; `ratio` is (π − π')(a)/p, w − 1 if there is no baseline.

    `moved` is Σδ⁺, which equals Σδ⁻ since both policies have probabilities that sum to 1.
    """
    gain = ratio * reward
    loss = ratio - gain
    if logged:
        return gain, -loss
    rises = ratio > 0.0
    return (gain if rises else -loss) - moved, moved - (loss if rises else -gain)


@leaf
def _add_rows(  # noqa: PLR0915  # a statement for each field
    logged: bool, i: int, shared: Array, chunk: Array, lanes: Array
) -> None:
    """Add a chunk to lanes[D, fields, chunk] of an objective."""
    for n in range(CHUNK):
        one, y = chunk[i, _ONE, n], chunk[i, _REWARD, n]
        played = chunk[i, _PLAYED, n] if one > 0.0 else 0.0
        value = chunk[i, _VALUE, n] if one > 0.0 else 0.0
        base_value = chunk[i, _BASE_VALUE, n] if one > 0.0 else 0.0
        base_value = played if logged else base_value
        error = y - played
        w, v = one * shared[_W, n], one * shared[_BASE_W, n]
        switched, base_switched = shared[_SWITCHED, n], shared[_BASE_SWITCHED, n]
        shrunk, base_shrunk = shared[_SHRUNK, n], shared[_BASE_SHRUNK, n]
        clipped, base_clipped = shared[_CLIPPED, n], shared[_BASE_CLIPPED, n]
        gain, better = (w - v) * y, value - base_value
        low, high = _ends(logged, w - v, one * shared[_MOVED, n], y)
        robust = better + (w - v) * error
        direct = value - (y if logged else base_value)
        switched_score = better + (switched - base_switched) * error
        shrunk_score = better + (shrunk - base_shrunk) * error
        clipped_score = (clipped - base_clipped) * y
        lanes[i, COUNT, n] += one
        lanes[i, REWARD, n] += y
        lanes[i, VALUE, n] += value
        lanes[i, BASE_VALUE, n] += base_value
        lanes[i, EARNED, n] += w * y
        lanes[i, BASE_EARNED, n] += v * y
        lanes[i, WEIGHT, n] += w
        lanes[i, BASE_WEIGHT, n] += v
        lanes[i, CORRECTION, n] += w * error
        lanes[i, BASE_CORRECTION, n] += v * error
        lanes[i, SWITCHED, n] += switched * error
        lanes[i, BASE_SWITCHED, n] += base_switched * error
        lanes[i, SWITCHED_SQUARE, n] += switched_score * switched_score
        lanes[i, SHRUNK, n] += shrunk * error
        lanes[i, BASE_SHRUNK, n] += base_shrunk * error
        lanes[i, SHRUNK_SQUARE, n] += shrunk_score * shrunk_score
        lanes[i, CLIPPED, n] += clipped * y
        lanes[i, BASE_CLIPPED, n] += base_clipped * y
        lanes[i, CLIPPED_SQUARE, n] += clipped_score * clipped_score
        lanes[i, LOWER, n] += low
        lanes[i, UPPER, n] += high
        lanes[i, ROBUST, n] += robust
        lanes[i, LOWER_SQUARE, n] += low * low
        lanes[i, LOWER_ROBUST, n] += low * robust
        lanes[i, ROBUST_SQUARE, n] += robust * robust
        lanes[i, UPPER_SQUARE, n] += high * high
        lanes[i, UPPER_ROBUST, n] += high * robust
        lanes[i, WEIGHT_SQUARE, n] += w * w
        lanes[i, BASE_WEIGHT_SQUARE, n] += v * v
        lanes[i, WEIGHT_PRODUCT, n] += w * v
        lanes[i, GAIN_SQUARE, n] += gain * gain
        lanes[i, GAIN_WEIGHT, n] += gain * w
        lanes[i, GAIN_BASE, n] += gain * v
        lanes[i, ROBUST_WEIGHT, n] += robust * w
        lanes[i, ROBUST_BASE, n] += robust * v
        lanes[i, DIRECT_SQUARE, n] += direct * direct


@leaf
def _add_explored(
    logged: bool, i: int, explores: Array, size: int, shared: Array, chunk: Array, lanes: Array
) -> None:
    """Add what L² and U² would have been for values of `explore`, seen from the logged draw.

    A row of propensity p would have had p' = (1 − ε)p + ε/K, and p'/p as its weight in a mean over
    rows that were drawn so.
    """
    for n in range(CHUNK):
        lanes[i, SAMPLED, n] += chunk[i, _ONE, n]
    for j in range(len(explores)):
        rest, spread = 1.0 - explores[j], explores[j] / size
        for n in range(CHUNK):
            one, y = chunk[i, _ONE, n], chunk[i, _REWARD, n]
            weight = rest + spread * shared[_INVERSE, n]
            ratio = (shared[_W, n] - (0.0 if logged else shared[_BASE_W, n])) / weight
            ratio = one * (ratio - 1.0 if logged else ratio)
            low, high = _ends(logged, ratio, one * shared[_MOVED, n], y)
            lanes[i, EXPLORED + 2 * j, n] += low * low * weight
            lanes[i, EXPLORED + 2 * j + 1, n] += high * high * weight


@leaf
def _add_policies(
    action: NDArray[np.int64],
    propensity: Array,
    candidate: Array,
    baseline: Array,
    allowed: Mask,
    flat: Array,
    base_flat: Array,
    first: int,
    rows: int,
    settings: Array,
    shared: Array,
    policies: Array,
    arms: Array,
    masses: Array,
) -> bool:
    """Add what a chunk says of policies and arms; returns whether a row is bad."""
    size, logged = candidate.shape[1], len(baseline) == 0
    start, stop, step = first * size, (first + rows) * size, _GROUP * size
    if _take_played(action, propensity, candidate, baseline, first, rows, shared):
        return True
    # Sums of rows come first: they leave time for the next values to arrive from memory.
    if logged:
        _take_masses(flat, size, first, rows, shared)
    else:
        _take_both_masses(flat, base_flat, size, first, rows, shared)
        _add_columns(base_flat, start, stop, step, masses, 1)
    _add_columns(flat, start, stop, step, masses, 0)
    bad = _outside(flat, start, stop, math.inf)
    bad |= not logged and _outside(base_flat, start, stop, math.inf)
    bad |= _weigh(logged, settings, shared, policies)
    _count_plays(action, propensity, first, rows, shared, arms)
    if len(allowed):
        bad |= _count_allowed(allowed, action, candidate, baseline, first, rows, arms)
    return bad


@leaf
def _take_model(
    predicted: Array,
    flat: Array,
    base_flat: Array,
    action: NDArray[np.int64],
    size: int,
    first: int,
    rows: int,
    chunk: Array,
) -> bool:
    """Write what the reward model says of a chunk; returns whether it is outside [0, 1]."""
    for i in range(0, len(chunk), 2):
        _take_values(predicted, flat, size, first, rows, i, _VALUE, chunk)
        if len(base_flat):
            _take_values(predicted, base_flat, size, first, rows, i, _BASE_VALUE, chunk)
    for i in range(len(chunk)):
        _take_predictions(predicted, action, size, first, rows, i, chunk)
    step = size * len(chunk)
    return _outside(predicted, first * step, (first + rows) * step, 1.0)


@kernel
def sum_rows(
    reward: Array,
    action: NDArray[np.int64],
    propensity: Array,
    candidate: Array,
    baseline: Array,
    predicted: Array,
    allowed: Mask,
    settings: Array,
    explores: Array,
    objectives: Array,
    policies: Array,
    arms: Array,
    weights: Array,
) -> int:
    """Add n rows to objectives[D, fields], policies[2, fields] and arms[K, fields].

    Writes the candidate's weights to weights[n]. `baseline`, `predicted` and `allowed` have no rows
    where there are none; `settings` are τ, λ and c. Returns the number of rows that are fine: fewer
    than n if one of the next `CHUNK` rows is bad, and the sums are of no use then.
    """
    size, count, logged = candidate.shape[1], reward.shape[1], len(baseline) == 0
    flat, base_flat = candidate.reshape(candidate.size), baseline.reshape(baseline.size)
    predictions = predicted.reshape(predicted.size)
    shared, chunk = np.zeros((_SHARED, CHUNK)), np.zeros((count, _OWN, CHUNK))
    lanes = np.zeros((count, objectives.shape[1], CHUNK))
    policy_lanes = np.zeros((2, POLICY_FIELDS, CHUNK))
    masses = np.zeros((2, _GROUP * size))
    shared[_BASE_MASS] = 1.0
    for first in range(0, len(action), CHUNK):
        rows = min(CHUNK, len(action) - first)
        if rows < CHUNK:  # the last chunk: rows that are not there have weight 0 and no reward
            shared[:_INVERSE] = 0.0
            shared[_INVERSE:] = 1.0
            chunk[:, _REWARD] = math.nan
        bad = _add_policies(
            action,
            propensity,
            candidate,
            baseline,
            allowed,
            flat,
            base_flat,
            first,
            rows,
            settings,
            shared,
            policy_lanes,
            arms,
            masses,
        )
        if not bad and len(predicted):
            bad = _take_model(predictions, flat, base_flat, action, size, first, rows, chunk)
        for i in range(0 if bad else count):
            bad |= _take_rewards(reward, action, first, rows, i, chunk, arms)
            _add_rows(logged, i, shared, chunk, lanes)
            if first % (_STRIDE * CHUNK) == 0:
                _add_explored(logged, i, explores, size, shared, chunk, lanes)
        if bad:
            return first
        for n in range(rows):
            weights[first + n] = shared[_W, n]
    for n in range(CHUNK):
        objectives += lanes[:, :, n]
        policies += policy_lanes[:, :, n]
    for policy in range(2):
        policies[policy, LARGEST] = policy_lanes[policy, LARGEST].max()
        policies[policy, ROWS] = len(action)
        policies[policy, MOVED] = math.nan if logged else policies[policy, MOVED]
        for j in range(_GROUP * size):
            arms[j % size, MASS + policy] += masses[policy, j]
    if len(allowed) == 0:
        arms[:, ALLOWED] += len(action)
    return len(action)
