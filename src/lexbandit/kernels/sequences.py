"""Confidence sequences from sums over blocks of rows; `logs.sequences` derives them.

There is a lower bound for scores Z = (1 − κ)L + κR of rows, with κ chosen at the beginning of each
block. Six sums of a block are enough: its rows, ΣL, ΣR, ΣL², ΣLR and ΣR². The upper bound is the
lower one of −U and −R, with its sign changed.

    costs[k]   Σ ψ_b(λ_k)(Z − c)² over rows, for each λ_k; infinite once b·λ_k ≥ 1

Within a block c and b stay, so the boundary u depends on one number, the block's Q = Σ(Z − c)²: it
solves ln Σ_k weight_k exp(λ_k u − costs_k − ψ_b(λ_k)Q) = ln(1/α). The left side is convex in (u, Q)
and increases with u, so u(Q) is concave: its tangents lie above it, and a bound by a tangent is
valid. A look at every row then needs exponentials only now and then, when Q has moved so far that
the tangent is no longer near the curve (`tangent`).
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import inlined, kernel

ROWS, FIRST, ROBUST, FIRST_SQUARE, FIRST_ROBUST, ROBUST_SQUARE, FIELDS = 0, 1, 2, 3, 4, 5, 6

# The mixture over λ: geometric, with weights that are largest where some hundred to ten thousand
# rows of scores that vary by 1 are decided. The weights sum to 1.
LAMBDAS: Array = 0.9 * 1.6 ** -np.arange(30.0)
_SHAPE: Array = 1.0 / (1.0 + ((np.arange(30.0) - 5.0) / 5.0) ** 2)
LOG_WEIGHTS: Array = np.log(_SHAPE / _SHAPE.sum())
# The choices of κ.
SHARES: Array = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
# What the logarithm of 1/α comes to with the price of the mixture, for the choice of κ.
_PRICE = 2.0
# Scores reach at least so far below their centre, for the kernel's sake: a longer reach is valid.
_LEAST_REACH = 0.25
# Newton's steps end when one is this share of s, and a tangent is left where it is about this share
# of u above the curve: both make the bound wider, by a hair.
_SETTLED = 1e-9
_APART = 1e-6


@inlined
def squares(sums: Array, share: float, centre: float) -> float:
    """Return Σ(Z − c)² for Z = (1 − κ)L + κR."""
    other = 1.0 - share
    total = other * sums[FIRST] + share * sums[ROBUST]
    square = other * other * sums[FIRST_SQUARE] + 2.0 * share * other * sums[FIRST_ROBUST]
    square += share * share * sums[ROBUST_SQUARE]
    return float(max(square - 2.0 * centre * total + sums[ROWS] * centre * centre, 0.0))


@inlined
def choose(sums: Array, reach: float, log_level: float) -> tuple[float, float, float]:
    """Return κ, c and b for the next block, from the sums of all blocks before it.

    `reach` is 1/(least propensity), how far R may lie below 0; infinite if nothing is promised:
    then κ = 0. Else κ has the least projected half-width sqrt(2Vℓ/n) + 2bℓ/(3n) after as many rows
    again.
    """
    rows = sums[ROWS]
    if rows == 0.0:
        return 0.0, 0.0, 1.0
    best, chosen, middle, below = math.inf, 0.0, 0.0, 1.0
    for share in SHARES:
        if share > 0.0 and not reach < math.inf:
            break
        mean = ((1.0 - share) * sums[FIRST] + share * sums[ROBUST]) / rows
        centre = min(max(mean, -1.0), 1.0)
        far = 1.0 + centre
        if share > 0.0:
            far += share * (reach - 1.0)
        far = max(far, _LEAST_REACH)
        price = (log_level + _PRICE) / (2.0 * rows)
        width = math.sqrt(2.0 * squares(sums, share, centre) / rows * price)
        width += 2.0 / 3.0 * far * price
        if width < best:
            best, chosen, middle, below = width, share, centre, far
    return chosen, middle, below


@inlined
def rate(below: float, rates: Array) -> None:
    """Write ψ_b(λ) = (−ln(1 − bλ) − bλ)/b² to `rates`, infinite where b·λ ≥ 1."""
    for k in range(len(LAMBDAS)):
        far = below * LAMBDAS[k]
        rates[k] = math.inf
        if far < 1.0:
            rates[k] = (-math.log1p(-far) - far) / (below * below)


@inlined
def spend(costs: Array, rates: Array, square: float, after: Array) -> None:
    """Write costs + rates·square to `after`; what is infinite stays so."""
    for k in range(len(LAMBDAS)):
        after[k] = costs[k] + rates[k] * square if rates[k] < math.inf else math.inf


@inlined
def boundary(costs: Array, log_level: float, start: float) -> float:
    """Return the s with Σ_k weight_k exp(λ_k s − costs_k) = 1/α, or just above it.

    Newton's steps for the logarithm of the sum, from any `start`. The logarithm is convex and
    increases, so every step ends on the right of the root, where the bound is valid. Infinite if
    all costs are.
    """
    s = start
    for _ in range(50):
        largest = -math.inf
        for k in range(len(LAMBDAS)):
            largest = max(largest, LOG_WEIGHTS[k] + LAMBDAS[k] * s - costs[k])
        if largest == -math.inf:
            return math.inf
        total, slope = 0.0, 0.0
        for k in range(len(LAMBDAS)):
            term = math.exp(LOG_WEIGHTS[k] + LAMBDAS[k] * s - costs[k] - largest)
            total += term
            slope += LAMBDAS[k] * term
        step = (largest + math.log(total) - log_level) * total / slope
        s -= step
        if abs(step) <= _SETTLED * s:
            break
    return s


@inlined
def first_guess(costs: Array, log_level: float) -> float:
    """Return where one term of the mixture alone is 1/α, the least: on the right of the root."""
    s = math.inf
    for k in range(len(LAMBDAS)):
        s = min(s, (log_level - LOG_WEIGHTS[k] + costs[k]) / LAMBDAS[k])
    return s if s < math.inf else 0.0


@inlined
def tangent(costs: Array, rates: Array, s: float) -> tuple[float, float]:
    """Return the slope of u(Q) where it is s, and how far to the right its tangent is near it.

    With the terms of the mixture as probabilities, u' = E[ψ]/E[λ] and u'' = −E[(ψ − u'λ)²]/E[λ].
    """
    largest = -math.inf
    for k in range(len(LAMBDAS)):
        largest = max(largest, LOG_WEIGHTS[k] + LAMBDAS[k] * s - costs[k])
    slope, rise, bend = 0.0, 0.0, 0.0
    for k in range(len(LAMBDAS)):
        if costs[k] < math.inf:
            term = math.exp(LOG_WEIGHTS[k] + LAMBDAS[k] * s - costs[k] - largest)
            slope += LAMBDAS[k] * term
            rise += rates[k] * term
    if slope == 0.0:
        return 0.0, math.inf
    rise /= slope
    for k in range(len(LAMBDAS)):
        if costs[k] < math.inf:
            term = math.exp(LOG_WEIGHTS[k] + LAMBDAS[k] * s - costs[k] - largest)
            bend += (rates[k] - rise * LAMBDAS[k]) ** 2 * term
    return rise, math.sqrt(2.0 * _APART * s * slope / bend) if bend > 0.0 else math.inf


@kernel
def lower_bound(
    blocks: Array, reach: float, log_level: float, costs: Array
) -> tuple[float, float, float]:
    """Return ΣZ, the boundary u and the last κ after blocks[m, 6]; the bound is (ΣZ − u)/rows.

    Leaves the costs of the mixture in costs[30].
    """
    sums, rates = np.zeros(FIELDS), np.zeros(len(LAMBDAS))
    total = 0.0
    share = 0.0
    costs[:] = 0.0
    for m in range(blocks.shape[0]):
        share, centre, below = choose(sums, reach, log_level)
        rate(below, rates)
        block = blocks[m]
        spend(costs, rates, squares(block, share, centre), costs)
        total += (1.0 - share) * block[FIRST] + share * block[ROBUST]
        sums += block
    return total, boundary(costs, log_level, first_guess(costs, log_level)), share


@kernel
def running_bounds(
    first: Array, robust: Array, edges: Array, every: int, reach: float, log_level: float
) -> Array:
    """Return the lower bound after every `every` rows of the scores first[n] and robust[n].

    edges[m + 1] are the numbers of the rows at which blocks begin, the last the number of rows.
    NaN is a row without a reward: it adds nothing.
    """
    bounds = np.empty(len(first) // every)
    sums, block = np.zeros(FIELDS), np.zeros(FIELDS)
    costs, rates = np.zeros(len(LAMBDAS)), np.zeros(len(LAMBDAS))
    after = np.zeros(len(LAMBDAS))
    total, look, wait = 0.0, 0, every
    last = first_guess(costs, log_level)
    for m in range(len(edges) - 1):
        share, centre, below = choose(sums, reach, log_level)
        rate(below, rates)
        block[:] = 0.0
        place, rise, near = 0.0, 0.0, -1.0
        for t in range(int(edges[m]), int(edges[m + 1])):
            x, y = first[t], robust[t]
            if not math.isnan(x):
                block[ROWS] += 1.0
                block[FIRST] += x
                block[ROBUST] += y
                block[FIRST_SQUARE] += x * x
                block[FIRST_ROBUST] += x * y
                block[ROBUST_SQUARE] += y * y
            wait -= 1
            if wait == 0:
                wait = every
                square = squares(block, share, centre)
                if square - place > near:
                    spend(costs, rates, square, after)
                    last = boundary(after, log_level, last)
                    place = square
                    rise, near = tangent(after, rates, last)
                rows = sums[ROWS] + block[ROWS]
                seen = total + (1.0 - share) * block[FIRST] + share * block[ROBUST]
                bound = (seen - last - rise * (square - place)) / rows if rows > 0.0 else -1.0
                bounds[look] = max(bound, -1.0)
                look += 1
        spend(costs, rates, squares(block, share, centre), costs)
        total += (1.0 - share) * block[FIRST] + share * block[ROBUST]
        sums += block
    return bounds
