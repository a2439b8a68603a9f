"""Pareto Thompson sampling."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.kernels import thompson as kernel
from lexbandit.partitions import UniformGrid
from lexbandit.policies.cell_policy import CellPolicy
from lexbandit.policies.making import REGISTRY
from lexbandit.rounds import Rounds

_ALLOWED = "Beta posteriors need rewards from 0 to 1, or NaN if not observed"


def _outside(rewards: Floats) -> Booleans:
    return (rewards < 0.0) | (rewards > 1.0)


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

    def _rewards(self, rewards: Any) -> Floats:
        values = super()._rewards(rewards)
        checks.refuse_first("rewards", values, _outside(values), _ALLOWED)
        return values

    def _check_rounds(self, rounds: Rounds) -> None:
        super()._check_rounds(rounds)
        checks.refuse_first("outcomes", rounds.outcomes, _outside(rounds.outcomes), _ALLOWED)

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        sums, counts = arrays["sums"], arrays["counts"]
        wrong = (sums < 0.0) | (sums > counts)
        checks.refuse_first("state['sums']", sums, wrong, f"at least 0, at most counts: {_ALLOWED}")

    def _select(self, context: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        memory = self._memory
        arm = kernel.select(key, memory.table, memory.stats, ceilings, self._random)
        return arm, math.nan

    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        memory = self._memory
        return kernel.replay(
            slots,
            rounds.outcomes,
            ceilings,
            memory.plays,
            memory.stats,
            memory.bound,
            self._random,
        )

    def _shares(self, context: Floats, slot: int, ceilings: Floats) -> Floats:
        return np.where(ceilings[0] > 0.0, math.nan, 0.0)

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
    cells_per_side: int | None = None,
    seed: int = 0,
) -> ThompsonRule:
    """Pareto Thompson sampling, without contexts (Yahyaa and Manderick, 2015).

    `cells_per_side` above 1 runs an independent instance in each cell of the grid.
    """
    return ThompsonRule(
        arms=arms,
        objectives=objectives,
        partition=UniformGrid(dimension, 1 if cells_per_side is None else cells_per_side),
        bound=UCB1Bound(arms=arms),  # for `explain` only: this rule has no use for widths
        seed=seed,
    )
