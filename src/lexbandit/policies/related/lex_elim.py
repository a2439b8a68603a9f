"""LexElim-In: rule arms out by every objective in each round, and play the widest of the rest.

Channels 0 to D−1 are the objectives. Channel D stores which arms are out: its COUNT is 1 for an arm
that was ruled out, so that a cell nobody visited starts with every arm.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, CentredBound, UniformBound
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import (
    COUNT,
    MARKS,
    MEAN,
    OTHER,
    Cells,
    cell_rule,
    widest_of,
)
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import optional_grid
from lexbandit.policies.explain import drawn, likely, listed
from lexbandit.policies.registry import register

# The setting.
LAM = 0


@leaf
def is_out(cells: Cells, slot: int, arm: int) -> bool:
    """Tell whether an arm was ruled out in the cell."""
    return bool(cells.stats[slot, arm, cells.indices.shape[1] - 1, COUNT] > 0.0)


@leaf
def widest_left(cells: Cells, slot: int) -> float:
    """Return the largest width of the arms that are not out."""
    objectives, widest = cells.indices.shape[1] - 1, 0.0
    for arm in range(cells.plays.shape[1]):
        if not is_out(cells, slot, arm):
            widest = max(widest, widest_of(cells, slot, arm, objectives))
    return widest


@kernel
def rule_out(cells: Cells, slot: int) -> None:
    """Rule out arms whose mean is too far below the best, objective by objective.

    In objective i the allowance is (2 + 4λ + … + 4λ^(i−1)) times the largest width that is left.
    """
    arms, last = cells.plays.shape[1], cells.indices.shape[1] - 1
    widest, lam = widest_left(cells, slot), cells.settings[LAM]
    if widest == math.inf:
        return
    allowance, power = 2.0 * widest, 1.0
    for i in range(last):
        if i > 0:
            power *= lam
            allowance += 4.0 * power * widest
        best = -math.inf
        for arm in range(arms):
            if not is_out(cells, slot, arm):
                best = max(best, cells.stats[slot, arm, i, MEAN])
        for arm in range(arms):
            if best - cells.stats[slot, arm, i, MEAN] > allowance:
                cells.stats[slot, arm, last, COUNT] = 1.0


@kernel
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    They are the widest of the allowed arms that are not out, or of all allowed ones if all are.
    """
    arms, objectives = cells.plays.shape[1], cells.indices.shape[1] - 1
    some_left = False
    for arm in range(arms):
        some_left |= ceilings[row, arm] > 0.0 and not is_out(cells, slot, arm)
    widest = -math.inf
    for arm in range(arms):
        rival = ceilings[row, arm] > 0.0 and not (some_left and is_out(cells, slot, arm))
        cells.work[OTHER, arm] = widest_of(cells, slot, arm, objectives) if rival else -math.inf
        widest = max(widest, cells.work[OTHER, arm])
    size = 0
    for arm in range(arms):
        marked = cells.work[OTHER, arm] == widest
        cells.work[MARKS, arm] = marked
        size += marked
    return size


@leaf
def prepare(cells: Cells, slot: int, _arm: int, _outcomes: Array, _t: int, _r: int) -> None:
    """Rule out arms by what was known before this round."""
    rule_out(cells, slot)


class NestedEliminationRule(CellPolicy):
    """LexElim-In in every cell (Xue, Wan, Lu and Zhang, 2026): one active set, all objectives.

    c(a) = R sqrt(4/N ln(6 K D (1 + N)/δ)), ∞ at N = 0; A = all arms at first. In each round

        a_t = argmax over A of c                                             (random ties)
        for i = 1..D: keep in A the arms with max meanⁱ − meanⁱ ≤ (2 + 4λ + … + 4λ^(i−1)) c(a_t)
        play a_t

    and an arm that is out stays out. The paper has N where 1 + N stands in the logarithm: the
    package's bounds are of that form, and c is a little wider. It stops when one arm is left; here
    that arm is played from then on. The set A is part of the state: `update` alone changes it, in
    its last channel (1 for an arm that is out), by the widest arm of A, which is a_t where rewards
    are learned at once.

    Our own additions: with rewards missing, c is the widest of an arm's objectives; under a mask
    the widest allowed arm of A is played, or the widest allowed one if none of A is. The twin is in
    tests/twins/related_cells.py. Its companion LexElim-Out is given the number of optimal arms in
    each objective, which nobody here knows, and is not implemented.
    """

    _rule = cell_rule(mark=mark, prepare=prepare)

    def __init__(self, *, lam: float = 1.0, **cells: Any) -> None:
        self.lam = checks.at_least_zero("lam", lam)
        super().__init__(extra_channels=1, settings=[self.lam], **cells)

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        self._check_marks(arrays, "are out")

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        cells, chosen = self._memory.cells, likely(shares)
        left = np.array([not is_out(cells, slot, arm) for arm in range(self.arms)])
        allowed = np.asarray(ceilings[0] > 0)
        candidates = left & allowed if (left & allowed).any() else allowed
        names = listed(np.flatnonzero(left).tolist())
        if left.sum() == 1 and left[chosen[0]]:
            return candidates, f"{names}: the only arm that is not ruled out."
        width = widest_of(cells, slot, chosen[0], self.objectives)
        if width == math.inf:
            return candidates, f"{listed(chosen)}: not observed yet in this cell{drawn(chosen)}."
        ruled = "" if left[chosen[0]] else ", all allowed arms being ruled out"
        return candidates, (
            f"Arms not ruled out: {names}. To be played: {listed(chosen)}, the widest, known to "
            f"within {width:.4g}{ruled}{drawn(chosen)}."
        )


@dataclass(frozen=True, kw_only=True)
class EliminationBound(UniformBound, CentredBound):
    """The width c = R sqrt(4/N ln(6 K D (1 + N)/δ)), times `scale`."""

    R: float = 1.0

    def decay(self) -> tuple[float, float, float]:
        """Return 4 R² (ln(6 K D/δ) + ln(1 + N)) over N."""
        return 4.0 * self.R**2 * (math.log(6.0) + self.log_intervals), 4.0 * self.R**2, 0.0


def elimination_bound(
    *,
    arms: int,
    objectives: int,
    R: float | None = None,
    delta: float | None = None,
    scale: float = 1.0,
) -> Bound:
    """Return the width c, for δ = 0.05 and noise of R = 1 unless they are given."""
    return EliminationBound(
        arms=arms,
        objectives=objectives,
        R=checks.positive("R", 1.0 if R is None else R),
        delta=checks.probability("delta", 0.05 if delta is None else delta),
        scale=scale,
    )


register(
    "lex-elim",
    NestedEliminationRule,
    """LexElim-In: rules arms out by all objectives, without contexts (Xue et al., 2026).

    lam               λ of the trade-offs; 1
    delta             the probability that some interval of a cell fails; 0.05
    R                 sub-Gaussian constant of the noise; 1
    cells_per_side    above 1, an independent instance in each cell of the grid
    """,
    partition=optional_grid,
    bound=elimination_bound,
)
