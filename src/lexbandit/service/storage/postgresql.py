"""The log in PostgreSQL, which any number of replicas share.

A batch is appended by one statement. It first moves the one row of `lexbandit_clock`, and that
row stays locked until the batch is committed, so that batches are committed in the order of their
numbers: who has read the log up to some number has missed nothing below it.
"""

import asyncio
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
    checksum,
    content_checksum,
    in_order,
    snapshot_checksum,
)
from lexbandit.service.storage.base import (
    LARGEST_PAGE,
    SnapshotKey,
    Storage,
    StorageFailed,
    hidden,
    not_next,
)

log = logging.getLogger("lexbandit.service")

CONNECTIONS = 4
# So many events are removed from the log's beginning by one statement.
_REMOVED_TOGETHER = 200
# What the server or the database may have set otherwise, and the log cannot do without: a commit
# is on disk when it is acknowledged, and a batch waits for the one before it instead of failing.
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


# Replicas that start at once create the tables one after the other; any number would do.
_CREATING = 6_042_195_347
# The key of the lock of those who remove events, beside one of the schema.
_REMOVING = 1_204_219_534
_LOCK = "SELECT pg_try_advisory_lock($1, hashtext(coalesce(current_schema(), '')))"

# The version of the tables. Those of a later version are refused.
VERSION = 1
_TABLES = f"""
CREATE TABLE lexbandit_schema (version integer NOT NULL);
INSERT INTO lexbandit_schema VALUES ({VERSION});
CREATE TABLE lexbandit_clock (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL,
    time double precision NOT NULL
) WITH (fillfactor = 10);
INSERT INTO lexbandit_clock (seq, time) VALUES (0, 0);
CREATE TABLE lexbandit_log (
    seq bigint PRIMARY KEY,
    time double precision NOT NULL,
    point text NOT NULL,
    kind text NOT NULL,
    body bytea NOT NULL,
    checksum bigint NOT NULL
);
CREATE INDEX lexbandit_log_by_point ON lexbandit_log (point, seq);
CREATE TABLE lexbandit_first_events (LIKE lexbandit_log INCLUDING ALL);
CREATE TABLE lexbandit_removed (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL
);
INSERT INTO lexbandit_removed (seq) VALUES (0);
CREATE TABLE lexbandit_snapshots (
    point text NOT NULL,
    definition text NOT NULL,
    seq bigint NOT NULL,
    data bytea NOT NULL,
    sha256 bytea NOT NULL,
    PRIMARY KEY (point, definition, seq)
);
"""

# Not by to_regclass: it may remember that there was none while another replica made it.
_EXISTS = """
SELECT count(*) FROM pg_class WHERE relname = 'lexbandit_schema' AND pg_table_is_visible(oid)
"""

# Both in one statement, so that no batch comes between them.
_ENDS = """
SELECT clock.seq, coalesce(log.seq, removed.seq), clock.time = coalesce(log.time, 0),
    extract(epoch FROM clock_timestamp())::double precision - clock.time
FROM lexbandit_removed AS removed, lexbandit_clock AS clock
LEFT JOIN (SELECT seq, time FROM lexbandit_log ORDER BY seq DESC LIMIT 1) AS log ON true
"""

# Writes to the disk, and changes nothing.
_PROBE = "UPDATE lexbandit_clock SET seq = seq"

# The client's checksum covers the content; place and time are known here only.
_APPEND = """
WITH clock AS (
    UPDATE lexbandit_clock SET
        seq = seq + cardinality($1::text[]),
        time = greatest(time, extract(epoch FROM clock_timestamp())::double precision)
    RETURNING seq - cardinality($1::text[]) AS before, time
), appended AS (
    INSERT INTO lexbandit_log
    SELECT clock.before + batch.place, clock.time, point, kind, body,
        checksum # (clock.before + batch.place)
            # ('x' || encode(float8send(clock.time), 'hex'))::bit(64)::bigint
    FROM clock, unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS batch (point, kind, body, checksum, place)
)
SELECT before, time FROM clock
"""

# Events of another log with their numbers and times; $1 comes before the first, $2 is the last.
_RESTORE = """
WITH clock AS (
    UPDATE lexbandit_clock SET seq = $2, time = $3 WHERE seq = $1 RETURNING seq
), restored AS (
    INSERT INTO lexbandit_log
    SELECT batch.* FROM clock, unnest(
        $4::bigint[], $5::double precision[], $6::text[], $7::text[], $8::bytea[], $9::bigint[]
    ) AS batch
)
SELECT seq FROM clock
"""

_PAGE = f"""
SELECT seq, time, point, kind, body, checksum, removed FROM (
    SELECT *, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
    FROM ({{page}}) AS page
) AS sized WHERE before < {LARGEST_PAGE} ORDER BY seq
"""

# `before` is how much of the page comes before an event. Each row ends with the last event that was
# removed: one statement sees one state of the log.
_READ = _PAGE.format(
    page="""
    SELECT *, (SELECT seq FROM lexbandit_removed) AS removed FROM lexbandit_log
    WHERE seq > greatest($1, (SELECT seq FROM lexbandit_removed)) ORDER BY seq LIMIT $2
    """
)
_READ_POINT = _PAGE.format(
    page="""
    SELECT *, 0 AS removed FROM lexbandit_log WHERE point = $3 AND seq > $1 ORDER BY seq LIMIT $2
    """
)

_REMOVED = "SELECT seq FROM lexbandit_removed"
_SIZE = """
SELECT pg_total_relation_size('lexbandit_log') + pg_total_relation_size('lexbandit_snapshots')
"""
_FIRST_EVENTS = """
SELECT seq, time, point, kind, body, checksum FROM lexbandit_first_events ORDER BY seq
"""
# By the index, from each point to the next.
_POINTS = """
WITH RECURSIVE points (name) AS (
    (SELECT point FROM lexbandit_log ORDER BY point LIMIT 1)
    UNION ALL
    SELECT (SELECT point FROM lexbandit_log WHERE point > name ORDER BY point LIMIT 1)
    FROM points WHERE name IS NOT NULL
) SELECT name FROM points WHERE name IS NOT NULL
"""
# At most $2 events, none after $1 and not the last one; those stay that say which arms a point has.
_REMOVE = """
WITH clock AS (
    SELECT seq FROM lexbandit_clock
), mark AS (
    UPDATE lexbandit_removed AS mark
    SET seq = greatest(mark.seq, least($1, mark.seq + $2, clock.seq - 1))
    FROM clock RETURNING mark.seq
), gone AS (
    DELETE FROM lexbandit_log USING mark WHERE lexbandit_log.seq <= mark.seq
    RETURNING lexbandit_log.*
), moved AS (
    INSERT INTO lexbandit_first_events SELECT * FROM gone WHERE kind IN ('begin', 'arm')
)
SELECT seq FROM mark
"""
# For an empty log only.
_BEGIN_AT = """
WITH clock AS (
    UPDATE lexbandit_clock SET seq = $1 WHERE seq = 0 RETURNING seq
), mark AS (
    UPDATE lexbandit_removed SET seq = $1 FROM clock
), moved AS (
    INSERT INTO lexbandit_first_events
    SELECT batch.* FROM clock, unnest(
        $2::bigint[], $3::double precision[], $4::text[], $5::text[], $6::bytea[], $7::bigint[]
    ) AS batch
)
SELECT seq FROM clock
"""
_REWRITE = tuple(
    f"""
    UPDATE {table} SET body = batch.body, checksum = batch.checksum
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS batch (seq, body, checksum)
    WHERE {table}.seq = batch.seq
    """
    for table in ("lexbandit_log", "lexbandit_first_events")
)

_SNAPSHOTS = "SELECT point, definition, seq FROM lexbandit_snapshots ORDER BY point, seq DESC"
_REMOVE_SNAPSHOTS = """
DELETE FROM lexbandit_snapshots
WHERE point = $1 AND seq < $2 AND definition = coalesce($3, definition)
"""
_DAMAGED_SNAPSHOT = """
SELECT point, seq FROM lexbandit_snapshots WHERE sha256 <>
    sha256(convert_to(concat_ws(E'\\n', point, definition, seq, ''), 'UTF8') || data)
ORDER BY seq LIMIT 1
"""
_HIDDEN = """
SELECT min(log.seq), max(removed.seq)
FROM lexbandit_log AS log, lexbandit_removed AS removed WHERE log.seq <= removed.seq
"""

_SAVE = """
INSERT INTO lexbandit_snapshots (point, definition, seq, data, sha256) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (point, definition, seq) DO UPDATE SET data = $4, sha256 = $5
"""

_FORGET = """
DELETE FROM lexbandit_snapshots WHERE point = $1 AND definition = $2 AND seq < (
    SELECT seq FROM lexbandit_snapshots WHERE point = $1 AND definition = $2
    ORDER BY seq DESC OFFSET 1 LIMIT 1
)
"""

_LOAD = """
SELECT seq, data, sha256 FROM lexbandit_snapshots
WHERE point = $1 AND definition = $2 AND ($3::bigint IS NULL OR seq < $3)
ORDER BY seq DESC LIMIT 1
"""

# What the server did not do, when something is not read.
_LOG, _SNAPSHOT = "did not read the log", "did not read a snapshot"
# Who is asking, where tables are made, and whether this user may make them and write to them.
_CREATES = """
SELECT current_user, current_schema(),
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), true
"""
_WRITES = """
SELECT current_user, current_schema(), true,
    has_table_privilege('lexbandit_log', 'INSERT')
    AND has_table_privilege('lexbandit_clock', 'UPDATE')
    AND has_table_privilege('lexbandit_removed', 'UPDATE')
    AND has_table_privilege('lexbandit_first_events', 'INSERT')
    AND has_table_privilege('lexbandit_log', 'DELETE')
    AND has_table_privilege('lexbandit_snapshots', 'INSERT')
    AND has_table_privilege('lexbandit_snapshots', 'UPDATE')
    AND has_table_privilege('lexbandit_snapshots', 'DELETE')
"""


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
        """Connect; create the tables if they are missing."""
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
            return int(await connection.fetchval(_SIZE))

    async def probe(self) -> None:
        """Have the server write to its disk what changes nothing."""
        async with self._connection("did not write") as connection:
            await connection.execute(_PROBE)

    async def append(self, events: Sequence[Event]) -> list[Event]:
        """Append events in one statement, which is one transaction."""
        if not events:
            return []
        _, _, points, kinds, bodies = zip(*events, strict=True)
        sums = [content_checksum(event) for event in events]
        async with self._connection("did not take events", first=True) as connection:
            row = await connection.fetchrow(_APPEND, points, kinds, bodies, sums)
        if row is None:
            raise StorageFailed(
                f"PostgreSQL at {self._place}: the table lexbandit_clock has lost its row, so "
                "nothing can be appended. Restore the log from a backup."
            )
        before, time = row
        return [Event(seq, time, *event[2:]) for seq, event in enumerate(events, before + 1)]

    async def restore(self, events: Sequence[Event]) -> None:
        """Append events of another log in one statement, which is one transaction."""
        if not events:
            return
        sums = [checksum(event) for event in events]
        async with self._connection("did not take events", first=True) as connection:
            ends = (events[0].seq - 1, events[-1].seq, events[-1].time)
            columns = zip(*events, strict=True)
            taken = await connection.fetchval(_RESTORE, *ends, *columns, sums)
        if taken is None:
            raise not_next(f"PostgreSQL at {self._place}", events[0])

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> Sequence[Event]:
        """Return the events after `seq`, each one checked."""
        if point is not None:
            rows = await self._fetch(_LOG, _READ_POINT, seq, limit, point)
        else:
            rows = await self._fetch(_LOG, _READ, seq, limit)
        first = max(seq, rows[0]["removed"]) if rows and point is None else None
        return in_order([tuple(row) for row in rows], first)

    async def removed(self) -> int:
        """Return the last event that was removed."""
        return int((await self._fetch(_LOG, _REMOVED))[0][0])

    async def first_events(self) -> Sequence[Event]:
        """Return the removed events that say which arms a point has."""
        return in_order(await self._fetch(_LOG, _FIRST_EVENTS))

    async def points(self) -> list[str]:
        """Return the points in the log."""
        return [name for (name,) in await self._fetch(_LOG, _POINTS)]

    @asynccontextmanager
    async def removing_alone(self) -> AsyncIterator[bool]:
        """Hold a lock by a connection of its own: the server frees it when this process ends."""
        connection: Any = None
        try:
            try:
                connection = await asyncpg.connect(
                    self._url,
                    timeout=self._patience,
                    command_timeout=self._patience,
                    server_settings=self._settings,
                )
                alone = bool(await connection.fetchval(_LOCK, _REMOVING))
            except FAILURES as error:
                raise self._failed("did not lock the log", error) from error
            yield alone
        finally:
            if connection is not None:
                with suppress(*FAILURES):
                    await connection.close(timeout=self._patience)

    async def remove_until(self, seq: int) -> int:
        """Remove the log's first events, some at a time."""
        async with self._connection("did not remove events") as connection:
            return int(await connection.fetchval(_REMOVE, seq, _REMOVED_TOGETHER))

    async def begin_at(self, removed: int, first: Sequence[Event]) -> None:
        """Let an empty log begin after an event."""
        columns = list(zip(*first, strict=True)) or [()] * 5
        sums = [checksum(event) for event in first]
        async with self._connection("did not take events") as connection:
            taken = await connection.fetchval(_BEGIN_AT, removed, *columns, sums)
        if taken is None:
            raise not_next(f"PostgreSQL at {self._place}", Event(removed + 1, 0.0, "", "tick", b""))

    async def rewrite(self, events: Sequence[Event]) -> None:
        """Replace the bodies of events."""
        columns = (
            [event.seq for event in events],
            [event.body for event in events],
            [checksum(event) for event in events],
        )
        trouble = "did not change events"
        async with self._connection(trouble) as connection, connection.transaction():
            for statement in _REWRITE:
                await connection.execute(statement, *columns)

    def reader(self) -> Storage:
        """Return a storage on the same database that only reads."""
        return PostgresReader(self._url)

    async def shrink(self) -> None:
        """Leave it to the server, whose autovacuum lets what was removed be overwritten."""

    async def check_rest(self) -> None:
        """Check the first events, the mark before which none is left, and the snapshots."""
        await self.first_events()
        async with self._connection(_SNAPSHOT) as connection:
            first, removed = await connection.fetchrow(_HIDDEN)
            found = await connection.fetchrow(_DAMAGED_SNAPSHOT)
        if first is not None:
            raise hidden(first, removed)
        if found is not None:
            point, seq = found
            raise CorruptLog(f"the snapshot of {point} after event {seq} is damaged.")

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are."""
        return [SnapshotKey(*row) for row in await self._fetch(_SNAPSHOT, _SNAPSHOTS)]

    async def remove_snapshots(
        self, point: str, before: int, definition: str | None = None
    ) -> None:
        """Remove older snapshots."""
        async with self._connection("did not remove snapshots") as connection:
            await connection.execute(_REMOVE_SNAPSHOTS, point, before, definition)

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, and forget all but the last two of its point and definition."""
        digest = await asyncio.to_thread(snapshot_checksum, point, definition, snapshot)
        trouble = "did not take a snapshot"
        async with self._connection(trouble) as connection, connection.transaction():
            await connection.execute(_SAVE, point, definition, *snapshot, digest)
            await connection.execute(_FORGET, point, definition)

    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest snapshot that is whole."""
        before = None
        async with self._connection(_SNAPSHOT) as connection:
            while row := await connection.fetchrow(_LOAD, point, definition, before):
                before, data, digest = row
                if digest == snapshot_checksum(point, definition, Snapshot(before, data)):
                    return Snapshot(before, data)
                log.warning(
                    "the snapshot of %s after event %d is damaged: passed over", point, before
                )
        return None

    async def _fetch(self, trouble: str, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a statement that reads."""
        async with self._connection(trouble) as connection:
            return list(await connection.fetch(statement, *values))

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
        await self._create_tables(connection)
        await self._check_end(connection)

    async def _create_tables(self, connection: Any) -> None:
        # A user who may not create tables can still use those that are there.
        if await self._version(connection):
            return
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _CREATING)
            if not await self._version(connection):  # another replica may have been quicker
                await connection.execute(_TABLES)

    async def _check_end(self, connection: Any) -> None:
        """Refuse a log that lost its end, or whose mark of removed events hides some."""
        found = await connection.fetchrow(_ENDS)
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
        first, removed = await connection.fetchrow(_HIDDEN)
        if first is not None:
            raise hidden(first, removed)
        self._ahead = ahead if written else None

    async def _version(self, connection: Any) -> int:
        """Return the version of the tables, 0 if there are none; refuse those of later versions."""
        if not await connection.fetchval(_EXISTS):
            return 0
        version = int(await connection.fetchval("SELECT version FROM lexbandit_schema"))
        if version > VERSION:
            raise StorageFailed(
                f"PostgreSQL at {self._place} has tables of version {version}, made by a newer "
                f"lexbandit; this one knows versions up to {VERSION}. Upgrade "
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

    async def _fetch(self, trouble: str, statement: str, *values: Any) -> list[Any]:
        return await super()._fetch(trouble, statement, *values) if self._there else []

    async def removed(self) -> int:
        """Return the last event that was removed."""
        return await super().removed() if self._there else 0

    async def check_rest(self) -> None:
        """Check the first events and the snapshots."""
        if self._there:
            await super().check_rest()


class PostgresChecker(PostgresReader):
    """A log that is to be served: its user must be allowed to."""

    async def _make_ready(self, connection: Any) -> None:
        await super()._make_ready(connection)
        user, schema, create, write = await connection.fetchrow(
            _WRITES if self._there else _CREATES
        )
        if not create:
            raise self._refused(f"{user} may not create tables in the schema {schema!r}.")
        if not write:
            raise self._refused(f"{user} may not write to the tables of lexbandit.")

    def _refused(self, reason: str) -> StorageFailed:
        message = f"PostgreSQL at {self._place}: {reason} Let the service's user own the database."
        return StorageFailed(message, final=True)


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
    async with PostgresChecker(url) as storage:
        await storage.read_since(0, 1)
