"""The strictest baseline: MOC-MAB in pure Python, written for speed."""

import math

from naive import Dice, Vector, quick_cell_of


class HandWritten:
    """MOC-MAB as one would write it in Python for speed: nothing computed twice."""

    def __init__(
        self,
        K: int,
        T: int,
        d: int,
        m: int,
        *,
        L: float = 1.0,
        alpha: float = 1.0,
        beta: float = 1.0,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.K, self.m, self.beta, self.scale = K, m, beta, scale
        self.A = 1 + 2 * math.log(4 * K * m**d * T**1.5)
        self.v = L * d ** (alpha / 2) * m ** (-alpha)
        self.N: dict[tuple[int, ...], list[int]] = {}
        self.mean: dict[tuple[int, ...], list[list[float]]] = {}
        self.dice = Dice(seed)

    def select(self, context: Vector) -> int:
        p = quick_cell_of(context, self.m)
        if p not in self.N:
            self.N[p] = [0] * self.K
            self.mean[p] = [[0.0] * self.K, [0.0] * self.K]
        N, (mean1, mean2) = self.N[p], self.mean[p]
        twice_A, scale = 2 * self.A, self.scale
        u = [scale * math.sqrt(twice_A / n) if n else math.inf for n in N]
        g1 = [mean + width for mean, width in zip(mean1, u, strict=True)]
        best = max(g1)
        top = self.dice.one_of([a for a, g in enumerate(g1) if g == best])
        if u[top] > self.beta * self.v:
            return top
        floor = mean1[top] - u[top] - 2 * self.v
        g2 = [mean2[a] + u[a] if g1[a] >= floor else -math.inf for a in range(self.K)]
        best = max(g2)
        return self.dice.one_of([a for a, g in enumerate(g2) if g == best])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        p = quick_cell_of(context, self.m)
        n = self.N[p][arm]
        for mean, reward in zip(self.mean[p], rewards, strict=True):
            mean[arm] = (mean[arm] * n + reward) / (n + 1)
        self.N[p][arm] = n + 1
