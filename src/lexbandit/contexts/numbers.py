"""Numbers of the context: on a line, on a circle, and several under one name."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.contexts.feature import FINE, OUTSIDE, Feature, no_value
from lexbandit.errors import InvalidInput
from lexbandit.objectives import ends


@dataclass(frozen=True)
class Number(Feature):
    """A number from `low` to `high`; with scale="log" its logarithm counts, and low is above 0.

    A missing one is an error, or with missing="middle" the middle of the range.
    """

    low: float = 0.0
    high: float = 1.0
    scale: Literal["linear", "log"] = field(default="linear", kw_only=True)

    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = ends(f"low and high of feature {self.name!r}", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        checks.one_of(f"scale of feature {self.name!r}:", self.scale, ("linear", "log"))
        if self.scale == "log" and low <= 0.0:
            raise InvalidInput(
                f"feature {self.name!r} has a log scale, so low must be above 0, got {self.low!r}."
            )

    @property
    def line(self) -> tuple[float, float, float]:
        """Its range and the length of it, on a linear scale."""
        if self.scale == "log":
            return super().line
        return self.low, self.high, self.high - self.low

    def size(self, smooth: bool) -> int:
        """Return 1."""
        return 1

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write its share of the range."""
        if value.__class__ is not float and value.__class__ is not int:
            if no_value(value):
                return self._middle(value, point, at, 1)
            given, value = value, checks.real(value)
            if math.isnan(value):
                raise self._refuse(given, "a number")
        if self.low <= value <= self.high:
            if self.scale == "log":
                share = math.log(value / self.low) / math.log(self.high / self.low)
                point[at] = min(max(share, 0.0), 1.0)
            else:
                point[at] = (value - self.low) / (self.high - self.low)
            return FINE
        if value.__class__ is float and math.isnan(value):
            return self._middle(value, point, at, 1)
        if self.outside == "refuse" or abs(value) == math.inf:
            raise self._refuse(value, f"a number from {self.low:g} to {self.high:g}")
        point[at] = 0.0 if value < self.low else 1.0
        return OUTSIDE

    def write_many(self, values: Any, points: Floats, at: int, smooth: bool) -> dict[int, int]:
        """Write the shares of many values at once, where they are plain numbers in range."""
        array = np.asarray(values)
        if array.dtype.kind in "iuf" and array.ndim == 1:
            numbers = array.astype(np.float64)
            if ((numbers >= self.low) & (numbers <= self.high)).all():
                if self.scale == "log":
                    # Not np.log, which may differ from math.log in the last bit.
                    logs = [math.log(number) for number in (numbers / self.low).tolist()]
                    shares = np.array(logs) / math.log(self.high / self.low)
                    points[:, at] = np.clip(shares, 0.0, 1.0)
                else:
                    points[:, at] = (numbers - self.low) / (self.high - self.low)
                return {}
        return super().write_many(values, points, at, smooth)


@dataclass(frozen=True)
class Cycle(Feature):
    """A number that comes round again after `period`, such as the hour of the day after 24.

    A missing one is an error, or with missing="middle" the middle of the circle, as far from every
    time; for a policy on cells it is half the period.
    """

    period: float = 24.0

    kind: ClassVar[str] = "cycle"

    def __post_init__(self) -> None:
        super().__post_init__()
        period = checks.positive(f"period of feature {self.name!r}", self.period)
        object.__setattr__(self, "period", period)

    def size(self, smooth: bool) -> int:
        """Return 2, the place on a circle; for cells 1, the time since the period began."""
        return 2 if smooth else 1

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write the place on the circle, so that 23:59 and 0:00 are neighbours."""
        number = value if value.__class__ is float else checks.real(value)
        if not math.isfinite(number):
            if no_value(value):
                return self._middle(value, point, at, self.size(smooth))
            raise self._refuse(value, "a finite number")
        phase = (number / self.period) % 1.0
        if smooth:
            angle = 2.0 * math.pi * phase
            point[at] = 0.5 + 0.5 * math.cos(angle)
            point[at + 1] = 0.5 + 0.5 * math.sin(angle)
        else:
            point[at] = phase
        return FINE

    def write_many(self, values: Any, points: Floats, at: int, smooth: bool) -> dict[int, int]:
        """Write the places of many values at once, where they are plain finite numbers."""
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" or array.ndim != 1 or not np.isfinite(array).all():
            return super().write_many(values, points, at, smooth)
        phases = (array.astype(np.float64) / self.period) % 1.0
        if smooth:
            # Not np.cos, which may differ from math.cos in the last bit.
            angles = (2.0 * math.pi * phases).tolist()
            points[:, at] = [0.5 + 0.5 * math.cos(angle) for angle in angles]
            points[:, at + 1] = [0.5 + 0.5 * math.sin(angle) for angle in angles]
        else:
            points[:, at] = phases
        return {}


@dataclass(frozen=True)
class Vector(Feature):
    """`length` numbers from `low` to `high` under one name, such as an embedding.

    It is missing if any of its numbers is: an error, or with missing="middle" the middle of the
    range for all of them.
    """

    length: int = 1
    low: float = 0.0
    high: float = 1.0

    kind: ClassVar[str] = "vector"
    layout_kind: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        super().__post_init__()
        length = checks.whole(f"length of feature {self.name!r}", self.length, least=1)
        object.__setattr__(self, "length", length)
        low, high = ends(f"low and high of feature {self.name!r}", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def size(self, smooth: bool) -> int:
        """Return its length."""
        return self.length

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write the shares of the range."""
        if no_value(value):
            return self._middle(value, point, at, self.length)
        numbers = checks.floats(f"context feature {self.name!r}", value, (self.length,))
        if np.isnan(numbers).any():
            return self._middle(value, point, at, self.length)
        outside = bool(((numbers < self.low) | (numbers > self.high)).any())
        if outside and (self.outside == "refuse" or not np.isfinite(numbers).all()):
            raise self._refuse(value, f"numbers from {self.low:g} to {self.high:g}")
        shares = (numbers - self.low) / (self.high - self.low)
        point[at : at + self.length] = np.clip(shares, 0.0, 1.0).tolist()
        return OUTSIDE if outside else FINE
