"""Plain twins of rules of the related literature on cells, from PF-LEX to Epoch-Greedy.

Written from the papers' definitions, with no numpy and nothing of lexbandit.
"""

import math
from collections.abc import Callable
from typing import Any

from naive import Dice, Vector, dominates, front, quick_cell_of


class Means:
    """Sums and counts of K arms in D objectives."""

    def __init__(self, K: int, D: int) -> None:
        self.arms, self.objectives = range(K), range(D)
        self.N = [0] * K
        self.total = [[0.0] * D for _ in range(K)]

    def mean(self, a: int, i: int) -> float:
        return self.total[a][i] / self.N[a]

    def vector(self, a: int) -> list[float]:
        return [self.mean(a, i) for i in self.objectives]

    def add(self, a: int, rewards: Vector) -> None:
        self.N[a] += 1
        for i in self.objectives:
            self.total[a][i] += rewards[i]


class PfLex:
    """Hüyük and Tekin (2021), with the linked and chained relations as they are defined."""

    def __init__(
        self, K: int, D: int, dice: Dice, *, epsilon: float, delta: float, scale: float = 1.0
    ) -> None:
        self.K, self.D, self.dice = K, D, dice
        self.epsilon, self.delta, self.scale = epsilon, delta, scale
        self.seen = Means(K, D)
        self.committed = 0  # rounds decided by the last objective

    def C(self, a: int) -> float:
        N = self.seen.N[a]
        if N == 0:
            return math.inf
        level = 1 + 2 * math.log(self.K * self.D * math.sqrt(1 + N) / self.delta)
        return self.scale * math.sqrt((1 + N) / N**2 * level)

    def interval(self, a: int, i: int) -> tuple[float, float]:
        if self.seen.N[a] == 0:
            return -math.inf, math.inf
        return self.seen.mean(a, i) - self.C(a), self.seen.mean(a, i) + self.C(a)

    def chained_to(self, start: int, i: int) -> set[int]:
        """Every arm that a path of overlapping intervals leads to, over any arms."""
        intervals = [self.interval(a, i) for a in range(self.K)]
        reached, waiting = {start}, [start]
        while waiting:
            low, high = intervals[waiting.pop()]
            for b, (other_low, other_high) in enumerate(intervals):
                if b not in reached and high >= other_low and low <= other_high:
                    reached.add(b)
                    waiting.append(b)
        return reached

    def highest(self, arms: list[int], i: int) -> list[int]:
        best = max(self.interval(a, i)[1] for a in arms)
        return [a for a in arms if self.interval(a, i)[1] == best]

    def select(self) -> int:
        left = list(range(self.K))
        chained = self.chained_to(self.highest(left, 0)[0], 0)
        left = [a for a in left if a in chained]
        wide = [a for a in left if self.C(a) > self.epsilon / 2]
        if wide:
            return self.dice.one_of(wide)
        for i in range(1, self.D - 1):
            chained = self.chained_to(self.highest(left, i)[0], i)
            left = [a for a in left if a in chained]
        self.committed += 1
        return self.dice.one_of(self.highest(left, self.D - 1))

    def update(self, arm: int, rewards: Vector) -> None:
        self.seen.add(arm, rewards)


class LexElimIn:
    """Algorithm 2 of Xue, Wan, Lu and Zhang (2026), with 1 + n in the logarithm of c."""

    def __init__(
        self, K: int, D: int, dice: Dice, *, lam: float, delta: float, scale: float = 1.0
    ) -> None:
        self.K, self.D, self.dice = K, D, dice
        self.lam, self.delta, self.scale = lam, delta, scale
        self.seen = Means(K, D)
        self.active = list(range(K))

    def c(self, a: int) -> float:
        n = self.seen.N[a]
        if n == 0:
            return math.inf
        return self.scale * math.sqrt(4 / n * math.log(6 * self.K * self.D * (1 + n) / self.delta))

    def select(self) -> int:
        """Choose a_t of A_t, then let A_{t+1} be what the filters leave."""
        widest = max(self.c(a) for a in self.active)
        chosen = self.dice.one_of([a for a in self.active if self.c(a) == widest])
        if widest < math.inf:
            for i in range(self.D):
                best = max(self.seen.mean(a, i) for a in self.active)
                limit = (2 + 4 * sum(self.lam**k for k in range(1, i + 1))) * widest
                self.active = [a for a in self.active if best - self.seen.mean(a, i) <= limit]
        return chosen

    def update(self, arm: int, rewards: Vector) -> None:
        self.seen.add(arm, rewards)


class WeightedIndices:
    """Section II of Tekin and Turğay (2018): a random weight, the weighted sum of the indices."""

    def __init__(
        self, K: int, D: int, dice: Dice, *, weights: list[list[float]], scale: float = 1.0
    ) -> None:
        self.K, self.D, self.dice, self.weights, self.scale = K, D, dice, weights, scale
        self.seen = Means(K, D)

    def index(self, a: int, weight: Vector) -> float:
        N, n = self.seen.N[a], sum(self.seen.N)
        if N == 0:
            return math.inf
        u = self.scale * math.sqrt(2 * math.log(n) / N)
        return sum(weight[i] * (self.seen.mean(a, i) + u) for i in range(self.D))

    def select(self) -> int:
        weight = self.weights[self.dice.below(len(self.weights))]
        best = max(self.index(a, weight) for a in range(self.K))
        return self.dice.one_of([a for a in range(self.K) if self.index(a, weight) == best])

    def update(self, arm: int, rewards: Vector) -> None:
        self.seen.add(arm, rewards)


def uniform(dice: Dice) -> float:
    """From [0, 1)."""
    return dice.below(2**53) * 2.0**-53


def normal(dice: Dice) -> float:
    """Box and Muller (1958)."""
    u, v = uniform(dice) + 2.0**-53, uniform(dice)
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def gamma(dice: Dice, shape: float) -> float:
    """Marsaglia and Tsang (2000), for shapes of at least 1."""
    d = shape - 1 / 3
    while True:
        x = normal(dice)
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0:
            u = uniform(dice) + 2.0**-53
            if u < 1 - 0.0331 * x**4 or math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
                return d * v


def beta(dice: Dice, a: float, b: float) -> float:
    x, y = gamma(dice, a), gamma(dice, b)
    return x / (x + y)


class ParetoTs:
    """Yahyaa and Manderick (2015): Beta(1, 1) priors; a reward r is r successes, 1 − r failures."""

    def __init__(self, K: int, D: int, dice: Dice) -> None:
        self.dice = dice
        self.successes = [[0.0] * K for _ in range(D)]
        self.failures = [[0.0] * K for _ in range(D)]

    def select(self) -> int:
        samples = [
            [beta(self.dice, 1 + s, 1 + f) for s, f in zip(won, lost, strict=True)]
            for won, lost in zip(self.successes, self.failures, strict=True)
        ]
        return self.dice.one_of(front(list(zip(*samples, strict=True))))

    def update(self, arm: int, rewards: Vector) -> None:
        for i, r in enumerate(rewards):
            self.successes[i][arm] += r
            self.failures[i][arm] += 1 - r


class AnnealingPareto:
    """Yahyaa, Drugan and Manderick (2014)."""

    def __init__(self, K: int, D: int, dice: Dice, *, epsilon: float, decay: float) -> None:
        self.seen, self.dice = Means(K, D), dice
        self.epsilon, self.decay = epsilon, decay
        self.previous = set(range(K))
        self.sizes: list[int] = []  # of the sets drawn from after the start

    def select(self) -> int:
        arms = self.seen.arms
        new = [a for a in arms if self.seen.N[a] == 0]
        if new:
            return self.dice.one_of(new)
        epsilon = self.epsilon * self.decay ** sum(self.seen.N)
        near = set()
        for i in self.seen.objectives:
            best = max(self.seen.mean(a, i) for a in arms)
            near |= {a for a in arms if self.seen.mean(a, i) >= best - epsilon}
        vectors = [self.seen.vector(a) for a in arms]
        kept = {
            a for a in self.previous if not any(dominates(vectors[b], vectors[a]) for b in near)
        }
        self.previous = near | kept
        self.sizes.append(len(self.previous))
        return self.dice.one_of(sorted(self.previous))

    def update(self, arm: int, rewards: Vector) -> None:
        self.seen.add(arm, rewards)


class InCells:
    """One instance of a rule in each cell of the grid with m cells a side."""

    def __init__(self, make: Callable[[], Any], m: int) -> None:
        self.make, self.m = make, m
        self.instances: dict[tuple[int, ...], Any] = {}

    def instance(self, context: Vector) -> Any:
        cell = quick_cell_of(context, self.m)
        if cell not in self.instances:
            self.instances[cell] = self.make()
        return self.instances[cell]

    def select(self, context: Vector) -> int:
        return int(self.instance(context).select())

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        self.instance(context).update(arm, rewards)


class EpochGreedy:
    """Langford and Zhang (2008): epochs of one exploration and s(n) greedy rounds."""

    def __init__(self, K: int, m: int, dice: Dice) -> None:
        self.K, self.m, self.dice = K, m, dice
        self.explored: dict[tuple[int, ...], Means] = {}
        self.explorations = 0
        self.greedy_left = 0

    def s(self) -> int:
        n = self.explorations
        return math.floor(math.sqrt(n / (self.K * math.log(n)))) if n > 1 else 0

    def select(self, context: Vector) -> int:
        seen = self.explored.get(quick_cell_of(context, self.m))
        known = [a for a in range(self.K) if seen is not None and seen.N[a] > 0]
        if self.greedy_left == 0 or seen is None or not known:
            return self.dice.one_of(list(range(self.K)))
        best = max(seen.mean(a, 0) for a in known)
        return self.dice.one_of([a for a in known if seen.mean(a, 0) == best])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        if self.greedy_left > 0:
            self.greedy_left -= 1
            return
        cell = quick_cell_of(context, self.m)
        self.explored.setdefault(cell, Means(self.K, 1)).add(arm, rewards)
        self.explorations += 1
        self.greedy_left = self.s()
