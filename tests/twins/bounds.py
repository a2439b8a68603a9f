"""Plain twins of the bounds: written from the cited definitions, by bisection and by sums."""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

from naive import Dice, Vector, quick_cell_of


def kl(p: float, q: float) -> float:
    """The Kullback–Leibler divergence of Bernoulli(p) from Bernoulli(q); 0 ln 0 is 0."""
    if q in (0.0, 1.0):
        return 0.0 if p == q else math.inf
    first = p * math.log(p / q) if p > 0 else 0.0
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return first + second


def kl_upper(p: float, level: float) -> float:
    """max{q : kl(p, q) ≤ level}, by bisection in doubles."""
    low, high = p, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(p, middle) <= level else (low, middle)
    return low


def exact_kl_upper(p: float, level: float) -> Decimal:
    """The same to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        mean, low, high = Decimal(p), Decimal(p), Decimal(1)
        for _ in range(150):
            middle = (low + high) / 2
            if middle == 1:
                return middle
            divergence = Decimal(0)
            if mean > 0:
                divergence += mean * (mean / middle).ln()
            if mean < 1:
                divergence += (1 - mean) * ((1 - mean) / (1 - middle)).ln()
            low, high = (middle, high) if divergence <= Decimal(level) else (low, middle)
        return +low


class KlUcb:
    """Garivier and Cappé (2011), Algorithm 1 with c = 0, in each cell; dominant rewards only.

    An index within 1e-12 of 1 counts as 1: after a single observation the indices of several arms
    may be 1 to all digits, and which of them rounding makes the largest means nothing.
    """

    def __init__(self, K: int, m: int, scale: float, seed: int) -> None:
        self.K, self.m, self.scale = K, m, scale
        self.dice = Dice(seed)
        self.rewards: dict[tuple[int, ...], list[list[float]]] = {}

    def index(self, rewards: list[float], n: int) -> float:
        if not rewards:
            return math.inf
        mean = math.fsum(rewards) / len(rewards)
        level = self.scale**2 * math.log(n) / len(rewards)
        return min(kl_upper(mean, level) + 1e-12, 1.0)

    def select(self, context: Vector) -> int:
        cell = self.rewards.setdefault(quick_cell_of(context, self.m), [[] for _ in range(self.K)])
        n = sum(len(rewards) for rewards in cell)
        indices = [self.index(rewards, n) for rewards in cell]
        return self.dice.one_of([a for a, g in enumerate(indices) if g == max(indices)])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        self.rewards[quick_cell_of(context, self.m)][arm].append(rewards[0])


def spread(rewards: Sequence[float]) -> float:
    """Howard et al. (2021), Theorem 4: squared errors of predictions by the earlier mean."""
    total = 0.0
    for i, reward in enumerate(rewards):
        predicted = sum(rewards[:i]) / i if i else 0.5
        total += (reward - predicted) ** 2
    return total


def stitched(V: float, alpha: float, c: float = 1.0) -> float:
    """Howard et al. (2021), Theorem 1 with η = 2, m = 1 and h(k) = (k + 1)^1.4 ζ(1.4)."""
    eta, s = 2.0, 1.4
    zeta = math.fsum(k**-s for k in range(1, 2000)) + 2000 ** (1 - s) / (s - 1) + 2000**-s / 2
    v = max(V, 1.0)
    ell = math.log((math.log(v, eta) + 1) ** s * zeta / alpha)
    k1 = (eta**0.25 + eta**-0.25) / math.sqrt(2)
    k2 = (math.sqrt(eta) + 1) / 2
    return math.sqrt(k1**2 * v * ell + k2**2 * c**2 * ell**2) + c * k2 * ell
