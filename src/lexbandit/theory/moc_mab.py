"""The regret bounds of MOC-MAB: Theorems 1, 2 and 3, and theirs for any number of objectives."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats, positive, whole
from lexbandit.theory.grid import GridTheory, checked_rounds, powers_of


def lexicographic_blur(objectives: int, beta: float, lam: float) -> tuple[float, ...]:
    """Return c_i = 2(β+2) + 4(β+1)(λ + … + λ^(i−1)) for i < D, and c_D = 2."""
    before = (
        2.0 * (beta + 2.0) + 4.0 * (beta + 1.0) * lam * powers_of(lam, i - 1)
        for i in range(1, objectives)
    )
    return (*before, 2.0)


@dataclass(frozen=True, kw_only=True)
class MocMabTheory(GridTheory):
    """What is proved of MOC-MAB at scale 1: by the paper for D = 2, in docs/theory.md for any D.

    For D ≤ 2 nothing need be assumed of the means but Assumption 1, and `lam` has no influence. For
    D > 2 they must keep the λ-assumption for `lam`.
    """

    beta: float = 1.0

    _smoothings: ClassVar[int] = 3

    def __post_init__(self) -> None:
        positive("beta", self.beta)
        super().__post_init__()

    @property
    def blur(self) -> tuple[float, ...]:
        """c_i = 2(β+2) + 4(β+1)(λ + … + λ^(i−1)) for i < D, and c_D = 2."""
        return lexicographic_blur(self.objectives, self.beta, self.lam)

    def high_probability(self, t: ArrayLike) -> Floats:
        """Return (ε_1(t), …, ε_D(t)) of Theorem 1, float[..., D].

            ε_i(t) = m^d K C_i + [i ≥ 2] m^d K C_i 2A/(βv)² + 2B sqrt(K m^d t) + c_i v t

        With probability at least 1 − 1/T, Reg^i(t) ≤ ε_i(t) for all t ≤ T and all i. By Theorem 3
        the Pareto regret stays below ε_1(t) as well.
        """
        rounds = checked_rounds(t, self.horizon)
        unsure = np.array(self.gaps) * float(self.m**self.dimension) * self.arms
        unsure *= 2.0 * self.A / (self.beta * self.margin) ** 2
        unsure[0] = 0.0
        return self._start_and_blur(rounds) + unsure + self._learning(rounds)

    def expected(self) -> tuple[float, ...]:
        """Return the bounds of Theorem 2 on E[Reg^1(T)], …, E[Reg^D(T)].

        By Theorem 3 the first also bounds the expected Pareto regret. They hold for the m of the
        theorem only.
        """
        self._refuse_other_cells("Theorem 2")
        K, L, a, d, beta = self.arms, self.L, self.alpha, self.dimension, self.beta
        T, power = float(self.horizon), 3 * self.alpha + self.dimension
        start = 2.0**d * K * T ** (d / power)
        learning = 2.0 ** (d / 2 + 1) * self.B * (K**0.5) * T ** ((1.5 * a + d) / power)
        unsure = K * 2.0 ** (1 + 2 * a + d) * self.A / (beta**2 * L**2 * d**a)
        return tuple(
            gap
            + start * gap
            + (c * L * d ** (a / 2) + (unsure * gap if i else 0.0)) * T**self.exponent
            + learning
            for i, (gap, c) in enumerate(zip(self.gaps, self.blur, strict=True))
        )


def periodic_theory(*, dimension: int, **parameters: Any) -> MocMabTheory:
    """Return the corollary of Section VI-A: MOC-MAB with the time as a further feature.

    Theorems 1 to 3 for d + 1 features, d the `dimension` without the time; `L` and `alpha` are
    those of Assumption 2, for means as functions of the context and of the time within the period.
    All regrets are Õ(T^((2α+d+1)/(3α+d+1))).
    """
    return MocMabTheory(dimension=whole("dimension", dimension, least=1) + 1, **parameters)
