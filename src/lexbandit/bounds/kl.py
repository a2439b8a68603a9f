"""Kullback–Leibler bounds for rewards in [0, 1]."""

import math
from dataclasses import dataclass
from typing import ClassVar

from lexbandit.bounds.base import Bound, UniformBound
from lexbandit.bounds.registry import REGISTRY
from lexbandit.errors import InvalidInput
from lexbandit.kernels import cells as kernel
from lexbandit.kernels.intervals import ZETA, S

# The ratio of the epochs' ends in the anytime bound: what the level is multiplied by.
_RATIO = 1.1


@REGISTRY.register("kl-ucb")
@dataclass(frozen=True, kw_only=True)
class KLUCBBound(Bound):
    """KL-UCB's interval, N kl(mean, q) ≤ ln n (Garivier and Cappé, 2011); rewards in [0, 1].

    Their Algorithm 1 (COLT) with c = 0, as they advise in practice. By Pinsker's inequality the
    level's square root acts as a width, so `scale` multiplies it: N kl(mean, q) ≤ scale² · ln n.
    """

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)
    fields: ClassVar[int] = kernel.ALL_FIELDS

    def _numbers(self) -> dict[int, float]:
        return {
            kernel.KIND: kernel.KL,
            kernel.ROUNDS_LOG: 1.0,
            kernel.COUNT_CONSTANT: 1.0,
        }


@dataclass(frozen=True, kw_only=True)
class KLBound(UniformBound):
    """The interval {q : N kl(mean, q) ≤ scale² · x}, x = ln(2 D K m^d T/δ), for rewards in [0, 1].

    With δ = 1/T, x = ln(2 D K m^d T²). Chernoff's bound, for means that vary in the cell: let p be
    the largest of them. A reward in [0, 1] with a conditional mean of at most p has
    E[e^(λ·reward)] ≤ 1 − p + p e^λ for λ > 0, so e^(λ·sum) / (1 − p + p e^λ)^N is a supermartingale
    in the number N of the arm's observations in the cell, however arms are chosen. Hence
    P(mean > p and N kl(mean, p) > x) ≤ e^(−x) for each N: the lower end L is at most p. By symmetry
    the upper end U is at least the smallest mean of the cell. Two sides, D objectives, K arms, m^d
    cells and T counts make x. Largest and smallest are within v of any μ(x), so μ(x) lies in
    [L − v, U + v] in all of them, in the first T rounds, with probability at least 1 − δ.
    """

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)
    fields: ClassVar[int] = kernel.ALL_FIELDS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is None:
            raise InvalidInput("KLBound needs a horizon T; AnytimeKLBound does not.")

    @property
    def level(self) -> float:
        """x = ln(2 D K m^d T/δ)."""
        assert self.horizon is not None
        return math.log(2.0) + math.log(self.horizon) + self.log_intervals

    def _numbers(self) -> dict[int, float]:
        return {
            kernel.KIND: kernel.KL,
            kernel.ROUNDS_CONSTANT: 1.0,
            kernel.COUNT_CONSTANT: self.level,
        }


@REGISTRY.register("anytime-kl")
@dataclass(frozen=True, kw_only=True)
class AnytimeKLBound(UniformBound):
    """The Chernoff interval for all times at once; rewards in [0, 1].

    It is {q : N kl(mean, q) ≤ scale² · x_N}, for all N at once, with

        x_N = η (ln(2 ζ(s) D K m^d / δ) + s ln(1 + log_η N)),    η = 1.1, s = 1.4

    The supermartingale of `KLBound`, with Ville's inequality in epochs η^k ≤ N < η^(k+1) instead of
    one inequality for each N. In an epoch take λ for the q > p with kl(q, p) = x/η^(k+1): where
    mean > p and N kl(mean, p) ≥ x, mean ≥ q, and the supermartingale has reached e^(x/η). So an
    epoch fails with probability at most e^(−x/η), and (k + 1)^(−s) / ζ(s) of δ is spent on it. The
    peeling is that of Garivier and Cappé (2011, Theorem 10).
    """

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)
    fields: ClassVar[int] = kernel.ALL_FIELDS

    def _numbers(self) -> dict[int, float]:
        return {
            kernel.KIND: kernel.KL,
            kernel.ROUNDS_CONSTANT: 1.0,
            kernel.COUNT_CONSTANT: _RATIO * (math.log(2.0 * ZETA) + self.log_intervals),
            kernel.COUNT_LOG: _RATIO * S,
            kernel.EXTRA: 1.0 / math.log(_RATIO),
        }


@REGISTRY.register("kl")
def kl(
    *,
    arms: int,
    objectives: int = 2,
    cells: int = 1,
    horizon: int,
    delta: float | None = None,
    scale: float = 1.0,
) -> KLBound:
    """The Chernoff interval N kl(mean, q) ≤ ln(2DKm^dT/δ), for T rounds; rewards in [0, 1]."""
    return KLBound(
        arms=arms, objectives=objectives, cells=cells, horizon=horizon, delta=delta, scale=scale
    )
