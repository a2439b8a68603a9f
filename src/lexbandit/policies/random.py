"""The yardstick that learns nothing."""

import numpy as np

from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.kernels import uniform as kernel
from lexbandit.partitions import SingleCell
from lexbandit.policies.cell_policy import CellPolicy
from lexbandit.policies.making import REGISTRY
from lexbandit.rounds import Rounds


class UniformRule(CellPolicy):
    """Any allowed arm, with equal probability. Rewards are recorded, for `explain` only."""

    def _select(self, context: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        return kernel.choose(ceilings, 0, self._random)

    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        memory = self._memory
        return kernel.replay(
            slots,
            rounds.outcomes,
            ceilings,
            memory.plays,
            memory.stats,
            memory.bounds,
            self._random,
        )

    def _shares(self, context: Floats, slot: int, ceilings: Floats) -> Floats:
        allowed = ceilings[0] > 0
        return np.asarray(allowed / allowed.sum())

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return ceilings[0] > 0, "Any allowed arm, drawn uniformly."


@REGISTRY.register("random")
def random(*, arms: int, dimension: int, objectives: int = 2, seed: int = 0) -> UniformRule:
    """Any arm, drawn uniformly: what is had without learning."""
    return UniformRule(
        arms=arms,
        objectives=objectives,
        partition=SingleCell(dimension),
        bound=UCB1Bound(arms=arms),
        seed=seed,
    )
