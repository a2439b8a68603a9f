"""MOC-MAB, the algorithm of the paper, for any number of objectives."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, make_bound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels import lexicographic as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.statistics import COUNT, WIDTH
from lexbandit.partitions import Partition
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, grid_for
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.levels import Levels, levels_of, told
from lexbandit.policies.registry import REGISTRY


class LexicographicRule(CellPolicy):
    """Algorithm 1, and LexMOC beyond two objectives: the best arm among those as good above.

    In the cell of the context, the top arm of a level is the one of the highest index in that
    objective among the candidates, all arms at the first. While its width exceeds β times the
    margin v, or at the last level, it is played. Otherwise the candidates whose index reaches its
    lower bound less 2v (equation 4), or less the objective's tolerance if that is more, and less
    what λ adds, go on to the next level. See `kernels.lexicographic`.
    """

    _rule = cell_rule(
        prepare=kernel.prepare_in_cells,
        choose=kernel.choose_in_cells,
        shares=kernel.shares_in_cells,
    )

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        bound: Bound,
        beta: float,
        seed: int,
        L: float = 1.0,
        alpha: float = 1.0,
        lam: float = 0.0,
        tolerance: Any = 0.0,
    ) -> None:
        bound.refuse_growth()
        super().__init__(
            arms=arms,
            objectives=objectives,
            partition=partition,
            bound=bound,
            seed=seed,
            L=L,
            alpha=alpha,
        )
        self._ranked = objectives
        self.beta = checks.positive("beta", beta)
        self.lam = checks.at_least_zero("lam", lam)
        self.tolerances = checks.tolerances(tolerance, objectives)
        self._settings = np.array([self.beta, self.lam, *self.tolerances])

    @property
    def margin(self) -> float:
        """v, the margin of a cell; of the coarsest ones, if the partition is refined."""
        return self._margin(0)

    def _levels(self, slot: int, ceilings: Floats) -> Levels:
        v, cells = self._margin(slot), self._memory.cells
        return levels_of(cells, slot, ceilings, self.beta * v, self.tolerances, 2.0 * v, self.lam)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        v = self._margin(slot)
        levels = self._levels(slot, ceilings)
        chosen = likely(shares)
        if levels.unsure:
            return levels.candidates, self._unsure(slot, levels, chosen)
        if self.objectives == 1:
            return levels.candidates, f"{listed(chosen)}: highest index{drawn(chosen)}."
        less = ["2v" if tolerance <= 2.0 * v else "the tolerance" for tolerance in self.tolerances]
        known = f"β·v = {self.beta * v:.4g}"
        passed = told(levels, known=known, less=less, lam=self.lam)
        last = f"the highest index among them in {objective(self.objectives - 1)}{drawn(chosen)}"
        return levels.candidates, f"{passed} To be played: {listed(chosen)}, {last}."

    def _unsure(self, slot: int, levels: Levels, chosen: list[int]) -> str:
        """Return the reason while a level's top arm has a width above β·v."""
        level = len(levels.tops) - 1
        limit = self.beta * self._margin(slot)
        known = self._memory.cells.stats[slot, levels.tops[-1], level]
        width = known[WIDTH]
        where = f" in {objective(level)}"
        if width == math.inf:
            seen = "" if level == 0 else where
            return f"{listed(chosen)}: not observed yet{seen} in this cell{drawn(chosen)}."
        # The width falls about as 1/√N from its present value.
        have = known[COUNT]
        need = math.ceil(have * (width / limit) ** 2)
        later = f" and {objective(level + 1)} is not considered yet"
        return (
            f"{listed(chosen)}: highest index{where}{drawn(chosen)}, but its width {width:.4g} "
            f"exceeds β·v = {limit:.4g}, so it is played to learn about it{later}. That takes "
            f"about {need} observations of it in this cell; there are {have:.0f}."
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
    lam: float = 0.0,
    tolerance: Any = 0.0,
    bound: str | Bound = "holder",
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> LexicographicRule:
    """MOC-MAB: the second objective among arms as good in the first (Tekin and Turğay, 2018)."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    return LexicographicRule(
        arms=arms,
        objectives=objectives,
        partition=grid,
        bound=make_bound(
            bound,
            arms=arms,
            objectives=objectives,
            cells=grid.cells,
            horizon=horizon,
            delta=delta,
            R=R,
            scale=scale,
        ),
        beta=beta,
        seed=seed,
        L=L,
        alpha=alpha,
        lam=lam,
        tolerance=tolerance,
    )
