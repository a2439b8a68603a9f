"""Pareto Thompson sampling."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import COUNT, SUM, VECTORS, Cells, cell_rule
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.pareto import mark_front
from lexbandit.kernels.random import RandomState, beta
from lexbandit.kernels.ties import draw_marked
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import optional_grid
from lexbandit.policies.registry import register


@kernel
def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Sample every allowed arm in every objective and return one of the samples' front.

    With S the sum of N rewards, each in [0, 1], the sample is from Beta(1 + S, 1 + N − S).
    """
    objectives, arms = cells.indices.shape[1], cells.indices.shape[2]
    for i in range(objectives):
        for arm in range(arms):
            sample = -math.inf
            if ceilings[row, arm] > 0.0:
                successes = cells.stats[slot, arm, i, SUM]
                failures = cells.stats[slot, arm, i, COUNT] - successes
                sample = beta(random, 1.0 + successes, 1.0 + failures)
            cells.work[VECTORS + i, arm] = sample
    size = mark_front(cells.work, VECTORS, VECTORS + objectives, arms)
    return draw_marked(cells.work, size, ceilings.shape[1], random)


@kernel
def shares(_cells: Cells, _slot: int, ceilings: Array, row: int) -> Array:
    """Return NaN for allowed arms, whose probabilities have no closed form, and 0 for others."""
    out = np.zeros(ceilings.shape[1])
    for arm in range(ceilings.shape[1]):
        if ceilings[row, arm] > 0.0:
            out[arm] = math.nan
    return out


@dataclass(frozen=True, kw_only=True)
class UnitRewards(UCB1Bound):
    """UCB1's widths, for `explain` only, and the rewards that a Beta posterior can count."""

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)


class ThompsonRule(CellPolicy):
    """Pareto Thompson sampling in every cell (Yahyaa and Manderick, 2015).

    Each arm has in each objective, independently, a Beta(1, 1) prior. Every round draws a sample
    of each from its posterior, and plays an arm drawn uniformly from those whose sample vectors no
    other dominates.

    The paper's rewards are 0 or 1. A reward r in [0, 1] counts here as r successes and 1 − r
    failures, so the posterior is Beta(1 + S, 1 + N − S) with S the sum of N rewards. Agrawal and
    Goyal (2012) toss a coin of bias r and count its outcome instead; ours are the expected counts,
    and an update depends on nothing but its arguments. For 0 and 1 it is all the same. Rewards
    outside [0, 1] are refused.

    The probability of an arm has no closed form: it is NaN in `select` and `explain`, and 0 for an
    arm that is not allowed. The twin is in tests/twins/related_cells.py.
    """

    _rule = cell_rule(choose=choose, shares=shares, work=True)

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        sums, counts = arrays["sums"], arrays["counts"]
        wrong = (sums < 0.0) | (sums > counts)
        allowed = "rewards lie in [0, 1], so sums go from 0 to the counts"
        checks.refuse_first("state['sums']", sums, wrong, allowed)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return ceilings[0] > 0.0, (
            "A sample from every arm's Beta posterior in every objective; an arm is drawn "
            "uniformly from those whose samples no other arm's dominate."
        )


def unit_rewards(*, arms: int) -> Bound:
    """Return the bound of rewards that a Beta posterior can count."""
    return UnitRewards(arms=arms)


register(
    "pareto-ts",
    ThompsonRule,
    """Pareto Thompson sampling, without contexts (Yahyaa and Manderick, 2015).

    `cells_per_side` above 1 runs an independent instance in each cell of the grid.
    """,
    partition=optional_grid,
    bound=unit_rewards,
)
