"""Kullback–Leibler bounds for rewards in [0, 1]."""

import math
from dataclasses import dataclass
from typing import ClassVar

from lexbandit.bounds.base import Bound
from lexbandit.bounds.making import REGISTRY
from lexbandit.checks import whole
from lexbandit.kernels import statistics


@dataclass(frozen=True, kw_only=True)
class KLUCBBound(Bound):
    """The interval {q : N kl(mean, q) ≤ scale² · ln n} of KL-UCB, for rewards in [0, 1].

    Garivier and Cappé (2011), with their c = 0, as they advise in practice. By Pinsker's
    inequality the level's square root acts as a width, so `scale` multiplies it.
    """

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)
    fields: ClassVar[int] = statistics.ALL_FIELDS

    def _numbers(self) -> dict[int, float]:
        return {
            statistics.KIND: statistics.KL,
            statistics.ROUNDS_LOG: 1.0,
            statistics.COUNT_CONSTANT: 1.0,
        }


@dataclass(frozen=True, kw_only=True)
class KLBound(KLUCBBound):
    """The interval {q : N kl(mean, q) ≤ scale² · x}, x = ln(2 D K m^d T²), for rewards in [0, 1].

    Chernoff's bound for the largest (smallest) mean p in the cell: the rewards' conditional means
    are at most p, so for λ > 0 their joint moment generating function is at most that of N draws of
    Bernoulli(p), whatever the play, and P(mean > p and N kl(mean, p) > x) ≤ e^(−x) for each N. Two
    sides, D objectives, K arms, m^d cells and T counts make x. Then μ(x) lies in [L − v, U + v] in
    all of them with probability at least 1 − 1/T.
    """

    objectives: int = 2
    cells: int = 1
    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("objectives", self.objectives, least=1)
        whole("cells", self.cells, least=1)
        whole("horizon", self.horizon, least=1)

    @property
    def level(self) -> float:
        """x = ln(2 D K m^d T²)."""
        return math.log(2 * self.objectives * self.arms * self.cells) + 2 * math.log(self.horizon)

    def _numbers(self) -> dict[int, float]:
        return {
            statistics.KIND: statistics.KL,
            statistics.ROUNDS_CONSTANT: 1.0,
            statistics.COUNT_CONSTANT: self.level,
        }


@REGISTRY.register("kl-ucb")
def kl_ucb(*, arms: int, scale: float = 1.0) -> KLUCBBound:
    """KL-UCB's interval, N kl(mean, q) ≤ ln n (Garivier and Cappé, 2011); rewards in [0, 1]."""
    return KLUCBBound(arms=arms, scale=scale)


@REGISTRY.register("kl")
def kl(
    *, arms: int, objectives: int = 2, cells: int = 1, horizon: int, scale: float = 1.0
) -> KLBound:
    """The Chernoff interval N kl(mean, q) ≤ ln(2DKm^dT²), confidence 1 − 1/T; rewards in [0, 1]."""
    return KLBound(arms=arms, objectives=objectives, cells=cells, horizon=horizon, scale=scale)
