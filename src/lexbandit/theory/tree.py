"""The regret bounds of MOC-MAB on the tree that splits cells as data arrive."""

import math
from dataclasses import dataclass

import numpy as np

from lexbandit.checks import Floats, positive, whole
from lexbandit.errors import InvalidInput
from lexbandit.holder import margin_of
from lexbandit.theory.grid import checked_gaps, checked_lam
from lexbandit.theory.moc_mab import MocMabTheory


@dataclass(frozen=True, kw_only=True)
class TreeTheory:
    """What docs/theory.md proves of LexMOC on a tree whose cells of level l split after n_l rounds.

    n_l = ⌈A_0 2^(3αl)⌉, A_0 the `first`. A cell's children are its 2^d halves; each begins with no
    observations and has the margin v_l = L d^(α/2) 2^(−αl). At most `cover` · 2^(d_c · l) cells of
    level l are ever visited. Where contexts are concentrated, d_c, the `context_dimension`, is less
    than d and takes its place in the exponent. By default it is d, with cover 1.
    """

    arms: int
    dimension: int
    horizon: int
    objectives: int = 2
    lam: float = 0.0
    L: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0
    first: float = 1.0
    context_dimension: float | None = None
    cover: float = 1.0
    largest_gaps: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        whole("dimension", self.dimension, least=1)
        whole("horizon", self.horizon, least=1)
        whole("objectives", self.objectives, least=1)
        positive("alpha", self.alpha, most=1.0)
        for name in ("L", "beta", "first", "cover"):
            positive(name, getattr(self, name))
        checked_lam(self.lam)
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

    @property
    def A(self) -> float:
        """1 + 2 ln(2 D K T^2.5): at most T cells are visited in T rounds."""
        return 1.0 + 2.0 * (
            math.log(2 * self.objectives * self.arms) + 2.5 * math.log(self.horizon)
        )

    def full(self, level: int) -> int:
        """Return n_l, the rounds after which a cell of this level splits."""
        return math.ceil(self.first * math.pow(2.0, 3 * self.alpha * level))

    def cells(self, level: int) -> float:
        """Return the most cells of this level that T rounds can visit.

        Each has a parent that n_{l−1} rounds were spent on; a parent has 2^d children.
        """
        if level == 0:
            return 1.0
        parents = self.horizon // self.full(level - 1)
        return min(self.cover * math.pow(2.0, self.d_c * level), 2.0**self.dimension * parents)

    def high_probability(self) -> Floats:
        """Return (ε_1(T), …, ε_D(T)), float[D]: Reg^i(T) ≤ ε_i(T) with probability 1 − 1/T.

        The sum over levels of MOC-MAB's terms: with M_l the `cells` and R_l = min(T, M_l n_l) the
        rounds that can fall on level l,

            M_l K C_i + [i ≥ 2] M_l K C_i 2A/(βv_l)² + 2B sqrt(K M_l R_l) + c_i v_l R_l
        """
        K, T, A = self.arms, float(self.horizon), self.A
        gaps = np.array(self.largest_gaps)
        blur = np.array(self._on_a_grid().blur)
        total = np.zeros(self.objectives)
        level = 0
        while (cells := self.cells(level)) > 0:
            v = margin_of(
                L=self.L, alpha=self.alpha, dimension=self.dimension, cells_per_side=2**level
            )
            rounds = min(T, cells * self.full(level))
            unsure = cells * K * gaps * 2.0 * A / (self.beta * v) ** 2
            unsure[0] = 0.0
            learning = 4.0 * math.sqrt(2.0 * A * K * cells * rounds)
            total += cells * K * gaps + unsure + learning + blur * v * rounds
            level += 1
        return total

    def _on_a_grid(self) -> MocMabTheory:
        return MocMabTheory(
            arms=self.arms,
            dimension=self.dimension,
            horizon=self.horizon,
            objectives=self.objectives,
            lam=self.lam,
            beta=self.beta,
            cells_per_side=1,
        )
