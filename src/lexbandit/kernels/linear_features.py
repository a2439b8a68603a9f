"""Feature maps as compiled loops: contexts[n, d] in, features[n, F] out."""

import math

import numpy as np

from lexbandit.kernels.cells import Keys
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, normal, unit
from lexbandit.kernels.statistics import Array


@kernel
def legendre(contexts: Array, degree: int, factors: Keys, out: Array) -> None:
    """Write products of shifted Legendre polynomials.

    Bonnet's recursion (k + 1) P_{k+1}(z) = (2k + 1) z P_k(z) − k P_{k−1}(z) at z = 2x − 1.
    factors[f] are the places of the factors of feature f in the table of P_k(2x_j − 1).
    """
    dimension = contexts.shape[1]
    table = np.ones(dimension * (degree + 1))
    for t in range(contexts.shape[0]):
        for j in range(dimension):
            first = j * (degree + 1)
            z = 2.0 * contexts[t, j] - 1.0
            before = 0.0
            now = 1.0
            for k in range(degree):
                after = ((2.0 * k + 1.0) * z * now - k * before) / (k + 1.0)
                before = now
                now = after
                table[first + k + 1] = now
        for f in range(out.shape[1]):
            product = table[factors[f, 0]]
            for k in range(1, degree):
                product *= table[factors[f, k]]
            out[t, f] = product


@kernel
def draw_fourier(random: RandomState, width: float, frequencies: Array, phases: Array) -> None:
    """Draw frequencies from N(0, width²) and phases from [0, 2π)."""
    for f in range(frequencies.shape[0]):
        for j in range(frequencies.shape[1]):
            frequencies[f, j] = width * normal(random)
        phases[f] = 2.0 * math.pi * unit(random)


@kernel
def fourier(contexts: Array, frequencies: Array, phases: Array, out: Array) -> None:
    """Write √(2/F) cos(wᵀx + b)."""
    size = math.sqrt(2.0 / out.shape[1])
    for t in range(contexts.shape[0]):
        for f in range(out.shape[1]):
            angle = phases[f]
            for j in range(contexts.shape[1]):
                angle += frequencies[f, j] * contexts[t, j]
            out[t, f] = size * math.cos(angle)
