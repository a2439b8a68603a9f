"""Estimators, scores and bounds of `lexbandit.logs`, one row at a time from their definitions."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

Row = list[float]


@dataclass
class Logged:
    """A log of one objective: rewards, arms, propensities, probabilities and predictions."""

    reward: Row
    action: list[int]
    propensity: Row
    probabilities: list[Row]
    predicted: list[Row]

    def weights(self) -> Row:
        rows = zip(self.probabilities, self.action, self.propensity, strict=True)
        return [chances[a] / p for chances, a, p in rows]

    def played(self) -> Row:
        return [q[a] for q, a in zip(self.predicted, self.action, strict=True)]

    def values(self) -> Row:
        rows = zip(self.probabilities, self.predicted, strict=True)
        return [math.fsum(c * q for c, q in zip(*row, strict=True)) for row in rows]


def mean(numbers: Row) -> float:
    return math.fsum(numbers) / len(numbers)


def corrected(log: Logged, weights: Row) -> float:
    """The model's value of each row, and its error at the played arm times a weight."""
    rows = zip(log.values(), weights, log.reward, log.played(), strict=True)
    return mean([value + w * (r - q) for value, w, r, q in rows])


def weighted(log: Logged, weights: Row) -> float:
    return mean([w * r for w, r in zip(weights, log.reward, strict=True)])


def snips(log: Logged) -> float:
    return weighted(log, log.weights()) / mean(log.weights())


def sndr(log: Logged) -> float:
    weights = log.weights()
    return corrected(log, [w / mean(weights) for w in weights])


def switch_dr(log: Logged, threshold: float = 10.0) -> float:
    return corrected(log, [w if w <= threshold else 0.0 for w in log.weights()])


def dr_shrinkage(log: Logged, shrinkage: float = 100.0) -> float:
    return corrected(log, [shrinkage * w / (w**2 + shrinkage) for w in log.weights()])


def clipped_ips(log: Logged, clip: float = 10.0) -> float:
    return weighted(log, [min(w, clip) for w in log.weights()])


ESTIMATORS: dict[str, Callable[[Logged], float]] = {
    "dm": lambda log: mean(log.values()),
    "ips": lambda log: weighted(log, log.weights()),
    "snips": snips,
    "dr": lambda log: corrected(log, log.weights()),
    "sndr": sndr,
    "switch_dr": switch_dr,
    "dr_shrinkage": dr_shrinkage,
    "clipped_ips": clipped_ips,
}


def score(delta: Row, q: Row, action: int, propensity: float, reward: float) -> float:
    """G(q) = Σ δ(a)q(a) + δ(a_t)/p · (y − q(a_t))."""
    expected = math.fsum(d * value for d, value in zip(delta, q, strict=True))
    return expected + delta[action] / propensity * (reward - q[action])


def paired_scores(
    candidate: Row, baseline: Row, predicted: Row, action: int, propensity: float, reward: float
) -> tuple[float, float, float]:
    """L, U and R of a row: q is 1{δ < 0}, 1{δ > 0} and the model's."""
    delta = [one - other for one, other in zip(candidate, baseline, strict=True)]
    models = [float(d < 0) for d in delta], [float(d > 0) for d in delta], predicted
    low, high, robust = (score(delta, q, action, propensity, reward) for q in models)
    return low, high, robust


def logged_scores(
    candidate: Row, predicted: Row, action: int, propensity: float, reward: float
) -> tuple[float, float, float]:
    """L, U and R of a row if the baseline is what was logged, worth its reward."""
    size = len(candidate)
    models = [0.0] * size, [1.0] * size, predicted
    low, high, robust = (score(candidate, q, action, propensity, reward) - reward for q in models)
    return low, high, robust


def edges(rows: int) -> list[int]:
    """Where blocks begin: 0, 1, 2, 4, 8, …, 65,536, 131,072, …, and the number of rows."""
    found = [0, 1]
    while found[-1] < rows:
        found.append(found[-1] + min(found[-1], 65_536))
    return [edge for edge in found if edge < rows] + [rows]


LAMBDAS = [0.9 / 1.6**k for k in range(30)]
SHAPE = [1 / (1 + ((k - 5) / 5) ** 2) for k in range(30)]
WEIGHTS = [weight / math.fsum(SHAPE) for weight in SHAPE]


def psi(b: float, lam: float) -> float:
    return (-math.log(1 - b * lam) - b * lam) / b**2


def boundary(costs: list[float], alpha: float) -> float:
    """The s at which the mixture is 1/alpha, by bisection."""

    def mixture(s: float) -> float:
        terms = zip(WEIGHTS, LAMBDAS, costs, strict=True)
        exponents = [math.log(w) + lam * s - c for w, lam, c in terms if c < math.inf]
        top = max(exponents)
        return top + math.log(math.fsum(math.exp(e - top) for e in exponents))

    low, high = 0.0, 1.0
    while mixture(high) < math.log(1 / alpha):
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if mixture(middle) < math.log(1 / alpha) else (low, middle)
    return high


def choice(
    before: list[tuple[float, float]], reach: float, alpha: float
) -> tuple[float, float, float]:
    """κ, c and b of a block, from the scores (L, R) before it."""
    if not before:
        return 0.0, 0.0, 1.0
    n = len(before)
    best = (math.inf, 0.0, 0.0, 1.0)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0) if reach < math.inf else (0.0,):
        z = [(1 - share) * low + share * robust for low, robust in before]
        centre = min(max(mean(z), -1.0), 1.0)
        b = max(centre + (1 - share) + (share * reach if share else 0.0), 0.25)
        variance = mean([(value - centre) ** 2 for value in z])
        price = (math.log(1 / alpha) + 2) / (2 * n)
        width = math.sqrt(2 * variance * price) + 2 / 3 * b * price
        if width < best[0]:
            best = (width, share, centre, b)
    return best[1:]


def lower_bound(scores: list[tuple[float, float]], reach: float, alpha: float) -> float:
    """The lower bound after all rows with scores (L, R)."""
    costs = [0.0] * len(LAMBDAS)
    total = 0.0
    cuts = edges(len(scores))
    for first, last in itertools.pairwise(cuts):
        share, centre, b = choice(scores[:first], reach, alpha)
        z = [(1 - share) * low + share * robust for low, robust in scores[first:last]]
        square = math.fsum((value - centre) ** 2 for value in z)
        for k, lam in enumerate(LAMBDAS):
            costs[k] += psi(b, lam) * square if b * lam < 1 else math.inf
        total += math.fsum(z)
    return max((total - boundary(costs, alpha)) / len(scores), -1.0)
