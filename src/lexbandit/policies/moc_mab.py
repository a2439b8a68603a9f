"""MOC-MAB, the algorithm of the paper."""

import math

import numpy as np

from lexbandit.bounds import Bound, HolderBound
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels import lexicographic as kernel
from lexbandit.kernels.statistics import COUNT, MEAN, WIDTH
from lexbandit.partitions import Partition
from lexbandit.policies.cell_policy import CellPolicy
from lexbandit.policies.grid import grid_for
from lexbandit.policies.making import REGISTRY
from lexbandit.policies.wording import drawn, listed, positive
from lexbandit.rounds import Rounds


class LexicographicRule(CellPolicy):
    """Algorithm 1: the best arm for the dominant objective, or for the second among its equals.

    In the cell of the context, the top arm is the one of the highest index in the dominant
    objective. While its width exceeds β times the margin v it is played, to learn about it.
    Otherwise every arm whose index reaches the top arm's lower bound less 2v is a candidate
    (equation 4), and the candidate of the highest index in the second objective is played.
    """

    _ranked = 2

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        bound: Bound,
        margin: float,
        beta: float,
        seed: int,
    ) -> None:
        if objectives > 2:
            raise InvalidInput(
                f"moc-mab orders one or two objectives, as the paper does, got {objectives}."
            )
        if bound.growth()[1] != 0.0:
            raise InvalidInput(
                f"this rule needs a bound that does not grow with the rounds, got {bound!r}."
            )
        super().__init__(
            arms=arms, objectives=objectives, partition=partition, bound=bound, seed=seed
        )
        self.margin = margin
        self.beta = beta

    def _select(self, context: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        memory = self._memory
        return kernel.select(
            key, memory.table, memory.stats, ceilings, self.beta, self.margin, self._random
        )

    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        memory = self._memory
        return kernel.replay(
            slots,
            rounds.outcomes,
            ceilings,
            memory.plays,
            memory.stats,
            memory.bound,
            self.beta,
            self.margin,
            self._random,
        )

    def _shares(self, context: Floats, slot: int, ceilings: Floats) -> Floats:
        return kernel.shares(self._memory.stats, slot, ceilings, self.beta, self.margin)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        dominant = self._memory.stats[slot, 0]
        indices = np.minimum(dominant[MEAN] + dominant[WIDTH], ceilings[0])
        tops = np.flatnonzero(indices == indices.max())
        floors = [
            kernel.candidate_floor(self._memory.stats, slot, int(a), self.beta, self.margin)
            for a in tops
        ]
        chosen = positive(shares)
        if self.objectives == 1:
            return indices == indices.max(), f"{listed(chosen)}: highest index{drawn(chosen)}."
        if min(floors) == math.inf:
            return indices == indices.max(), self._unsure(dominant, chosen)
        floor = min(floors)
        candidates = indices >= floor
        return candidates, (
            f"The top arm in objective 1 is {listed(tops.tolist())}, known to within β·v = "
            f"{self.beta * self.margin:.4g}. Candidates, with an index of at least its lower bound "
            f"less 2v = {floor:.4g}: {listed(positive(candidates * 1.0))}. To be played: "
            f"{listed(chosen)}, the highest index among them in objective 2{drawn(chosen)}."
        )

    def _unsure(self, dominant: Floats, chosen: list[int]) -> str:
        """Return the reason while the top arm's width exceeds β·v."""
        width = dominant[WIDTH, chosen[0]]
        if width == math.inf:
            return f"{listed(chosen)}: not observed yet in this cell{drawn(chosen)}."
        # The width falls as 1/√N from its present value.
        have = dominant[COUNT, chosen[0]]
        need = math.ceil(have * (width / (self.beta * self.margin)) ** 2)
        return (
            f"{listed(chosen)}: highest index in objective 1{drawn(chosen)}, but its width "
            f"{width:.4g} exceeds β·v = {self.beta * self.margin:.4g}, so it is played to learn "
            f"about it and objective 2 is not considered yet. That takes about {need} "
            f"observations of it in this cell; there are {have:.0f}."
        )


@REGISTRY.register("moc-mab")
def moc_mab(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    L: float = 1.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    R: float = 1.0,
    scale: float = 1.0,
    cells_per_side: int | None = None,
    seed: int = 0,
) -> LexicographicRule:
    """MOC-MAB: the second objective among arms as good in the first (Tekin and Turğay, 2018)."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    bound = HolderBound(
        arms=arms, objectives=objectives, cells=grid.cells, horizon=horizon, R=R, scale=scale
    )
    return LexicographicRule(
        arms=arms,
        objectives=objectives,
        partition=grid,
        bound=bound,
        margin=grid.margin(L=L, alpha=alpha),
        beta=beta,
        seed=seed,
    )
