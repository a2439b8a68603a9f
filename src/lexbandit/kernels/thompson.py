"""Pareto Thompson sampling's rule: a uniform pick from the arms whose samples nobody dominates."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.pareto import mark_front
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.sampling import beta
from lexbandit.kernels.statistics import COUNT, SUM, Cells
from lexbandit.kernels.ties import draw_marked


@inlined
def prepare(cells: Cells, _settings: Array) -> tuple[Mask, Array]:
    """Return room for the front and for the samples."""
    return np.empty(cells.indices.shape[2], np.bool_), np.empty(cells.indices.shape[1:])


@inlined
def choose(
    cells: Cells,
    slot: int,
    ceilings: Array,
    row: int,
    _settings: Array,
    random: RandomState,
    work: tuple[Mask, Array],
) -> int:
    """Sample every allowed arm in every objective and return one of the samples' front.

    With S the sum of N rewards, each in [0, 1], the sample is from Beta(1 + S, 1 + N − S).
    """
    front, vectors = work
    for i in range(vectors.shape[0]):
        for arm in range(vectors.shape[1]):
            if ceilings[row, arm] > 0.0:
                successes = cells.stats[slot, arm, i, SUM]
                failures = cells.stats[slot, arm, i, COUNT] - successes
                vectors[i, arm] = beta(random, 1.0 + successes, 1.0 + failures)
            else:
                vectors[i, arm] = -math.inf
    size = mark_front(vectors, front)
    return draw_marked(front, size, random)


@kernel
def shares(_cells: Cells, _slot: int, ceilings: Array, row: int, _settings: Array) -> Array:
    """Return NaN for allowed arms, whose probabilities have no closed form, and 0 for others."""
    out = np.zeros(ceilings.shape[1])
    for arm in range(ceilings.shape[1]):
        if ceilings[row, arm] > 0.0:
            out[arm] = math.nan
    return out
