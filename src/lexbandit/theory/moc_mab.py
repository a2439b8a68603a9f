"""The regret bounds of MOC-MAB: Theorems 1, 2 and 3."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats, positive, whole
from lexbandit.errors import InvalidInput
from lexbandit.holder import cells_per_side_for, margin_of, uncertainty_constant


@dataclass(frozen=True, kw_only=True)
class MocMabTheory:
    """What the paper proves of MOC-MAB at scale 1 on (L, α)-Hölder means with 1-sub-Gaussian noise.

    `largest_gaps` are C¹_max and C²_max: in each objective, the most by which an optimal arm's mean
    can exceed another arm's; 1 is always valid for rewards in [0, 1].
    """

    arms: int
    dimension: int
    horizon: int
    L: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0
    cells_per_side: int | None = None
    largest_gaps: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        positive("beta", self.beta)
        if len(self.largest_gaps) != 2 or not all(
            math.isfinite(gap) and gap >= 0 for gap in self.largest_gaps
        ):
            raise InvalidInput(
                f"largest_gaps must be two numbers of at least 0, got {self.largest_gaps!r}."
            )
        smallest = cells_per_side_for(
            horizon=self.horizon, alpha=self.alpha, dimension=self.dimension
        )
        if self.cells_per_side is None:
            object.__setattr__(self, "cells_per_side", smallest)
        whole("cells_per_side", self.cells_per_side, least=1)

    @property
    def m(self) -> int:
        """The cells per side."""
        assert self.cells_per_side is not None
        return self.cells_per_side

    @property
    def margin(self) -> float:
        """The margin v."""
        return margin_of(
            L=self.L, alpha=self.alpha, dimension=self.dimension, cells_per_side=self.m
        )

    @property
    def A(self) -> float:
        """The constant A_{m,T}."""
        return uncertainty_constant(
            arms=self.arms, objectives=2, cells=self.m**self.dimension, horizon=self.horizon
        )

    @property
    def B(self) -> float:
        """The constant B_{m,T} = 2 sqrt(2 A_{m,T}) of Lemma 5."""
        return 2.0 * math.sqrt(2.0 * self.A)

    @property
    def exponent(self) -> float:
        """(2α+d)/(3α+d): both regrets, and the Pareto regret, grow as T to this power."""
        a, d = self.alpha, self.dimension
        return (2 * a + d) / (3 * a + d)

    def high_probability(self, t: ArrayLike) -> Floats:
        """Return (ε_1(t), ε_2(t)) of Theorem 1, float[..., 2].

        With probability at least 1 − 1/T, Reg^i(t) < ε_i(t) for all t ≤ T. By Theorem 3 the Pareto
        regret stays below ε_1(t) as well.
        """
        rounds = np.asarray(t, np.float64)
        if not ((rounds >= 0) & (rounds <= self.horizon)).all():
            raise InvalidInput(f"t must lie between 0 and the horizon {self.horizon}, got {t!r}.")
        K, v = self.arms, self.margin
        cells = float(self.m**self.dimension)
        first, second = self.largest_gaps
        learning = 2.0 * self.B * np.sqrt(K * cells * rounds)
        unsure = 2.0 * self.A / (self.beta * v) ** 2
        return np.stack(
            [
                cells * K * first + learning + 2.0 * (self.beta + 2.0) * v * rounds,
                cells * K * second + cells * second * K * unsure + learning + 2.0 * v * rounds,
            ],
            axis=-1,
        )

    def expected(self) -> tuple[float, float]:
        """Return the bounds of Theorem 2 on E[Reg¹(T)] and E[Reg²(T)].

        By Theorem 3 the first also bounds the expected Pareto regret. They hold for the m of the
        theorem only.
        """
        smallest = cells_per_side_for(
            horizon=self.horizon, alpha=self.alpha, dimension=self.dimension
        )
        if self.m != smallest:
            raise InvalidInput(
                f"Theorem 2 holds for cells_per_side={smallest}, got {self.cells_per_side}."
            )
        K, L, a, d, beta = self.arms, self.L, self.alpha, self.dimension, self.beta
        first, second = self.largest_gaps
        T = float(self.horizon)
        main = T**self.exponent
        start = 2.0**d * K * T ** (d / (3 * a + d))
        learning = 2.0 ** (d / 2 + 1) * self.B * math.sqrt(K) * T ** ((1.5 * a + d) / (3 * a + d))
        unsure = second * K * 2.0 ** (1 + 2 * a + d) * self.A / (beta**2 * L**2 * d**a)
        return (
            first + start * first + 2.0 * (beta + 2.0) * L * d ** (a / 2) * main + learning,
            learning + second + (2.0 * L * d ** (a / 2) + unsure) * main + start * second,
        )
