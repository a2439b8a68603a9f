"""What a bound is: a width as a function of counts, given to the kernels as six numbers."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lexbandit.checks import Floats, positive, whole
from lexbandit.kernels import statistics


@dataclass(frozen=True, kw_only=True)
class Bound(ABC):
    """A confidence bound for one of `arms` arms; `scale` multiplies its width wherever it occurs.

    With N the observations of the arm and n those of all arms in its cell (the rounds so far, if
    nothing is missing), the width is

        scale · sqrt(p + q ln n) · sqrt((a + b ln(1 + N)) · (1 + e/N) / N),      ∞ at N = 0.

    A subclass says what p, q, a, b and e are, in one file; no kernel needs to change.
    """

    arms: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        positive("scale", self.scale)

    @abstractmethod
    def growth(self) -> tuple[float, float]:
        """Return (p, q): how the width grows with the rounds in the cell."""

    @abstractmethod
    def decay(self) -> tuple[float, float, float]:
        """Return (a, b, e): how the width shrinks with the arm's own observations."""

    def coefficients(self) -> Floats:
        """Return the six numbers in the order the kernels read them."""
        constant, slope = self.growth()
        if slope == 0.0:
            return np.array([self.scale * math.sqrt(constant), 1.0, 0.0, *self.decay()])
        return np.array([self.scale, constant, slope, *self.decay()])

    def width(self, observations: float, rounds: float = 1.0) -> float:
        """Return the width after `observations` of the arm in `rounds` rounds of its cell."""
        six = self.coefficients()
        factor = statistics.growth(float(rounds), six)
        return factor * statistics.kept_width(float(observations), six)

    def with_arms(self, arms: int) -> Self:
        """Return the same bound for another number of arms."""
        return replace(self, arms=arms)
