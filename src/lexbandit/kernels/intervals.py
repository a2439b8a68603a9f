"""Confidence intervals that are not mean ± a function of the count: KL and empirical Bernstein."""

import math

from lexbandit.kernels.jit import inlined, kernel

# The stitched boundary of Howard et al. (2021), with their η = 2 and s = 1.4.
_ETA = 2.0
S = 1.4
ZETA = 3.105547277977579  # ζ(S), the sum of k^(−S): what stitching spends on its epochs
_K1_SQUARED = (_ETA**0.25 + _ETA**-0.25) ** 2 / 2.0
_K2 = (math.sqrt(_ETA) + 1.0) / 2.0

# A relative step this small leaves an error of about its cube after Halley's step.
_NEAR = 1e-5
_STEPS = 20

# Added to the root outward, so that rounding never makes an interval too short; and below this, or
# this near to 1, a mean is taken as 0 or 1, which moves the root by less.
_OUTWARD = 1e-12
_NEGLIGIBLE = 1e-16


@inlined
def log_excess(u: float) -> float:
    """Return u − ln(1 + u), to 13 digits or more also where the two nearly cancel.

    With s = u/(2 + u), ln(1 + u) = 2 artanh(s) and u − 2s = u·s.
    """
    if abs(u) >= 0.1:
        return u - math.log(1.0 + u)  # log1p takes several times as long
    s = u / (2.0 + u)
    z = s * s
    tail = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z / 13))))
    return u * s - 2.0 * s * z * tail


@inlined
def halley(f: float, slope: float, curvature: float) -> float:
    """Return how far Halley's step for a root of f goes down."""
    return 2.0 * f * slope / (2.0 * slope * slope - f * curvature)


@kernel
def near_root(p: float, level: float, y: float) -> float:
    """Return q − p for a level that is small beside the variance; y = sqrt(2 p (1 − p) level).

    kl(p, p + x) is solved for x from three terms of its inverse series.
    """
    rest = 1.0 - p
    v = p * rest
    t = y / v
    x = y * (1.0 + t * ((1.0 - 2.0 * p) / 3.0 + t * (1.0 - 13.0 * v) / 36.0))
    for _ in range(_STEPS):
        q, r = p + x, rest - x
        f = p * log_excess(x / p) + rest * log_excess(-x / rest) - level
        step = halley(f, x / (q * r), p / (q * q) + rest / (r * r))
        x -= step
        if abs(step) <= _NEAR * x:
            break
    return x


@kernel
def far_root(p: float, level: float, y: float) -> float:
    """Return q − p for other levels.

    kl is solved for w = ln((1 − p)/(1 − q)), in which it is nearly straight where q is close to 1,
    from two terms of the inverse series, or less if p ln(p/q) ≥ p ln p allows no more.
    """
    rest = 1.0 - p
    w = y / rest
    w += w * w * (1.0 + rest) / (6.0 * p)
    if y > 1.5 * p * rest:
        w = min(w, (level - p * math.log(p)) / rest)
    x = 0.0
    for _ in range(_STEPS):
        # expm1 takes several times as long as exp; without it x is off by at most 1e-16.
        x = rest * (1.0 - math.exp(-w)) if p > 1e-6 else -rest * math.expm1(-w)
        q = p + x
        f = rest * w - p * math.log(q / p) - level
        step = halley(f, x / q, p * (rest - x) / (q * q))
        w -= step
        if abs(step) <= _NEAR * w:
            x -= (rest - x) * step * (1.0 + step * (0.5 + step / 6.0))  # e^step − 1
            break
    return x


@kernel
def kl_upper(mean: float, level: float) -> float:
    """Return max{q : kl(mean, q) ≤ level} for Bernoulli's kl, rounded outward by 1e-12.

    The index of Garivier and Cappé (2011, Algorithm 1). Halley's steps treble the number of
    right digits, so two or three are enough; the root is right to about 3e-15 before the rounding.
    """
    p = min(max(mean, 0.0), 1.0)
    if 1.0 - p <= _NEGLIGIBLE:
        return 1.0
    if p <= _NEGLIGIBLE:
        return min(_OUTWARD - math.expm1(-level), 1.0)
    v = p * (1.0 - p)
    y = math.sqrt(2.0 * v * level)
    if y <= 1e-30:
        return min(p + y + _OUTWARD, 1.0)
    x = near_root(p, level, y) if y <= 0.5 * v else far_root(p, level, y)
    return min(p + x + _OUTWARD, 1.0)


@kernel
def kl_lower(mean: float, level: float) -> float:
    """Return min{q : kl(mean, q) ≤ level}, by symmetry."""
    return 1.0 - kl_upper(1.0 - min(max(mean, 0.0), 1.0), level)


@inlined
def stitched_level(count: float, constant: float, log: float, epochs: float) -> float:
    """Return constant + log · ln(1 + epochs · ln N): a level for all counts N at once."""
    if log == 0.0:
        return constant
    return constant + log * math.log1p(epochs * math.log(count))


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
    level = S * math.log1p(math.log2(V)) + log_term
    return (math.sqrt(_K1_SQUARED * V * level + (_K2 * level) ** 2) + _K2 * level) / count
