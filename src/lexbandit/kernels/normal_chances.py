"""Which of independent normal variables is the largest, and how likely."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import inlined, kernel

# Gauss and Legendre's rule on [−1, 1], used on panels of one standard deviation.
_NODES, _FACTORS = np.polynomial.legendre.leggauss(12)
# A normal variable is hardly seen farther out, in standard deviations: 10⁻¹².
_REACH = 7.2
# From so many points on, panels of 12 are fewer.
_MANY_POINTS = 200
# Below this share of the whole range a standard deviation counts as this share.
_NARROWEST = 1e-10


@inlined
def add_node(
    y: float,
    weight: float,
    means: Array,
    sigmas: Array,
    density: Array,
    below_: Array,
    above: Array,
    out: Array,
) -> None:
    """Add weight · (1/σ_a) φ((y − μ_a)/σ_a) Π_{b≠a} Φ((y − μ_b)/σ_b) to out[a], for every a."""
    n = means.shape[0]
    below_[0] = 1.0
    above[n] = 1.0
    for a in range(n):
        z = (y - means[a]) / sigmas[a]
        density[a] = math.exp(-0.5 * z * z) / (sigmas[a] * math.sqrt(2.0 * math.pi))
        above[a] = 0.5 * math.erfc(-z * math.sqrt(0.5))
        below_[a + 1] = below_[a] * above[a]
    for a in range(n - 1, -1, -1):
        out[a] += weight * density[a] * below_[a] * above[a + 1]
        above[a] *= above[a + 1]


@kernel
def chances(means: Array, deviations: Array) -> Array:
    """Return the probability of each of independent normal variables to be the largest.

    P(a) = ∫ (1/σ_a) φ((x − μ_a)/σ_a) Π_{b≠a} Φ((x − μ_b)/σ_b) dx. Of two it is a value of Φ.
    Otherwise, with 1/σ² = Σ 1/σ_a², the sum over points h = 0.8 σ apart is off by about
    exp(−2π²σ²/h²) = 10⁻¹³, since the transform of the integrand falls like exp(−σ²ω²/2). Where
    deviations differ so much that these would be many points, Gauss and Legendre's rule is used on
    panels no wider than the smallest σ_a that matters there. Accurate to about 10⁻¹⁰, where
    deviations differ by no more than a factor of 10⁶.
    """
    n = means.shape[0]
    if n == 1:
        return np.ones(1)
    origin = means.max()
    widest = deviations.max()
    reach = origin - means.min() + 2.0 * _REACH * widest
    if reach == 0.0:  # all are one and the same number
        return np.full(n, 1.0 / n)
    sigmas = np.maximum(deviations, _NARROWEST * reach)
    shifted = means - origin
    out = np.zeros(n)
    if n == 2:
        gap = (shifted[0] - shifted[1]) / math.sqrt(
            2.0 * (sigmas[0] * sigmas[0] + sigmas[1] * sigmas[1])
        )
        out[0] = 0.5 * math.erfc(-gap)
        out[1] = 0.5 * math.erfc(gap)
        return out
    low = -math.inf
    high = -math.inf
    sharpness = 0.0
    for a in range(n):
        low = max(low, shifted[a] - _REACH * sigmas[a])
        high = max(high, shifted[a] + _REACH * sigmas[a])
        sharpness += 1.0 / (sigmas[a] * sigmas[a])
    below_, above, density = np.empty(n + 1), np.empty(n + 1), np.empty(n)
    points = math.ceil((high - low) * math.sqrt(sharpness) / 0.8)
    if points <= _MANY_POINTS:
        step = (high - low) / points
        for k in range(points + 1):
            add_node(low + k * step, step, shifted, sigmas, density, below_, above, out)
        return np.asarray(out / out.sum())
    x = low
    while x < high:
        step = high - x
        for a in range(n):
            start = shifted[a] - _REACH * sigmas[a]
            if start > x:
                step = min(step, start - x)
            elif x < shifted[a] + _REACH * sigmas[a]:
                step = min(step, sigmas[a])
        step = max(step, 0.25 * _NARROWEST * reach)
        for node in range(_NODES.shape[0]):
            y = x + 0.5 * step * (1.0 + _NODES[node])
            weight = 0.5 * step * _FACTORS[node]
            add_node(y, weight, shifted, sigmas, density, below_, above, out)
        x += step
    return np.asarray(out / out.sum())
