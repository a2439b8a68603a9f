"""An empirical-Bernstein bound that is valid under adaptive play."""

import math
from dataclasses import dataclass
from typing import ClassVar

from lexbandit.bounds.base import UniformBound
from lexbandit.bounds.registry import REGISTRY
from lexbandit.kernels import cells as kernel
from lexbandit.kernels.intervals import ZETA


@REGISTRY.register("empirical-bernstein")
@dataclass(frozen=True, kw_only=True)
class EmpiricalBernsteinBound(UniformBound):
    """A width by the rewards' own variance, valid under adaptive play (Howard et al., 2021).

    Rewards lie in [0, 1]; `scale` multiplies the width. Howard, Ramdas, McAuliffe and Sekhon (2021,
    "Time-uniform, nonparametric, nonasymptotic confidence sequences"), Theorem 4: with V the sum of
    squared errors when each reward is predicted by the mean of the earlier ones (the first by ½),
    the average of the rewards' conditional means lies within S(V)/N of their mean, for all N at
    once; see `kernels.intervals.bernstein`. Nothing is assumed of how arms are chosen, and
    conditional means may differ inside a cell, which costs the margin v as everywhere.
    """

    rewards: ClassVar[tuple[float, float]] = (0.0, 1.0)
    fields: ClassVar[int] = kernel.ALL_FIELDS

    def _numbers(self) -> dict[int, float]:
        return {
            kernel.KIND: kernel.BERNSTEIN,
            kernel.ROUNDS_CONSTANT: 1.0,
            kernel.COUNT_CONSTANT: math.log(2.0 * ZETA) + self.log_intervals,
        }
