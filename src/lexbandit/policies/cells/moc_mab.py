"""MOC-MAB, the algorithm of the paper, for any number of objectives."""

import math
from typing import Any

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels import lexicographic
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import COUNT, MARGIN, WIDTH, CellRule, Cells, bound_row, cell_rule
from lexbandit.kernels.jit import inlined, kernel, leaf
from lexbandit.kernels.lexicographic import Limits
from lexbandit.kernels.random import RandomState
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import any_bound, paper_grid
from lexbandit.policies.explain import likely
from lexbandit.policies.levels import Levels, least_known, levels_of, reason_of
from lexbandit.policies.registry import register

# The settings are the tolerances, one an objective; then β and λ.
BETA, LAM = 0, 1


@leaf
def limits_in(cells: Cells, slot: int) -> Limits:
    """Return what the rule goes by in a cell of margin v: βv, 2v and λ."""
    v, first = cells.bounds[bound_row(cells.bounds, slot), MARGIN], cells.indices.shape[1]
    return Limits(cells.settings[first + BETA] * v, 2.0 * v, cells.settings[first + LAM])


@leaf
def choose(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Return the arm to play with one or two objectives: Algorithm 1, lines 7 to 14."""
    limits = limits_in(cells, slot)
    return lexicographic.choose_of_two(cells, slot, ceilings, row, cells.settings, limits, random)


@inlined
def shares(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose` returns each arm."""
    limits = limits_in(cells, slot)
    return lexicographic.shares_of_two(cells, slot, ceilings, row, cells.settings, limits)


@kernel
def choose_of_many(cells: Cells, slot: int, ceilings: Array, row: int, random: RandomState) -> int:
    """Return the arm to play with more than two objectives."""
    limits = limits_in(cells, slot)
    return lexicographic.choose_of_many(cells, slot, ceilings, row, cells.settings, limits, random)


@kernel
def shares_of_many(cells: Cells, slot: int, ceilings: Array, row: int) -> Array:
    """Return the exact probability with which `choose_of_many` returns each arm."""
    limits = limits_in(cells, slot)
    return lexicographic.shares_of_many(cells, slot, ceilings, row, cells.settings, limits)


class LexicographicRule(CellPolicy):
    """Algorithm 1, and LexMOC beyond two objectives: the best arm among those as good above.

    In the cell of the context, the top arm of a level is the one of the highest index in that
    objective among the candidates, all arms at the first. While its width in this objective or one
    above exceeds β times the margin v, or at the last level, it is played. Otherwise the candidates
    whose index reaches its lower bound less 2v (equation 4), or less the objective's tolerance if
    that is more, and less what λ adds, go on to the next level. See `kernels.lexicographic`; the
    twins are in tests/naive.py and tests/twins/lexicographic.py.
    """

    _rule = (
        *cell_rule(choose=choose, shares=shares),
        *cell_rule(choose=choose_of_many, shares=shares_of_many),
    )

    def __init__(
        self,
        *,
        objectives: int,
        L: float = 1.0,
        alpha: float = 1.0,
        beta: float = 1.0,
        lam: float = 0.0,
        tolerance: Any = 0.0,
        **cells: Any,
    ) -> None:
        cells["bound"].refuse_growth()
        self.beta = checks.positive("beta", beta)
        self.lam = checks.at_least_zero("lam", lam)
        self.tolerances = checks.tolerances(tolerance, objectives)
        settings = [*self.tolerances, self.beta, self.lam]
        super().__init__(
            objectives=objectives, L=L, alpha=alpha, settings=settings, ranked=objectives, **cells
        )
        if objectives > 2:
            self._loops_at += len(CellRule._fields)

    @property
    def margin(self) -> float:
        """v, the margin of a cell; of the coarsest ones, if the partition is refined."""
        return self._margin(0)

    def _levels(self, slot: int, ceilings: Floats) -> Levels:
        v, cells = self._margin(slot), self._memory.cells
        limits = Limits(self.beta * v, 2.0 * v, self.lam)
        return levels_of(cells, slot, ceilings, self.tolerances, limits)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        v, cells = self._margin(slot), self._memory.cells
        levels, limit = self._levels(slot, ceilings), self.beta * v
        reason = reason_of(
            cells,
            slot,
            levels,
            likely(shares),
            limit=limit,
            limit_name="β·v",
            less=["2v" if given <= 2.0 * v else "the tolerance" for given in self.tolerances],
            lam=self.lam,
            where=" in this cell",
        )
        if levels.unsure:
            unknown = least_known(cells, slot, levels, limit)
            known = cells.stats[slot, levels.tops[-1], unknown]
            if known[WIDTH] < math.inf:  # it falls about as 1/√N from its present value
                need = math.ceil(known[COUNT] * (known[WIDTH] / limit) ** 2)
                reason += (
                    f" That takes about {need} observations of it in this cell; there are "
                    f"{known[COUNT]:.0f}."
                )
        return levels.candidates, reason


register(
    "moc-mab",
    LexicographicRule,
    "MOC-MAB: the second objective among arms as good in the first (Tekin and Turğay, 2018).",
    partition=paper_grid,
    bound=any_bound("holder"),
)
