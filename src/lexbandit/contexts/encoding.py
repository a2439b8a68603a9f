"""The features of a context together: from values by name to a point."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from lexbandit.checks import Floats
from lexbandit.contexts.feature import NOTES, Feature, Notes
from lexbandit.errors import InvalidInput, unknown_name


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
        self._pick: Callable[[Any], tuple[Any, ...]]
        if len(names) > 1:
            self._pick = itemgetter(*names)
        else:  # itemgetter would return no tuple
            self._pick = lambda context: tuple(context[name] for name in names)
        sizes = [feature.size(smooth) for feature in features]
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        self._places = list(zip(names, features, starts, strict=True))
        self._writers = [(feature.write, at, *feature.line) for _, feature, at in self._places]
        self.dimension = max(1, sum(sizes))  # no policy can do with none
        self._origin: Floats = np.zeros(self.dimension)
        self.counts: dict[str, dict[str, int]] = {name: {} for name in names}

    def encode(self, context: Mapping[str, Any]) -> tuple[Floats, Notes]:
        """Return the point of a context, and what of it was taken otherwise than given."""
        try:
            usual = context.__class__ is dict and len(context) == len(self.names)
            values = self._pick(context) if usual else self._values(context)
        except KeyError:
            values = self._values(context)
        point = self._origin.copy()
        noted = 0
        n = 0
        for write, at, low, high, span in self._writers:
            value = values[n]
            if value.__class__ is float and low <= value <= high:  # the usual case needs no call
                point[at] = (value - low) / span
            else:
                noted += write(value, point, at, self.smooth)
            n += 1  # noqa: SIM113  enumerate costs more on the path of every decision
        return point, self._noted(values) if noted else ()

    def _noted(self, values: tuple[Any, ...]) -> Notes:
        """Return what was outside its range, missing or unknown, of values that were taken."""
        notes = []
        for (name, feature, _), value in zip(self._places, values, strict=True):
            note = feature.write(value, [0.0] * self.dimension, 0, self.smooth)
            if note:
                notes.append((name, NOTES[note], 1))
        return tuple(notes)

    def _values(self, context: Any) -> tuple[Any, ...]:
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
        return tuple(get(name) for name in self.names)

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
