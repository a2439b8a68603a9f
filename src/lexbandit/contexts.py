"""Named features of a context in their own units, and their encoding as a point of [0,1]^d.

A policy on features gets a *smooth* point: an indicator for each value of a category, a point on a
circle for a cycle. A policy on cells gets one coordinate a feature: on a grid the values of a
category lie in different cells. lex-tree begins with one cell for all values and separates them as
it splits, after a few contexts of each.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.objectives import ends, named

_zeros = np.zeros
# Up to here every whole number is exact as a float.
_LATEST = 2**53

FINE, OUTSIDE, MISSING, UNKNOWN = 0, 1, 2, 3
NOTES = ("", "outside its range", "missing", "unknown")

# Values that were clipped, missing or unknown: a feature, one of NOTES, and how many.
Notes = tuple[tuple[str, str, int], ...]


def no_value(value: Any) -> bool:
    """Tell whether a value is missing: None, NaN or masked."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or value is np.ma.masked


def _plain_numbers(values: Any) -> Floats | None:
    """Return a column as floats; None if not all of it are numbers."""
    if isinstance(values, list | tuple) and not all(map(_is_number, set(map(type, values)))):
        return None  # NumPy would take truth values beside numbers as numbers
    array = np.asarray(values)
    plain = array.dtype.kind in "iuf" and array.ndim == 1
    return array.astype(np.float64) if plain else None


def _is_number(kind: type) -> bool:
    return issubclass(kind, int | float | np.integer | np.floating) and kind is not bool


def _plain(value: Any) -> Any:
    """Return a value as errors show it: a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


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
        """Write its coordinates that are not 0 to point[at:]; return FINE or a note.

        `point` is a list or an array of zeros.
        """

    def write_many(self, values: Any, points: Floats, at: int, smooth: bool) -> dict[int, int]:
        """Write the coordinates of many values to points[:, at:]; return counts of notes."""
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
            given = "" if value is None else f" ({_plain(value)!r})"
            raise InvalidInput(
                f"context feature {self.name!r} is missing{given}; pass a value, or declare it "
                'with missing="middle".'
            )
        point[at : at + size] = [0.5] * size
        return MISSING

    def _refuse(self, value: Any, allowed: str) -> InvalidInput:
        how = checks.conversion(value) if "number" in allowed else ""
        return InvalidInput(
            f"context feature {self.name!r} must be {allowed}, got {_plain(value)!r}{how}."
        )


@checks.named_keywords
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
        numbers = _plain_numbers(values)
        if numbers is None or not ((numbers >= self.low) & (numbers <= self.high)).all():
            return super().write_many(values, points, at, smooth)
        if self.scale == "log":
            # Not np.log, which may differ from math.log in the last bit.
            logs = [math.log(number) for number in (numbers / self.low).tolist()]
            shares = np.array(logs) / math.log(self.high / self.low)
            points[:, at] = np.clip(shares, 0.0, 1.0)
        else:
            points[:, at] = (numbers - self.low) / (self.high - self.low)
        return {}


@checks.named_keywords
@dataclass(frozen=True)
class Cycle(Feature):
    """A number that repeats after `period`, such as the hour of the day after 24.

    A missing value is an error, or with missing="middle" the centre of the circle, equally far from
    all times; for a policy on cells it is half the period.
    """

    period: float = 24.0

    kind: ClassVar[str] = "cycle"

    def __post_init__(self) -> None:
        super().__post_init__()
        period = checks.positive(f"period of feature {self.name!r}", self.period)
        object.__setattr__(self, "period", period)

    def size(self, smooth: bool) -> int:
        """Return 2, a point on a circle; for cells 1, the time since the period began."""
        return 2 if smooth else 1

    def write(self, value: Any, point: Any, at: int, smooth: bool) -> int:
        """Write the point on the circle, so that 23:59 and 0:00 are neighbours."""
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
        """Write the positions of many values at once, where they are plain finite numbers."""
        numbers = _plain_numbers(values)
        if numbers is None or not np.isfinite(numbers).all():
            return super().write_many(values, points, at, smooth)
        phases = (numbers / self.period) % 1.0
        if smooth:
            # Not np.cos, which may differ from math.cos in the last bit.
            angles = (2.0 * math.pi * phases).tolist()
            points[:, at] = [0.5 + 0.5 * math.cos(angle) for angle in angles]
            points[:, at + 1] = [0.5 + 0.5 * math.sin(angle) for angle in angles]
        else:
            points[:, at] = phases
        return {}


@checks.named_keywords
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


@checks.named_keywords
@dataclass(frozen=True)
class Category(Feature):
    """One of `values`. An unknown or missing value is encoded as none of them, and counted.

    With outside="refuse" an unknown value is an error, with missing="refuse" a missing one.
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
            positions = np.array([self._place[v] for v in listed], np.intp)  # type: ignore[attr-defined]
        except (KeyError, TypeError):
            return super().write_many(listed, points, at, smooth)
        if smooth:
            points[np.arange(len(positions)), at + positions] = 1.0
        else:
            points[:, at] = (positions + 0.5) / (len(self.values) + 1)
        return {}


@checks.named_keywords
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


class Contexts:
    """The features of a context, in order, and the points they become.

    Without features every context is {}, and all contexts have the same point.

    `counts` says how often a feature's value was outside its range, missing or unknown.
    """

    def __init__(self, features: Sequence[Feature], *, smooth: bool = True) -> None:
        if not isinstance(features, list | tuple):
            raise InvalidInput(f"context must be a list of features, got {features!r}.")
        for feature in features:
            if not isinstance(feature, Feature):
                raise InvalidInput(
                    "a context feature is a Number, Category, Flag, Cycle or Vector, "
                    f"got {feature!r}."
                )
        names = [feature.name for feature in features]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"two context features are called {name!r}.")
        self.features = tuple(features)
        self.smooth = smooth
        self.names = names
        self._names = frozenset(names)
        sizes = [feature.size(smooth) for feature in features]
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        self._columns = list(zip(names, features, starts, strict=True))
        self._writers = [
            (name, feature.write, at, *feature.line) for name, feature, at in self._columns
        ]
        self.dimension = max(1, sum(sizes))  # a policy needs at least one coordinate
        # What the coordinates are, for `make_policy`; one that is always 0 without features.
        self.layout = tuple(
            (feature.layout_kind if smooth else "number", size)
            for feature, size in zip(features, sizes, strict=True)
        ) or (("category", 1),)
        self.counts: dict[str, dict[str, int]] = {name: {} for name in names}

    def encode(self, context: Mapping[str, Any]) -> tuple[Floats, Notes]:
        """Return the point of a context, and notes of clipped, missing and unknown values."""
        values = context
        if context.__class__ is not dict or len(context) != len(self.features):
            values = self._values(context)
        point = _zeros(self.dimension)
        noted = 0
        try:
            for name, write, at, low, high, span in self._writers:
                value = values[name]
                if value.__class__ is float and low <= value <= high:  # the usual case in one pass
                    point[at] = (value - low) / span
                else:
                    noted += write(value, point, at, self.smooth)
        except (KeyError, InvalidInput):
            self._values(context)  # an unknown name is reported before a wrong value
            raise
        return point, self._noted(values) if noted else ()

    def _noted(self, values: Mapping[str, Any]) -> Notes:
        """Return notes of the values that were outside their range, missing or unknown."""
        notes = []
        for name, feature, _ in self._columns:
            note = feature.write(values[name], [0.0] * self.dimension, 0, self.smooth)
            if note:
                notes.append((name, NOTES[note], 1))
        return tuple(notes)

    def _values(self, context: Any) -> dict[str, Any]:
        """Return the values of any mapping, None where it has none; unknown names are refused."""
        try:
            names, get = list(context), context.get
        except (TypeError, AttributeError):
            raise InvalidInput(
                f"context must be a mapping of features to values, got {context!r}."
            ) from None
        for name in names:
            if name not in self._names:
                raise unknown_name("context feature", name, self.names)
        return {name: get(name) for name in self.names}

    def encode_many(self, columns: Mapping[str, Any], n: int | None = None) -> tuple[Floats, Notes]:
        """Return the points of n contexts, given as one column a feature, and the notes.

        n is needed if there are no columns, which have a length.
        """
        for name in columns:
            if name not in self.names:
                raise unknown_name("context feature", name, self.names)
        lengths = {name: len(columns[name]) for name in columns}
        if len(set(lengths.values())) > 1:
            raise InvalidInput(f"the columns of contexts differ in length: {lengths}.")
        n = next(iter(lengths.values()), n or 0)
        points = np.zeros((n, self.dimension))
        notes = []
        for name, feature, at in self._columns:
            values = columns.get(name, [None] * n)
            counts = feature.write_many(values, points, at, self.smooth)
            notes += [(name, NOTES[note], count) for note, count in counts.items()]
        return points, tuple(notes)

    def count(self, notes: Notes) -> None:
        """Count what was outside its range, missing or unknown."""
        for name, note, count in notes:
            self.counts[name][note] = self.counts[name].get(note, 0) + count


def noted(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a sentence on the values that were outside their range, missing or unknown, or ""."""
    said = [
        f"{count:,} of {name} ({note})"
        for name, notes in counts.items()
        for note, count in notes.items()
    ]
    return f"Context values taken otherwise than given: {', '.join(said)}." if said else ""


def time_feature(t: Any, period: int) -> Floats:
    """Return (t mod T_s)/T_s, the time context of Section VI-A, of a round t or an array of them.

    Rounds count from 1, so t = T_s is 0 again. Add it to the context as a further feature; a policy
    then has the dimension d + 1 and learns rewards that change with the period.
    """
    period = checks.whole("period", period, least=1, most=_LATEST)
    if isinstance(t, int | float):
        rounds = np.asarray(checks.whole("t", t, least=0, most=_LATEST), np.float64)
    else:
        try:
            rounds = np.asarray(checks.unmasked(t), np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"t must be a round or an array of rounds, got {t!r}.") from error
        wrong = ~((rounds >= 0) & (rounds <= _LATEST) & (rounds == np.floor(rounds)))
        checks.refuse_first("t", rounds, wrong, "t is a whole number of at least 0")
    return np.asarray(np.mod(rounds, period) / period)
