"""Rows of a log as arrays, checked: a bad row is refused with its place and its column."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.contexts import Category, Contexts, Cycle, Feature, Flag, Notes, Number, Vector
from lexbandit.errors import InvalidInput, nearest
from lexbandit.logs.tables import pl
from lexbandit.objectives import Objective

# Probabilities may exceed 1 by rounding, such as that of float32; up to here they are 1.
_CERTAIN = 1.0 + 1e-6

# A smaller probability would make weights whose squares are infinite.
_LEAST = 1e-60

# How errors of the contexts begin, and how they name a feature.
_ROW = re.compile(r"row (\d+): ")
_FEATURE = re.compile(r"context feature '([^']*)'")

Place = Callable[[int], str]
# What is wrong with a row: the same for all, or by its place among the rows.
Why = str | Callable[[int], str]


class Columns(NamedTuple):
    """What the columns of a table are called.

    `allowed`, `time`, `id`, `unit` and `group` are None where there is none. `features` and
    `rewards` have a column, or None, for each feature and each objective by its name.
    """

    arm: str
    propensity: str | None
    allowed: str | None
    time: str | None
    id: str | None
    unit: str | None
    group: str | None
    features: Mapping[str, str | None]
    rewards: Mapping[str, str | None]


@dataclass(frozen=True)
class Rows:
    """Consecutive rows of a log.

    start         the number of the first one in the log
    arms          int64[n]: the arm that was played
    propensities  float64[n]: its probability; NaN where it is not known
    rewards       float64[n, D]: in the objectives' own units, NaN where there is none
    allowed       bool[n, K]: the arms that were allowed; None: all, always
    times         float64[n]: in seconds; None without a column of times
    table         the columns that were read, as they are
    columns       what they are called
    place         says where a row of the log stands, for errors
    """

    start: int
    arms: Integers
    propensities: Floats
    rewards: Floats
    allowed: Booleans | None
    times: Floats | None
    table: pl.DataFrame
    columns: Columns
    place: Place

    def __len__(self) -> int:
        return len(self.arms)

    def shares(self, objectives: Sequence[Objective]) -> Floats:
        """Return the rewards as shares of the objectives' ranges, float[n, D]."""
        return np.column_stack([o.shares(self.rewards[:, i]) for i, o in enumerate(objectives)])

    def points(self, contexts: Contexts) -> Floats:
        """Return the contexts as points of the unit cube, float[n, d]."""
        return self.encoded(contexts)[0]

    def encoded(self, contexts: Contexts) -> tuple[Floats, Notes]:
        """Return the points, and notes of values outside their range, missing or unknown."""
        given = {}
        for feature in contexts.features:
            column = self.columns.features.get(feature.name)
            if column is not None:
                given[feature.name] = _values(self._feature(feature, self.table[column]))
        try:
            return contexts.encode_many(given, len(self.arms))
        except InvalidInput as error:
            found = _ROW.match(str(error))
            if found is None:
                raise
            place = self.place(self.start + int(found[1]))
            named = _FEATURE.search(str(error))
            column = None if named is None else self.columns.features.get(named[1])
            where = "" if column is None else f", column {column!r}"
            said = str(error).removeprefix(f"row {found[1]}: ")
            raise type(error)(f"{place}{where}: {said}") from None

    def _feature(self, feature: Feature, column: pl.Series) -> pl.Series:
        """Return the values of a feature in their own type, where a file has another one.

        A file of text does not say whether 1 is a category, a flag or a number.
        """
        if isinstance(feature, Category):
            return strings_of(column, feature.values)
        column = decoded(column)
        if isinstance(feature, Flag):
            flags = flags_of(column)
            self.refuse(
                (flags.is_null() & column.is_not_null()).to_numpy(),
                column.name,
                lambda row: (
                    f"context feature {feature.name!r} must be True or False, or 1 or 0, got "
                    f"{column[row]!r}."
                ),
            )
            return flags
        if isinstance(feature, Number | Cycle) and column.dtype == pl.String:
            return self.numbers_of(column, f"context feature {feature.name!r}")
        if isinstance(feature, Vector) and column.dtype == pl.String:
            return self._vectors_of(column, feature.name)
        return column

    def _vectors_of(self, column: pl.Series, name: str) -> pl.Series:
        """Return lists in JSON, as CSV files have them, as lists; the first other text is refused.

        Python reads the numbers: Polars may miss the last bit.
        """
        vectors = [list_of(text) for text in column.to_list()]
        self.refuse(
            np.array([one is None for one in vectors]) & column.is_not_null().to_numpy(),
            column.name,
            lambda row: (
                f"context feature {name!r} must be a list of numbers, in a text one in JSON such "
                f"as [0.5, 1.0], got {column[row]!r}."
            ),
        )
        return pl.Series(column.name, vectors, pl.List(pl.Float64))

    def numbers_of(self, column: pl.Series, what: str) -> pl.Series:
        """Return strings as numbers; the first that is none is refused."""
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        self.refuse(
            (numbers.is_null() & column.is_not_null()).to_numpy(),
            column.name,
            lambda row: f"{what} must be numbers, got {column[row]!r}{_as_number(column[row])}.",
        )
        return numbers

    def contexts(self) -> pl.DataFrame:
        """Return the features, a column each, under their own names."""
        there = set(self.table.columns)
        named = {f: column for f, column in self.columns.features.items() if column in there}
        return self.table.select(pl.col(column).alias(name) for name, column in named.items())

    def refuse(self, wrong: Any, column: str | None, why: Why) -> None:
        """Raise for the first row where `wrong` holds, if any: its place, column and reason."""
        if wrong.any():
            row = int(np.argmax(wrong))
            where = "" if column is None else f", column {column!r}"
            said = why if isinstance(why, str) else why(row)
            raise InvalidInput(f"{self.place(self.start + row)}{where}: {said}")


def _as_number(text: str) -> str:
    """Return a hint for an error if the text is a yes or no, else ""."""
    return " (write 1 or 0)" if text.strip().lower() in ("yes", "no", "y", "n") else ""


def _values(column: pl.Series) -> Any:
    """Return a feature's values as `Contexts` reads them; null is None or NaN."""
    if column.dtype.is_nested():
        return column.to_list()
    if column.dtype == pl.Boolean and column.null_count():
        return column.to_list()
    return column.to_numpy()


def rows_of(
    table: pl.DataFrame,
    start: int,
    columns: Columns,
    arms: Sequence[str],
    objectives: Sequence[Objective],
    place: Place,
) -> Rows:
    """Return a table as rows; the propensities are not looked at yet."""
    n = table.height
    empty = Rows(
        start, np.empty(n, np.int64), np.empty(n), np.empty(0), None, None, table, columns, place
    )
    played = _arms(empty, arms)
    allowed = None if columns.allowed is None else _allowed(empty, columns.allowed, arms)
    if allowed is not None:
        empty.refuse(
            ~allowed[np.arange(n), played],
            columns.arm,
            lambda row: (
                f"arm {arms[played[row]]!r} was played and is not among the allowed ones of "
                f"column {columns.allowed!r}: {_listed(arms, allowed[row])}."
            ),
        )
    return replace(
        empty,
        arms=played,
        propensities=_propensities(empty),
        rewards=_rewards(empty, objectives),
        allowed=allowed,
        times=None if columns.time is None else _times(empty, columns.time),
    )


def _listed(arms: Sequence[str], mask: Booleans) -> str:
    return ", ".join(arms[k] for k in np.flatnonzero(mask).tolist())


def _arms(rows: Rows, arms: Sequence[str]) -> Integers:
    column = rows.columns.arm
    given = strings_of(rows.table[column], arms)
    codes = given.cast(pl.Enum(arms), strict=False).to_physical()
    unknown = codes.is_null().to_numpy()
    rows.refuse(
        unknown,
        column,
        lambda row: (
            "no arm is given; every decision needs one."
            if given[row] is None
            else f"unknown arm {given[row]!r}{nearest(given[row], arms)} Known: "
            f"{', '.join(arms)}. Give all arms of the log: Log(..., arms=[...])."
        ),
    )
    return codes.cast(pl.Int64).to_numpy()


def strings_of(column: pl.Series, known: Sequence[str]) -> pl.Series:
    """Return a column of names, of arms or values of a category, as strings.

    1.0 is "1", since a column of whole numbers and null is one of fractions elsewhere; and true is
    "True", if one of the known names is that.
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InvalidInput(
            f"column {column.name!r} must hold names, as strings or numbers; it has the type "
            f"{column.dtype}."
        )
    if column.dtype.is_float() or column.dtype.is_decimal():
        column = column.cast(pl.Float64)
        strings = _whole(column).fill_null(column.cast(pl.String))
        return strings.zip_with(column.is_not_nan(), pl.Series([None], dtype=pl.String))
    strings = column.cast(pl.String)
    if column.dtype == pl.Boolean and {"True", "False"} & set(known):
        return strings.str.to_titlecase()
    return _known_strings(strings, known) if column.dtype == pl.String else strings


def _whole(numbers: pl.Series) -> pl.Series:
    """Return whole numbers as strings, null for others."""
    whole = numbers.cast(pl.Int64, strict=False)
    exact = (whole.cast(pl.Float64) == numbers).fill_null(False)
    return whole.cast(pl.String).zip_with(exact, pl.Series([None], dtype=pl.String))


def _known_strings(strings: pl.Series, known: Sequence[str]) -> pl.Series:
    """Return strings; where one is not known, the known one of the same number or truth value.

    A file of text has "1.0" for 1 where a column of whole numbers had nulls once.
    """
    unknown = strings.is_not_null() & ~strings.is_in(list(known))
    if not known or not unknown.any():
        return strings
    truth = strings.str.to_titlecase()
    truth = truth.zip_with(truth.is_in(["True", "False"]), pl.Series([None], dtype=pl.String))
    read = _whole(strings.cast(pl.Float64, strict=False)).fill_null(truth)
    return read.zip_with(unknown & read.is_in(list(known)), strings)


def decoded(column: pl.Series) -> pl.Series:
    """Return strings that are stored as codes as strings, any other column as it is."""
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def flags_of(column: pl.Series) -> pl.Series:
    """Return a column of 0 and 1, or of strings "true" and "false", as flags; else null."""
    if column.dtype.is_numeric():
        there = (column == 0) | (column == 1)
        return (column == 1).zip_with(there, pl.Series([None], dtype=pl.Boolean))
    if column.dtype == pl.String:
        values = {"true": True, "false": False, "1": True, "0": False}
        return column.str.to_lowercase().replace_strict(
            values, default=None, return_dtype=pl.Boolean
        )
    return column


def _allowed(rows: Rows, column: str, arms: Sequence[str]) -> Booleans | None:
    """Return bool[n, K]; null allows all. A text is a list in JSON, as CSV files have it."""
    given = rows.table[column]
    if given.dtype == pl.Null or given.null_count() == len(given):
        return None
    if isinstance(given.dtype, pl.Array):
        given = given.arr.to_list()
    if given.dtype == pl.String:
        try:
            given = given.str.json_decode(pl.List(pl.String))
        except pl.exceptions.PolarsError:
            strings = given.to_list()
            rows.refuse(
                np.array([not _is_list(text) for text in strings]),
                column,
                lambda row: (
                    "the arms that are allowed must be a list, or in a text a list in JSON such as "
                    f'["{arms[0]}"], got {strings[row]!r}.'
                ),
            )
            given = pl.Series([None if text is None else json.loads(text) for text in strings])
    if not isinstance(given.dtype, pl.List) or given.dtype.inner.is_nested():
        raise InvalidInput(
            f"column {column!r} must hold lists of arms, or null where all are allowed; it has the "
            f"type {given.dtype}."
        )
    lists = given.cast(pl.List(pl.String))
    every = lists.is_null().to_numpy()
    mask = np.empty((len(lists), len(arms)), np.bool_)
    for k, arm in enumerate(arms):
        mask[:, k] = lists.list.contains(arm).fill_null(True).to_numpy()
    counts = lists.list.n_unique().fill_null(0).to_numpy()
    rows.refuse(
        ~every & (counts != mask.sum(axis=1)),
        column,
        lambda row: (
            f"unknown among the arms allowed: {_unknown(lists[row].to_list(), arms)}; known are "
            f"{', '.join(arms)}."
        ),
    )
    rows.refuse(~mask.any(axis=1), column, "no arm is allowed; one is needed.")
    return None if mask.all() else mask


def _unknown(given: list[str | None], arms: Sequence[str]) -> str:
    """Return the unknown ones of the given arms, each once."""
    return ", ".join(repr(arm) for arm in dict.fromkeys(given) if arm not in arms)


def _is_list(text: str | None) -> bool:
    """Tell whether a text is a list of strings in JSON, or null."""
    return text in (None, "null") or list_of(text, str) is not None


def list_of(text: str | None, kind: type = float) -> list[Any] | None:
    """Return a list in JSON whose entries are of this kind; None for any other text."""
    try:
        found = None if text is None else json.loads(text, parse_int=float)
    except ValueError:
        return None
    fits = isinstance(found, list) and all(isinstance(one, kind) for one in found)
    return found if fits else None


def _numbers(rows: Rows, column: str, what: str) -> Floats:
    """Return a column of numbers; null is NaN."""
    given = decoded(rows.table[column])
    if given.dtype == pl.Null:
        return np.full(len(given), np.nan)
    if given.dtype == pl.String:  # of a file of text, in which one value may be no number
        given = rows.numbers_of(given, what)
    if not (given.dtype.is_numeric() or given.dtype == pl.Boolean):
        raise InvalidInput(
            f"{rows.place(rows.start)}, column {column!r}: {what} must be numbers, got the type "
            f"{given.dtype}."
        )
    return given.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _propensities(rows: Rows) -> Floats:
    column = rows.columns.propensity
    if column is None:
        return np.full(rows.table.height, np.nan)
    given = _numbers(rows, column, "propensities")
    return np.where((given > 1.0) & (given <= _CERTAIN), 1.0, given)


def check_propensities(rows: Rows) -> None:
    """Refuse propensities that are missing, 0, or above 1."""
    column, given = rows.columns.propensity, rows.propensities
    rows.refuse(
        np.isnan(given),
        column,
        "the propensity is missing. The policy that decided has no exact probabilities, or they "
        "were not logged; without them a log cannot say what another policy would have done. Leave "
        "such rows out, or log with a policy that has them, such as the default.",
    )
    rows.refuse(
        given > 1.0,
        column,
        lambda row: (
            f"the propensity is {given[row]:.9g}; it must be above 0 and at most 1."
            + (" If these are percentages, divide the column by 100." if given[row] <= 100 else "")
        ),
    )
    rows.refuse(
        ~(given > 0.0),
        column,
        lambda row: (
            f"the propensity is {given[row]:g}, though the arm was played; it must be above 0 and "
            "at most 1: log the probability that the arm had when it was chosen."
        ),
    )
    rows.refuse(
        given < _LEAST,
        column,
        lambda row: (
            f"the propensity is {given[row]:g}, too small for what has happened; log the "
            "probability that the arm had when it was chosen, or leave the row out."
        ),
    )


def _rewards(rows: Rows, objectives: Sequence[Objective]) -> Floats:
    values = np.full((rows.table.height, len(objectives)), np.nan)
    for i, objective in enumerate(objectives):
        column = rows.columns.rewards[objective.name]
        if column is not None:
            values[:, i] = _rewards_of(rows, column, objective)
    return values


def _rewards_of(rows: Rows, column: str, objective: Objective) -> Floats:
    given, (low, high) = _numbers(rows, column, f"rewards of {objective.name}"), objective.range
    rows.refuse(np.isinf(given), column, "a reward must be a finite number.")
    if objective.outside == "refuse":
        rows.refuse(
            (given < low) | (given > high),
            column,
            lambda row: (
                f"the reward {given[row]:g} lies outside the range from {low:g} to {high:g}; widen "
                'the range, or declare the objective with outside="clip".'
            ),
        )
    return given


def _times(rows: Rows, column: str) -> Floats:
    given = rows.table[column]
    times = times_of(given)
    rows.refuse(~np.isfinite(times), column, lambda row: no_time(given[row]))
    return times


def no_time(value: Any) -> str:
    """Return what an error says of a value that is no time."""
    if value is None or str(value) == "nan":
        return "the time is missing."
    return (
        f"{str(value)!r} is no time that can be read; write it as 2026-01-31T18:30:00, or in "
        "seconds."
    )


def times_of(given: pl.Series) -> Floats:
    """Return a column of times in seconds; NaN for what is none."""
    if given.dtype == pl.Null:
        return np.full(len(given), np.nan)
    if given.dtype == pl.String:
        try:
            given = given.str.to_datetime(strict=False)
        except pl.exceptions.PolarsError:  # no format fits the first of them
            return np.full(len(given), np.nan)
    if given.dtype == pl.Duration:
        seconds = given.dt.total_microseconds().cast(pl.Float64) / 1e6
    elif given.dtype in (pl.Date, pl.Datetime):
        seconds = given.cast(pl.Datetime("us")).to_physical().cast(pl.Float64) / 1e6
    elif given.dtype.is_numeric():
        seconds = given.cast(pl.Float64)
    else:
        raise InvalidInput(
            f"column {given.name!r} must hold times, or seconds as numbers; it has the type "
            f"{given.dtype}."
        )
    return seconds.fill_null(float("nan")).to_numpy()
