"""PF-LEX: lexicographic bandits without prior knowledge, by chained confidence intervals."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, make_bound
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import MARKS, Cells, cell_rule, lower_of, mark_allowed, widest_of
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import optional_grid
from lexbandit.policies.explain import drawn, likely, listed, objective, one_of
from lexbandit.policies.registry import register


@leaf
def chain(cells: Cells, slot: int, i: int, ceilings: Array, row: int) -> None:
    """Keep the marked arms that are chained, in objective i, to the marked one of the highest U.

    Two arms are linked if their intervals [L, U] overlap, and chained if links lead from one to
    the other, over any allowed arms, marked or not. So what is linked covers one stretch of the
    line without a gap: `low` is its lower end, and no marked arm lies above it.
    """
    work = cells.work
    high = -math.inf
    low = math.inf
    for arm in range(ceilings.shape[1]):
        if work[MARKS, arm] > 0.0 and cells.indices[slot, i, arm] > high:
            high = cells.indices[slot, i, arm]
            low = lower_of(cells, slot, i, arm)
    grown = True
    while grown:
        grown = False
        for arm in range(ceilings.shape[1]):
            if ceilings[row, arm] > 0.0 and cells.indices[slot, i, arm] >= low:
                end = lower_of(cells, slot, i, arm)
                if end < low:
                    low = end
                    grown = True
    for arm in range(ceilings.shape[1]):
        if cells.indices[slot, i, arm] < low:
            work[MARKS, arm] = 0.0


@kernel
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    They are the arms of A¹ with C > settings[0] = ε/2, if any; otherwise those of the highest
    U in the last objective among the arms that the objectives before it left.
    """
    work, threshold = cells.work, cells.settings[0]
    objectives, arms = cells.indices.shape[1], cells.indices.shape[2]
    mark_allowed(cells, slot, ceilings, row)
    chain(cells, slot, 0, ceilings, row)
    size = 0
    for arm in range(arms):
        size += work[MARKS, arm] > 0.0 and widest_of(cells, slot, arm, objectives) > threshold
    if size > 0:
        for arm in range(arms):
            if widest_of(cells, slot, arm, objectives) <= threshold:
                work[MARKS, arm] = 0.0
        return size
    for i in range(1, objectives - 1):
        chain(cells, slot, i, ceilings, row)
    high = -math.inf
    for arm in range(arms):
        if work[MARKS, arm] > 0.0:
            high = max(high, cells.indices[slot, objectives - 1, arm])
    for arm in range(arms):
        highest = work[MARKS, arm] > 0.0 and cells.indices[slot, objectives - 1, arm] == high
        work[MARKS, arm] = highest
        size += highest
    return size


@kernel
def mark_left(cells: Cells, slot: int, ceilings: Array, row: int, objectives: int) -> None:
    """Mark the allowed arms that are left after chaining in the first `objectives` objectives."""
    mark_allowed(cells, slot, ceilings, row)
    for i in range(objectives):
        chain(cells, slot, i, ceilings, row)


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
    The twin is in tests/twins/related_cells.py.
    """

    _rule = cell_rule(mark=mark)

    def __init__(
        self,
        *,
        objectives: int,
        horizon: int | None = None,
        epsilon: float | None = None,
        **cells: Any,
    ) -> None:
        cells["bound"].refuse_growth()
        self.epsilon = _from_horizon("epsilon", epsilon, horizon)
        super().__init__(
            objectives=objectives, settings=[self.epsilon / 2], ranked=objectives, **cells
        )

    def left_after(self, slot: int, ceilings: Floats, objectives: int) -> Booleans:
        """Return which arms are left after chaining in the first `objectives` objectives."""
        cells = self._memory.cells
        mark_left(cells, slot, ceilings, 0, objectives)
        return np.asarray(cells.work[MARKS, : self.arms] > 0.0)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        cells, chosen = self._memory.cells, likely(shares)
        first = self.left_after(slot, ceilings, 1)
        rivals = listed(np.flatnonzero(first).tolist())
        held = f"{rivals} may be best in {objective(0)}, by chained intervals"
        if max(widest_of(cells, slot, arm, self.objectives) for arm in chosen) > self.epsilon / 2:
            return first, (
                f"{held}; {listed(chosen)}: wider than ε/2 = {self.epsilon / 2:.4g}, so played to "
                f"learn{one_of(chosen)}."
            )
        left = self.left_after(slot, ceilings, max(1, self.objectives - 1))
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


def chained_bound(
    *,
    arms: int,
    objectives: int,
    horizon: int | None = None,
    bound: str | Bound = "prior-free",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
) -> Bound:
    """Return the bound chosen by name, with δ = T^(−1/3) unless it is given."""
    return make_bound(
        bound,
        arms=arms,
        objectives=objectives,
        horizon=horizon,
        delta=_from_horizon("delta", delta, horizon),
        R=R,
        scale=scale,
    )


register(
    "pf-lex",
    ChainedRule,
    """PF-LEX: lexicographic by chained intervals, without contexts (Hüyük and Tekin, 2021).

    epsilon           how much worse than the best an arm may be and still count as good; T^(−1/3)
    delta             the probability that some interval of a cell fails; T^(−1/3)
    bound             the name of a bound, or a `Bound`; C above is "prior-free"
    cells_per_side    above 1, an independent instance in each cell of the grid

    ε = δ = T^(−1/3) balances exploration, of order K ε⁻² ln T, against what the arms left may lose,
    K ε a round: Õ(T^(2/3)), the paper's rate.
    """,
    partition=optional_grid,
    bound=chained_bound,
)
