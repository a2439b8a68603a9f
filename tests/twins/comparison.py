"""Plain twin of the comparison of a chooser with its arms, written from the formulas.

Nothing here imports lexbandit. A decision is kept whole, and every sum is taken over the list.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

EPSILON = 0.02


class Scored(NamedTuple):
    """A decision with one objective's reward, and what the model predicted of the arm before."""

    features: Sequence[float]
    predicted: float | None  # None: the arm's average so far
    arm: int
    propensity: float | None
    reward: float
    allowed: Sequence[bool]


class Interval(NamedTuple):
    value: float
    half: float
    modelled: float


def weight(one: Scored, explore: float) -> float:
    least = min(EPSILON, explore / sum(one.allowed)) if explore > 0 else EPSILON
    return 1.0 if one.propensity is None else min(1 / one.propensity, 1 / least)


def part(one: Scored, arm: int, explore: float) -> float:
    """1 − w·1{A = a}: what the model has to judge of a decision."""
    return 1.0 - weight(one, explore) if one.arm == arm else 1.0


def errors(decisions: Sequence[Scored]) -> list[float]:
    """The errors of what was predicted of the arms that were played."""
    found = []
    for n, one in enumerate(decisions):
        earlier = [other.reward for other in decisions[:n] if other.arm == one.arm]
        average = sum(earlier) / len(earlier) if earlier else 0.5
        found.append(one.reward - (average if one.predicted is None else one.predicted))
    return found


def average_features(decisions: Sequence[Scored], arm: int, explore: float) -> list[float]:
    """Σ s·φ / n, at which the model of the end is asked."""
    mine = [one for one in decisions if one.allowed[arm]]
    return [
        sum(part(one, arm, explore) * one.features[k] for one in mine) / len(mine)
        for k in range(len(decisions[0].features))
    ]


def interval(
    decisions: Sequence[Scored],
    arm: int,
    explore: float,
    mean: float,
    deviation: float,
    binary: bool,
) -> Interval:
    """The difference and half its interval; `mean`, `deviation`: the model's at Σ s·φ / n."""
    every = errors(decisions)
    mine = [
        (one, part(one, arm, explore), e)
        for one, e in zip(decisions, every, strict=True)
        if one.allowed[arm]
    ]
    n = len(mine)
    value = sum(s * one.reward for one, s, _ in mine) / n - mean
    others = sum(e * e for one, _, e in mine if one.arm != arm)
    played = [(one, s, e) for one, s, e in mine if one.arm == arm]
    m = len(played)
    weighted = sum(s * s for _, s, _ in played)
    measured = sum(s * s * e * e for _, s, e in played)
    pooled = sum(e * e for e in every) / len(every)
    own = measured / weighted if weighted else 0.0
    noise = (m * own + 30 * pooled) / (m + 30)
    if binary:
        rate = (sum(one.reward for one, _, _ in played) + 2) / (m + 4)
        noise = max(noise, rate * (1 - rate))
    squares = others + max(weighted * noise, measured)
    half = 1.959964 * math.sqrt(squares / (n * (n - 1))) + 2.6 * deviation
    return Interval(value, half, 1 - sum(weight(one, explore) for one, _, _ in played) / n)
