"""Scalarized UCB1, with and without contexts.

The settings are D and then the weights, row by row. Channels 0 to D−1 are the objectives; channel
D + s is the instance of weight vector s, which records the weighted sum of the rewards of the
rounds it is credited with.

The paper's round is: draw s, play an arm a that is best for s, credit s. `update` is given only the
arm, so it draws the credited instance anew from the law of s given a:

    P(s | a) ∝ [a is best for s] / (number of arms that are best for s).

(a, credited s) then has the law of the paper's (a, s), and rewards may come late or from a log. If
the arm is best for no s (possible only then), s is uniform. "Best" is among the allowed arms, so a
mask must be given to `update` again. The draw is by position (seed, cell, rounds so far), so
`update` depends on nothing but the state and its arguments.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import Cells, cell_rule, channel_growth, observe, observe_all, rank
from lexbandit.kernels.jit import inlined, leaf
from lexbandit.kernels.random import RandomState, below, unit_at
from lexbandit.kernels.ties import best_arm, share_among_best
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import one_cell, paper_grid
from lexbandit.policies.explain import likely, listed
from lexbandit.policies.registry import register

Weights = Sequence[Sequence[float]]


@leaf
def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Draw an instance uniformly and return an arm of its highest index."""
    objectives = int(cells.settings[0])
    instance = objectives + below(random, cells.indices.shape[1] - objectives)
    return best_arm(cells.indices, slot, instance, -math.inf, ceilings, row, random)


@inlined
def shares(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    out = np.zeros(ceilings.shape[1])
    first, last = int(cells.settings[0]), cells.indices.shape[1]
    for s in range(first, last):
        share_among_best(
            cells.indices, slot, s, -math.inf, ceilings, row, 1.0 / (last - first), out
        )
    return out


@leaf
def chance(index: Array, slot: int, instance: int, arm: int, ceilings: Array, row: int) -> float:
    """Return the probability that the instance, once drawn, plays the arm."""
    mine = index[slot, instance, arm]
    ties = 0
    above = 0
    for rival in range(index.shape[2]):
        value = min(index[slot, instance, rival], ceilings[row, rival])
        ties += value == mine
        above += value > mine
    return 1.0 / ties if above == 0 and ties > 0 else 0.0


@leaf
def credited(
    index: Array, slot: int, objectives: int, arm: int, ceilings: Array, row: int, u: float
) -> int:
    """Return the instance s drawn from P(s | a) by `u`, uniform on [0, 1).

    One pass: each instance replaces the one held with probability chance / (chances so far), and
    what is left of u after that comparison is uniform again.
    """
    instances = index.shape[1] - objectives
    total = 0.0
    held = -1
    fresh = u
    for s in range(instances):
        part = chance(index, slot, objectives + s, arm, ceilings, row)
        if part > 0.0:
            total += part
            odds = part / total
            if fresh < odds:
                held = s
                fresh = fresh / odds
            else:
                fresh = (fresh - odds) / (1.0 - odds)
    return held if held >= 0 else int(u * instances)


@leaf
def learn(
    cells: Cells,
    slot: int,
    key: int,
    arm: int,
    outcomes: Array,
    t: int,
    r: int,
    ranked: int,
    ceilings: Array,
    row: int,
    random: RandomState,
) -> None:
    """Record the rewards outcomes[t, r] in the objectives, their sum in the credited instance.

    A weighted sum that needs an unobserved reward is itself unobserved.
    """
    objectives = int(cells.settings[0])
    u = unit_at(random, key, int(cells.totals[slot, 0]))
    s = credited(cells.indices, slot, objectives, arm, ceilings, row, u)
    observe_all(cells, slot, arm, outcomes, t, r, ranked)
    total = 0.0
    for i in range(objectives):
        weight = cells.settings[1 + s * objectives + i]
        if weight != 0.0:
            total += weight * outcomes[t, r, i]
    if not math.isnan(total):
        observe(cells, slot, objectives + s, arm, total)
        rank(cells, slot, objectives + s, channel_growth(cells, slot, objectives + s))
    cells.plays[slot, arm] += 1.0
    cells.totals[slot, 0] += 1.0


def default_weights(objectives: int) -> Floats:
    """Return the paper's weights [1, 0], [½, ½], [0, 1]: each objective alone, and all alike."""
    alone = np.eye(objectives)
    if objectives == 1:
        return alone
    return np.vstack([alone[:1], np.full((1, objectives), 1 / objectives), alone[1:]])


def checked_weights(weights: Weights | None, objectives: int) -> Floats:
    """Return the weight vectors as float[S, D], the paper's if none are given."""
    if weights is None:
        return default_weights(objectives)
    values = checks.floats("weights", weights, (None, objectives))
    checks.refuse_first(
        "weights", values, ~((values >= 0) & (values <= 1e100)), "weights are at least 0"
    )
    if not values.any(axis=1).all() or not len(values):
        raise InvalidInput("weights need at least one row, and a weight above 0 in each.")
    return values


class ScalarizedRule(CellPolicy):
    """Scalarized UCB1 in every cell (Drugan and Nowé, 2013).

    One whole UCB1 instance per weight vector; each round one is drawn uniformly, decides, and
    alone learns the weighted sum of the rewards. The head of this file says how
    `update` credits the instance without knowing which one decided. The twin is in tests/naive.py.
    """

    _rule = cell_rule(choose=choose, shares=shares, learn=learn)

    def __init__(self, *, objectives: int, weights: Weights | None = None, **cells: Any) -> None:
        self.weights = checked_weights(weights, objectives)
        super().__init__(
            objectives=objectives,
            extra_channels=len(self.weights),
            settings=[objectives, *self.weights.ravel()],
            **cells,
        )

    def _definition(self) -> dict[str, np.ndarray]:
        return {**super()._definition(), "weights": self.weights.copy()}

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        return np.asarray(shares > 0), (
            f"{listed(chosen)}: highest index of the weighted rewards of one of "
            f"{len(self.weights)} weight vectors, one of which is drawn uniformly."
        )


register(
    "cs-ucb1",
    ScalarizedRule,
    "CS-UCB1: Scalarized UCB1 in each cell of MOC-MAB's grid.",
    partition=paper_grid,
    bound=UCB1Bound,
)
register(
    "s-ucb1",
    ScalarizedRule,
    "S-UCB1: Scalarized UCB1, without contexts (Drugan and Nowé, 2013).",
    partition=one_cell,
    bound=UCB1Bound,
)
