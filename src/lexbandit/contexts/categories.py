"""What has a few values: categories and flags."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.contexts.feature import FINE, MISSING, UNKNOWN, Feature, no_value
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import named


@dataclass(frozen=True)
class Category(Feature):
    """One of `values`. An unknown or missing one is "other": none of them; it is counted.

    With outside="refuse" an unknown one is an error, with missing="refuse" a missing one is.
    """

    values: Sequence[str] = ()
    missing: Literal["refuse", "middle"] = field(default="middle", kw_only=True)

    kind: ClassVar[str] = "category"
    layout_kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        super().__post_init__()
        values = tuple(checks.listed(self.values) or ())
        if not values:
            raise InvalidInput(
                f"values of feature {self.name!r} must be a list of names, got {self.values!r}."
            )
        for value in values:
            named(f"value of feature {self.name!r}", value)
        if len(set(values)) != len(values):
            raise InvalidInput(f"values of feature {self.name!r} must differ, got {values!r}.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_place", {value: k for k, value in enumerate(values)})

    @property
    def values_in_cells(self) -> int:
        """All its values, and one that stands for every other."""
        return len(self.values) + 1

    def size(self, smooth: bool) -> int:
        """Return one coordinate a value, or a single one for cells."""
        return len(self.values) if smooth else 1

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write 1 for the value and 0 for the others; for cells, the middle of its own part."""
        try:
            k = self._place.get(value, -1)  # type: ignore[attr-defined]
        except TypeError:
            if not no_value(value):
                raise self._refuse(value, f"one of {', '.join(self.values)}") from None
            k = -1
        note = FINE
        if k < 0:
            note = MISSING if no_value(value) else UNKNOWN
            if note == MISSING and self.missing == "refuse":
                return self._middle(value, point, at, 1)
            if note == UNKNOWN and (self.outside == "refuse" or not isinstance(value, str)):
                raise unknown_name(f"value of context feature {self.name!r}:", value, self.values)
        if smooth:
            if k >= 0:
                point[at + k] = 1.0
        else:
            point[at] = ((k if k >= 0 else len(self.values)) + 0.5) / (len(self.values) + 1)
        return note

    def write_many(self, values: Any, points: Floats, at: int, smooth: bool) -> dict[int, int]:
        """Write the coordinates of many values at once, where all are known."""
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        try:
            places = np.array([self._place[v] for v in listed], np.intp)  # type: ignore[attr-defined]
        except (KeyError, TypeError):
            return super().write_many(listed, points, at, smooth)
        if smooth:
            points[np.arange(len(places)), at + places] = 1.0
        else:
            points[:, at] = (places + 0.5) / (len(self.values) + 1)
        return {}


@dataclass(frozen=True)
class Flag(Feature):
    """True or False.

    A missing one is an error, or with missing="middle" halfway between the two; on a grid that is a
    cell of its own.
    """

    kind: ClassVar[str] = "flag"
    layout_kind: ClassVar[str] = "category"

    @property
    def values_in_cells(self) -> int:
        """True and False; and a third that is not known, where `missing` says "middle"."""
        return 2 if self.missing == "refuse" else 3

    def size(self, smooth: bool) -> int:
        """Return 1."""
        return 1

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write 1 or 0."""
        if no_value(value):
            return self._middle(value, point, at, 1)
        if not isinstance(value, bool | np.bool_):
            raise self._refuse(value, "True or False")
        point[at] = 1.0 if value else 0.0
        return FINE
