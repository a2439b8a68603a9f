"""Plain twins: the paper's algorithms and definitions, written from the paper, with no numpy.

Nothing here imports lexbandit. The twins draw ties from `Dice`, a plain splitmix64, so that with
the same seed they can be compared arm by arm with the compiled policies.
"""

import math
from collections.abc import Sequence
from typing import Any

Vector = Sequence[float]

MASK = (1 << 64) - 1


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Dice:
    """Uniform draws; one step for each draw."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.counter = seed

    def below(self, n: int) -> int:
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & MASK
        return int((mix(self.counter) >> 11) * 2.0**-53 * n)

    def one_of(self, arms: list[int]) -> int:
        return arms[0] if len(arms) == 1 else arms[self.below(len(arms))]

    def unit_at(self, place: int, count: int) -> float:
        z = mix(((self.seed ^ 0xD1B54A32D192ED03) + 0x9E3779B97F4A7C15 * place) & MASK)
        return (mix((z + 0x9E3779B97F4A7C15 * count) & MASK) >> 11) * 2.0**-53


def cell_of(context: Vector, m: int) -> tuple[int, ...]:
    """The largest k < m with k/m <= x, by looking at every k."""
    return tuple(max(k for k in range(m) if k / m <= x) for x in context)


def quick_cell_of(context: Vector, m: int) -> tuple[int, ...]:
    """The cell of a context that is not near a boundary."""
    return tuple([min(int(x * m), m - 1) for x in context])


class MocMab:
    """Algorithm 1, line by line."""

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
        self.arms = range(K)
        self.m, self.beta, self.scale = m, beta, scale
        self.A = 1 + 2 * math.log(4 * K * m**d * T**1.5)
        self.v = L * d ** (alpha / 2) * m ** (-alpha)
        self.N: dict[tuple[int, ...], list[int]] = {}
        self.mean: dict[tuple[int, ...], list[list[float]]] = {}
        self.dice = Dice(seed)

    def u(self, p: tuple[int, ...], a: int) -> float:
        """The uncertainty level, below equation (3)."""
        N = self.N[p][a]
        return self.scale * math.sqrt(2 * self.A / N) if N > 0 else math.inf

    def g(self, p: tuple[int, ...], a: int, i: int) -> float:
        """The index, equation (3)."""
        return self.mean[p][i][a] + self.u(p, a)

    def select(self, context: Vector) -> int:
        p = quick_cell_of(context, self.m)
        if p not in self.N:
            self.N[p] = [0 for _ in self.arms]
            self.mean[p] = [[0.0 for _ in self.arms] for _ in range(2)]
        g1 = [self.g(p, a, 0) for a in self.arms]
        top = self.dice.one_of([a for a in self.arms if g1[a] == max(g1)])
        if self.u(p, top) > self.beta * self.v:
            return top
        floor = self.mean[p][0][top] - self.u(p, top) - 2 * self.v
        candidates = [a for a in self.arms if g1[a] >= floor]  # equation (4)
        g2 = {a: self.g(p, a, 1) for a in candidates}
        best = max(g2.values())
        return self.dice.one_of([a for a in candidates if g2[a] == best])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        p = quick_cell_of(context, self.m)
        N = self.N[p][arm]
        for i in range(2):
            self.mean[p][i][arm] = (self.mean[p][i][arm] * N + rewards[i]) / (N + 1)
        self.N[p][arm] = N + 1


class Ucb1:
    """Each arm once, then the highest mean + scale · sqrt(2 ln n / N)."""

    def __init__(self, K: int, dice: Dice, scale: float = 1.0) -> None:
        self.N = [0] * K
        self.mean = [0.0] * K
        self.dice = dice
        self.scale = scale

    def indices(self) -> list[float]:
        n = sum(self.N)
        return [
            mean + self.scale * math.sqrt(2 * math.log(n) / N) if N else math.inf
            for mean, N in zip(self.mean, self.N, strict=True)
        ]

    def best(self) -> list[int]:
        indices = self.indices()
        return [a for a, g in enumerate(indices) if g == max(indices)]

    def select(self) -> int:
        return self.dice.one_of(self.best())

    def update(self, arm: int, reward: float) -> None:
        self.mean[arm] = (self.mean[arm] * self.N[arm] + reward) / (self.N[arm] + 1)
        self.N[arm] += 1


class DominantUcb1:
    """UCB1 that sees the dominant objective only."""

    def __init__(self, K: int, dice: Dice, place: int, scale: float = 1.0) -> None:
        self.ucb1 = Ucb1(K, dice, scale)

    def select(self) -> int:
        return self.ucb1.select()

    def update(self, arm: int, rewards: Vector) -> None:
        self.ucb1.update(arm, rewards[0])


def dominates(winner: Vector, loser: Vector) -> bool:
    pairs = list(zip(winner, loser, strict=True))
    return all(w >= x for w, x in pairs) and any(w > x for w, x in pairs)


def front(vectors: Sequence[Vector]) -> list[int]:
    """Definition 1 (iv): the arms that no other arm dominates."""
    return [a for a, v in enumerate(vectors) if not any(dominates(w, v) for w in vectors)]


class ParetoUcb1:
    """Empirical Pareto UCB1."""

    def __init__(self, K: int, dice: Dice, place: int, scale: float = 1.0, D: int = 2) -> None:
        self.K, self.D, self.scale, self.dice = K, D, scale, dice
        self.N = [0] * K
        self.mean = [[0.0] * D for _ in range(K)]

    def select(self) -> int:
        n = sum(self.N)
        vectors: list[Vector] = []
        for a in range(self.K):
            width = math.inf
            if self.N[a]:
                level = 2 * math.log(n * (self.D * self.K) ** 0.25)
                width = self.scale * math.sqrt(level / self.N[a])
            vectors.append([mean + width for mean in self.mean[a]])
        return self.dice.one_of(front(vectors))

    def update(self, arm: int, rewards: Vector) -> None:
        n = self.N[arm]
        self.mean[arm] = [
            (mean * n + r) / (n + 1) for mean, r in zip(self.mean[arm], rewards, strict=True)
        ]
        self.N[arm] = n + 1


WEIGHTS = [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)]


class RememberingScalarizedUcb1:
    """Scalarized UCB1 to the letter: the function drawn is remembered and credited."""

    def __init__(self, K: int, dice: Dice, place: int, scale: float = 1.0) -> None:
        self.dice = dice
        self.place = place
        self.instances = [Ucb1(K, dice, scale) for _ in WEIGHTS]
        self.drawn = 0
        self.rounds = 0

    def select(self) -> int:
        self.drawn = self.dice.below(len(WEIGHTS))
        return self.instances[self.drawn].select()

    def credited(self, arm: int) -> int:
        return self.drawn

    def update(self, arm: int, rewards: Vector) -> None:
        s = self.credited(arm)
        self.rounds += 1
        weighted = sum(w * r for w, r in zip(WEIGHTS[s], rewards, strict=True))
        self.instances[s].update(arm, weighted)


class ScalarizedUcb1(RememberingScalarizedUcb1):
    """The same, with the credited function drawn from its law given the arm."""

    def credited(self, arm: int) -> int:
        best = [instance.best() for instance in self.instances]
        chances = [1 / len(arms) if arm in arms else 0.0 for arms in best]
        u = self.dice.unit_at(self.place, self.rounds)
        if not any(chances):
            return int(u * len(WEIGHTS))
        held, total = -1, 0.0
        for s, chance in enumerate(chances):
            if chance:
                total += chance
                odds = chance / total
                held, u = (s, u / odds) if u < odds else (held, (u - odds) / (1 - odds))
        return held


class InEveryCell:
    """One independent instance of a rule in each cell of the grid; m = 1 is no contexts."""

    def __init__(self, rule: type, K: int, m: int, scale: float, seed: int) -> None:
        self.rule, self.K, self.m, self.scale = rule, K, m, scale
        self.dice = Dice(seed)
        self.instances: dict[tuple[int, ...], DominantUcb1] = {}

    def instance(self, context: Vector) -> DominantUcb1:
        p = quick_cell_of(context, self.m)
        if p not in self.instances:
            place = 0
            for k in p:
                place = place * self.m + k
            self.instances[p] = self.rule(self.K, self.dice, place, self.scale)
        return self.instances[p]

    def select(self, context: Vector) -> int:
        return self.instance(context).select()

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        self.instance(context).update(arm, rewards)


def run(policy: Any, contexts: list[Vector], outcomes: list[list[Vector]]) -> list[int]:
    """Select, observe, update, for each round."""
    arms = []
    for context, outcome in zip(contexts, outcomes, strict=True):
        arm = policy.select(context)
        policy.update(context, arm, outcome[arm])
        arms.append(arm)
    return arms


def optimal_arms(means: Sequence[Vector]) -> list[int]:
    """Section VI-B: no arm lexicographically dominates these."""
    best = max(tuple(mean) for mean in means)
    return [a for a, mean in enumerate(means) if tuple(mean) == best]


def incomparable(v: Vector, w: Vector) -> bool:
    return not dominates(v, w) and not dominates(w, v)


def pareto_gap(means: Sequence[Vector], arm: int) -> float:
    """Definition 2 by bisection: the infimum of eps with mean + eps incomparable to the front.

    As in the paper's proof of Theorem 3, an arm raised until it dominates has reached the front
    too, so the test is that no member of the front dominates it.
    """
    members = [means[a] for a in front(means)]

    def reached(eps: float) -> bool:
        raised = [mu + eps for mu in means[arm]]
        return not any(dominates(member, raised) for member in members)

    if reached(1e-12):
        return 0.0
    low, high = 0.0, 10.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def tolerance_loss(means: Sequence[Vector], arm: int, tolerances: Vector) -> list[float]:
    """Loss beyond tolerance in each objective but the last, then what was missed in the last.

    Sinha et al. (2021) and Juneja et al. (2025), for any number of objectives: the arms inside the
    band of an objective go on to the next.
    """
    inside = list(range(len(means)))
    losses = []
    for i, tolerance in enumerate(tolerances[:-1]):
        best = max(means[a][i] for a in inside)
        losses.append(max(0.0, best - tolerance - means[arm][i]))
        inside = [a for a in inside if means[a][i] >= best - tolerance - 1e-9]
    return [*losses, max(0.0, max(means[a][-1] for a in inside) - means[arm][-1])]
