"""Scalarized UCB1 with one set of statistics: weighted sums of the objectives' indices.

Section II of the paper words Scalarized UCB1 so: a random weight for each objective, and for each
arm the weighted sum of the objectives' indices. Drugan and Nowé (2013) keep a UCB1 of its own for
each weight vector, which is `scalarized_ucb1`. The settings are D and then the weights, row by row.
"""

import math
from typing import Any

import numpy as np

from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import MARKS, OTHER, Cells, cell_rule
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.ties import draw_marked
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import one_cell, paper_grid
from lexbandit.policies.cells.scalarized_ucb1 import Weights, checked_weights
from lexbandit.policies.explain import likely, listed
from lexbandit.policies.registry import register


@leaf
def weight_vectors(cells: Cells) -> int:
    """Return the number of weight vectors."""
    return int((cells.settings.shape[0] - 1) // cells.indices.shape[1])


@kernel
def mark_best(cells: Cells, slot: int, s: int, ceilings: Array, row: int) -> int:
    """Mark the allowed arms of the highest Σ_i w_i g^i by weight vector s; return how many.

    An objective of weight 0 does not count: 0 · ∞ is no number.
    """
    objectives, work = cells.indices.shape[1], cells.work
    best = -math.inf
    for arm in range(ceilings.shape[1]):
        work[OTHER, arm] = -math.inf
        if ceilings[row, arm] > 0.0:
            work[OTHER, arm] = 0.0
            for i in range(objectives):
                weight = cells.settings[1 + s * objectives + i]
                if weight != 0.0:
                    work[OTHER, arm] += weight * cells.indices[slot, i, arm]
        best = max(best, work[OTHER, arm])
    size = 0
    for arm in range(ceilings.shape[1]):
        work[MARKS, arm] = work[OTHER, arm] == best
        size += work[OTHER, arm] == best
    return size


@kernel
def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Draw a weight vector uniformly and return an arm of the highest weighted sum of indices."""
    size = mark_best(cells, slot, below(random, weight_vectors(cells)), ceilings, row)
    return draw_marked(cells.work, size, ceilings.shape[1], random)


@kernel
def shares(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(ceilings.shape[1])
    for s in range(weight_vectors(cells)):
        size = mark_best(cells, slot, s, ceilings, row)
        for arm in range(ceilings.shape[1]):
            out[arm] += cells.work[MARKS, arm] / (size * weight_vectors(cells))
    return out


class ScalarizedIndicesRule(CellPolicy):
    """In every cell: each arm once, then the highest Σ_i w_i g^i of a weight vector w drawn anew.

    g^i = mean^i + sqrt(2 ln n / N) with the means and counts of all rounds, so that every round
    teaches every weight vector. Nothing is credited: `update` has no law to draw from. The twin is
    in tests/twins/related_cells.py.
    """

    _rule = cell_rule(choose=choose, shares=shares, work=True)

    def __init__(self, *, objectives: int, weights: Weights | None = None, **cells: Any) -> None:
        self.weights = checked_weights(weights, objectives)
        super().__init__(
            objectives=objectives,
            settings=[objectives, *self.weights.ravel()],
            ranked=objectives,
            **cells,
        )

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        return np.asarray(shares > 0), (
            f"{listed(chosen)}: highest weighted sum of the indices, by one of "
            f"{len(self.weights)} weight vectors, one of which is drawn uniformly."
        )


register(
    "cs-ucb1-shared",
    ScalarizedIndicesRule,
    "CS-UCB1 as Section II words it: weighted sums of shared indices, in each cell of the grid.",
    partition=paper_grid,
    bound=UCB1Bound,
)
register(
    "s-ucb1-shared",
    ScalarizedIndicesRule,
    "S-UCB1 as Section II words it: weighted sums of shared indices, without contexts.",
    partition=one_cell,
    bound=UCB1Bound,
)
