"""An objective: a metric in its own units, with a direction, a range and a tolerance."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput

# Slack for a tolerance as long as the range, whose length is rounded.
_ROUNDED = 1.0 + 1e-9

# The least length of a range, as a share of its larger end: numbers have 16 digits, and shares of
# the range should keep five of them.
_NARROWEST = 1e-11

# The column of a log that holds the arms.
ARM = "arm"


@checks.named_keywords
@dataclass(frozen=True)
class Objective:
    """A metric called `name`; the order in which objectives are given is their priority.

    goal        "max" if more is better, "min" if less is
    range       (low, high): where its values lie, in its own units
    tolerance   how much less of it is as good, in its own units: with a tolerance of 0.02, arms
                within 0.02 of the best are as good, and the next objective decides
    outside     "clip" takes a value outside the range as its nearest end, and counts it; "refuse"
                makes it an error
    default     the reward that is assumed when none came in the waiting time; None assumes none

    Policies see a value as its share of the range: 0 at the worst end, 1 at the best.
    """

    name: str
    _: KW_ONLY
    goal: Literal["max", "min"] = "max"
    range: tuple[float, float] = (0.0, 1.0)
    tolerance: float = 0.0
    outside: Literal["clip", "refuse"] = "clip"
    default: float | None = None

    def __post_init__(self) -> None:
        named("objective", self.name)
        for what, known in (("goal", ("max", "min")), ("outside", ("clip", "refuse"))):
            checks.one_of(f"{what} of objective {self.name!r}:", getattr(self, what), known)
        object.__setattr__(self, "range", ends(f"range of objective {self.name!r}", self.range))
        tolerance = checks.at_least_zero(f"tolerance of objective {self.name!r}", self.tolerance)
        if tolerance > self.span * _ROUNDED:
            raise InvalidInput(
                f"tolerance of objective {self.name!r} must be at most {self.span:g}, the length "
                f"of its range from {self.range[0]:g} to {self.range[1]:g} (in the same units), "
                f"got {self.tolerance!r}."
            )
        object.__setattr__(self, "tolerance", tolerance)
        if self.default is not None:
            default = checks.real(self.default)
            # What is no number is NaN here, which lies in no range.
            if not self.range[0] <= default <= self.range[1]:
                raise InvalidInput(
                    f"default of objective {self.name!r} must lie in its range from "
                    f"{self.range[0]:g} to {self.range[1]:g}, got {self.default!r}"
                    f"{checks.conversion(self.default)}."
                )
            object.__setattr__(self, "default", default)

    @property
    def span(self) -> float:
        """The length of the range."""
        return self.range[1] - self.range[0]

    def checked(self, value: Any) -> float:
        """Return a value in the objective's units as a float; NaN, None, text and ∞ are refused.

        True and False are 1 and 0.
        """
        low, high = self.range
        number: float = value if value.__class__ is float else checks.reward(value)
        if low <= number <= high:
            return number
        if not math.isfinite(number):
            raise InvalidInput(
                f"{self.name} must be a finite number, got {value!r}{checks.conversion(value)}."
            )
        if abs(number) > checks.LARGEST_REWARD:
            most = f"{checks.LARGEST_REWARD:g}"
            raise InvalidInput(f"{self.name} must be at most {most} in size, got {value!r}.")
        if self.outside == "refuse":
            raise InvalidInput(f"{self.name} must lie between {low:g} and {high:g}, got {value!r}.")
        return number

    def is_outside(self, value: float) -> bool:
        """Tell whether a value lies outside the range."""
        return not self.range[0] <= value <= self.range[1]

    def count_outside(self, values: Floats) -> int:
        """Count the values outside the range; NaN is none."""
        return int(((values < self.range[0]) | (values > self.range[1])).sum())

    def clipped(self, value: float) -> float:
        """Return a value clipped to the range."""
        return min(max(value, self.range[0]), self.range[1])

    def share(self, value: float) -> float:
        """Return the share of a value: 0 for the worst end of the range, 1 for the best."""
        low, high = self.range
        share = (value - low) / (high - low)
        share = 0.0 if share < 0.0 else 1.0 if share > 1.0 else share
        return share if self.goal == "max" else 1.0 - share

    def shares(self, values: Floats) -> Floats:
        """Return the shares of many values; NaN stays NaN."""
        low, high = self.range
        shares = np.clip((values - low) / (high - low), 0.0, 1.0)
        return np.asarray(shares if self.goal == "max" else 1.0 - shares)

    def value(self, share: float) -> float:
        """Return the value of a share, in the objective's units; the inverse of `share`."""
        low, high = self.range
        return low + share * (high - low) if self.goal == "max" else high - share * (high - low)


def named(kind: str, name: Any) -> str:
    """Return a name: text that is not empty, without spaces at its ends."""
    article = "an" if kind[0] in "aeiou" else "a"
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"the name of {article} {kind} must be text, got {name!r}.")
    if name != name.strip():
        raise InvalidInput(
            f"the name of {article} {kind} has a space at an end: {name!r}. Nobody could tell it "
            f"from {name.strip()!r}, so leave the space out."
        )
    return name


def ends(what: str, value: Any) -> tuple[float, float]:
    """Return two finite numbers, the first below the second."""
    try:
        low, high = (checks.real(end) for end in value)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"{what} must be two numbers, the lower first, got {value!r}.")
    size = max(abs(low), abs(high))
    if size > checks.LARGEST_REWARD:
        raise InvalidInput(
            f"{what} must be at most {checks.LARGEST_REWARD:g} in size, got {value!r}."
        )
    if high - low < max(_NARROWEST * size, 1.0 / checks.LARGEST_REWARD):
        raise InvalidInput(
            f"{what} lie too near to each other to compute with: their distance must be at least "
            f"{_NARROWEST:g} times their size, and {1.0 / checks.LARGEST_REWARD:g}, got {value!r}."
        )
    return low, high


def objectives_of(given: Any) -> tuple[Objective, ...]:
    """Return one or more objectives of different names."""
    listed = (given,) if isinstance(given, Objective) else tuple(checks.listed(given) or ())
    if not listed or not all(isinstance(objective, Objective) for objective in listed):
        raise InvalidInput(f"objectives must be one or more Objective, got {given!r}.")
    names = [objective.name for objective in listed]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two objectives are called {name!r}.")
    return listed


def refuse_shared_names(objectives: Sequence[Objective], features: Sequence[str]) -> None:
    """Refuse names that two columns of a log would share."""
    for objective in objectives:
        if objective.name in features:
            raise InvalidInput(
                f"an objective and a context feature are both called {objective.name!r}; columns "
                "of logs are found by these names, so give one of them another."
            )
    for kind, names in (("objective", [o.name for o in objectives]), ("context feature", features)):
        if ARM in names:
            raise InvalidInput(
                f"no {kind} can be called {ARM!r}: that is the column of a log that holds the arms."
            )
