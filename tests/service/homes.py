"""Where a storage of each kind lives in a test: made, opened, opened again, and damaged."""

import asyncio
import functools
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, ParamSpec

from lexbandit.service.events import Event, Kind, body_of
from lexbandit.service.storage import Storage, make_storage
from service.real_postgres import running

P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Make a test of a coroutine."""

    @functools.wraps(test)
    def run(*given: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*given, **named))

    return run


def new_event(point: str, kind: Kind, body: bytes) -> Event:
    """Return an event to be appended to a log."""
    return Event(0, 0.0, point, kind, body)


def numbered(first: int, count: int, point: str = "router") -> list[Event]:
    """Events that say which they are."""
    kind: Kind = "decisions"
    return [new_event(point, kind, body_of({"n": n})) for n in range(first, first + count)]


async def whole_log(storage: Storage, page: int = 1000) -> list[Event]:
    """Read a log from its beginning, page by page."""
    events: list[Event] = []
    while got := await storage.read_since(len(events), page):
        events += got
    return events


class Home(ABC):
    """One log somewhere; `log` and `snapshots` are the names of its tables."""

    url: str
    log: str
    snapshots: str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Storage]:
        """A storage on this log."""
        storage = make_storage(self.url)
        await storage.open()
        try:
            yield storage
        finally:
            await storage.close()

    def sql(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Run a statement behind the storage's back; {log} and {snapshots} are its tables."""
        return self._sql(statement.format(log=self.log, snapshots=self.snapshots), *values)

    @abstractmethod
    def _sql(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]: ...

    @abstractmethod
    def refuse(self, seq: int | None) -> None:
        """Let the database refuse the event of a place, as a full disk may; None: no more."""

    @abstractmethod
    def version(self) -> int:
        """The version of its tables."""

    @abstractmethod
    def set_version(self, version: int) -> None:
        """Say that its tables are of another version."""


class SqliteHome(Home):
    """A log in a file."""

    log, snapshots = "log", "snapshots"

    def __init__(self, directory: Path) -> None:
        self.path = directory / "decisions.db"
        self.url = f"sqlite:{self.path}"

    def _sql(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def refuse(self, seq: int | None) -> None:
        if seq is None:
            self._sql("DROP TRIGGER refusing")
        else:
            self._sql(
                f"CREATE TRIGGER refusing BEFORE INSERT ON log WHEN NEW.seq = {seq} "
                "BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )

    def version(self) -> int:
        return int(self._sql("PRAGMA user_version")[0][0])

    def set_version(self, version: int) -> None:
        self._sql(f"PRAGMA user_version = {version}")


class PostgresHome(Home):
    """A log in a schema of its own."""

    log, snapshots = "lexbandit_log", "lexbandit_snapshots"

    def __init__(self, directory: Path) -> None:
        self.server = running()
        self.url = self.server.new_schema()

    def _sql(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        return self.server.execute(statement, *values, url=self.url)

    def refuse(self, seq: int | None) -> None:
        self._sql("ALTER TABLE lexbandit_log DROP CONSTRAINT IF EXISTS refused")
        if seq is not None:
            self._sql(f"ALTER TABLE lexbandit_log ADD CONSTRAINT refused CHECK (seq <> {seq})")

    def version(self) -> int:
        return int(self._sql("SELECT version FROM lexbandit_schema")[0][0])

    def set_version(self, version: int) -> None:
        self._sql("UPDATE lexbandit_schema SET version = $1", version)


HOMES: dict[str, Callable[[Path], Home]] = {"sqlite": SqliteHome, "postgresql": PostgresHome}
