"""The regret bounds of LexMOC on the tree that splits cells as contexts arrive."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lexbandit.checks import Floats, at_least_zero, positive, whole
from lexbandit.errors import InvalidInput
from lexbandit.smoothness import margin_of
from lexbandit.theory.grid import checked_gaps, lexicographic_blur


@dataclass(frozen=True, kw_only=True)
class TreeTheory:
    """What docs/theory.md proves of `lex-tree` at scale 1, for all rounds at once.

    A cube of level l splits after n_l = ⌈A_0 2^(3αl)⌉ rounds, A_0 being `split_after`; its children
    start anew. At most `cover` · 2^(d_c · l) cubes of level l are ever visited. Where contexts are
    concentrated, d_c, the `context_dimension`, is less than d and takes its place in the exponent;
    by default it is d, with cover 1. The noise is R-sub-Gaussian, the width the `anytime` one.
    """

    arms: int
    dimension: int
    objectives: int = 2
    lam: float = 0.0
    L: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0
    R: float = 0.5
    delta: float = 0.05
    split_after: float = 1.0
    context_dimension: float | None = None
    cover: float = 1.0
    largest_gaps: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        whole("dimension", self.dimension, least=1)
        whole("objectives", self.objectives, least=1)
        positive("alpha", self.alpha, most=1.0)
        positive("delta", self.delta, most=1.0)
        for name in ("L", "beta", "R", "split_after", "cover"):
            positive(name, getattr(self, name))
        at_least_zero("lam", self.lam)
        gaps = checked_gaps(self.largest_gaps, self.objectives)
        object.__setattr__(self, "largest_gaps", gaps)
        if self.context_dimension is None:
            object.__setattr__(self, "context_dimension", float(self.dimension))
        if not 0 <= self.d_c <= self.dimension:
            raise InvalidInput(
                f"context_dimension must lie between 0 and {self.dimension}, "
                f"got {self.context_dimension!r}."
            )

    @property
    def d_c(self) -> float:
        """The dimension of the contexts, not of the space they lie in."""
        assert self.context_dimension is not None
        return self.context_dimension

    @property
    def exponent(self) -> float:
        """(2α + d_c)/(3α + d_c)."""
        return (2 * self.alpha + self.d_c) / (3 * self.alpha + self.d_c)

    def full(self, level: int) -> int:
        """Return n_l, the rounds after which a cube of this level splits."""
        return math.ceil(self.split_after * math.pow(2.0, 3 * self.alpha * level))

    def cells(self, level: int, t: float) -> float:
        """Return M_l, the most cubes of this level that t rounds can visit.

        Each has a parent that n_{l−1} rounds were spent on; a parent has 2^d children.
        """
        if level == 0:
            return 1.0
        parents = t // self.full(level - 1)
        return min(self.cover * math.pow(2.0, self.d_c * level), 2.0**self.dimension * parents)

    def A(self, level: int) -> float:
        """Return A_l = 2 R² ln(D K 2^(dl) (l+1)(l+2) sqrt(1 + n_l)/δ): widths ≤ sqrt(2 A_l/N)."""
        among = math.log(self.objectives * self.arms * (level + 1) * (level + 2) / self.delta)
        among += self.dimension * level * math.log(2.0) + 0.5 * math.log1p(self.full(level))
        return 2.0 * self.R**2 * among

    def high_probability(self, t: ArrayLike) -> Floats:
        """Return (ε_1(t), …, ε_D(t)), float[..., D].

        With probability at least 1 − δ, Reg^i(t) ≤ ε_i(t) for all t and i, and the Pareto regret is
        at most ε_1(t). With R_l = min(t, M_l n_l) it is the sum over the levels l of

            M_l K C_i + [i ≥ 2] M_l K C_i 2A_l/(βv_l)² + 4 sqrt(2 A_l K M_l R_l) + c_i v_l R_l
        """
        rounds = np.asarray(t, np.float64)
        if not ((rounds >= 0) & np.isfinite(rounds)).all():
            raise InvalidInput(f"t must be a finite number of rounds of at least 0, got {t!r}.")
        bounds = [self._bound(float(each)) for each in rounds.ravel()]
        return np.array(bounds).reshape(*rounds.shape, self.objectives)

    def _bound(self, t: float) -> Floats:
        gaps = np.array(self.largest_gaps)
        blur = np.array(lexicographic_blur(self.objectives, self.beta, self.lam))
        total = np.zeros(self.objectives)
        level = 0
        while (cells := self.cells(level, t)) > 0:
            v = margin_of(
                L=self.L, alpha=self.alpha, dimension=self.dimension, cells_per_side=2**level
            )
            rounds = min(t, cells * self.full(level))
            unsure = cells * self.arms * gaps * 2.0 * self.A(level) / (self.beta * v) ** 2
            unsure[0] = 0.0
            learning = 4.0 * math.sqrt(2.0 * self.A(level) * self.arms * cells * rounds)
            total += cells * self.arms * gaps + unsure + learning + blur * v * rounds
            level += 1
        return total
