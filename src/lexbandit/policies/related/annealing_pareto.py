"""Annealing Pareto."""

import numpy as np

from lexbandit import checks
from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels import annealing as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.partitions import Partition
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, plain_grid
from lexbandit.policies.explain import likely, listed, one_of
from lexbandit.policies.registry import REGISTRY


class AnnealingRule(CellPolicy):
    """Annealing Pareto in every cell (Yahyaa, Drugan and Manderick, 2014).

    Each arm once; then, with t the rounds so far in the cell,

        ε_t = ε_0 · decay^t
        Sⁱ  = the arms with meanⁱ ≥ max meanⁱ − ε_t, and S = S¹ ∪ ... ∪ Sᴰ
        A_t = S ∪ {a in A_{t−1} that no arm of S dominates}, with A_0 = all arms

    and an arm of A_t is drawn uniformly. The set A_{t−1} is part of the state: `update` alone
    changes it, in its last channel (1 for an arm that is not in the set).

    Our own additions: an objective in which an arm was not observed counts as mean ∞; under a mask
    both S and what is drawn from are of the allowed arms, while A_t goes on over all arms.
    """

    _rule = cell_rule(prepare=kernel.prepare, mark=kernel.mark, learn=kernel.learn)

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        epsilon: float,
        decay: float,
        seed: int,
    ) -> None:
        super().__init__(
            arms=arms,
            objectives=objectives,
            partition=partition,
            bound=UCB1Bound(arms=arms),  # for `explain` only: this rule has no use for widths
            seed=seed,
            extra_channels=1,
        )
        self.epsilon = checks.positive("epsilon", epsilon)
        self.decay = checks.positive("decay", decay, most=1.0)
        self._settings = np.array([self.epsilon, self.decay])

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        last = np.arange(self.objectives + 1) == self.objectives
        for name in ("counts", "sums"):
            most = 1 if name == "counts" else 0
            wrong = last & (np.abs(arrays[name]) > most)
            checks.refuse_first(
                f"state[{name!r}]",
                arrays[name],
                wrong,
                "the last channel tells which arms left the set: counts of 0 or 1, sums of 0",
            )

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        if self._memory.cells.plays[slot, chosen[0]] == 0.0:
            return np.asarray(shares > 0), f"{listed(chosen)}: never played here{one_of(chosen)}."
        distance = kernel.distance(self._memory.cells, slot, self._settings)
        return np.asarray(shares > 0), (
            f"{listed(chosen)}: within ε = {distance:.3g} of the best mean in some objective, or "
            f"of the set before and not dominated by those{one_of(chosen)}."
        )


@REGISTRY.register("annealing-pareto")
def annealing_pareto(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    epsilon: float = 1.0,
    decay: float = 0.99,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> AnnealingRule:
    """Annealing Pareto, without contexts (Yahyaa, Drugan and Manderick, 2014).

    epsilon           ε_0, the distance at the start; 1 takes in all rewards from 0 to 1
    decay             what the distance is multiplied by each round in the cell, at most 1
    cells_per_side    above 1, an independent instance in each cell of the grid
    """
    return AnnealingRule(
        arms=arms,
        objectives=objectives,
        partition=plain_grid(dimension, cells_per_side),
        epsilon=epsilon,
        decay=decay,
        seed=seed,
    )
