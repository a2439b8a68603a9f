"""Sums and means of the planted environments, each round by itself."""

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel

Positions = NDArray[np.int64]


@kernel
def weigh(contexts: Array, weights: Array) -> Array:
    """Return contexts[n, d] @ weights[d, count], the features added in their order.

    A library's matrix product may add in another order for another n, and a stream would then
    depend on the size of its blocks in the last digit.
    """
    sums = np.zeros((contexts.shape[0], weights.shape[1]))
    for t in range(contexts.shape[0]):
        for feature in range(weights.shape[0]):
            x = contexts[t, feature]
            for wave in range(weights.shape[1]):
                sums[t, wave] += x * weights[feature, wave]
    return sums


@kernel
def plant(waves: Array, middle: Array, shared: Array, own: Array, best: Positions) -> Array:
    """Return means[n, K, D]: middle + shared · (the level's wave) + own · (the arm's wave).

    waves[n, D − 1 + K] has the waves of the levels but the last, then the arms'; best[i] says which
    is the wave of level i. Arms with own = 0 and equal middle and shared get the same number.
    """
    arms, levels = middle.shape
    means = np.empty((waves.shape[0], arms, levels))
    for t in range(waves.shape[0]):
        for arm in range(arms):
            wave = waves[t, levels - 1 + arm]
            for i in range(levels):
                level = middle[arm, i] + shared[arm, i] * waves[t, best[i]]
                means[t, arm, i] = level + own[arm, i] * wave
    return means
