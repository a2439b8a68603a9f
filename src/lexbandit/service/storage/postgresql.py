"""The log in PostgreSQL, which any number of replicas share.

A batch is appended by one statement. It first moves the one row of `lexbandit_clock`, and that
row stays locked until the batch is committed, so that batches are committed in the order of their
places: who has read the log up to some place has missed nothing below it.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any

import asyncpg

from lexbandit.errors import InvalidInput
from lexbandit.service.events import (
    CorruptLog,
    Event,
    Snapshot,
    Stored,
    checksum,
    content_checksum,
    in_order,
)
from lexbandit.service.storage import _postgresql_statements as sql
from lexbandit.service.storage.base import (
    SnapshotKey,
    Storage,
    StorageFailed,
    not_next,
    read_one,
)

log = logging.getLogger("lexbandit.service")

CONNECTIONS = 4
# So many events are removed from the log's beginning by one statement.
_REMOVED_TOGETHER = 200
# What the server or the database may have set otherwise, and the log cannot do without: a commit
# is on disk when it is told, and a batch waits for the one before it instead of failing.
SETTINGS = {
    "application_name": "lexbandit",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "synchronous_commit": "on",
}

# The last one is what the driver says when a connection breaks at a moment it did not think of.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
    asyncpg.InternalClientError,
)

_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[^@/?#:,\[\]]*)(?::\d+)?"
_URL = re.compile(
    r"postgres(?:ql)?://(?:[^@/?#:]*(?::[^@/?#]*)?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[^@/?#]*)?)(?:\?\w+=[^?#]*)?"
)


class PostgresStorage(Storage):
    """A log in a PostgreSQL database; `patience` is how long an answer may take, in seconds.

    When the server is away every call fails, and when it is back they work again.
    """

    shared = True
    _settings: Mapping[str, str] = SETTINGS

    def __init__(self, url: str, *, patience: float = 10.0) -> None:
        self._url = url
        self._place = _place(url)
        self._patience = patience
        self._pool: Any = None
        self._ahead: float | None = None
        # Reading never takes the last connection: appending is what somebody waits for.
        self._others = asyncio.Semaphore(CONNECTIONS - 1)

    async def open(self) -> None:
        """Connect; create or migrate the tables."""
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=CONNECTIONS,
            timeout=self._patience,
            command_timeout=self._patience,
            server_settings=self._settings,
            init=self._check_durable,
            reset=_as_it_is,
        )
        try:
            async with self._connection("cannot be used") as connection:
                await self._make_ready(connection)
        except BaseException as error:
            await self.close()
            if type(error) in (ValueError, OverflowError):  # the latter for a port beyond 65535
                raise _not_a_url() from None
            raise

    async def close(self) -> None:
        """Close the connections."""
        if self._pool is None:
            return
        with suppress(TimeoutError):  # by then the pool has broken the connections off
            await asyncio.wait_for(self._pool.close(), self._patience)

    async def clock_ahead(self) -> float | None:
        """Return how far the server's clock was ahead of the log's end when it was opened."""
        return self._ahead

    async def size(self) -> int | None:
        """Return the size of the tables and their indexes."""
        async with self._connection("did not tell its size") as connection:
            return int(await connection.fetchval(sql.SIZE))

    async def probe(self) -> None:
        """Have the server write to its disk what changes nothing."""
        async with self._connection("did not write") as connection:
            await connection.execute(sql.PROBE)

    async def append(self, events: Sequence[Event]) -> list[Stored]:
        """Append events in one statement, which is one transaction."""
        if not events:
            return []
        points, kinds, bodies = zip(*events, strict=True)
        sums = [content_checksum(event) for event in events]
        async with self._connection("did not take events", first=True) as connection:
            row = await connection.fetchrow(sql.APPEND, points, kinds, bodies, sums)
        if row is None:
            raise StorageFailed(
                f"PostgreSQL at {self._place}: the table lexbandit_clock has lost its row, so "
                "nothing can be appended. Restore the log from a backup."
            )
        before, time = row
        return [Stored(seq, time, *event) for seq, event in enumerate(events, before + 1)]

    async def restore(self, events: Sequence[Stored]) -> None:
        """Append events of another log in one statement, which is one transaction."""
        if not events:
            return
        sums = [checksum(event) for event in events]
        async with self._connection("did not take events", first=True) as connection:
            ends = (events[0].seq - 1, events[-1].seq, events[-1].time)
            columns = zip(*events, strict=True)
            taken = await connection.fetchval(sql.RESTORE, *ends, *columns, sums)
        if taken is None:
            raise not_next(f"PostgreSQL at {self._place}", events[0])

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> list[Stored]:
        """Return the events after `seq`, each one checked."""
        async with self._connection("did not read the log") as connection:
            if point is not None:
                rows = await connection.fetch(sql.READ_POINT, seq, limit, point)
            else:
                rows = await connection.fetch(sql.READ, seq, limit)
        first = max(seq, rows[0]["removed"]) if rows and point is None else None
        return in_order([tuple(row)[:-1] for row in rows], first)

    async def removed(self) -> int:
        """Return the last event that was removed."""
        async with self._connection("did not read the log") as connection:
            return int(await connection.fetchval(sql.REMOVED))

    async def first_events(self) -> list[Stored]:
        """Return the removed events that say which arms a point has."""
        async with self._connection("did not read the log") as connection:
            return in_order(await connection.fetch(sql.FIRST_EVENTS))

    async def points(self) -> list[str]:
        """Return the points in the log."""
        async with self._connection("did not read the log") as connection:
            return [name for (name,) in await connection.fetch(sql.POINTS)]

    async def remove_until(self, seq: int) -> int:
        """Remove the log's first events, some at a time."""
        async with self._connection("did not remove events") as connection:
            return int(await connection.fetchval(sql.REMOVE, seq, _REMOVED_TOGETHER))

    async def begin_at(self, removed: int, first: Sequence[Stored]) -> None:
        """Let an empty log begin after an event."""
        columns = list(zip(*first, strict=True)) or [()] * 5
        sums = [checksum(event) for event in first]
        async with self._connection("did not take events") as connection:
            taken = await connection.fetchval(sql.BEGIN_AT, removed, *columns, sums)
        if taken is None:
            raise not_next(
                f"PostgreSQL at {self._place}", Stored(removed + 1, 0.0, "", "tick", b"")
            )

    async def rewrite(self, events: Sequence[Stored]) -> None:
        """Replace the bodies of events."""
        columns = (
            [event.seq for event in events],
            [event.body for event in events],
            [checksum(event) for event in events],
        )
        trouble = "did not change events"
        async with self._connection(trouble) as connection, connection.transaction():
            for statement in sql.REWRITE:
                await connection.execute(statement, *columns)

    def reader(self) -> Storage:
        """Return a storage on the same database that only reads."""
        return PostgresReader(self._url)

    async def shrink(self) -> None:
        """Leave it to the server, whose autovacuum lets what was removed be overwritten."""

    async def check_rest(self) -> None:
        """Check the first events and the snapshots."""
        await self.first_events()
        async with self._connection("did not read a snapshot") as connection:
            found = await connection.fetchrow(sql.DAMAGED_SNAPSHOT)
        if found is not None:
            point, seq = found
            raise CorruptLog(f"the snapshot of {point} after event {seq} is damaged.")

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are."""
        async with self._connection("did not read a snapshot") as connection:
            return [SnapshotKey(*row) for row in await connection.fetch(sql.SNAPSHOTS)]

    async def remove_snapshots(self, point: str, before: int) -> None:
        """Remove older snapshots."""
        async with self._connection("did not remove snapshots") as connection:
            await connection.execute(sql.REMOVE_SNAPSHOTS, point, before)

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, and forget all but the last two of its point and definition."""
        digest = hashlib.sha256(snapshot.data).digest()
        trouble = "did not take a snapshot"
        async with self._connection(trouble) as connection, connection.transaction():
            await connection.execute(sql.SAVE, point, definition, *snapshot, digest)
            await connection.execute(sql.FORGET, point, definition)

    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest snapshot that is whole."""
        before = None
        async with self._connection("did not read a snapshot") as connection:
            while row := await connection.fetchrow(sql.LOAD, point, definition, before):
                before, data, digest = row
                if hashlib.sha256(data).digest() == digest:
                    return Snapshot(before, data)
                log.warning(
                    "the snapshot of %s after event %d is damaged: passed over", point, before
                )
        return None

    @asynccontextmanager
    async def _connection(self, trouble: str, *, first: bool = False) -> AsyncIterator[Any]:
        """Lend a connection; what goes wrong with it becomes `StorageFailed`."""
        if self._pool is None:
            raise StorageFailed(f"PostgreSQL at {self._place} is not open: call `open` first.")
        try:
            async with (
                nullcontext() if first else self._others,
                self._pool.acquire(timeout=self._patience) as connection,
            ):
                try:
                    yield connection
                except BaseException:
                    with suppress(asyncpg.InterfaceError):  # it is gone already
                        connection.terminate()  # its state is not known; that of a new one is
                    raise
        except FAILURES as error:
            raise self._failed(trouble, error) from error

    def _failed(self, trouble: str, error: Exception) -> StorageFailed:
        reason = str(error) or f"no answer within {self._patience:g} seconds"
        return StorageFailed(f"PostgreSQL at {self._place} {trouble}: {reason}")

    async def _check_durable(self, connection: Any) -> None:
        """Refuse a server that does not write to disk what it commits."""
        if await connection.fetchval("SHOW fsync") != "on":
            raise StorageFailed(
                f"PostgreSQL at {self._place} runs with fsync = off, so a loss of power would lose "
                "events that were acknowledged. Set fsync = on in its configuration.",
                final=True,
            )

    async def _make_ready(self, connection: Any) -> None:
        await self._migrate(connection)
        await self._check_end(connection)

    async def _migrate(self, connection: Any) -> None:
        # A user who may not create tables can still use those that are up to date.
        if await self._version(connection) == len(sql.MIGRATIONS):
            return
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", sql.MIGRATING)
            for script in sql.MIGRATIONS[await self._version(connection) :]:
                await connection.execute(script)
            await connection.execute(
                "UPDATE lexbandit_schema SET version = $1", len(sql.MIGRATIONS)
            )

    async def _check_end(self, connection: Any) -> None:
        """Refuse a log that lost its end."""
        found = await connection.fetchrow(sql.ENDS)
        written, last, same_time, ahead = found or (None, None, False, None)
        if written != last or written is None:
            raise CorruptLog(
                f"PostgreSQL at {self._place} is damaged: its log ends with event {last}, and "
                f"event {written} was the last one written. Restore it from a backup."
            )
        if not same_time:
            raise CorruptLog(
                f"PostgreSQL at {self._place} is damaged: the time in lexbandit_clock is not the "
                f"one of event {last}, the last of the log. Restore it from a backup."
            )
        self._ahead = ahead if written else None

    async def _version(self, connection: Any) -> int:
        """Return the version of the tables, 0 if there are none; refuse those of later versions."""
        if not await connection.fetchval(sql.EXISTS):
            return 0
        version = int(await connection.fetchval("SELECT version FROM lexbandit_schema"))
        if version > len(sql.MIGRATIONS):
            raise StorageFailed(
                f"PostgreSQL at {self._place} has tables of version {version}, made by a newer "
                f"lexbandit; this one knows versions up to {len(sql.MIGRATIONS)}. Upgrade "
                "lexbandit, or use another database.",
                final=True,
            )
        return version


class PostgresReader(PostgresStorage):
    """A log that is read, and never written; where there is none yet, none is made."""

    _settings: Mapping[str, str] = {**SETTINGS, "default_transaction_read_only": "on"}
    _there = False

    async def _make_ready(self, connection: Any) -> None:
        self._there = await self._version(connection) > 0
        if self._there:
            await self._check_end(connection)

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> list[Stored]:
        """Return the events after `seq`, each one checked."""
        return await super().read_since(seq, limit, point) if self._there else []

    async def removed(self) -> int:
        """Return the last event that was removed."""
        return await super().removed() if self._there else 0

    async def points(self) -> list[str]:
        """Return the points in the log."""
        return await super().points() if self._there else []

    async def first_events(self) -> list[Stored]:
        """Return the removed events that say which arms a point has."""
        return await super().first_events() if self._there else []

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are."""
        return await super().snapshots() if self._there else []

    async def check_rest(self) -> None:
        """Check the first events and the snapshots."""
        if self._there:
            await super().check_rest()


class PostgresChecker(PostgresReader):
    """A log that is to be served: its user must be allowed to."""

    async def _make_ready(self, connection: Any) -> None:
        await super()._make_ready(connection)
        user, schema, create, write = await connection.fetchrow(
            sql.WRITES if self._there else sql.CREATES
        )
        if not create:
            raise self._refused(f"{user} may not create tables in the schema {schema!r}.")
        if not write:
            raise self._refused(f"{user} may not write to the tables of lexbandit.")

    def _refused(self, reason: str) -> StorageFailed:
        told = f"PostgreSQL at {self._place}: {reason} Let the service's user own the database."
        return StorageFailed(told, final=True)


async def _as_it_is(connection: Any) -> None:
    """Leave a connection's session alone: nothing here changes it, and a reset is a round trip."""


def _place(url: str) -> str:
    """Return the part of a URL that may be shown: where the server is, not the password."""
    found = _URL.fullmatch(url)
    if found is None:
        raise _not_a_url()
    return found["place"]


def _not_a_url() -> InvalidInput:
    """Return the error for a URL that is not one; it may hold a password, so it is not shown."""
    return InvalidInput(
        "storage must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with a PORT up to 65535 "
        "and with @ : / ? # and % in a password written as %40 %3A %2F %3F %23 and %25; the one "
        "given is not."
    )


def storage_at(url: str, *, reading: bool = False) -> Storage:
    """Return the storage of postgresql://USER:PASSWORD@HOST/DATABASE."""
    return PostgresReader(url) if reading else PostgresStorage(url)


async def check(url: str) -> None:
    """Ask the server whether the log can be used, or made."""
    await read_one(PostgresChecker(url))
