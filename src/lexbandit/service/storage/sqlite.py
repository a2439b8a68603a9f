"""The log in a SQLite file: one process, one writer thread, a commit on disk for every batch."""

import asyncio
import fcntl
import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TypeVar

from lexbandit.errors import InvalidInput
from lexbandit.service.events import Event, Snapshot, Stored, checksum, in_order
from lexbandit.service.log_clock import LogClock
from lexbandit.service.sqlite_file import (
    UNREADABLE,
    check_ours,
    check_writable,
    end,
    migrate,
    unreadable,
    version,
)
from lexbandit.service.storage.base import (
    LARGEST_PAGE,
    Storage,
    StorageFailed,
    StorageInUse,
    not_next,
    read_one,
)

log = logging.getLogger("lexbandit.service")
_T = TypeVar("_T")

# So many rows are inserted by one statement. After each statement this thread waits its turn to run
# Python again, which takes long when the other threads are busy; so there should be few.
_TOGETHER = 64
_ROW = "(?, ?, ?, ?, ?, ?)"
# SQL, and the values for its question marks.
_Statement = tuple[str, Sequence[Any]]
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class SqliteStorage(Storage):
    """A file in write-ahead mode with synchronous=FULL: what is appended survives a loss of power.

    All writing is done by one thread, all reading by another, each with a connection of its own.
    After a write that failed nothing more is written: what the disk holds then is not known until
    the file is opened again.
    """

    shared = False

    def __init__(self, path: str | Path, clock: LogClock | None = None) -> None:
        self.path = Path(path)
        self._clock = clock or LogClock()
        self._seq = 0
        self._failed: str | None = None
        self._lock: IO[str] | None = None
        self._writing = ThreadPoolExecutor(1, "lexbandit-write")
        self._reading = ThreadPoolExecutor(1, "lexbandit-read")

    async def open(self) -> None:
        """Open or create the file, migrate it, and keep other processes out."""
        await self._in(self._writing, self._open)

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._keep_others_out()
        except OSError as error:
            raise StorageFailed(
                f"{self.path} cannot be opened: {error.strerror} ({error.filename}). Its folder "
                "must be one that this process may write in.",
                final=True,
            ) from error
        with ExitStack() as undo:
            undo.callback(self._let_others_in)
            try:
                self._connect(undo)
            except UNREADABLE as error:
                raise StorageFailed(
                    f"{self.path} cannot be opened: {error}.", final=True
                ) from error
            undo.pop_all()

    def _connect(self, undo: ExitStack) -> None:
        self._writer = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        undo.callback(self._writer.close)
        check_ours(self._writer, self.path)
        self._writer.execute("PRAGMA journal_mode = WAL")
        self._writer.execute("PRAGMA synchronous = FULL")
        self._writer.execute("PRAGMA fullfsync = 1")  # macOS: a flush that reaches the disk
        migrate(self._writer, self.path)
        self._seq, time = end(self._writer, self.path)
        self._clock.not_before(time)
        self._reader = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
        )

    def _keep_others_out(self) -> None:
        """Hold a lock that the system frees when this process ends, however it ends."""
        # Beside the file itself, by whatever name it was called.
        place = f"{self.path.resolve()}.lock"
        self._lock = open(place, "a+")  # noqa: SIM115 - held while we live
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            self._let_others_in()
            raise StorageInUse(
                f"{self.path} is in use by another process (pid {owner}): one process serves a "
                "SQLite file. Stop that one, or use PostgreSQL to run several."
            ) from None
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def _let_others_in(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def close(self) -> None:
        """Close the file."""

        def end() -> None:
            self._writer.close()
            self._let_others_in()

        await self._in(self._reading, self._reader.close)
        await self._in(self._writing, end)
        self._writing.shutdown()
        self._reading.shutdown()

    async def append(self, events: Sequence[Event]) -> list[Stored]:
        """Append events in one transaction."""
        return await self._in(self._writing, lambda: self._append(events))

    def _append(self, events: Sequence[Event]) -> list[Stored]:
        time = self._clock.now()
        stored = [
            _tuple(Stored, (seq, time, *event)) for seq, event in enumerate(events, self._seq + 1)
        ]
        self._insert(stored)
        return stored

    def _insert(self, stored: Sequence[Stored]) -> None:
        groups = range(0, len(stored), _TOGETHER)
        self._write([_insertion(stored[first : first + _TOGETHER]) for first in groups])
        self._seq += len(stored)

    async def restore(self, events: Sequence[Stored]) -> None:
        """Append events of another log in one transaction."""

        def work() -> None:
            if events[0].seq != self._seq + 1:
                raise not_next(str(self.path), events[0])
            self._insert(events)
            self._clock.not_before(events[-1].time)

        if events:
            await self._in(self._writing, work)

    def _write(self, statements: Sequence[_Statement]) -> None:
        """Make changes durable, all or none; after some that failed there are no others."""
        if self._failed is not None:
            raise StorageFailed(self._failed, final=True)
        if len(statements) != 1:  # one alone is a transaction already
            statements = [("BEGIN IMMEDIATE", ()), *statements, ("COMMIT", ())]
        try:
            for sql, values in statements:
                self._writer.execute(sql, values)
        except (sqlite3.Error, OSError) as error:
            self._failed = (
                f"{self.path} could not be written: {error}. Nothing more is written until the "
                "service is started again."
            )
            raise StorageFailed(self._failed, final=True) from error

    async def read_since(self, seq: int, limit: int) -> list[Stored]:
        """Return the events after `seq`."""

        def read() -> list[Stored]:
            rows = self._reader.execute(
                "SELECT seq, time, point, kind, body, checksum FROM log WHERE seq > ? "
                "ORDER BY seq LIMIT ?",
                (seq, limit),
            )
            return in_order(seq, _page(rows))

        return await self._read("the log", read)

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Keep a snapshot and the one before it."""
        of = (point, definition)
        save: _Statement = (
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
            (*of, snapshot.seq, snapshot.data, _digest(snapshot.data)),
        )
        forget: _Statement = (
            "DELETE FROM snapshots WHERE point = ? AND definition = ? AND seq NOT IN ("
            "SELECT seq FROM snapshots WHERE point = ? AND definition = ? "
            "ORDER BY seq DESC LIMIT 2)",
            (*of, *of),
        )
        await self._in(self._writing, lambda: self._write([save, forget]))

    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest whole snapshot."""

        def read() -> Snapshot | None:
            rows = self._reader.execute(
                "SELECT seq, data, checksum FROM snapshots WHERE point = ? AND definition = ? "
                "ORDER BY seq DESC",
                (point, definition),
            )
            for seq, data, kept in rows:
                if _digest(data) == kept:
                    return Snapshot(seq, data)
                log.warning("the snapshot of %s after event %d is damaged: passed over", point, seq)
            return None

        return await self._read("a snapshot", read)

    async def _read(self, what: str, read: Callable[[], _T]) -> _T:
        """Read; what SQLite cannot make sense of is damage."""
        try:
            return await self._in(self._reading, read)
        except UNREADABLE as error:
            raise unreadable(self.path, what, error) from error

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(thread, work)


def _insertion(rows: Sequence[Stored]) -> _Statement:
    values: list[Any] = []
    for one in rows:
        values += one
        values.append(checksum(one))
    return f"INSERT INTO log VALUES {', '.join([_ROW] * len(rows))}", values


def _page(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows until their bodies are large enough for a page."""
    size = 0
    for row in rows:
        yield row
        size += len(row[4])
        if size >= LARGEST_PAGE:
            return


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


class SqliteReader(SqliteStorage):
    """A file that another process may be serving: it is read, and never written or locked."""

    async def open(self) -> None:
        """Open the file."""
        if not self.path.is_file():
            raise StorageFailed(f"there is no file {self.path}.", final=True)
        self._failed = f"{self.path} is open for reading only."
        try:
            await self._read("all of it", self._look)
        except BaseException:
            self._reading.shutdown()
            self._writing.shutdown()
            raise

    def _look(self) -> None:
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        with ExitStack() as undo:
            self._reader = sqlite3.connect(place, uri=True, check_same_thread=False)
            undo.callback(self._reader.close)
            if not version(self._reader, self.path):
                raise StorageFailed(f"{self.path} has no log of lexbandit in it.", final=True)
            end(self._reader, self.path)
            undo.pop_all()

    async def close(self) -> None:
        """Close the file."""
        await self._in(self._reading, self._reader.close)
        self._reading.shutdown()
        self._writing.shutdown()


def _path(url: str) -> Path:
    place = url.partition(":")[2].removeprefix("//")
    if not place:
        raise InvalidInput("storage must be sqlite:FILE; the file is missing.")
    if place == ":memory:":
        raise InvalidInput("storage must be sqlite:FILE, got sqlite::memory:, which no disk keeps.")
    return Path(place)


def storage_at(url: str, *, reading: bool = False) -> Storage:
    """Return the storage of sqlite:FILE."""
    return SqliteReader(_path(url)) if reading else SqliteStorage(_path(url))


async def check(url: str) -> None:
    """Look at the file, if it is there, and whether it may be written."""
    path = _path(url)
    check_writable(path)
    if path.exists() and path.stat().st_size:
        await read_one(SqliteReader(path))
