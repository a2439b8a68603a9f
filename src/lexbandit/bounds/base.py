"""What a bound is: an interval as a function of what was observed, as numbers for the kernels."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from lexbandit.checks import LARGEST_REWARD, Floats, positive, unmasked, whole
from lexbandit.errors import InvalidInput
from lexbandit.kernels import cells as kernel


@dataclass(frozen=True, kw_only=True)
class Bound(ABC):
    """A confidence bound for one of `arms` arms; `scale` multiplies its width everywhere."""

    arms: int
    scale: float = 1.0

    rewards: ClassVar[tuple[float, float]] = (-LARGEST_REWARD, LARGEST_REWARD)
    """The rewards it is valid for; others are refused."""

    fields: ClassVar[int] = kernel.PLAIN_FIELDS
    """How many fields of statistics it needs."""

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        positive("scale", self.scale)

    @abstractmethod
    def _numbers(self) -> dict[int, float]:
        """Return the columns of `kernels.cells` that are not 0, other than SCALE."""

    def coefficients(self, margin: float = 0.0) -> Floats:
        """Return the row of numbers that the kernels read, for a cell of this margin."""
        row = np.zeros(kernel.COLUMNS)
        row[kernel.SCALE] = self.scale
        for column, number in self._numbers().items():
            row[column] = number
        if row[kernel.ROUNDS_LOG] == 0.0:  # the constant part of the growth goes into the scale
            row[kernel.SCALE] *= math.sqrt(row[kernel.ROUNDS_CONSTANT])
        row[kernel.MARGIN] = margin
        row[kernel.LEAST], row[kernel.MOST] = self.rewards
        return row

    @property
    def grows(self) -> bool:
        """Whether the width of an arm grows while other arms are played."""
        return bool(self.coefficients()[kernel.ROUNDS_LOG] != 0.0)

    def refuse_growth(self) -> None:
        """Refuse a bound that grows, for a rule that compares widths with a margin."""
        if self.grows:
            raise InvalidInput(
                f"this rule needs a bound that does not grow with the rounds, got {self!r}."
            )

    def interval(self, rewards: Any, rounds: float | None = None) -> tuple[float, float]:
        """Return (low, high) after these rewards of an arm, in `rounds` rounds of its cell."""
        row = self.coefficients()[np.newaxis]
        values = np.asarray(unmasked(rewards), np.float64).ravel()
        low, high = self.rewards
        if not ((values >= low) & (values <= high)).all():
            raise InvalidInput(f"rewards must lie between {low:g} and {high:g}, got {rewards!r}.")
        cell = kernel.empty_cells(1, 1, 1, self.fields, row)
        for reward in values:
            kernel.observe(cell, 0, 0, 0, float(reward))
        factor = kernel.growth(float(rounds or len(values)), row, 0)
        known = cell.stats[0, 0, 0]
        if self.fields > kernel.PLAIN_FIELDS:
            kernel.set_interval(cell, 0, 0, 0, factor)
            return float(known[kernel.LOWER]), float(cell.indices[0, 0, 0])
        mean, width = known[kernel.MEAN], factor * known[kernel.WIDTH]
        return float(mean - width), float(mean + width)

    def with_arms(self, arms: int) -> Self:
        """Return the same bound for another number of arms."""
        return replace(self, arms=arms)

    def with_cells(self, cells: int) -> Self:
        """Return the same bound for another number of cells, if it depends on them."""
        changes: dict[str, Any] = {"cells": cells} if hasattr(self, "cells") else {}
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class CentredBound(Bound):
    """A bound whose interval is the mean ± a width that depends on counts alone.

    With N the observations of the arm and n those of all arms in its cell (the rounds so far, if
    nothing is missing), the width is

        scale · sqrt(p + q ln n) · sqrt((a + b ln(1 + N)) · (1 + e/N) / (o + N)),

    ∞ at N = 0 unless the offset o is positive. A subclass says what they are, in one file; no
    kernel needs to change.
    """

    offset: ClassVar[float] = 0.0

    def growth(self) -> tuple[float, float]:
        """Return (p, q): how the width grows with the rounds in the cell; (1, 0): not at all."""
        return 1.0, 0.0

    @abstractmethod
    def decay(self) -> tuple[float, float, float]:
        """Return (a, b, e): how the width shrinks with the arm's own observations."""

    def _numbers(self) -> dict[int, float]:
        constant, slope = self.growth()
        level, log, extra = self.decay()
        return {
            kernel.ROUNDS_CONSTANT: constant,
            kernel.ROUNDS_LOG: slope,
            kernel.COUNT_CONSTANT: level,
            kernel.COUNT_LOG: log,
            kernel.EXTRA: extra,
            kernel.OFFSET: self.offset,
        }

    def width(self, observations: float, rounds: float = 1.0) -> float:
        """Return the width after `observations` of the arm in `rounds` rounds of its cell."""
        row = self.coefficients()[np.newaxis]
        factor = kernel.growth(float(rounds), row, 0)
        return factor * kernel.count_width(float(observations), row, 0)


@dataclass(frozen=True, kw_only=True)
class UniformBound(Bound):
    """A bound that holds in all `cells`, arms and `objectives` at once, with confidence 1 − δ.

    `delta` is δ; None stands for 1/T with T the `horizon`, as in the paper.
    """

    objectives: int = 2
    cells: int = 1
    horizon: int | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("objectives", self.objectives, least=1)
        whole("cells", self.cells, least=1)
        if self.horizon is not None:
            whole("horizon", self.horizon, least=1)
        if self.delta is not None:
            positive("delta", self.delta, most=1.0)
        if self.horizon is None and self.delta is None:
            raise InvalidInput(
                f"{type(self).__name__} needs a horizon T, or delta, the probability that some "
                "interval fails."
            )

    @property
    def log_intervals(self) -> float:
        """ln(D K m^d / δ): how unlikely the failure of a single interval must be."""
        assert self.horizon is not None or self.delta is not None
        log_delta = -math.log(self.horizon or 1) if self.delta is None else math.log(self.delta)
        return math.log(self.objectives) + math.log(self.arms) + math.log(self.cells) - log_delta
