"""The regret bounds of policies on the grid: MOC-MAB's (Theorems 1 to 3) and `staged-lex`'s."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats, at_least_zero, positive, whole
from lexbandit.errors import InvalidInput
from lexbandit.smoothness import cells_per_side_for, margin_of, uncertainty_constant


def checked_gaps(gaps: tuple[float, ...] | None, objectives: int) -> tuple[float, ...]:
    """Return the largest gap of each objective; 1 each if none are given."""
    if gaps is None:
        return (1.0,) * objectives
    if len(gaps) != objectives or not all(math.isfinite(gap) and gap >= 0 for gap in gaps):
        raise InvalidInput(
            f"largest_gaps must be {objectives} numbers of at least 0, got {gaps!r}."
        )
    return tuple(gaps)


def checked_rounds(t: ArrayLike, horizon: int) -> Floats:
    """Return t as floats from 0 to the horizon."""
    rounds = np.asarray(t, np.float64)
    if not ((rounds >= 0) & (rounds <= horizon)).all():
        raise InvalidInput(f"t must lie between 0 and the horizon {horizon}, got {t!r}.")
    return rounds


def powers_of(lam: float, terms: int) -> float:
    """Return Λ = 1 + λ + … + λ^(terms − 1)."""
    return float(sum(lam**k for k in range(terms)))


@dataclass(frozen=True, kw_only=True)
class GridTheory(ABC):
    """(L, α)-Hölder means, R-sub-Gaussian noise, widths R sqrt(2 A_{m,T}/N), a grid of m^d cells.

    The paper proves its bounds for R = 1 and says in a footnote that another R changes constants
    only: wherever A_{m,T} stands in them it becomes R² A_{m,T}. Rewards in [0, 1] have R = ½.

    `largest_gaps` are C^i_max: in each objective, the most by which an optimal arm's mean can
    exceed another arm's. None means 1 for each, which is always valid for rewards in [0, 1]. `lam`
    is the λ of the λ-assumption: μ^i_a − μ^i_* ≤ λ max_{j<i} (μ^j_* − μ^j_a) at every context.
    """

    arms: int
    dimension: int
    horizon: int
    objectives: int = 2
    lam: float = 0.0
    L: float = 1.0
    alpha: float = 1.0
    R: float = 1.0
    cells_per_side: int | None = None
    largest_gaps: tuple[float, ...] | None = None

    _smoothings: ClassVar[int]
    """m is the smallest integer with m^(this · α + d) ≥ T."""

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        whole("objectives", self.objectives, least=1)
        positive("R", self.R)
        object.__setattr__(self, "lam", at_least_zero("lam", self.lam))
        gaps = checked_gaps(self.largest_gaps, self.objectives)
        object.__setattr__(self, "largest_gaps", gaps)
        if self.cells_per_side is None:
            object.__setattr__(self, "cells_per_side", self._best_cells())
        whole("cells_per_side", self.cells_per_side, least=1)

    def _best_cells(self) -> int:
        return cells_per_side_for(
            horizon=self.horizon,
            alpha=self.alpha,
            dimension=self.dimension,
            smoothings=self._smoothings,
        )

    @property
    def m(self) -> int:
        """The cells per side."""
        assert self.cells_per_side is not None
        return self.cells_per_side

    @property
    def gaps(self) -> tuple[float, ...]:
        """The largest gap of each objective, C^i_max."""
        assert self.largest_gaps is not None
        return self.largest_gaps

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
            arms=self.arms,
            objectives=self.objectives,
            cells=self.m**self.dimension,
            horizon=self.horizon,
        )

    @property
    def B(self) -> float:
        """The constant B_{m,T} = 2 sqrt(2 A_{m,T}) of Lemma 5, times R."""
        return 2.0 * self.R * math.sqrt(2.0 * self.A)

    @property
    def exponent(self) -> float:
        """The power of T that every regret, and the Pareto regret, grow by, but for logarithms."""
        s, a, d = self._smoothings, self.alpha, self.dimension
        return ((s - 1) * a + d) / (s * a + d)

    @property
    @abstractmethod
    def blur(self) -> tuple[float, ...]:
        """The c_i of the term c_i v t, one for each objective."""

    @abstractmethod
    def high_probability(self, t: ArrayLike) -> Floats:
        """Return (ε_1(t), …, ε_D(t)), float[..., D].

        With probability at least 1 − 1/T, Reg^i(t) ≤ ε_i(t) for all t ≤ T and all i, and the Pareto
        regret is at most ε_1(t).
        """

    def _start_and_blur(self, rounds: Floats) -> Floats:
        """Return m^d K C_i + c_i v t, float[..., D]: each arm's first play in a cell, and v."""
        first = float(self.m**self.dimension) * self.arms * np.array(self.gaps)
        return np.asarray(first + self.margin * rounds[..., np.newaxis] * np.array(self.blur))

    def _learning(self, rounds: Floats) -> Floats:
        """Return 2 B sqrt(K m^d t), float[..., 1]: the sum of U − L over the plays."""
        cells = float(self.m**self.dimension)
        return np.asarray(2.0 * self.B * np.sqrt(self.arms * cells * rounds))[..., np.newaxis]


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

            ε_i(t) = m^d K C_i + [i ≥ 2] m^d K C_i 2R²A/(βv)² + 2B sqrt(K m^d t) + c_i v t

        With probability at least 1 − 1/T, Reg^i(t) ≤ ε_i(t) for all t ≤ T and all i. By Theorem 3
        the Pareto regret stays below ε_1(t) as well.
        """
        rounds = checked_rounds(t, self.horizon)
        cells = float(self.m**self.dimension)
        unsure = np.array(self.gaps) * cells * self.arms * self.plays_to_confidence
        unsure[0] = 0.0
        return self._start_and_blur(rounds) + unsure + self._learning(rounds)

    @property
    def plays_to_confidence(self) -> float:
        """2 R² A/(βv)²: with fewer observations an arm's width exceeds βv (Lemma 4)."""
        return 2.0 * self.R**2 * self.A / (self.beta * self.margin) ** 2

    @property
    def unsure_rounds(self) -> float:
        """Lemma 4's bound K (2 R² A/(βv)² + 1) on the rounds of a cell below confidence."""
        return self.arms * (self.plays_to_confidence + 1.0)

    def expected(self) -> tuple[float, ...]:
        """Return bounds on E[Reg^1(T)], …, E[Reg^D(T)]; the first is one on the Pareto regret too.

        For the m of Theorem 2 they are its sums of powers of T. For any other m, such as the
        ⌈T^(1/(2α+d))⌉ of `finer_cells`, they are C_i + ε_i(T), from which its proof starts.
        """
        if self.m != self._best_cells():
            ends = self.high_probability(self.horizon)
            return tuple(float(gap + end) for gap, end in zip(self.gaps, ends, strict=True))
        K, L, a, d, beta = self.arms, self.L, self.alpha, self.dimension, self.beta
        T, power = float(self.horizon), 3 * self.alpha + self.dimension
        start = 2.0**d * K * T ** (d / power)
        learning = 2.0 ** (d / 2 + 1) * self.B * (K**0.5) * T ** ((1.5 * a + d) / power)
        unsure = K * 2.0 ** (1 + 2 * a + d) * self.R**2 * self.A / (beta**2 * L**2 * d**a)
        return tuple(
            gap
            + start * gap
            + (c * L * d ** (a / 2) + (unsure * gap if i else 0.0)) * T**self.exponent
            + learning
            for i, (gap, c) in enumerate(zip(self.gaps, self.blur, strict=True))
        )


def finer_cells(*, horizon: int, alpha: float = 1.0, dimension: int) -> int:
    """Return m = ⌈T^(1/(2α+d))⌉, which the paper discusses after Theorem 2 and Theorem 3.

    With it MOC-MAB's bounds on the first regret and on the Pareto regret are
    Õ(T^((α+d)/(2α+d))), while the one on the second regret becomes O(T).
    """
    return cells_per_side_for(horizon=horizon, alpha=alpha, dimension=dimension, smoothings=2)


def periodic_theory(*, dimension: int, **parameters: Any) -> MocMabTheory:
    """Return the corollary of Section VI-A: MOC-MAB with the time as a further feature.

    Theorems 1 to 3 for d + 1 features, d the `dimension` without the time; `L` and `alpha` are
    those of Assumption 2, for means as functions of the context and of the time within the period.
    All regrets are Õ(T^((2α+d+1)/(3α+d+1))).
    """
    return MocMabTheory(dimension=whole("dimension", dimension, least=1) + 1, **parameters)


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
        if self.m != self._best_cells():
            raise InvalidInput(
                f"this bound holds for cells_per_side={self._best_cells()}, "
                f"got {self.cells_per_side}."
            )
        K, L, a, d = self.arms, self.L, self.alpha, self.dimension
        T = float(self.horizon)
        start = 1.0 + 2.0**d * K * T ** (d / (2 * a + d))
        learning = 4.0 * self.B * (2.0**d * K) ** 0.5
        return tuple(
            gap * start + (growth * learning + c * L * d ** (a / 2)) * T**self.exponent
            for gap, growth, c in zip(self.gaps, self.growth, self.blur, strict=True)
        )
