"""What a feature of the context is."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.objectives import named

FINE, OUTSIDE, MISSING, UNKNOWN = 0, 1, 2, 3
NOTES = ("", "outside its range", "missing", "unknown")

# What was taken otherwise than given: a feature, one of NOTES, and how many values.
Notes = tuple[tuple[str, str, int], ...]


def no_value(value: Any) -> bool:
    """Tell whether a value is none: None, NaN or masked."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or value is np.ma.masked


@dataclass(frozen=True)
class Feature(ABC):
    """One named feature of the context.

    `missing` says what is done where there is no value (absent, None, NaN or masked): "refuse"
    makes it an error, "middle" takes the middle and counts it. `outside` says what is done with a
    value outside its range: "clip" takes the nearest end and counts it, "refuse" makes it an error.
    """

    name: str
    missing: Literal["refuse", "middle"] = field(default="refuse", kw_only=True)
    outside: Literal["clip", "refuse"] = field(default="clip", kw_only=True)

    kind: ClassVar[str]
    layout_kind: ClassVar[str] = "number"
    """What its coordinates are to a policy on features: number, category or vector."""

    def __post_init__(self) -> None:
        named("context feature", self.name)
        for what, known in (("missing", ("refuse", "middle")), ("outside", ("clip", "refuse"))):
            checks.one_of(f"{what} of feature {self.name!r}:", getattr(self, what), known)

    @property
    def values_in_cells(self) -> int:
        """How many values it has, if each lies in a cell of its own; 0 if it is continuous."""
        return 0

    @property
    def line(self) -> tuple[float, float, float]:
        """(low, high, high − low) if a float between becomes (value − low)/(high − low)."""
        return math.inf, -math.inf, 1.0

    @abstractmethod
    def size(self, smooth: bool) -> int:
        """Return how many coordinates it becomes."""

    @abstractmethod
    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write its coordinates, where they are not 0, to point[at:]; returns FINE or a note.

        `point` is a list or an array of zeros.
        """

    def write_many(self, values: Any, points: Floats, at: int, smooth: bool) -> dict[int, int]:
        """Write the coordinates of many values to points[:, at:]; returns how many of each note."""
        notes: dict[int, int] = {}
        size = self.size(smooth)
        for row, value in enumerate(values):
            point = [0.0] * size
            try:
                note = self.write(value, point, 0, smooth)
            except InvalidInput as error:
                raise type(error)(f"row {row}: {error}") from None
            points[row, at : at + size] = point
            if note:
                notes[note] = notes.get(note, 0) + 1
        return notes

    def _middle(self, value: Any, point: Any, at: int, size: int) -> int:
        """Write the middle for a missing value, or refuse it."""
        if self.missing == "refuse":
            given = "" if value is None else f" ({value!r})"
            raise InvalidInput(
                f"context feature {self.name!r} is missing{given}; pass a value, or declare it "
                'with missing="middle".'
            )
        point[at : at + size] = [0.5] * size
        return MISSING

    def _refuse(self, value: Any, allowed: str) -> InvalidInput:
        how = checks.conversion(value) if "number" in allowed else ""
        return InvalidInput(f"context feature {self.name!r} must be {allowed}, got {value!r}{how}.")
