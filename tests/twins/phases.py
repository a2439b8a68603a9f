"""Plain twins of policies in phases: the doubling trick on MOC-MAB, and Query-Ad-Clustering."""

import math
from typing import Any

from naive import MASK, Dice, MocMab, Vector, mix, quick_cell_of


def seed_of(seed: int, phase: int) -> int:
    return mix((seed + 0x9E3779B97F4A7C15 * (phase + 1)) & MASK)


class Phases:
    """A new learner at the start of each phase; the clock counts updates."""

    def __init__(self, seed: int) -> None:
        self.seed, self.phase, self.left = seed, -1, 0
        self.learner: Any = None

    def length(self, phase: int) -> int:
        raise NotImplementedError

    def begin(self, phase: int, seed: int) -> Any:
        raise NotImplementedError

    def select(self, context: Vector) -> int:
        if self.left == 0:
            self.phase += 1
            self.left = self.length(self.phase)
            self.learner = self.begin(self.phase, seed_of(self.seed, self.phase))
        return int(self.learner.select(context))

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        self.learner.update(context, arm, rewards)
        self.left -= 1


class DoublingMocMab(Phases):
    """MOC-MAB with horizon first·2^k in phase k, and m the smallest with m^(3+d) >= horizon."""

    def __init__(self, K: int, d: int, *, first: int, scale: float, seed: int) -> None:
        super().__init__(seed)
        self.K, self.d, self.first, self.scale = K, d, first, scale

    def length(self, phase: int) -> int:
        return int(self.first * 2**phase)

    def begin(self, phase: int, seed: int) -> MocMab:
        T = self.length(phase)
        m = next(m for m in range(1, T + 1) if m ** (3 + self.d) >= T)
        return MocMab(self.K, T, self.d, m, scale=self.scale, seed=seed)


class Clustered:
    """One phase: in each cell, the highest mean + sqrt(4i / (1 + n)) of objective 1."""

    def __init__(self, K: int, m: int, i: int, scale: float, seed: int) -> None:
        self.K, self.m, self.i, self.scale = K, m, i, scale
        self.n: dict[tuple[tuple[int, ...], int], int] = {}
        self.total: dict[tuple[tuple[int, ...], int], float] = {}
        self.dice = Dice(seed)

    def index(self, cell: tuple[int, ...], arm: int) -> float:
        n = self.n.get((cell, arm), 0)
        mean = self.total[cell, arm] / n if n else 0.0
        return mean + self.scale * math.sqrt(4 * self.i / (1 + n))

    def select(self, context: Vector) -> int:
        cell = quick_cell_of(context, self.m)
        indices = [self.index(cell, arm) for arm in range(self.K)]
        return self.dice.one_of([a for a, g in enumerate(indices) if g == max(indices)])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        cell = quick_cell_of(context, self.m)
        self.n[cell, arm] = self.n.get((cell, arm), 0) + 1
        self.total[cell, arm] = self.total.get((cell, arm), 0.0) + rewards[0]


class QueryAdClustering(Phases):
    """Lu, Pal and Pal (2010): phase i has 2^i rounds and clusters of diameter 2^(-i/(d+2))."""

    def __init__(self, K: int, d: int, *, scale: float, seed: int) -> None:
        super().__init__(seed)
        self.K, self.d, self.scale = K, d, scale

    def length(self, phase: int) -> int:
        return int(2**phase)

    def begin(self, phase: int, seed: int) -> Clustered:
        diameter = 2 ** (-phase / (self.d + 2))
        m = next(m for m in range(1, 10**6) if math.sqrt(self.d) / m <= diameter * (1 + 1e-12))
        return Clustered(self.K, m, phase, self.scale, seed)
