"""Feature maps as compiled loops: contexts[n, d] in, features[n, F] out.

Kernels are given a map as its kind and a table of numbers with one row a feature, so that the
path of one decision goes from the context to the arm in one kernel.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel, leaf, once
from lexbandit.kernels.random import RandomState, normal, unit

# GIVEN: what is passed as the context is its features already, for maps written in Python.
GIVEN, RAW, LEGENDRE, FOURIER, MIXED = 0, 1, 2, 3, 4

# What a mixed map computes of each coordinate x: P_0 to P_4 of 2x − 1, and x itself.
MIXED_FACTORS = 6


@once
def write_legendre(
    contexts: Array, t: int, table: Array, powers: Array, features: Array, n: int
) -> None:
    """Write products of shifted Legendre polynomials of contexts[t] to features[n].

    Bonnet's recursion (k + 1) P_{k+1}(z) = (2k + 1) z P_k(z) − k P_{k−1}(z) at z = 2x − 1.
    table[f] says where the factors of feature f stand in `powers`, which has P_k(2x_j − 1).
    """
    degree = table.shape[1]
    for j in range(contexts.shape[1]):
        first = j * (degree + 1)
        z = 2.0 * contexts[t, j] - 1.0
        before = 0.0
        now = 1.0
        powers[first] = 1.0
        for k in range(degree):
            after = ((2.0 * k + 1.0) * z * now - k * before) / (k + 1.0)
            before = now
            now = after
            powers[first + k + 1] = now
    for f in range(table.shape[0]):
        product = powers[int(table[f, 0])]
        for k in range(1, degree):
            product *= powers[int(table[f, k])]
        features[n, f] = product


@once
def write_mixed(
    contexts: Array, t: int, table: Array, powers: Array, features: Array, n: int
) -> None:
    """Write products of Legendre polynomials and indicators of contexts[t] to features[n].

    table[f] says where the factors of feature f stand in `powers`, which has MIXED_FACTORS numbers
    a coordinate: P_0 to P_4 of 2x − 1, and x itself.
    """
    for j in range(contexts.shape[1]):
        first = j * MIXED_FACTORS
        x = contexts[t, j]
        z = 2.0 * x - 1.0
        square = z * z
        powers[first] = 1.0
        powers[first + 1] = z
        powers[first + 2] = 1.5 * square - 0.5
        powers[first + 3] = z * (2.5 * square - 1.5)
        powers[first + 4] = square * (4.375 * square - 3.75) + 0.375
        powers[first + 5] = x
    for f in range(table.shape[0]):
        product = powers[int(table[f, 0])]
        for k in range(1, table.shape[1]):
            product *= powers[int(table[f, k])]
        features[n, f] = product


@once
def write_fourier(contexts: Array, t: int, table: Array, features: Array, n: int) -> None:
    """Write √(2/F) cos(wᵀx + b) of x = contexts[t] to features[n]; table[f] is (w, b)."""
    dimension = contexts.shape[1]
    size = math.sqrt(2.0 / table.shape[0])
    for f in range(table.shape[0]):
        angle = table[f, dimension]
        for j in range(dimension):
            angle += table[f, j] * contexts[t, j]
        features[n, f] = size * math.cos(angle)


@once
def space_for(kind: int, dimension: int, table: Array) -> Array:
    """Return space to work in for `write`."""
    size = 0
    if kind == MIXED:
        size = dimension * MIXED_FACTORS
    elif kind == LEGENDRE:
        size = dimension * (table.shape[1] + 1)
    return np.empty(size)


@once
def write_simple(
    kind: int, contexts: Array, t: int, table: Array, powers: Array, features: Array, n: int
) -> None:
    """Write φ(x) of x = contexts[t] to features[n], for the kinds MIXED, RAW and GIVEN."""
    if kind == MIXED:
        write_mixed(contexts, t, table, powers, features, n)
    else:
        shift = 0
        if kind == RAW:
            features[n, 0] = 1.0
            shift = 1
        for j in range(contexts.shape[1]):
            features[n, j + shift] = contexts[t, j]


@once
def write(
    kind: int, contexts: Array, t: int, table: Array, powers: Array, features: Array, n: int
) -> None:
    """Write φ(x) of x = contexts[t] to features[n]."""
    if kind == LEGENDRE:
        write_legendre(contexts, t, table, powers, features, n)
    elif kind == FOURIER:
        write_fourier(contexts, t, table, features, n)
    else:
        write_simple(kind, contexts, t, table, powers, features, n)


@leaf
def simple_at(
    kind: int, points: Array, t: int, table: Array, powers: Array, features: Array
) -> bool:
    """Write φ(x) of x = points[t] to features[t]; False if it is outside [0,1]^d.

    For the kinds MIXED and RAW. Features that are GIVEN come from a context that was checked.
    `powers` is space for MIXED_FACTORS numbers a coordinate.
    """
    inside = True
    for j in range(points.shape[1]):
        inside &= kind == GIVEN or 0.0 <= points[t, j] <= 1.0
    if inside:
        write_simple(kind, points, t, table, powers, features, t)
    return inside


@once
def features_at(kind: int, point: Array, table: Array, features: Array) -> bool:
    """Write φ(x) of one context to features[0]; False if it is outside [0,1]^d.

    Features that are GIVEN come from a context that was checked.
    """
    contexts = np.empty((1, point.shape[0]))
    inside = True
    for j in range(point.shape[0]):
        contexts[0, j] = point[j]
        inside &= kind == GIVEN or 0.0 <= point[j] <= 1.0
    if inside:
        powers = space_for(kind, point.shape[0], table)
        write(kind, contexts, 0, table, powers, features, 0)
    return inside


@kernel
def features_of(kind: int, contexts: Array, table: Array) -> Array:
    """Return float[n, F] for checked contexts[n, d]."""
    features = np.empty((contexts.shape[0], table.shape[0]))
    powers = space_for(kind, contexts.shape[1], table)
    for t in range(contexts.shape[0]):
        write(kind, contexts, t, table, powers, features, t)
    return features


@kernel
def draw_fourier(random: RandomState, width: float, table: Array) -> None:
    """Draw frequencies from N(0, width²) and phases from [0, 2π)."""
    dimension = table.shape[1] - 1
    for f in range(table.shape[0]):
        for j in range(dimension):
            table[f, j] = width * normal(random)
        table[f, dimension] = 2.0 * math.pi * unit(random)


@kernel
def spread_evenly(dimension: int, n: int) -> Array:
    """Return n points that fill [0,1]^d evenly, always the same: multiples of 1/g, 1/g², … mod 1.

    g is the real root above 1 of g^(d+1) = g + 1; for d = 1 the golden ratio.
    """
    root = 1.5
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimension + 1.0))
    points = np.empty((n, dimension))
    for t in range(n):
        for j in range(dimension):
            points[t, j] = (0.5 + (t + 1.0) * root ** -(j + 1.0)) % 1.0
    return points
