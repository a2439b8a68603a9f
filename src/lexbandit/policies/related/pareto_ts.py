"""Pareto Thompson sampling."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lexbandit import checks
from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels import thompson as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, plain_grid
from lexbandit.policies.registry import REGISTRY


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
    and an update depends on nothing but what it is told. For 0 and 1 it is all the same. Rewards
    outside [0, 1] are refused.

    The probability of an arm has no closed form: it is NaN in `select` and `explain`, and 0 for an
    arm that is not allowed.
    """

    _rule = cell_rule(prepare=kernel.prepare, choose=kernel.choose, shares=kernel.shares)

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


@REGISTRY.register("pareto-ts")
def pareto_ts(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> ThompsonRule:
    """Pareto Thompson sampling, without contexts (Yahyaa and Manderick, 2015).

    `cells_per_side` above 1 runs an independent instance in each cell of the grid.
    """
    return ThompsonRule(
        arms=arms,
        objectives=objectives,
        partition=plain_grid(dimension, cells_per_side),
        bound=UnitRewards(arms=arms),
        seed=seed,
    )
