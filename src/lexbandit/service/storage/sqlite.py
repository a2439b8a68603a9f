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
from lexbandit.service.engine.log_clock import LogClock
from lexbandit.service.events import (
    CorruptLog,
    Event,
    Snapshot,
    Stored,
    checksum,
    in_order,
)
from lexbandit.service.storage._sqlite_file import (
    BEGIN_AT,
    FIRST_EVENTS,
    POINTS,
    READ,
    READ_POINT,
    REMOVE,
    TOUCH,
    UNREADABLE,
    check_ours,
    check_structure,
    check_writable,
    end,
    identity,
    migrate,
    removed,
    touch,
    unreadable,
    version,
)
from lexbandit.service.storage._sqlite_wal import wal_of
from lexbandit.service.storage.base import (
    LARGEST_PAGE,
    SnapshotKey,
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
# So many events are removed from the log's beginning by one transaction.
_REMOVED_TOGETHER = 200
_ROW = "(?, ?, ?, ?, ?, ?)"
# SQL, and the values for its question marks.
_Statement = tuple[str, Sequence[Any]]
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class SqliteStorage(Storage):
    """A file in write-ahead mode with synchronous=FULL: what is appended survives a loss of power.

    All writing is done by one thread, all reading by another, each with a connection of its own.
    A full disk takes nothing, and everything again when there is room. After any other write that
    failed nothing more is written: what the disk holds then is not known until the file is opened
    again. The same holds when the file at the path is no longer the one that was opened.
    """

    shared = False

    def __init__(self, path: str | Path, clock: LogClock | None = None) -> None:
        self.path = Path(path)
        self._clock = clock or LogClock()
        self._seq = 0
        self._ahead: float | None = None
        self._failed: str | None = None
        self._lock: IO[str] | None = None
        self._identities: dict[Path, tuple[int, int]] = {}
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
        touch(self._writer)  # from here on there is a write-ahead log
        self._seq, time = end(self._writer, self.path)
        self._ahead = self._clock.now() - time if self._seq else None
        self._clock.not_before(time)
        wal = wal_of(self.path)
        self._identities = {place: identity(place) for place in (self.path, wal)}
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

    async def clock_ahead(self) -> float | None:
        """Return how far this machine's clock was ahead of the log's end when it was opened."""
        return self._ahead

    async def size(self) -> int | None:
        """Return the size of the file and of its write-ahead log."""
        places = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    async def probe(self) -> None:
        """Write to the disk what changes nothing."""
        await self._in(self._writing, lambda: self._write([TOUCH]))

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
        """Make changes durable, all or none, in the file that is found at the path."""
        if self._failed is not None:
            raise StorageFailed(self._failed, final=True)
        if len(statements) != 1:  # one alone is a transaction already
            statements = [("BEGIN IMMEDIATE", ()), *statements, ("COMMIT", ())]
        try:
            for sql, values in statements:
                self._writer.execute(sql, values)
        except (sqlite3.Error, OSError) as error:
            raise self._not_written(error) from error
        self._check_place()

    def _not_written(self, error: sqlite3.Error | OSError) -> StorageFailed:
        """Return the error for a write that failed; a full disk has left the file as it was."""
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            try:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if end(self._writer, self.path)[0] == self._seq:
                    return StorageFailed(
                        f"{self.path} could not be written: {error}. It is written again as soon "
                        "as there is room."
                    )
            except (sqlite3.Error, CorruptLog):
                pass  # then its state is not known
        return self._fail(f"could not be written: {error}")

    def _fail(self, reason: str) -> StorageFailed:
        """Write nothing more, and return the error that says so."""
        self._failed = (
            f"{self.path} {reason}. Nothing more is written until the service is started again."
        )
        return StorageFailed(self._failed, final=True)

    def _check_place(self) -> None:
        """Refuse to acknowledge what was written to a file that nobody will find again."""
        for place, opened in self._identities.items():
            try:
                found = identity(place)
            except OSError as error:
                raise self._fail(f"is not safe: {place} is gone ({error.strerror})") from None
            if found != opened:
                raise self._fail(f"is not safe: {place} was replaced by another file")

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> list[Stored]:
        """Return the events after `seq`."""

        def read() -> list[Stored]:
            if point is not None:
                return in_order(_page(self._reader.execute(READ_POINT, (point, seq, limit))))
            rows = self._reader.execute(READ, (seq, limit))
            page = list(_page(rows))
            return in_order([row[:-1] for row in page], max(seq, page[0][-1]) if page else None)

        return await self._read("the log", read)

    async def removed(self) -> int:
        """Return the last event that was removed."""
        return await self._read("the log", lambda: removed(self._reader))

    async def first_events(self) -> list[Stored]:
        """Return the removed events that say which arms a point has."""
        return await self._read("the log", lambda: in_order(self._reader.execute(FIRST_EVENTS)))

    async def points(self) -> list[str]:
        """Return the points in the log."""
        rows = await self._read("the log", lambda: self._reader.execute(POINTS).fetchall())
        return [name for (name,) in rows]

    async def remove_until(self, seq: int) -> int:
        """Remove the log's first events, some at a time."""

        def work() -> int:
            begun = removed(self._writer)
            last = min(begun + _REMOVED_TOGETHER, seq, self._seq - 1)
            if last > begun:
                self._write([(sql, (begun, last)) for sql in REMOVE])
            return max(begun, last)

        return await self._in(self._writing, work)

    async def begin_at(self, removed: int, first: Sequence[Stored]) -> None:
        """Let an empty log begin after an event."""

        def work() -> None:
            if self._seq:
                raise not_next(str(self.path), Stored(removed + 1, 0.0, "", "tick", b""))
            kept = [_insertion([event], "first_events") for event in first]
            self._write([*kept, *((sql, (removed,)) for sql in BEGIN_AT)])
            self._seq = removed

        await self._in(self._writing, work)

    async def rewrite(self, events: Sequence[Stored]) -> None:
        """Replace the bodies of events; `shrink` removes what was there from the file."""
        changes = [
            (f"UPDATE {table} SET body = ?, checksum = ? WHERE seq = ?", values)
            for table in ("log", "first_events")
            for values in ((event.body, checksum(event), event.seq) for event in events)
        ]
        await self._in(self._writing, lambda: self._write(changes))

    def reader(self) -> Storage:
        """Return a storage on the same file that only reads."""
        return SqliteReader(self.path)

    async def shrink(self) -> None:
        """Write the file anew, without what was removed."""

        def work() -> None:
            self._write([("VACUUM", ())])
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        await self._in(self._writing, work)

    async def check_rest(self) -> None:
        """Check the structure of the file, the snapshots and the write-ahead log."""

        def check() -> None:
            check_structure(self._reader, self.path)
            in_order(self._reader.execute(FIRST_EVENTS))
            for point, seq, data, kept in self._reader.execute(
                "SELECT point, seq, data, checksum FROM snapshots"
            ):
                if _digest(data) != kept:
                    raise CorruptLog(f"the snapshot of {point} after event {seq} is damaged.")

        await self._read("all of it", check)

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

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are."""
        read = "SELECT point, definition, seq FROM snapshots ORDER BY point, seq DESC"
        rows = await self._read("a snapshot", lambda: self._reader.execute(read).fetchall())
        return [SnapshotKey(*row) for row in rows]

    async def remove_snapshots(self, point: str, before: int) -> None:
        """Remove older snapshots."""
        removal = ("DELETE FROM snapshots WHERE point = ? AND seq < ?", (point, before))
        await self._in(self._writing, lambda: self._write([removal]))

    async def _read(self, what: str, read: Callable[[], _T]) -> _T:
        """Read; what SQLite cannot make sense of is damage."""
        try:
            return await self._in(self._reading, read)
        except UNREADABLE as error:
            raise unreadable(self.path, what, error) from error

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(thread, work)


def _insertion(rows: Sequence[Stored], table: str = "log") -> _Statement:
    values: list[Any] = []
    for one in rows:
        values += one
        values.append(checksum(one))
    return f"INSERT INTO {table} VALUES {', '.join([_ROW] * len(rows))}", values


def _page(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows until their bodies are large enough for a page."""
    size = 0
    for row in rows:
        yield row
        size += len(row[4]) if isinstance(row[4], bytes) else 0
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
                check_structure(self._reader, self.path)  # or it is there, and cannot be read
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
