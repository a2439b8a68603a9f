"""A pooled regression as a reward model: add rows to its sums, and predict many rows at once.

The model is that of `pooled`. It is solved once a block of rows, not after every row: the sums of a
block are F² additions a row, and nothing else.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels import pooled
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.pooled import Model


@kernel
def learn_rows(model: Model, features: Array, action: NDArray[np.int64], reward: Array) -> None:
    """Add reward[n, D] of action[n] at features[n, F] to the sums; NaN is no reward."""
    tallies, vectors, matrices, facts = model.tallies, model.vectors, model.matrices, model.facts
    size = features.shape[1]
    for t in range(len(action)):
        arm = action[t]
        for i in range(reward.shape[1]):
            y = reward[t, i]
            if math.isnan(y):
                continue
            tallies[arm, i, pooled.COUNT] += 1.0
            tallies[arm, i, pooled.TOTAL] += y
            tallies[arm, i, pooled.SQUARE] += y * y
            facts[i, pooled.OTHER] += y not in (0.0, 1.0)
            for j in range(size):
                feature = features[t, j]
                vectors[arm, i, pooled.MOMENT, j] += y * feature
                for k in range(size):
                    matrices[arm, i, pooled.GRAM, j, k] += feature * features[t, k]


@kernel
def coefficients(model: Model, found: Array) -> None:
    """Write θ_a = B(b + Λθ_0) of every arm and objective to found[K, D, F]."""
    size = found.shape[2]
    for arm in range(found.shape[0]):
        for i in range(found.shape[1]):
            for j in range(size):
                value = model.vectors[arm, i, pooled.OWN, j]
                for k in range(size):
                    pull = model.shared[i, pooled.PULL, k]
                    value += model.matrices[arm, i, pooled.INVERSE, j, k] * pull
                found[arm, i, j] = value


@kernel
def predict_rows(
    found: Array, means: Array, shares: Array, features: Array, predicted: Array
) -> None:
    """Write m + s(φᵀθ_a − m) of every row, arm and objective to predicted[n, K, D].

    φᵀθ_a is clipped to [0, 1]; m and s are means[D] and shares[D].
    """
    for t in range(features.shape[0]):
        for arm in range(found.shape[0]):
            for i in range(found.shape[1]):
                mean = 0.0
                for k in range(found.shape[2]):
                    mean += features[t, k] * found[arm, i, k]
                mean = min(max(mean, 0.0), 1.0)
                predicted[t, arm, i] = means[i] + shares[i] * (mean - means[i])


@kernel
def try_rows(
    found: Array,
    means: Array,
    features: Array,
    action: NDArray[np.int64],
    reward: Array,
    tried: Array,
) -> None:
    """Add Σ(g − m)(y − m) and Σ(g − m)² of rows that are not learned yet to tried[D, 2].

    g is φᵀθ_a of the arm that was played, m is means[D].
    """
    for t in range(features.shape[0]):
        for i in range(found.shape[1]):
            if math.isnan(reward[t, i]):
                continue
            mean = 0.0
            for k in range(found.shape[2]):
                mean += features[t, k] * found[action[t], i, k]
            beyond = min(max(mean, 0.0), 1.0) - means[i]
            tried[i, 0] += beyond * (reward[t, i] - means[i])
            tried[i, 1] += beyond * beyond
