"""A decision point's log as a table: one row a decision, with its rewards beside it.

Rewards come long after their decisions, so the log is first sorted into a file on disk; then rows
are written out in their order. Neither step holds more than a page of it in memory.
"""

import json
import sqlite3
import tempfile
from bisect import bisect_right
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from lexbandit._internal.files import placing, written_whole
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.events import Event, read_body, rows_of
from lexbandit.service.storage import Storage

FORMATS = ("parquet", "csv", "jsonl")
# So many events are read at once: one may hold ten thousand decisions.
_PAGE = 50
_ROWS = 20_000

_SORTED = """
CREATE TABLE decisions (
    n INTEGER PRIMARY KEY, id TEXT, seq INTEGER, time REAL, arm TEXT, propensity REAL,
    version INTEGER, allowed TEXT, context TEXT
);
CREATE INDEX by_id ON decisions (id, seq);
CREATE TABLE rewards (
    n INTEGER, name TEXT, value REAL, time REAL, PRIMARY KEY (n, name)
) WITHOUT ROWID;
"""
# An id may be used again when its first decision is over. Whoever decided had then seen the first
# one. Two replicas that were asked at once had not seen each other's: there the first one counts.
_DECISION = """
INSERT INTO decisions (id, seq, time, arm, propensity, version, allowed, context)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE NOT EXISTS (SELECT 1 FROM decisions WHERE id = ?1 AND seq > ?9)
"""
# A reward belongs to the last decision of its id before it.
_REWARD = """
INSERT OR IGNORE INTO rewards
SELECT n, ?2, ?3, ?4 FROM decisions WHERE id = ?1 ORDER BY seq DESC LIMIT 1
"""


class Exported(NamedTuple):
    """How many decisions were written, and how many more rows of the log only repeat one."""

    rows: int
    repeated: int


def format_of(path: Path) -> str:
    """Return the format that a file's name asks for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InvalidInput(
            f"{path} must end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}: that is its format."
        )
    return ending


async def export(
    storage: Storage,
    point: str,
    path: Path,
    last: int | None = None,
    *,
    since: int = 0,
    arms: Collection[str] | None = None,
) -> Exported:
    """Write the decisions of a point to a file, whole or not at all.

    With `last`, those up to this event, and their rewards, also where these came later. With
    `since`, those after this event; `arms` are then those that can be chosen at the log's end, from
    which follows what could be chosen before.
    """
    format = format_of(path)
    with (
        placing(path) as place,
        _system_errors(path),
        tempfile.TemporaryDirectory(prefix=".export-", dir=place) as made,
        written_whole(path) as whole,
    ):
        folder = Path(made)
        sorted_log = _SortedLog(folder / "sorted.db")
        try:
            points = await storage.points()
            if point not in points:
                raise unknown_name("decision point", point, points)
            await _sort(storage, point, sorted_log, last, since)
            if since and arms is not None:
                sorted_log.begin_before(arms)
            rows = _write(sorted_log, format, folder, whole)
        finally:
            sorted_log.connection.close()
    return Exported(rows, sorted_log.repeated)


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    """Raise as an OSError what SQLite and Polars say of a disk that is full."""
    try:
        yield
    except (sqlite3.OperationalError, pl.exceptions.ComputeError) as error:
        raise OSError(f"{path} cannot be written: {error}") from error


async def _sort(
    storage: Storage, point: str, sorted_log: "_SortedLog", last: int | None, since: int
) -> None:
    """Sort the events of a point."""
    for event in await storage.first_events():
        if event.point == point:
            sorted_log.take(event)
    async for event in storage.events(since, _PAGE, point):
        if last is None or event.seq <= last or event.kind != "decisions":
            sorted_log.take(event)


class _SortedLog:
    """The log in a file: decisions in their order, rewards by decision; the first of each counts.

    `kinds` has the types of values that each feature had; `objectives` are all there ever were.
    `arms` are those that the log begins with, None if that is not known, and `changes` the events
    that add one or retire it.
    """

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = OFF")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(_SORTED)
        self.kinds: dict[str, set[type]] = {}
        self.objectives: list[str] = []
        self.arms: list[str] | None = None
        self.changes: list[tuple[int, str, bool]] = []
        self.repeated = 0

    def take(self, event: Event) -> None:
        """Take the decisions and rewards of an event."""
        if event.kind == "decisions":
            self._decisions(event)
        elif event.kind == "begin":
            body = read_body(event)
            self.arms = self.arms or list(body["arms"])  # replicas may begin at once
            for objective in body["definition"]["objectives"]:
                self._note_objective(objective["name"])
        elif event.kind == "arm":
            body = read_body(event)
            self.changes.append((event.seq, body["arm"], body["change"] == "add"))
        elif event.kind == "rewards":
            rewards = [
                (row["id"], name, value, event.time)
                for row in read_body(event)["rows"]
                for name, value in row["values"].items()
            ]
            for _, name, _, _ in rewards:
                self._note_objective(name)
            self._insert(_REWARD, rewards)

    def begin_before(self, arms: Collection[str]) -> None:
        """Begin with the arms that these are after all changes."""
        before = set(arms)
        for _, arm, added in reversed(self.changes):
            (before.discard if added else before.add)(arm)
        self.arms = sorted(before)

    def choices(self) -> "_Choices":
        """Return what could be chosen by a decision of any version."""
        active = list(self.arms or ())
        found = _Choices([0], [active], {*active, *(arm for _, arm, _ in self.changes)})
        for seq, arm, added in self.changes if self.arms else ():
            active = [one for one in active if one != arm] + [arm] * added
            found.since.append(seq)
            found.arms.append(active)
        return found

    def _note_objective(self, name: str) -> None:
        if name not in self.objectives:
            self.objectives.append(name)

    def _decisions(self, event: Event) -> None:
        body = read_body(event)
        version = body["version"]
        # Without "seen" the log is of before: what had been learned from had been seen at least.
        seen = body.get("seen", version)
        made = []
        for row in rows_of(body):
            context = row["context"] or {}  # it may have been erased
            for name, value in context.items():
                if value is not None:
                    self.kinds.setdefault(name, set()).add(type(value))
            head = (row["id"], event.seq, event.time, row["arm"], row["propensity"])
            allowed = row.get("allowed")
            listed = None if allowed is None else json.dumps(allowed)
            made.append((*head, version, listed, json.dumps(context), seen))
        inserted = self._insert(_DECISION, made)
        self.repeated += len(made) - inserted

    def _insert(self, statement: str, rows: list[tuple[Any, ...]]) -> int:
        """Insert rows; returns how many were new."""
        self.connection.execute("BEGIN")
        done = self.connection.executemany(statement, rows).rowcount
        self.connection.execute("COMMIT")
        return done

    def pages(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield decisions in their order, and the rewards of these."""
        last = 0
        while True:
            decisions = self.connection.execute(
                "SELECT * FROM decisions WHERE n > ? ORDER BY n LIMIT ?", (last, _ROWS)
            ).fetchall()
            if not decisions:
                return
            first, last = decisions[0][0], decisions[-1][0]
            rewards = self.connection.execute(
                "SELECT n, name, value, rewards.time - decisions.time FROM decisions "
                "JOIN rewards USING (n) WHERE n BETWEEN ? AND ?",
                (first, last),
            ).fetchall()
            yield decisions, rewards


class _Choices(NamedTuple):
    """The arms that could be chosen since each change of them, in order, and all there ever were.

    A decision's version is the last event by which what it was chosen from had changed.
    """

    since: list[int]
    arms: list[list[str]]
    ever: set[str]

    def of(self, version: int, played: str) -> list[str] | None:
        """Return what could be chosen by a decision; None if that is every arm, or not known."""
        arms = self.arms[bisect_right(self.since, version) - 1]
        return arms if played in arms and len(arms) < len(self.ever) else None


def _write(sorted_log: _SortedLog, format: str, folder: Path, path: Path) -> int:
    """Write pages as files of their own, then all of them as one; returns the rows."""
    flat = format == "csv"  # it has no lists
    schema = _schema(sorted_log, flat)
    choices = sorted_log.choices()
    pages: list[Path] = []
    rows = 0
    for decisions, rewards in sorted_log.pages():
        pages.append(folder / f"page-{len(pages):08}.parquet")
        _page(decisions, rewards, schema, choices, flat).write_parquet(pages[-1])
        rows += len(decisions)
    table = pl.scan_parquet(pages) if pages else pl.DataFrame(schema=schema).lazy()
    if format == "parquet":
        table.sink_parquet(path)
    elif format == "csv":
        table.sink_csv(path)
    else:
        table.sink_ndjson(path)
    return rows


def _schema(sorted_log: _SortedLog, flat: bool) -> dict[str, pl.DataType]:
    text = pl.String()
    schema: dict[str, pl.DataType] = {
        "seq": pl.Int64(),
        "time": pl.Datetime("us", "UTC"),
        "id": text,
        "arm": text,
        "propensity": pl.Float64(),
        "policy_version": pl.Int64(),
        "allowed": text if flat else pl.List(text),
    }
    for name, kinds in sorted_log.kinds.items():
        schema[f"context.{name}"] = _type(kinds, flat)
    for name in sorted_log.objectives:
        schema[f"reward.{name}"] = schema[f"delay.{name}"] = pl.Float64()
    return schema


def _type(kinds: set[type], flat: bool) -> pl.DataType:
    if kinds <= {int, float}:
        return pl.Float64()
    if kinds == {bool}:
        return pl.Boolean()
    if kinds == {list} and not flat:
        return pl.List(pl.Float64())
    return pl.String()


def _page(
    decisions: list[Any],
    rewards: list[Any],
    schema: dict[str, pl.DataType],
    choices: _Choices,
    flat: bool,
) -> pl.DataFrame:
    """Return a page of rows."""
    positions = {row[0]: place for place, row in enumerate(decisions)}
    columns: dict[str, list[Any]] = {name: [None] * len(decisions) for name in schema}
    for place, (_, id, seq, time, arm, propensity, version, allowed, context) in enumerate(
        decisions
    ):
        listed = choices.of(version, arm) if allowed is None else json.loads(allowed)
        allowed_arms = json.dumps(listed) if flat and listed is not None else listed
        head = (seq, round(time * 1e6), id, arm, propensity, version, allowed_arms)
        for name, value in zip(schema, head, strict=False):
            columns[name][place] = value
        for name, value in json.loads(context).items():
            column = f"context.{name}"
            if column in schema:  # a feature that never had a value has no column
                columns[column][place] = _value(value, schema[column])
    for n, name, value, delay in rewards:
        columns[f"reward.{name}"][positions[n]] = value
        columns[f"delay.{name}"][positions[n]] = delay
    return pl.DataFrame(
        {name: pl.Series(name, columns[name], _raw(type)) for name, type in schema.items()}
    ).cast({"time": pl.Datetime("us", "UTC")})


def _raw(type: pl.DataType) -> pl.DataType:
    """Return the type in which a column is given: times are numbers at first."""
    return pl.Int64() if isinstance(type, pl.Datetime) else type


def _value(value: Any, type: pl.DataType) -> Any:
    """Return a feature's value as its column holds it; one of another type becomes JSON."""
    if isinstance(type, pl.Float64) and value is not None:
        return float(value)
    if isinstance(type, pl.String) and value is not None and not isinstance(value, str):
        return json.dumps(value)
    return value
