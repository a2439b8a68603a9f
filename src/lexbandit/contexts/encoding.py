"""The features of a context together: from values by name to a point."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit.checks import Floats
from lexbandit.contexts.feature import NOTES, Feature, Notes
from lexbandit.errors import InvalidInput, unknown_name

_zeros = np.zeros


class Contexts:
    """The features of a context, in order, and the points they become.

    Without features every context is {}, and there is one point for all.

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
        self._places = list(zip(names, features, starts, strict=True))
        self._writers = [
            (name, feature.write, at, *feature.line) for name, feature, at in self._places
        ]
        self.dimension = max(1, sum(sizes))  # no policy can do with none
        # What the coordinates are, for `make_policy`; one that is always 0 without features.
        self.layout = tuple(
            (feature.layout_kind if smooth else "number", size)
            for feature, size in zip(features, sizes, strict=True)
        ) or (("category", 1),)
        self.counts: dict[str, dict[str, int]] = {name: {} for name in names}

    def encode(self, context: Mapping[str, Any]) -> tuple[Floats, Notes]:
        """Return the point of a context, and what of it was taken otherwise than given."""
        values = context
        if context.__class__ is not dict or len(context) != len(self.features):
            values = self._values(context)
        point = _zeros(self.dimension)
        noted = 0
        try:
            for name, write, at, low, high, span in self._writers:
                value = values[name]
                if value.__class__ is float and low <= value <= high:  # the usual case, at once
                    point[at] = (value - low) / span
                else:
                    noted += write(value, point, at, self.smooth)
        except (KeyError, InvalidInput):
            self._values(context)  # a name that is not known is told before a wrong value
            raise
        return point, self._noted(values) if noted else ()

    def _noted(self, values: Mapping[str, Any]) -> Notes:
        """Return what was outside its range, missing or unknown, of values that were taken."""
        notes = []
        for name, feature, _ in self._places:
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

        n is for contexts without features, or with none given; columns tell it themselves.
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
        for name, feature, at in self._places:
            values = columns.get(name, [None] * n)
            counts = feature.write_many(values, points, at, self.smooth)
            notes += [(name, NOTES[note], count) for note, count in counts.items()]
        return points, tuple(notes)

    def count(self, notes: Notes) -> None:
        """Count what was outside its range, missing or unknown."""
        for name, note, count in notes:
            self.counts[name][note] = self.counts[name].get(note, 0) + count
