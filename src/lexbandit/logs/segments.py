"""Segments of a log: rows by the value of a category, or by quarters of a number."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lexbandit.checks import Integers
from lexbandit.contexts import Category, Cycle, Feature, Flag, Number
from lexbandit.logs.rows import Columns, Rows, decoded, flags_of, strings_of
from lexbandit.logs.tables import pl

# Of a category with more values the commonest are looked at.
MOST_VALUES = 20
_QUARTERS = (0.25, 0.5, 0.75)
_FLAGS = ("true", "false")


class Split(NamedTuple):
    """How one feature splits rows: by values, or by edges of a number.

    A row belongs to the segment of its value, or of the number of edges below it; to none (−1) if
    its value is missing or another one. `cut`: there are more values than are looked at.
    """

    feature: str
    column: str
    labels: tuple[str, ...]
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    cut: bool = False

    def of(self, rows: Rows) -> Integers:
        """Return the segment of each row, int64[n]."""
        given = rows.table[self.column]
        if self.values == _FLAGS:
            given = flags_of(given)
        if self.values:
            codes = (
                strings_of(given, self.values)
                .cast(pl.Enum(self.values), strict=False)
                .to_physical()
            )
            return codes.cast(pl.Int64).fill_null(-1).to_numpy()
        numbers = decoded(given).cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        found = np.searchsorted(np.array(self.edges), numbers, side="left").astype(np.int64)
        return np.where(np.isnan(numbers), -1, found)


def splits(features: Sequence[Feature], columns: Columns, first: pl.DataFrame) -> tuple[Split, ...]:
    """Return how these features split a log; numbers by the quartiles of its first rows.

    The column of groups, where there is one, is a category with the values of the first rows. If
    these have one value, others may follow.
    """
    found: list[Split] = []
    for feature in features:
        column = columns.features.get(feature.name)
        if column is None:
            continue
        if isinstance(feature, Category):
            found += _by_values(feature.name, column, feature.values, first[column])
        elif isinstance(feature, Flag):
            found += _by_values(feature.name, column, _FLAGS, first[column])
        elif isinstance(feature, Number | Cycle):
            found += _by_quarters(feature.name, column, first[column])
    if columns.group is not None:
        groups = strings_of(first[columns.group], ()).drop_nulls().unique().sort()
        found += _by_values("group", columns.group, groups.to_list(), first[columns.group])
    return tuple(found)


def _by_values(feature: str, column: str, values: Sequence[str], first: pl.Series) -> list[Split]:
    if not values:
        return []
    cut = len(values) > MOST_VALUES
    if cut:
        counts = Counter(strings_of(first, values).to_list())
        common = sorted(values, key=lambda value: -counts[value])[:MOST_VALUES]
        values = [value for value in values if value in common]
    labels = tuple(f"{feature} = {value}" for value in values)
    return [Split(feature, column, labels, values=tuple(values), cut=cut)]


def _by_quarters(feature: str, column: str, given: pl.Series) -> list[Split]:
    given = decoded(given)
    if not (given.dtype.is_numeric() or given.dtype == pl.String):
        return []  # no numbers: they are refused where contexts are read
    numbers = given.cast(pl.Float64, strict=False).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return []
    edges = np.unique([float(f"{edge:.4g}") for edge in np.quantile(numbers, _QUARTERS)])
    edges = edges[edges < numbers.max()] if edges[0] < numbers.max() else edges[:1]
    labels = [f"{feature} ≤ {edges[0]:g}"]
    labels += [f"{low:g} < {feature} ≤ {high:g}" for low, high in pairwise(edges)]
    labels.append(f"{feature} > {edges[-1]:g}")
    return [Split(feature, column, tuple(labels), edges=tuple(edges.tolist()))]
