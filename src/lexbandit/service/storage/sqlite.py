"""The log in a SQLite file: one process, one writer thread, a commit on disk for every batch."""

import asyncio
import fcntl
import functools
import logging
import math
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from lexbandit.errors import InvalidInput
from lexbandit.kernels.log_pages import whole_numbers
from lexbandit.service.events import (
    KINDS,
    CorruptLog,
    Event,
    Events,
    Kind,
    Snapshot,
    as_written,
    checksum,
    follow,
    in_order,
    snapshot_checksum,
)
from lexbandit.service.storage._sqlite_wal import wal_damage
from lexbandit.service.storage.base import (
    LARGEST_PAGE,
    SnapshotKey,
    Storage,
    StorageFailed,
    StorageInUse,
    hidden,
    not_next,
)

log = logging.getLogger("lexbandit.service")
_T = TypeVar("_T")

# So many rows are inserted by one statement. After each statement this thread waits its turn to run
# Python again, which takes long when the other threads are busy; so there should be few.
_TOGETHER = 64
# So many rows are joined to one by SQLite, if there are so many.
_JOINED = 1000
# They are of no more points than this, and no body is larger than this.
_MOST_POINTS, _LARGE = 16, 4096
# A time is read as a whole number of ticks, so many a second: exact from 2004 on.
_TICKS = 2.0**22
# So many bytes at most a row of a snapshot has besides the snapshot.
_ROW_BESIDES = 1000
# So many events are removed from the log's beginning by one transaction.
_REMOVED_TOGETHER = 200
_ROW = "(?, ?, ?, ?, ?, ?)"
# SQL, and the values for its question marks.
_Statement = tuple[str, Sequence[Any]]
# Makes a named tuple in half the time.
_tuple = tuple.__new__


# The version of the tables. A file of a later version is refused.
VERSION = 1
# AUTOINCREMENT has SQLite keep the last place in a table of its own, by which a log that lost its
# end is noticed.
_TABLES = """
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    point TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE INDEX log_by_point ON log (point, seq);
CREATE TABLE first_events (
    seq INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    point TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE removed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
INSERT INTO removed VALUES (1, 0);
CREATE TABLE snapshots (
    point TEXT NOT NULL,
    definition TEXT NOT NULL,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (point, definition, seq)
);
"""

# The last event that is there, the last place written, the first event that is there, and the last
# that was removed; in one statement, so that no batch of another process comes between them.
_END = """
SELECT coalesce(last.seq, removed.seq), coalesce(last.time, 0.0), written,
    (SELECT min(seq) FROM log), removed.seq
FROM removed, (SELECT coalesce(max(seq), 0) AS written FROM sqlite_sequence WHERE name = 'log')
LEFT JOIN (SELECT seq, time FROM log ORDER BY seq DESC LIMIT 1) AS last
"""

# After these errors the file is as it was, and is written again when that is over.
_AGAIN = {
    sqlite3.SQLITE_FULL: "there is room",
    sqlite3.SQLITE_BUSY: "the program that has it locked lets it go",
}
# So often a write-ahead log of at most so many bytes is looked at, which takes a second, because it
# has fewer blocks than before: on file systems that compress that says nothing.
_ALARMS, _LOOKED_AT = 10, 64 * 2**20
# A disk that was full is written again when it has so many bytes free.
_SPACE = 2**20
# Writes to the disk, and changes nothing.
_TOUCH = ("UPDATE removed SET seq = seq", ())

_AFTER, _AFTER_OF_POINT = "seq > ? AND seq <= ?", "point = ? AND seq > ? AND seq <= ?"
_READ = "SELECT seq, time, point, kind, body, checksum FROM log WHERE {where} ORDER BY seq LIMIT ?"
READ, READ_POINT = _READ.format(where=_AFTER), _READ.format(where=_AFTER_OF_POINT)
# One row for many events: their number, their bodies, and lists of whole numbers that have one for
# each event: its place, its time, its size and label, and its checksum. The size and label are one
# number, size * labels + label; an event that is not as it should be has none.
_READ_JOINED = f"""
SELECT count(*),
    CAST(group_concat(CASE WHEN length(body) <= {_LARGE} THEN body END, '') AS BLOB),
    CAST(group_concat(seq) AS BLOB),
    CAST(group_concat(CAST(time * {_TICKS} AS INTEGER)) AS BLOB),
    CAST(group_concat(CASE
        WHEN body >= x'' AND length(body) <= {_LARGE} THEN length(body) * {{labels}} + {{label}}
    END) AS BLOB),
    CAST(group_concat(checksum) AS BLOB)
FROM log WHERE {_AFTER}
"""
_LAST = "SELECT coalesce(max(seq), 0) FROM log"
_SOME_POINTS = "SELECT DISTINCT point FROM (SELECT point FROM log WHERE seq > ? LIMIT 1000)"
_FIRST_EVENTS = "SELECT * FROM first_events ORDER BY seq"
# By the index, from each point to the next.
_POINTS = """
WITH RECURSIVE points (name) AS (
    SELECT min(point) FROM log
    UNION ALL
    SELECT (SELECT min(point) FROM log WHERE point > name) FROM points WHERE name IS NOT NULL
) SELECT name FROM points WHERE name IS NOT NULL
"""
# Of the events after ?1 and up to ?2, those stay that say which arms a point has.
_REMOVE = (
    "INSERT INTO first_events SELECT * FROM log "
    "WHERE seq > ?1 AND seq <= ?2 AND kind IN ('begin', 'arm')",
    "DELETE FROM log WHERE seq > ?1 AND seq <= ?2",
    "UPDATE removed SET seq = ?2 WHERE seq = ?1",
)
_BEGIN_AT = (
    "UPDATE removed SET seq = ?1",
    "DELETE FROM sqlite_sequence WHERE name = 'log' AND seq < ?1",
    "INSERT INTO sqlite_sequence (name, seq) VALUES ('log', ?1)",
)

_REMOVE_SNAPSHOTS = (
    "DELETE FROM snapshots WHERE point = ? AND seq < ? AND definition = coalesce(?, definition)"
)

# In a damaged file, also SQLite's messages may be no text.
_UNREADABLE = (sqlite3.Error, UnicodeError)
# With these the file may be as good as ever.
_NOT_ALLOWED = (
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)


class LogClock:
    """Seconds since 1970 at its start, moved on by the monotonic clock.

    The wall clock is read once: if it is set while the process runs, nothing happens here. If it
    was set back between two runs, time stands where the log ended and goes on from there.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()
        self._last = 0.0

    def not_before(self, last: float) -> None:
        """Go on from the time of the log's last event if the wall clock was behind it."""
        self._last = max(self._last, last)
        self._offset = max(self._offset, last - self._monotonic())

    def now(self) -> float:
        """Return the time, never less than before."""
        self._last = max(self._last, self._monotonic() + self._offset)
        return self._last


class SqliteStorage(Storage):
    """A file in write-ahead mode with synchronous=FULL: what is appended survives a loss of power.

    All writing is done by one thread, all reading by another, each with a connection of its own.
    While the disk is full, or another program has the file locked, writes are refused, and accepted
    again when that is over. After any other write that failed nothing more is written: what the
    disk holds then is not known until the file is opened again. The same holds when the file at the
    path is no longer the one that was opened, or was cut off.
    """

    shared = False

    def __init__(self, path: str | Path, clock: LogClock | None = None) -> None:
        self.path = Path(path)
        self._clock = clock or LogClock()
        self._seq = 0
        self._ahead: float | None = None
        self._failed: str | None = None
        self._lock: IO[str] | None = None
        self._alarms = 0  # how often a write-ahead log had fewer blocks than before
        self._points: dict[str, None] = {}  # those that were read so far
        self._files: dict[Path, os.stat_result] = {}  # as they were after the last write
        self._writing = ThreadPoolExecutor(1, "lexbandit-write")
        self._reading = ThreadPoolExecutor(1, "lexbandit-read")

    async def open(self) -> None:
        """Open the file, with its tables if it is new, and keep other processes out."""
        await self._in(self._writing, self._open)

    def _open(self) -> None:
        _check_folder(self.path)
        _check_cut(self.path)
        try:
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
            except _UNREADABLE as error:
                raise StorageFailed(
                    f"{self.path} cannot be opened: {error}.", final=True
                ) from error
            undo.pop_all()

    def _connect(self, undo: ExitStack) -> None:
        self._writer = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        undo.callback(self._writer.close)
        _check_ours(self._writer, self.path)
        self._writer.execute("PRAGMA journal_mode = WAL")
        self._writer.execute("PRAGMA synchronous = FULL")
        self._writer.execute("PRAGMA fullfsync = 1")  # macOS: a flush that reaches the disk
        _create_tables(self._writer, self.path)
        self._writer.execute(*_TOUCH)  # from here on there is a write-ahead log
        self._seq, last = _end(self._writer, self.path)
        self._ahead = self._clock.now() - last if self._seq else None
        self._clock.not_before(last)
        self._files = {place: os.stat(place) for place in (self.path, _wal_of(self.path))}
        self._reader = sqlite3.connect(_read_only(self.path), uri=True, check_same_thread=False)

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
        files = (self.path, _wal_of(self.path))
        return sum(file.stat().st_size for file in files if file.exists())

    async def probe(self) -> None:
        """Write to the disk what changes nothing; even a full one may have the space for it."""

        def work() -> None:
            if _free(self.path.parent) < _SPACE:
                raise StorageFailed(
                    f"{self.path} could not be written: the disk has less than 1 MB of room."
                )
            self._write([_TOUCH])

        await self._in(self._writing, work)

    async def append(self, events: Sequence[Event]) -> list[Event]:
        """Append events in one transaction."""
        return await self._in(self._writing, lambda: self._append(events))

    def _append(self, events: Sequence[Event]) -> list[Event]:
        now = self._clock.now()
        stored = [
            _tuple(Event, (seq, now, *event[2:])) for seq, event in enumerate(events, self._seq + 1)
        ]
        self._insert(stored)
        return stored

    def _insert(self, stored: Sequence[Event]) -> None:
        groups = range(0, len(stored), _TOGETHER)
        self._write([_insertion(stored[first : first + _TOGETHER]) for first in groups])
        self._seq += len(stored)

    async def restore(self, events: Sequence[Event]) -> None:
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
        self._check_place()
        if len(statements) != 1:  # one alone is a transaction already
            statements = [("BEGIN IMMEDIATE", ()), *statements, ("COMMIT", ())]
        try:
            for sql, values in statements:
                self._writer.execute(sql, values)
        except (sqlite3.Error, OSError) as error:
            raise self._not_written(error) from error
        self._check_place()

    def _not_written(self, error: sqlite3.Error | OSError) -> StorageFailed:
        """Return the error for a write that failed.

        A disk that is full, or a lock that another program holds, has left the file as it was.
        """
        again = _AGAIN.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if again is not None:
            try:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if _end(self._writer, self.path)[0] == self._seq:
                    return StorageFailed(
                        f"{self.path} could not be written: {error}. It is written again as soon "
                        f"as {again}."
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
        """Refuse to acknowledge what was written to a file that nobody will find again.

        It is looked at before a write too: what was cut off is as long again after it. What is cut
        off during a write shows by blocks that are missing.
        """
        for place, before in self._files.items():
            try:
                found = os.stat(place)
            except OSError as error:
                raise self._fail(f"is not safe: {place} is gone ({error.strerror})") from None
            if (found.st_dev, found.st_ino) != (before.st_dev, before.st_ino):
                raise self._fail(f"is not safe: {place} was replaced by another file")
            cut = found.st_size < before.st_size and not self._is_whole()
            if cut or self._is_hollow(place, before, found):
                raise self._fail(f"is not safe: {place} was cut off")
            self._files[place] = found

    def _is_whole(self) -> bool:
        """Tell whether all is there after a file became shorter: SQLite does that itself at times.

        Then the file has all of its pages, or the write-ahead log has those that are missing.
        """
        there = os.stat(self.path).st_size
        if not there:
            return False  # who opened an empty file would remove its write-ahead log
        try:
            with closing(sqlite3.connect(_read_only(self.path), uri=True)) as found:
                (pages,) = found.execute("PRAGMA page_count").fetchone()
                (size,) = found.execute("PRAGMA page_size").fetchone()
                same = there in (self._files[self.path].st_size, pages * size)
                return same and _end(found, self.path)[0] >= self._seq
        except (sqlite3.Error, CorruptLog):
            return False

    def _is_hollow(self, place: Path, before: os.stat_result, found: os.stat_result) -> bool:
        """Tell whether a write-ahead log was cut off during a write, which left a hole."""
        fewer = found.st_blocks < before.st_blocks and found.st_size >= before.st_size
        if not fewer or place == self.path or found.st_size > _LOOKED_AT:
            return False
        self._alarms += 1
        damage = wal_damage(place) if self._alarms <= _ALARMS else None
        return damage is not None and not damage.at_end

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> Sequence[Event]:
        """Return the events after `seq`."""

        def read() -> Events:
            with _one_state(self._reader):
                return self._page(seq, limit, point)

        return await self._read("the log", read)

    def _page(self, seq: int, limit: int, point: str | None) -> Events:
        """Return a page of the events after `seq`; those of a point are found by the index."""
        reached = seq = max(seq, _removed(self._reader))
        (last,) = self._reader.execute(_LAST).fetchone()
        many = point is None and min(limit, last - seq) >= _JOINED
        parts: list[Events] = []
        size, time = 0, 0.0
        while seq < last and limit > 0 and size < LARGEST_PAGE:
            until = min(seq + min(_JOINED, limit), last) if many else last
            after = reached if point is None else None
            part = self._joined(seq, until) if many else None
            if part is not None and not part:  # events are missing: the rows tell which
                until = last
            if not part or not follow(part, after, time):
                part = in_order(self._rows(seq, until, limit, point), after, time)
                self._points.update(dict.fromkeys(part.points()))
            seq = until
            if part:
                parts.append(part)
                limit, size = limit - len(part), size + len(part.text)
                reached, time = int(part.seqs[-1]), float(part.times[-1])
        page = Events.joined(parts)
        return page[: int(np.searchsorted(page.ends, LARGEST_PAGE)) + 1]

    def _rows(self, seq: int, until: int, limit: int, point: str | None) -> list[Any]:
        """Return rows of events, until their bodies are large enough for a page."""
        rows: list[Any] = []
        size = 0
        sql, values = (READ, ()) if point is None else (READ_POINT, (point,))
        for row in self._reader.execute(sql, (*values, seq, until, limit)):
            rows.append(row)
            size += len(row[4]) if row[4].__class__ is bytes else 0
            if size >= LARGEST_PAGE:
                break
        return rows

    def _joined(self, seq: int, until: int) -> Events | None:
        """Return events that SQLite joins to one row; None if one of them must be read by itself.

        So Python has a few objects for all of them, and not a few for each.
        """
        if not self._points:
            some = self._reader.execute(_SOME_POINTS, (seq,))
            self._points.update(dict.fromkeys(point for (point,) in some))
        points = [*self._points]
        if not 0 < len(points) <= _MOST_POINTS:
            return None
        row = self._reader.execute(_read_joined(len(points)), (*points, seq, until)).fetchone()
        count, text, *lists = row
        if not count:
            return Events.of(())
        columns = np.empty((len(lists), count), np.int64)
        for written, column in zip(lists, columns, strict=True):
            if whole_numbers(np.frombuffer(written or b"", np.uint8), column) != count:
                return None
        names: list[tuple[str, Kind]] = [(point, kind) for point in points for kind in KINDS]
        seqs, ticks, sizes_and_labels, checksums = columns
        sizes, labels = np.divmod(sizes_and_labels, len(names))
        ends = np.cumsum(sizes)
        if ends[-1] != len(text or b""):
            return None
        events = Events(seqs, ticks / _TICKS, labels, names, text, ends - sizes, ends)
        return events if as_written(events, checksums) else None

    async def removed(self) -> int:
        """Return the last event that was removed."""
        return await self._read("the log", lambda: _removed(self._reader))

    async def first_events(self) -> Sequence[Event]:
        """Return the removed events that say which arms a point has."""
        return await self._read(
            "the log", lambda: in_order(self._reader.execute(_FIRST_EVENTS).fetchall())
        )

    async def points(self) -> list[str]:
        """Return the points in the log."""
        rows = await self._read("the log", lambda: self._reader.execute(_POINTS).fetchall())
        return [name for (name,) in rows]

    async def remove_until(self, seq: int) -> int:
        """Remove the log's first events, some at a time."""

        def work() -> int:
            begun = _removed(self._writer)
            last = min(begun + _REMOVED_TOGETHER, seq, self._seq - 1)
            if last > begun:
                self._write([(sql, (begun, last)) for sql in _REMOVE])
            return max(begun, last)

        return await self._in(self._writing, work)

    async def begin_at(self, removed: int, first: Sequence[Event]) -> None:
        """Let an empty log begin after an event."""

        def work() -> None:
            if self._seq:
                raise not_next(str(self.path), Event(removed + 1, 0.0, "", "tick", b""))
            insertions = [_insertion([event], "first_events") for event in first]
            self._write([*insertions, *((sql, (removed,)) for sql in _BEGIN_AT)])
            self._seq = removed

        await self._in(self._writing, work)

    async def rewrite(self, events: Sequence[Event]) -> None:
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
            (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise StorageFailed(
                    f"{self.path} still has what was removed from it, since another process reads "
                    "it. Ask again when that one is done."
                )

        await self._in(self._writing, work)

    async def check_rest(self) -> None:
        """Check the structure of the file, the snapshots and the write-ahead log."""

        def check() -> None:
            _check_structure(self._reader, self.path)
            in_order(self._reader.execute(_FIRST_EVENTS).fetchall())
            for point, definition, seq, data, stored in self._reader.execute(
                "SELECT point, definition, seq, data, checksum FROM snapshots"
            ):
                if stored != snapshot_checksum(point, definition, Snapshot(seq, data)):
                    raise CorruptLog(f"the snapshot of {point} after event {seq} is damaged.")

        await self._read("all of it", check)

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Keep a snapshot and the one before it."""
        most = self._writer.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) - _ROW_BESIDES
        if len(snapshot.data) > most:  # tried nevertheless, it would be a write that failed
            raise StorageFailed(
                f"{self.path}: a snapshot of {point} has {len(snapshot.data):,} bytes, and SQLite "
                f"takes {most:,}. Without snapshots a start reads the whole log; a smaller keep "
                "makes them smaller."
            )
        of = (point, definition)
        forget: _Statement = (
            "DELETE FROM snapshots WHERE point = ? AND definition = ? AND seq NOT IN ("
            "SELECT seq FROM snapshots WHERE point = ? AND definition = ? "
            "ORDER BY seq DESC LIMIT 2)",
            (*of, *of),
        )

        def work() -> None:  # the checksum too: of a hundred megabytes it takes .1 s
            save = (*of, *snapshot, snapshot_checksum(*of, snapshot))
            insert = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)"
            self._write([(insert, save), forget])

        await self._in(self._writing, work)

    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest whole snapshot."""

        def read() -> Snapshot | None:
            rows = self._reader.execute(
                "SELECT seq, data, checksum FROM snapshots WHERE point = ? AND definition = ? "
                "ORDER BY seq DESC",
                (point, definition),
            )
            for seq, data, stored in rows:
                if stored == snapshot_checksum(point, definition, Snapshot(seq, data)):
                    return Snapshot(seq, data)
                log.warning("the snapshot of %s after event %d is damaged: passed over", point, seq)
            return None

        return await self._read("a snapshot", read)

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are."""
        read = "SELECT point, definition, seq FROM snapshots ORDER BY point, seq DESC"
        rows = await self._read("a snapshot", lambda: self._reader.execute(read).fetchall())
        return [SnapshotKey(*row) for row in rows]

    async def remove_snapshots(
        self, point: str, before: int, definition: str | None = None
    ) -> None:
        """Remove older snapshots."""
        removal = (_REMOVE_SNAPSHOTS, (point, before, definition))
        await self._in(self._writing, lambda: self._write([removal]))

    async def _read(self, what: str, read: Callable[[], _T]) -> _T:
        """Read; what SQLite cannot make sense of is damage."""
        try:
            return await self._in(self._reading, read)
        except _UNREADABLE as error:
            raise unreadable(self.path, what, error) from error

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(thread, work)


@functools.cache
def _read_joined(points: int) -> str:
    """Return the statement that joins events; it is given so many points, and from where to where.

    An event's label is the place of its point and kind in a list of all.
    """
    point = " ".join(f"WHEN ? THEN {n * len(KINDS)}" for n in range(points))
    kind = " ".join(f"WHEN '{kind}' THEN {n}" for n, kind in enumerate(KINDS))
    label = f"(CASE point {point} END + CASE kind {kind} END)"
    return _READ_JOINED.format(labels=points * len(KINDS), label=label)


def _insertion(rows: Sequence[Event], table: str = "log") -> _Statement:
    values: list[Any] = []
    for one in rows:
        values += one
        values.append(checksum(one))
    return f"INSERT INTO {table} VALUES {', '.join([_ROW] * len(rows))}", values


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
        place = _read_only(self.path)
        with ExitStack() as undo:
            self._reader = sqlite3.connect(place, uri=True, check_same_thread=False)
            undo.callback(self._reader.close)
            if not _version(self._reader, self.path):
                _check_structure(self._reader, self.path)  # or it is there, and cannot be read
                raise StorageFailed(f"{self.path} has no log of lexbandit in it.", final=True)
            _end(self._reader, self.path)
            undo.pop_all()

    async def close(self) -> None:
        """Close the file."""
        await self._in(self._reading, self._reader.close)
        self._reading.shutdown()
        self._writing.shutdown()


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is another program's."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and not _version(connection, path):
        raise StorageFailed(
            f"{path} has tables that are not lexbandit's. Name another file.", final=True
        )


def _create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in a new file, all or none."""
    if not _version(connection, path):
        connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLES}; PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a file's tables, 0 if there are none; refuse those of later ones."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise StorageFailed(
            f"{path} has tables of version {found}, made by a newer lexbandit; this one knows "
            f"versions up to {VERSION}. Upgrade lexbandit, or use another file.",
            final=True,
        )
    return int(found)


def _end(connection: sqlite3.Connection, path: Path) -> tuple[int, float]:
    """Return the place and the time of a log's last event; refuse a log that lost an end."""
    _removed(connection)  # refuses a damaged one
    seq, time, written, first, removed = connection.execute(_END).fetchone()
    if first is not None and first <= removed:
        raise hidden(first, removed)
    if seq != written or not isinstance(time, float):
        raise CorruptLog(
            f"{path} is damaged: its log ends with event {seq}, and event {written} was the last "
            "one written. Restore it from a backup."
        )
    return seq, time


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Let several statements see one state of the file, whatever is written meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


def _removed(connection: sqlite3.Connection) -> int:
    """Return the last event that was removed from the log's beginning."""
    rows = connection.execute("SELECT seq FROM removed").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], int):
        raise CorruptLog(
            "the log does not say which of its events were removed: that mark was damaged. Restore "
            "the log from a backup."
        )
    return int(rows[0][0])


def _check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose pages do not fit together, or whose write-ahead log is damaged."""
    for (found,) in connection.execute("PRAGMA integrity_check(1)"):
        if found != "ok":
            raise CorruptLog(f"{path} is damaged: {found}. Restore it from a backup.")
    damage = wal_damage(_wal_of(path))
    if damage is not None and not damage.at_end:
        damage = wal_damage(_wal_of(path))  # a process may have written while it was read
    if damage is None:
        return
    last = _end(connection, path)[0] if _version(connection, path) else 0
    reason = f"{path}-wal is damaged: {damage.reason}. So event {last} is the last that can be read"
    if damage.at_end:
        raise CorruptLog(
            f"{reason}. If the power was lost, nobody was told of what came after it: start the "
            "service once, and check again. Otherwise restore the file from a backup."
        )
    raise CorruptLog(
        f"{reason}, and the first damaged one is event {last + 1} or later. Restore the file from "
        "a backup."
    )


def unreadable(path: Path, what: str, error: Exception) -> CorruptLog | StorageFailed:
    """Return what it means that `what` could not be read: the file is damaged, or out of reach."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _NOT_ALLOWED:
        return StorageFailed(
            f"{path} cannot be read: {error}. This process must be allowed to read it, and to "
            "write in its folder, where SQLite keeps what belongs to it.",
            final=True,
        )
    if code == sqlite3.SQLITE_NOTADB:
        return CorruptLog(
            f"{path} is not a SQLite file. If that is its right name, restore it from a backup."
        )
    return CorruptLog(f"{path} is damaged where {what} is: {error}. Restore it from a backup.")


def _wal_of(path: Path) -> Path:
    """Return where the write-ahead log of a SQLite file is: beside the file, not beside a link."""
    return Path(f"{path.resolve()}-wal")


def _free(folder: Path) -> float:
    """Return how many bytes are free on the disk of a folder; ∞ if that is not known."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


def _read_only(path: Path) -> str:
    """Return the URI by which SQLite reads a file and does not write it."""
    return f"{path.absolute().as_uri()}?mode=ro"


def _check_cut(path: Path) -> None:
    """Refuse an empty file with a write-ahead log, which SQLite would take for a new one."""
    wal = _wal_of(path)
    if path.exists() and not path.stat().st_size and wal.exists() and wal.stat().st_size:
        raise StorageFailed(
            f"{path} is empty, and {wal} is not: the file was cut off. Restore it from a backup.",
            final=True,
        )


def _check_folder(path: Path) -> Path:
    """Return the folder of a file; one that is missing is refused, since it may be mistyped."""
    folder = path.absolute().parent
    if not folder.exists():
        raise StorageFailed(
            f"{path} cannot be made: there is no folder {folder}. Make it, or correct the name.",
            final=True,
        )
    if not folder.is_dir():
        raise StorageFailed(f"{path} cannot be made: {folder} is no folder.", final=True)
    return folder


def _check_writable(path: Path) -> None:
    """Refuse a place that this process may not write at."""
    folder = _check_folder(path)
    for place in (path, folder):
        if place.exists() and not os.access(place, os.W_OK):
            raise StorageFailed(f"{path}: this process may not write to {place}.", final=True)


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
    _check_writable(path)
    if path.exists() and path.stat().st_size:
        async with SqliteReader(path) as storage:
            await storage.read_since(0, 1)
