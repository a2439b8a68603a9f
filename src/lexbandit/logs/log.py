"""`Log`: past decisions, the probabilities they had, and their rewards."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.chooser import Chooser
from lexbandit.chooser.arms import arms_of
from lexbandit.contexts import Category, Contexts, Feature
from lexbandit.errors import InvalidInput, nearest, unknown_name
from lexbandit.features import features_for
from lexbandit.logs import learning
from lexbandit.logs.description import Description, describe_log
from lexbandit.logs.ids import refuse_duplicates
from lexbandit.logs.reward_model import CrossFitted, RewardModel
from lexbandit.logs.rows import (
    Columns,
    Rows,
    check_propensities,
    list_of,
    no_time,
    rows_of,
    times_of,
)
from lexbandit.logs.sources import Source, opener_of, source_of
from lexbandit.logs.sums import blocks
from lexbandit.logs.tables import pl
from lexbandit.objectives import Objective, objectives_of, refuse_shared_names

# How `lexbandit export` calls the columns of features and rewards.
_CONTEXT, _REWARD = "context.", "reward."
# Columns that exports have and hardly any other table: what its rows name as arms are arms, and the
# first one has the event of each row.
_EXPORTED = ("seq", "policy_version")
# What Polars adds to the name of a column that a CSV file has twice.
_REPEATED = "_duplicated_0"
# A larger number, in the year 5138 or before 1200 BC, is no time in seconds.
_SECONDS = 1e11


class LogDefinition(NamedTuple):
    """What a log needs to know of what decided: a chooser's, or a decision point's of a service.

    `arms` are all there ever were; `retired` are those that could not be chosen at the end.
    """

    objectives: Sequence[Objective]
    arms: Sequence[str]
    context: Sequence[Feature]
    wait: float | None
    explore: float
    retired: Sequence[str] = ()


class Opened(NamedTuple):
    """A storage that was read: the file with its rows, what keeps the file, and what decided."""

    path: Path
    temporary: Any
    definition: LogDefinition


class Log:
    """Logged decisions, read in batches: memory does not grow with the number of rows.

    source       a Polars or pandas frame, an Arrow table or columns; a path, a glob or a list of
                 paths of Parquet, CSV or JSON-lines files; or the storage of a decision service,
                 such as sqlite:decisions.db
    objectives   the objectives, in order of priority; their columns have their names
    arms         the names of all arms
    context      the features of contexts; their columns have their names
    like         a `Chooser`, or the path of a saved one, that has all of this
    point        which decision point of a storage
    wait         seconds in which rewards come; rewards of rows that are younger, counted from the
                 last row, are left out. 0: all have come, as in a log that is finished
    adaptive     whether what decided went on learning; False only if it did not
    explore      the share of choices that was drawn uniformly, at least; if it is known, intervals
                 are much narrower
    columns      other names of columns, as {"quality": "score"}
    arm, …       the columns of the arm that was played, of its probability, of the lists of arms
                 that were allowed, of times, of ids, of units (such as users) and of groups

    A table that `lexbandit export` wrote is taken as it is. Rows must be in order of time. The arms
    that a service added are found in its storage and in an export: `like` need not have them.
    """

    def __init__(
        self,
        source: Any,
        *,
        objectives: Objective | Sequence[Objective] | None = None,
        arms: Iterable[str] | None = None,
        context: Sequence[Feature] | None = None,
        like: Chooser | str | Path | None = None,
        point: str | None = None,
        wait: float | None = None,
        adaptive: bool = True,
        explore: float | None = None,
        columns: Mapping[str, str] | None = None,
        arm: str = "arm",
        propensity: str = "propensity",
        allowed: str = "allowed",
        time: str = "time",
        id: str = "id",
        unit: str = "unit",
        group: str = "group",
    ) -> None:
        known = None if like is None else _definition(like)
        opener = opener_of(source)
        self.retired: tuple[str, ...] = ()
        if opener is not None:
            opened: Opened = opener(source, point)
            self._temporary = opened.temporary  # the file goes when this does
            source, begun = opened.path, opened.definition
            known = begun if known is None else known._replace(arms=_both(known.arms, begun.arms))
            self.retired = tuple(begun.retired)
        elif point is not None:
            raise InvalidInput(f"point is for the storage of a service, got {point!r}.")
        self.source: Source = source_of(source)
        self.objectives = objectives_of(_given("objectives", objectives, known))
        exported = set(_EXPORTED) <= set(self.source.schema())
        if opener is None and known is not None and exported:
            known = known._replace(arms=_both(known.arms, _arms_in(self.source, arm, allowed)))
        self.arms = tuple(arms_of(_given("arms", arms, known)))
        features = known.context if context is None and known is not None else context
        self.contexts = Contexts(list(features or ()))
        refuse_shared_names(self.objectives, self.contexts.names)
        said = wait
        wait = known.wait if wait is None and known is not None else wait
        self.wait = None if wait is None else checks.at_least_zero("wait", wait)
        self.adaptive = adaptive
        explore = known.explore if explore is None and known is not None else explore
        self.explore = checks.at_least_zero("explore", explore or 0.0, most=1.0)
        roles = {
            "arm": arm,
            "propensity": propensity,
            "allowed": allowed,
            "time": time,
            "id": id,
            "unit": unit,
            "group": group,
        }
        self.columns = self._named(roles, dict(columns or {}))
        self.source = self.source.with_names(self._columns_of_names())
        if said is not None and self.columns.time is None:
            raise InvalidInput(
                f"wait={said!r} needs a column of times, to tell which rows are too young for "
                "their rewards; name it: Log(..., time=...)."
            )

    def __repr__(self) -> str:
        order = ", then ".join(objective.name for objective in self.objectives)
        return f"<Log: {self.rows:,} rows, {len(self.arms)} arms; {order}>"

    def __len__(self) -> int:
        return self.rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_temporary"}

    @cached_property
    def rows(self) -> int:
        """How many decisions there are."""
        return self.source.rows()

    def describe(self) -> Description:
        """Say what the log holds, and how far it can answer questions about other policies."""
        times = self.span
        batches = self.batches(features=(), propensities=self.columns.propensity is not None)
        return describe_log(batches, self.arms, self.objectives, times, self.wait)

    @cached_property
    def span(self) -> tuple[float, float] | None:
        """The times of the first and the last row, in seconds; None without a column of times.

        An empty log is refused, and so are ids that come twice and rows out of order.
        """
        if not self.rows:
            raise InvalidInput("the log is empty: it has no rows.")
        if self.columns.id is not None:
            exported = set(_EXPORTED) <= set(self.source.schema())
            refuse_duplicates(self.source, self.columns.id, _EXPORTED[0] if exported else None)
        if self.columns.time is None:
            return None
        first, last, row = np.nan, -np.inf, 0
        for times in self._times():
            late = np.flatnonzero(np.diff(times, prepend=last) < 0)
            if len(late):
                raise InvalidInput(
                    f"{self.source.place(row + int(late[0]))}, column {self.columns.time!r}: the "
                    "row is earlier than the one before it. What a policy knew when it decided "
                    "depends on the order: sort the log by time."
                )
            first = times[0] if np.isnan(first) else first
            last, row = times[-1], row + len(times)
        return float(first), float(last)

    @cached_property
    def young(self) -> int:
        """How many rows are so young that their rewards do not count yet."""
        if self.wait is None or self.span is None:
            return 0
        line = self.span[1] - self.wait
        return sum(int((times > line).sum()) for times in self._times())

    def row_at(self, time: float) -> int:
        """Return the number of the first row that is not before a time, in seconds."""
        if self.columns.time is None:
            raise InvalidInput("the log has no column of times: give a share of its rows.")
        return sum(int((times < time).sum()) for times in self._times())

    def batches(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        origin: int = 0,
        features: Iterable[str] | None = None,
        extra: Iterable[str] = (),
        propensities: bool = True,
    ) -> Iterator[Rows]:
        """Yield rows in blocks whose edges are those of `sums.blocks`, counted from `origin`.

        `features` are those whose columns are read; `extra` are further columns. Rewards of rows
        that are younger than the waiting time are NaN; older ones that did not come are the
        objective's default, if it has one. `propensities`: refuse rows without a valid one.
        """
        stop = self.rows if stop is None else min(stop, self.rows)
        names = self.columns
        wanted = [names.arm, names.propensity, names.allowed, names.time, *names.rewards.values()]
        features = self.contexts.names if features is None else features
        wanted += [names.features.get(name) for name in features]
        read = list(dict.fromkeys([name for name in wanted if name is not None] + list(extra)))
        edges = [last + origin for _, last in blocks(start - origin, stop - origin)]
        if propensities and names.propensity is None:
            raise InvalidInput(
                "the log has no column of propensities; it has "
                f"{', '.join(self.source.schema())}. Name it: Log(..., propensity=...), or "
                "--column propensity=NAME. Without the probability that each arm had when it was "
                "chosen, a log cannot say what another policy would have done."
            )
        for first, table in _cut(self.source.tables(start, stop, read), start, edges):
            rows = rows_of(table, first, names, self.arms, self.objectives, self.source.place)
            if propensities:
                check_propensities(rows)
            yield replace(rows, rewards=self._matured(rows))

    def _times(self) -> Iterator[Floats]:
        """Yield the times of all rows, in seconds."""
        column = self.columns.time
        assert column is not None
        row = 0
        for table in self.source.tables(0, self.rows, [column]):
            times = times_of(table[column])
            missing = np.flatnonzero(~np.isfinite(times))
            if len(missing):
                first = int(missing[0])
                raise InvalidInput(
                    f"{self.source.place(row + first)}, column {column!r}: "
                    f"{no_time(table[column][first])}"
                )
            late = np.flatnonzero(np.abs(times) > _SECONDS)
            if len(late):
                raise InvalidInput(
                    f"{self.source.place(row + int(late[0]))}, column {column!r}: the time "
                    f"{times[late[0]]:.0f} in seconds is not of this age. If it is in milliseconds "
                    "or finer, divide the column by 1,000 or more, or make it one of dates."
                )
            row += len(times)
            if len(times):
                yield times

    def _matured(self, rows: Rows) -> Floats:
        """Return the rewards that count: none of rows too young, defaults of the others."""
        if self.wait is None or rows.times is None or self.span is None:
            return rows.rewards
        young = rows.times > self.span[1] - self.wait
        rewards = np.where(young[:, np.newaxis], np.nan, rows.rewards)
        for i, objective in enumerate(self.objectives):
            if objective.default is not None:
                rewards[np.isnan(rewards[:, i]) & ~young, i] = objective.default
        return rewards

    def teach(self, chooser: Chooser, **how: Any) -> int:
        """Let a chooser learn all rows; see `Chooser.learn`."""
        return learning.learn(chooser, self, 0, self.rows, **how)

    def reward_model(self) -> RewardModel:
        """Return a model of the rewards that knows nothing yet."""
        return RewardModel(**self._model_settings())

    def cross_fitted_model(self) -> CrossFitted:
        """Return models of the rewards, by parts of the rows, that know nothing yet."""
        return CrossFitted(**self._model_settings())

    def _model_settings(self) -> dict[str, Any]:
        features = {"name": "mixed", "layout": self.contexts.layout}
        return {
            "arms": len(self.arms),
            "objectives": len(self.objectives),
            "features": features_for(features, dimension=self.contexts.dimension),
        }

    def part(self, start: int, stop: int) -> "Part":
        """Return the rows from `start` to before `stop`, for a chooser to learn from."""
        return Part(self, start, stop)

    def reading(self, features: Iterable[str], names: Collection[str] = ()) -> "Log":
        """Return this log with the columns of further features found, for what reads them.

        `names` are further columns that hold names of arms.
        """
        found = {name: self.column_of(name) for name in features}
        other = copy(self)
        other.source = self.source.with_names(names)
        other.columns = self.columns._replace(features={**self.columns.features, **found})
        return other

    def column_of(self, name: str) -> str | None:
        """Return the column of a feature, also of one that is not in this log's `context`."""
        if name in self.columns.features:
            return self.columns.features[name]
        return _column(_CONTEXT, name, self.source.schema())

    def _named(self, roles: dict[str, str], others: dict[str, str]) -> Columns:
        """Find the columns; one that is named and not there is refused."""
        schema = self.source.schema()
        own = (*self.contexts.names, *(objective.name for objective in self.objectives))
        for name in [name for name in others if name not in own]:
            if name not in roles:
                raise unknown_name("name in columns:", name, [*own, *roles])
            roles = {**roles, name: others[name]}

        def found(name: str, prefix: str) -> str | None:
            if name in others:
                if others[name] not in schema:
                    raise unknown_name("column of the log:", others[name], schema)
                return others[name]
            return _column(prefix, name, schema)

        features = {f.name: found(f.name, _CONTEXT) for f in self.contexts.features}
        self._refuse_missing_features(features)
        rewards = {one.name: found(one.name, _REWARD) for one in self.objectives}
        self._refuse_missing_rewards(rewards)
        columns = _columns_of(roles, schema, {*features.values(), *rewards.values()})
        for read in (*features.values(), *rewards.values(), *columns.values()):
            if f"{read}{_REPEATED}" in schema:
                raise InvalidInput(f"the log has two columns {read!r}: rename or drop one of them.")
        return Columns(features=features, rewards=rewards, **columns)  # type: ignore[arg-type]

    def _columns_of_names(self) -> set[str]:
        """Return the columns that hold names: of arms, ids, groups, values of a category."""
        categories = [f.name for f in self.contexts.features if isinstance(f, Category)]
        named = [self.columns.features[name] for name in categories]
        own = (self.columns.arm, self.columns.id, self.columns.group)
        return {c for c in (*own, *named) if c is not None}

    def _refuse_missing_features(self, columns: Mapping[str, str | None]) -> None:
        schema = self.source.schema()
        # An export has no column of a feature that never had a value.
        exported = any(column.startswith(_REWARD) for column in schema)
        for feature in self.contexts.features:
            # A category takes a missing value unasked; the others do where they are declared so.
            optional = feature.missing == "middle"
            declared = optional and (exported or not isinstance(feature, Category))
            if columns[feature.name] is None and not declared:
                other = ', or declare it with missing="middle"'
                raise InvalidInput(
                    f"the log has no column {feature.name!r}, a context feature"
                    f"{nearest(feature.name, schema)} It has {', '.join(schema)}. These are "
                    f"contexts of another definition: {_name_it(feature.name)}, or leave the "
                    f"feature out of context={'' if isinstance(feature, Category) else other}."
                )

    def _refuse_missing_rewards(self, columns: Mapping[str, str | None]) -> None:
        schema = self.source.schema()
        if not any(columns.values()):
            raise InvalidInput(
                f"the log has no column of any objective ({', '.join(columns)}); it has "
                f"{', '.join(schema)}. If they are called otherwise there, {_name_it(*columns)}."
            )
        for name, column in columns.items():
            if column is None:
                raise InvalidInput(
                    f"the log has no column {name!r}, an objective{nearest(name, schema)} It has "
                    f"{', '.join(schema)}. If it is called otherwise there, {_name_it(name)}; else "
                    "leave the objective out of the definition. Where no reward came yet, the "
                    "column holds null."
                )


def _column(prefix: str, name: str, schema: pl.Schema) -> str | None:
    """Return the column of a name, as an export calls it or as it is; None if there is none."""
    names = [prefix + name, name]
    names += [one.replace('"', '""') for one in names]  # in the head of a CSV file
    return next((one for one in names if one in schema), None)


def _name_it(*names: str) -> str:
    """Return how to say which column an objective or a feature has, in Python and in a shell."""
    columns = ", ".join(f"{name!r}: ..." for name in names)
    options = " ".join(f"--column {name}=NAME" for name in names)
    return f"name the column: Log(..., columns={{{columns}}}), or {options}"


def _columns_of(
    roles: Mapping[str, str], schema: pl.Schema, taken: Collection[str | None]
) -> dict[str, str | None]:
    """Return the column of each role, such as the arm; None where there is none.

    A role does not get a column of its own name that a feature or an objective has `taken`.
    """
    columns: dict[str, str | None] = {}
    for role, column in roles.items():
        there = column in schema and (column not in taken or column != role)
        if not there and column == role == "arm":
            raise InvalidInput(
                f"the log has no column 'arm'; it has {', '.join(schema)}. Name the column of "
                "the arms: Log(..., arm=...), or --column arm=NAME."
            )
        if not there and column != role:
            raise unknown_name(f"column of the log, for {role}:", column, schema)
        columns[role] = column if there else None
    return columns


class Part(NamedTuple):
    """Consecutive rows of a log."""

    log: Log
    start: int
    stop: int

    def teach(self, chooser: Chooser, **how: Any) -> int:
        """Let a chooser learn these rows; see `Chooser.learn`."""
        return learning.learn(chooser, self.log, self.start, self.stop, **how)


def _given(what: str, value: Any, known: LogDefinition | None) -> Any:
    if value is not None:
        return value
    if known is None:
        raise InvalidInput(f"{what} is missing: give it, or like=chooser.")
    return getattr(known, what)


def _definition(like: Any) -> LogDefinition:
    chooser = Chooser.load(like) if isinstance(like, str | Path) else like
    if not isinstance(chooser, Chooser):
        raise InvalidInput(f"like must be a Chooser or the path of a saved one, got {like!r}.")
    return LogDefinition(
        chooser.objectives,
        chooser._arms.names,
        chooser.contexts.features,
        chooser._ledger.wait,
        chooser._explore,
    )


def _both(arms: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return arms and others, each once."""
    return [*dict.fromkeys((*arms, *others))]


def _arms_in(source: Source, arm: str, allowed: str) -> list[str]:
    """Return the arms that an export names, as played or as allowed."""
    columns = [name for name in (arm, allowed) if name in source.schema()]
    found: dict[str, None] = {}
    for table in source.with_names(columns).tables(0, source.rows(), columns):
        for column in table:
            for value in column.drop_nulls().unique(maintain_order=True).to_list():
                text = isinstance(value, str) and column.name == allowed
                listed = list_of(value, str) if text else value
                found.update(dict.fromkeys([listed] if isinstance(listed, str) else listed or ()))
    return [*found]


def _cut(
    tables: Iterable[pl.DataFrame], start: int, edges: Sequence[int]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield (first row, table) for the rows up to each edge, whatever the lengths of the tables."""
    held: list[pl.DataFrame] = []
    first, height, ends = start, 0, iter(edges)
    edge = next(ends, None)
    for table in tables:
        rest = table
        while edge is not None and height + rest.height >= edge - first:
            take = edge - first - height
            held.append(rest.head(take))
            rest = rest.slice(take)
            yield first, pl.concat(held)
            held, first, height = [], edge, 0
            edge = next(ends, None)
        if rest.height:
            held.append(rest)
            height += rest.height
