"""What a pooled regression predicts of one arm in a context, and of averages over contexts."""

import math

import numpy as np

from lexbandit.kernels import pooled
from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.linear_features import features_at
from lexbandit.kernels.pooled import Model

# Where an arm was hardly tried, as in a category, its distance from the other arms is taken to have
# this many times the variance of a scale of 1. The learned scales tell what arms are like in
# general, and one that was left out there may be unlike all others. By measured coverage:
# docs/decisions/0020-comparisons-are-doubly-robust.md.
UNLIKE = 9.0


@kernel
def expect(
    kind: int,
    point: Array,
    table: Array,
    arm: int,
    vectors: Array,
    matrices: Array,
    shared: Array,
    features: Array,
    means: Array,
) -> bool:
    """Write φ(x) of a context to features[0], and the expected rewards of an arm to means[D].

    Returns False, and writes nothing of use, if the context is outside [0,1]^d. With B symmetric,
    φᵀB(b + Λθ_0) = φᵀ(Bb) + (Bφ)ᵀΛθ_0.
    """
    inside = features_at(kind, point, table, features)
    if not inside:
        return False
    size = features.shape[1]
    work = np.empty(size)
    for i in range(means.shape[0]):
        for k in range(size):
            work[k] = vectors[arm, i, pooled.OWN, k]
        for j in range(size):
            pull = shared[i, pooled.PULL, j]
            for k in range(size):
                work[k] += matrices[arm, i, pooled.INVERSE, j, k] * pull
        mean = 0.0
        for k in range(size):
            mean += features[0, k] * work[k]
        means[i] = mean
    return True


@inlined
def average_noise(model: Model, arm: int, i: int) -> float:
    """Return the variance of an arm's rewards around their means, over all of its contexts.

    Where all rewards were 0 or 1 it is that of their share, drawn to the share of all arms and ½.
    """
    facts, tallies = model.facts, model.tallies
    if facts[i, pooled.OTHER] == 0.0 and facts[i, pooled.SEEN] > 0.0:
        drawn = pooled.POOLED_SHARE + pooled.EVEN_SHARE
        ones = tallies[arm, i, pooled.TOTAL] + pooled.EVEN_SHARE * 0.5
        ones += pooled.POOLED_SHARE * facts[i, pooled.CENTRE]
        share = min(max(ones / (tallies[arm, i, pooled.COUNT] + drawn), 0.0), 1.0)
        return float(share * (1.0 - share))
    return float(pooled.noise_of(model, arm, i, 0.0, 0.0))


@kernel
def predict_averages(
    model: Model, unlike: Mask, averages: Array, means: Array, deviations: Array
) -> None:
    """Write θ_aᵀφ and its deviation at φ = averages[a, i] to means[a, i] and deviations[a, i].

    The averages are of features over contexts, with any weights. With u = ΛBφ and c_f = σ²/Λ_f the
    prior variance of a weight, whose learned scale is x_f, the variance is

        σ_a²(φᵀBφ + uᵀC_0u) + Σ_f u_f² c_f (9/x_f − 1)⁺

    The second term has what is not known of θ_0. The third, over the features `unlike`, is for an
    arm unlike the others: u_f is how far rewards leave its weight to what arms share.
    """
    size = averages.shape[2]
    work, drawn, lifted = np.empty(size), np.empty(size), np.empty(size)
    for a in range(averages.shape[0]):
        for i in range(averages.shape[1]):
            for k in range(size):
                work[k] = 0.0
                lifted[k] = 0.0
            for j in range(size):
                feature = averages[a, i, j]
                for k in range(size):
                    work[k] += model.matrices[a, i, pooled.INVERSE, j, k] * feature
            mean = 0.0
            leverage = 0.0
            for k in range(size):
                feature = averages[a, i, k]
                mean += model.vectors[a, i, pooled.OWN, k] * feature
                mean += model.shared[i, pooled.PULL, k] * work[k]
                leverage += work[k] * feature
                drawn[k] = model.shared[i, pooled.PENALTY, k] * work[k]
            for j in range(size):
                for k in range(size):
                    lifted[k] += model.common[i, j, k] * drawn[j]
            apart = 0.0
            for k in range(size):
                leverage += lifted[k] * drawn[k]
                if unlike[k]:
                    more = max(UNLIKE / model.shared[i, pooled.SCALE, k] - 1.0, 0.0)
                    apart += drawn[k] * drawn[k] * more / model.shared[i, pooled.PENALTY, k]
            means[a, i] = mean
            variance = average_noise(model, a, i) * max(leverage, 0.0)
            deviations[a, i] = math.sqrt(variance + model.facts[i, pooled.NOISE] * apart)
