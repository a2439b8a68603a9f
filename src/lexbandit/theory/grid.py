"""What the bounds of all policies on the uniform grid share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats, whole
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


def checked_lam(lam: float) -> float:
    """Return λ, a finite number of at least 0."""
    if isinstance(lam, bool | str) or not 0.0 <= lam < math.inf:
        raise InvalidInput(f"lam must be a finite number of at least 0, got {lam!r}.")
    return float(lam)


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
    """(L, α)-Hölder means, 1-sub-Gaussian noise, the width sqrt(2 A_{m,T}/N), a grid of m^d cells.

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
    cells_per_side: int | None = None
    largest_gaps: tuple[float, ...] | None = None

    _smoothings: ClassVar[int]
    """m is the smallest integer with m^(this · α + d) ≥ T."""

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        whole("objectives", self.objectives, least=1)
        object.__setattr__(self, "lam", checked_lam(self.lam))
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
        """The constant B_{m,T} = 2 sqrt(2 A_{m,T}) of Lemma 5."""
        return 2.0 * math.sqrt(2.0 * self.A)

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

    def _refuse_other_cells(self, theorem: str) -> None:
        if self.m != self._best_cells():
            raise InvalidInput(
                f"{theorem} holds for cells_per_side={self._best_cells()}, "
                f"got {self.cells_per_side}."
            )
