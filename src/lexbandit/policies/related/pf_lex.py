"""PF-LEX: lexicographic bandits without prior knowledge, by chained confidence intervals."""

import math

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, make_bound
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import chained as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.statistics import widest_of
from lexbandit.partitions import Partition
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, plain_grid
from lexbandit.policies.explain import drawn, likely, listed, objective, one_of
from lexbandit.policies.registry import REGISTRY


class ChainedRule(CellPolicy):
    """PF-LEX in every cell (Hüyük and Tekin, 2021): explore what may be best, then go by levels.

    Two arms are linked in an objective if their intervals [L, U] = mean ± C overlap, and chained if
    links lead from one to the other.

        A¹ = the arms chained to argmax U¹
        some arm of A¹ has C > ε/2: play one such arm, uniformly
        else for i = 2, ..., D−1: Aⁱ = the arms of Aⁱ⁻¹ chained to argmax Uⁱ over Aⁱ⁻¹
             play argmax Uᴰ over Aᴰ⁻¹

    Checked line by line against the authors' published program: chains run over all arms, also
    those that an earlier objective left out; the test C > ε/2 is made after the first objective
    only; one objective alone is explored too. Not checked: the proofs.

    Our own additions: ties at the last argmax are broken uniformly (the program takes the first);
    with missing rewards C is the widest of an arm's objectives; chains run over allowed arms.
    """

    _rule = cell_rule(prepare=kernel.prepare, mark=kernel.mark)

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        bound: Bound,
        epsilon: float,
        seed: int,
    ) -> None:
        bound.refuse_growth()
        super().__init__(
            arms=arms, objectives=objectives, partition=partition, bound=bound, seed=seed
        )
        self.epsilon = checks.positive("epsilon", epsilon)
        self._settings = np.array([self.epsilon / 2])

    @property
    def _ranked(self) -> int:  # type: ignore[override]
        return self.objectives

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        cells, chosen = self._memory.cells, likely(shares)
        first = kernel.left_after(cells, slot, ceilings, 1)
        rivals = listed(np.flatnonzero(first).tolist())
        held = f"{rivals} may be best in {objective(0)}, by chained intervals"
        if max(widest_of(cells, slot, arm, self.objectives) for arm in chosen) > self.epsilon / 2:
            return first, (
                f"{held}; {listed(chosen)}: wider than ε/2 = {self.epsilon / 2:.4g}, so played to "
                f"learn{one_of(chosen)}."
            )
        left = kernel.left_after(cells, slot, ceilings, max(1, self.objectives - 1))
        return left, (
            f"{held}, all known to within ε/2 = {self.epsilon / 2:.4g}. To be played: "
            f"{listed(chosen)}, the highest index in {objective(self.objectives - 1)} of those "
            f"left by the objectives before{drawn(chosen)}."
        )


def _from_horizon(name: str, value: float | None, horizon: int | None) -> float:
    """Return the value, or T^(−1/3) if it is not given."""
    if value is not None:
        return checks.positive(name, value, most=1.0 if name == "delta" else math.inf)
    if horizon is None:
        raise InvalidInput(f"pf-lex needs {name}, or horizon: then {name} is T^(−1/3).")
    return float(horizon ** (-1 / 3))


@REGISTRY.register("pf-lex")
def pf_lex(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int | None = None,
    epsilon: float | None = None,
    bound: str | Bound = "prior-free",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> ChainedRule:
    """PF-LEX: lexicographic by chained intervals, without contexts (Hüyük and Tekin, 2021).

    epsilon           how much worse than the best an arm may be and still count as good; T^(−1/3)
    delta             the probability that some interval of a cell fails; T^(−1/3)
    bound             the name of a bound, or a `Bound`; C above is "prior-free"
    cells_per_side    above 1, an independent instance in each cell of the grid

    ε = δ = T^(−1/3) balances exploration, of order K ε⁻² ln T, against what the arms left may lose,
    K ε a round: Õ(T^(2/3)), the paper's rate.
    """
    return ChainedRule(
        arms=arms,
        objectives=objectives,
        partition=plain_grid(dimension, cells_per_side),
        bound=make_bound(
            bound,
            arms=arms,
            objectives=objectives,
            horizon=horizon,
            delta=_from_horizon("delta", delta, horizon),
            R=R,
            scale=scale,
        ),
        epsilon=_from_horizon("epsilon", epsilon, horizon),
        seed=seed,
    )
