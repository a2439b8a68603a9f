"""The regret bounds of the staged lexicographic rule."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats
from lexbandit.theory.grid import GridTheory, checked_rounds, powers_of


@dataclass(frozen=True, kw_only=True)
class StagedTheory(GridTheory):
    """What docs/theory.md proves of `staged-lex` at scale 1, for any number of objectives.

    m is the smallest integer with m^(2α+d) ≥ T, and every regret is Õ(T^((α+d)/(2α+d))). The means
    must keep the λ-assumption for `lam`, for D = 2 too: unlike MOC-MAB, the rule removes arms by
    the last objective as well.
    """

    _smoothings: ClassVar[int] = 2

    @property
    def growth(self) -> tuple[float, ...]:
        """Λ_i = 1 + λ + … + λ^(i−1), one for each objective."""
        return tuple(powers_of(self.lam, i) for i in range(1, self.objectives + 1))

    @property
    def blur(self) -> tuple[float, ...]:
        """c_i = 8 Λ_i for i < D, and c_D = 4 Λ_D."""
        *before, last = self.growth
        return (*(8.0 * each for each in before), 4.0 * last)

    def high_probability(self, t: ArrayLike) -> Floats:
        """Return (ε_1(t), …, ε_D(t)), float[..., D].

            ε_i(t) = m^d K C_i + 4 Λ_i B sqrt(K m^d t) + c_i v t

        With probability at least 1 − 1/T, Reg^i(t) ≤ ε_i(t) for all t ≤ T and all i, and the Pareto
        regret is at most ε_1(t).
        """
        rounds = checked_rounds(t, self.horizon)
        learning = 2.0 * np.array(self.growth) * self._learning(rounds)
        return self._start_and_blur(rounds) + learning

    def expected(self) -> tuple[float, ...]:
        """Return bounds on E[Reg^1(T)], …, E[Reg^D(T)] as sums of powers of T; m as above only.

        C_i + 2^d K C_i T^(d/(2α+d)) + (4 Λ_i B sqrt(2^d K) + c_i L d^(α/2)) T^((α+d)/(2α+d))
        """
        self._refuse_other_cells("this bound")
        K, L, a, d = self.arms, self.L, self.alpha, self.dimension
        T = float(self.horizon)
        start = 1.0 + 2.0**d * K * T ** (d / (2 * a + d))
        learning = 4.0 * self.B * (2.0**d * K) ** 0.5
        return tuple(
            gap * start + (growth * learning + c * L * d ** (a / 2)) * T**self.exponent
            for gap, growth, c in zip(self.gaps, self.growth, self.blur, strict=True)
        )
