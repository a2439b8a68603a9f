"""Plain twins of the linear policies, written from their definitions with lists and loops.

Nothing here imports lexbandit. Ties are drawn from `Dice`, so arms can be compared one by one on
continuous rewards: decisions differ only if two indices agree to the last digits.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from naive import Dice

Vector = Sequence[float]

POLYNOMIALS: list[Callable[[float], float]] = [
    lambda z: z**0,
    lambda z: z,
    lambda z: (3 * z**2 - 1) / 2,
    lambda z: (5 * z**3 - 3 * z) / 2,
    lambda z: (35 * z**4 - 30 * z**2 + 3) / 8,
]


def legendre(context: Vector, degree: int = 4) -> list[float]:
    """All products of Legendre polynomials of 2x − 1 up to a total degree, in any order."""
    tables = [[P(2 * x - 1) for P in POLYNOMIALS] for x in context]
    return [
        math.prod(table[k] for table, k in zip(tables, powers, strict=True))
        for powers in product(range(degree + 1), repeat=len(context))
        if sum(powers) <= degree
    ]


def raw(context: Vector) -> list[float]:
    return [1.0, *context]


class Gram:
    """A = ridge·I + Σφφᵀ, known by its inverse (Sherman and Morrison)."""

    def __init__(self, size: int, ridge: float) -> None:
        self.inverse = [[(j == k) / ridge for k in range(size)] for j in range(size)]

    def times(self, vector: Vector) -> list[float]:
        return [sum(p * v for p, v in zip(row, vector, strict=True)) for row in self.inverse]

    def spread(self, phi: Vector) -> float:
        return math.sqrt(sum(f * v for f, v in zip(phi, self.times(phi), strict=True)))

    def add(self, phi: Vector) -> None:
        v = self.times(phi)
        denominator = 1 + sum(f * w for f, w in zip(phi, v, strict=True))
        for row, vj in zip(self.inverse, v, strict=True):
            for k, vk in enumerate(v):
                row[k] -= vj * vk / denominator


class Regression:
    """One objective of one arm."""

    def __init__(self, gram: Gram, size: int) -> None:
        self.gram = gram
        self.b = [0.0] * size
        self.theta = [0.0] * size
        self.n = 0

    def add(self, phi: Vector, reward: float) -> None:
        """The Gram matrix has φ already."""
        self.n += 1
        self.b = [b + reward * f for b, f in zip(self.b, phi, strict=True)]
        self.theta = self.gram.times(self.b)

    def mean(self, phi: Vector) -> float:
        return sum(f * w for f, w in zip(phi, self.theta, strict=True))


class Linear:
    """Regressions for every arm and objective; Gram matrices shared by objectives, or not."""

    def __init__(
        self, K: int, D: int, phi: Any, d: int, ridge: float, seed: int, shared: bool = True
    ) -> None:
        self.K, self.D, self.phi = K, D, phi
        size = len(phi([0.0] * d))
        self.models: list[list[Regression]] = []
        for _ in range(K):
            gram = Gram(size, ridge)
            self.models.append(
                [Regression(gram if shared else Gram(size, ridge), size) for _ in range(D)]
            )
        self.dice = Dice(seed)
        self.t = 1

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        phi = self.phi(context)
        observed = [i for i in range(self.D) if not math.isnan(rewards[i])]
        for gram in {
            id(self.models[arm][i].gram): self.models[arm][i].gram for i in observed
        }.values():
            gram.add(phi)
        for i in observed:
            self.models[arm][i].add(phi, rewards[i])
        self.t += 1

    start = 1  # observations before an arm has a width

    def widths(self, phi: Vector, factor: float) -> list[list[float]]:
        """Widths by objective and arm; a shared matrix is asked once."""
        found: list[list[float]] = []
        for models in self.models:
            spreads = {id(m.gram): 0.0 for m in models}
            for model in models:
                if spreads[id(model.gram)] == 0.0:
                    spreads[id(model.gram)] = model.gram.spread(phi)
            found.append(
                [factor * spreads[id(m.gram)] if m.n >= self.start else math.inf for m in models]
            )
        return [[found[a][i] for a in range(self.K)] for i in range(self.D)]

    def means(self, phi: Vector) -> list[list[float]]:
        return [[self.models[a][i].mean(phi) for a in range(self.K)] for i in range(self.D)]


class LexLinUcb(Linear):
    """Section 6 of the definitions: levels on ridge regressions."""

    def __init__(
        self,
        K: int,
        D: int,
        phi: Any = legendre,
        d: int = 2,
        *,
        ridge: float = 0.1,
        width_factor: float = 0.1,
        c: float = 2.5,
        p: float = 1 / 3,
        tolerance: float = 0.0,
        lam: float = 0.0,
        start: int = 20,
        seed: int = 0,
        shared: bool = True,
    ) -> None:
        super().__init__(K, D, phi, d, ridge, seed, shared)
        self.width_factor, self.c, self.p, self.start = width_factor, c, p, start
        self.tolerance, self.lam = tolerance, lam

    def select(self, context: Vector) -> int:
        phi = self.phi(context)
        mean = self.means(phi)
        w = self.widths(phi, self.width_factor * math.sqrt(2 * math.log(1 + self.t)))
        U = [[m + u for m, u in zip(mean[i], w[i], strict=True)] for i in range(self.D)]
        L = [[m - u for m, u in zip(mean[i], w[i], strict=True)] for i in range(self.D)]
        tau = max(self.c * self.t**-self.p, self.tolerance if self.D > 1 else 0.0)
        candidates = list(range(self.K))
        tops: list[int] = []
        for i in range(self.D):
            best = max(U[i][a] for a in candidates)
            h = self.top([a for a in candidates if U[i][a] == best])
            tops.append(h)
            if i == self.D - 1 or max(w[j][h] for j in range(i + 1)) > tau:
                return self.play(h, candidates, mean[i], w[i])
            e = 0.0
            if self.lam > 0:
                e = self.lam * max([0.0, *(U[j][tops[j]] - L[j][h] for j in range(i))])
            floor = L[i][h] - self.tolerance - e
            candidates = [a for a in candidates if U[i][a] >= floor]
        raise AssertionError

    def top(self, best: list[int]) -> int:
        return self.dice.one_of(best)

    def play(self, h: int, candidates: list[int], mean: Vector, width: Vector) -> int:
        return h


class LinUcb(Linear):
    """Algorithm 1 of Li et al. (2010); an arm never observed comes first."""

    def __init__(
        self,
        K: int,
        D: int,
        phi: Any = raw,
        d: int = 2,
        *,
        delta: float = 0.05,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(K, D, phi, d, 1.0, seed)
        self.alpha = scale * (1 + math.sqrt(math.log(2 / delta) / 2))

    def select(self, context: Vector) -> int:
        phi = self.phi(context)
        w, mean = self.widths(phi, self.alpha)[0], self.means(phi)[0]
        p = [m + u for m, u in zip(mean, w, strict=True)]
        return self.dice.one_of([a for a in range(self.K) if p[a] == max(p)])


def shortened(phi: Any) -> Any:
    """Return the map φ/√F, of norm at most 1 if every feature lies in [−1, 1]."""

    def of(context: Vector) -> list[float]:
        features = phi(context)
        return [f / math.sqrt(len(features)) for f in features]

    return of


class SupLinUcb:
    """Algorithm 2 of Chu et al. (2011), to the letter: the stage that chose is remembered.

    Contexts have norm at most 1, and w = (α + 1) s as in Lemma 1.
    """

    def __init__(
        self,
        K: int,
        D: int,
        T: int,
        phi: Any = raw,
        d: int = 2,
        *,
        delta: float = 0.05,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        phi = shortened(phi)
        self.K, self.T, self.phi = K, T, phi
        self.S = max(1, math.ceil(math.log(T)))
        self.stages = [Linear(K, D, phi, d, 1.0, seed) for _ in range(self.S)]
        self.alpha = scale * (1 + math.sqrt(math.log(2 * T * K / delta) / 2))
        self.dice = Dice(seed)
        self.chosen_at: int | None = None

    def select(self, context: Vector) -> int:
        phi = self.phi(context)
        arms, s = list(range(self.K)), 1
        while True:
            stage = self.stages[s - 1]
            w, mean = stage.widths(phi, self.alpha)[0], stage.means(phi)[0]
            if all(w[a] <= 1 / math.sqrt(self.T) for a in arms):
                self.chosen_at = None
                best = max(mean[a] + w[a] for a in arms)
                return self.dice.one_of([a for a in arms if mean[a] + w[a] == best])
            if all(w[a] <= 2.0**-s for a in arms):
                best = max(mean[a] + w[a] for a in arms)
                arms = [a for a in arms if mean[a] + w[a] >= best - 2.0 ** (1 - s)]
                s += 1
                continue
            self.chosen_at = s
            widest = max(w[a] for a in arms)
            return self.dice.one_of([a for a in arms if w[a] == widest])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        if self.chosen_at is not None:
            self.stages[self.chosen_at - 1].update(context, arm, rewards)


class Mtlo(Linear):
    """MTLO of Xue et al. (AAAI 2025): stages of finer widths, a filter by every objective."""

    def __init__(
        self,
        K: int,
        D: int,
        T: int,
        phi: Any = raw,
        d: int = 2,
        *,
        lam: float = 1.0,
        R: float = 0.5,
        U: float = 1.0,
        delta: float = 0.05,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(K, D, shortened(phi), d, 1.0, seed)
        self.T, self.lam, self.R, self.U, self.delta, self.scale = T, lam, R, U, delta, scale
        self.d = K * len(phi([0.0] * d))

    def filtered(self, arms: list[int], ucb: list[list[float]], W: float) -> list[int]:
        for i in range(self.D):
            allowance = (2 + 4 * sum(self.lam**k for k in range(1, i + 1))) * W
            best = max(ucb[i][a] for a in arms)
            arms = [a for a in arms if ucb[i][a] >= best - allowance]
        return arms

    def select(self, context: Vector) -> int:
        phi = self.phi(context)
        gamma = self.R * math.sqrt(self.d * math.log(2 * self.D * self.t / self.delta)) + self.U
        w, mean = self.widths(phi, self.scale * gamma), self.means(phi)
        ucb = [[m + u for m, u in zip(mean[i], w[i], strict=True)] for i in range(self.D)]
        widest = [max(w[i][a] for i in range(self.D)) for a in range(self.K)]
        arms, s, finest = list(range(self.K)), 1, 1 / math.sqrt(self.T)
        while True:
            if all(widest[a] <= finest for a in arms):
                return self.dice.one_of(self.filtered(arms, ucb, finest))
            if any(widest[a] > 2.0**-s for a in arms):
                most = max(widest[a] for a in arms)
                return self.dice.one_of([a for a in arms if widest[a] == most])
            arms = self.filtered(arms, ucb, 2.0**-s)
            s += 1
