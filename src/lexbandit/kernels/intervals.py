"""Confidence intervals that are not mean ± a function of the count: KL and empirical Bernstein."""

import math

from lexbandit.kernels.jit import kernel

# The stitched boundary of Howard et al. (2021), with their η = 2 and s = 1.4.
_ETA = 2.0
_S = 1.4
_K1_SQUARED = (_ETA**0.25 + _ETA**-0.25) ** 2 / 2.0
_K2 = (math.sqrt(_ETA) + 1.0) / 2.0


@kernel
def kl(p: float, q: float) -> float:
    """Return the Kullback–Leibler divergence of Bernoulli(p) from Bernoulli(q), for q in (0, 1)."""
    divergence = 0.0
    if p > 0.0:
        divergence += p * math.log(p / q)
    if p < 1.0:
        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return divergence


@kernel
def kl_upper(mean: float, level: float) -> float:
    """Return max{q : kl(mean, q) ≤ level}: Garivier and Cappé (2011), their Algorithm 1.

    By Newton's steps, kept inside a bracket that is halved where they leave it. Rounded outward by
    at most 1e-12, so the interval is never too short.
    """
    p = min(max(mean, 0.0), 1.0)
    if p == 1.0:
        return 1.0
    if p == 0.0:
        return -math.expm1(-level)
    # Pinsker: kl ≥ 2 (q − p)², so the root lies at most sqrt(level/2) above p.
    low, high = p, min(p + math.sqrt(0.5 * level), 1.0)
    q = high
    for _ in range(100):
        if q >= 1.0:
            q = 0.5 * (low + high)
        excess = kl(p, q) - level
        if excess > 0.0:
            high = q
        else:
            low = q
        if high - low <= 1e-12:
            break
        slope = (q - p) / (q * (1.0 - q))
        step = q - excess / slope if slope > 0.0 else q
        if abs(step - q) <= 1e-14:
            break
        q = step if low < step < high else 0.5 * (low + high)
    return min(q + 1e-12, 1.0)


@kernel
def kl_lower(mean: float, level: float) -> float:
    """Return min{q : kl(mean, q) ≤ level}, by symmetry."""
    return 1.0 - kl_upper(1.0 - min(max(mean, 0.0), 1.0), level)


@kernel
def bernstein(spread: float, count: float, log_term: float) -> float:
    """Return the width of the empirical-Bernstein interval for rewards in [0, 1].

    Howard, Ramdas, McAuliffe and Sekhon (2021), Theorem 4 with the stitched boundary of Theorem 1:

        S(V) = sqrt(k1² V ℓ + k2² ℓ²) + k2 ℓ,   ℓ = s ln(1 + log_η V) + `log_term`,   V ≥ 1,

    over the count, with V the sum of squared errors of predictions from earlier rewards and
    `log_term` = ln(ζ(s) / α) for one side's probability α. It holds for all counts at once, and
    for the average of conditional means, so adaptive play and varying contexts are covered.
    """
    V = max(spread, 1.0)
    level = _S * math.log1p(math.log2(V)) + log_term
    return (math.sqrt(_K1_SQUARED * V * level + (_K2 * level) ** 2) + _K2 * level) / count
