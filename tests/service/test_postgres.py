"""PostgreSQL as replicas meet it: many writers, a server that goes and comes back, settings."""

import asyncio
import logging
import random
import struct
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lexbandit.errors import InvalidInput
from lexbandit.service.events import CorruptLog, Event, read_body
from lexbandit.service.storage import Storage, StorageFailed, make_storage
from service.homes import PostgresHome, in_loop, numbered, whole_log
from service.real_postgres import Postgres


@pytest.fixture
def home(tmp_path: Path) -> PostgresHome:
    return PostgresHome(tmp_path)


@asynccontextmanager
async def several(home: PostgresHome, count: int) -> AsyncIterator[list[Storage]]:
    """Storages on one log, each with connections of its own."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(home.opened()) for _ in range(count)]


@in_loop
async def test_a_reader_never_sees_a_gap_while_many_write(home: PostgresHome) -> None:
    async with several(home, 8) as (*writers, one, two):
        writing = [asyncio.create_task(write(storage, n)) for n, storage in enumerate(writers)]
        seen = await asyncio.gather(*(follow(storage, writing) for storage in (one, two)))
        kept = [stored for task in writing for stored in await task]
    assert seen[0] == seen[1] == sorted(kept)  # `read_since` raises where one is missing
    assert [stored.seq for stored in seen[0]] == list(range(1, len(kept) + 1))
    times = [stored.time for stored in seen[0]]
    assert times == sorted(times)


async def write(storage: Storage, writer: int) -> list[Event]:
    draws = random.Random(writer)
    kept: list[Event] = []
    for _ in range(60):
        kept += await storage.append(numbered(len(kept), draws.choice([1, 1, 2, 30]), f"w{writer}"))
    return kept


async def follow(storage: Storage, until: Sequence["asyncio.Task[Any]"]) -> list[Event]:
    """Read on and on; when nobody writes any more, read to the end."""
    seen: list[Event] = []
    last = False
    while True:
        got = await storage.read_since(len(seen), 25)
        seen += got
        if last and not got:
            return seen
        last = all(task.done() for task in until)


@in_loop
async def test_replicas_that_start_at_once_make_the_tables_once(home: PostgresHome) -> None:
    storages = [make_storage(home.url) for _ in range(8)]
    await asyncio.gather(*(storage.open() for storage in storages))
    await asyncio.gather(*(storage.append(numbered(1, 3)) for storage in storages))
    assert len(await whole_log(storages[0])) == 24
    assert home.version() == 1
    await asyncio.gather(*(storage.close() for storage in storages))


def restarted(server: Postgres) -> None:
    server.restart()


def killed(server: Postgres) -> None:
    server.kill()
    time.sleep(0.3)
    server.start()


@pytest.mark.parametrize("fate", [restarted, killed])
@in_loop
async def test_a_server_that_goes_under_load_and_comes_back(
    home: PostgresHome, fate: Callable[[Postgres], None]
) -> None:
    async with several(home, 3) as storages:
        done = asyncio.Event()
        loads = [asyncio.create_task(load(storage, n, done)) for n, storage in enumerate(storages)]
        async with asyncio.timeout(60):
            while await fewest(storages) <= 10:
                await asyncio.sleep(0.02)
        await asyncio.to_thread(fate, home.server)
        back = time.monotonic()
        while not all([await appended(storage) for storage in storages]):
            assert time.monotonic() < back + 60
            await asyncio.sleep(0.05)
        done.set()
        told = [await task for task in loads]
        log = await whole_log(storages[0])
    assert any(failed for _, failed in told)
    there = [(stored.point, read_body(stored)["n"]) for stored in log if stored.point != "after"]
    assert len(set(there)) == len(there)  # nothing twice
    for n, (kept, failed) in enumerate(told):
        mine = {number for point, number in there if point == f"w{n}"}
        assert len(kept) > 10
        assert kept <= mine <= kept | set().union(*failed)
        for batch in failed:  # whole or not at all
            assert batch <= mine or not batch & mine


async def fewest(storages: Sequence[Storage]) -> int:
    """Return how many events the log has of the writer of whom it has the fewest."""
    there = Counter(stored.point for stored in await whole_log(storages[0]))
    return min(there[f"w{n}"] for n in range(len(storages)))


async def appended(storage: Storage) -> bool:
    try:
        return bool(await storage.append(numbered(1, 1, "after")))
    except StorageFailed:
        return False


async def load(
    storage: Storage, writer: int, done: asyncio.Event
) -> tuple[set[int], list[set[int]]]:
    """Append until told; returns the numbers that were kept, and the batches that failed."""
    kept: set[int] = set()
    failed = []
    number = 0
    while not done.is_set():
        batch = set(range(number, number + 5))
        number += 5
        try:
            await storage.append(numbered(min(batch), 5, f"w{writer}"))
            kept |= batch
        except StorageFailed as error:
            if error.final:
                raise
            failed.append(batch)
            await asyncio.sleep(0.02)
    return kept, failed


@in_loop
async def test_reading_and_snapshots_come_back_too(home: PostgresHome) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 3))
        await asyncio.to_thread(home.server.restart)
        assert await storage.read_since(0, 10) == stored
        await asyncio.to_thread(home.server.restart)
        assert await storage.load_snapshot("router", "d") is None


TELL = """
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO told SELECT current_setting('synchronous_commit');
    RETURN NULL;
END $$
"""


@in_loop
async def test_what_a_database_has_set_does_not_make_it_less_durable(home: PostgresHome) -> None:
    async with home.opened():
        pass
    home.sql("CREATE TABLE told (commit text)")
    home.sql(TELL)
    home.sql("CREATE TRIGGER tells AFTER INSERT ON {log} EXECUTE FUNCTION tell()")
    home.sql("CREATE ROLE careless LOGIN SUPERUSER")
    for setting in (
        "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'",  # writers would not wait, but fail
        "default_transaction_read_only = on",
    ):
        home.sql(f"ALTER ROLE careless SET {setting}")
    home.url = home.url.replace("//postgres:", "//careless:")
    async with several(home, 3) as storages:
        await asyncio.gather(
            *(storage.append(numbered(n, 1)) for n in range(20) for storage in storages)
        )
        assert len(await whole_log(storages[0])) == 60
    assert home.sql("SELECT commit, count(*) FROM told GROUP BY 1") == [("on", 60)]


async def first_failure(url: str) -> StorageFailed:
    """Open a storage until it fails: a server reads its configuration in a moment, not at once."""
    for _ in range(100):
        storage = make_storage(url)
        try:
            await storage.open()
        except StorageFailed as error:
            return error
        await storage.close()
        await asyncio.sleep(0.02)
    raise AssertionError("it never failed")


@in_loop
async def test_a_server_that_does_not_sync_is_refused(home: PostgresHome) -> None:
    home.server.execute("ALTER SYSTEM SET fsync = off")
    home.server.execute("SELECT pg_reload_conf()")
    try:
        refused = await first_failure(home.url)
        assert "fsync = off, so" in str(refused)
        assert "Set fsync = on" in str(refused)
        assert refused.final
    finally:
        home.server.execute("ALTER SYSTEM RESET fsync")
        home.server.execute("SELECT pg_reload_conf()")


@in_loop
async def test_a_user_who_may_not_create_tables_can_use_them(home: PostgresHome) -> None:
    async with home.opened():
        pass
    home.sql("CREATE ROLE clerk LOGIN")
    ((schema,),) = home.sql("SELECT current_schema()")
    home.sql(f"GRANT USAGE ON SCHEMA {schema} TO clerk")
    home.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO clerk")
    storage = make_storage(home.url.replace("//postgres:", "//clerk:"))
    await storage.open()
    assert len(await storage.append(numbered(1, 2))) == 2
    await storage.close()


SECRET = "open-sesame"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@[::1]:1/db?application_name=x",
        f"postgresql://me:{SECRET}@no-such-host.invalid/db",
        f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?sslmode=nonsense",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?port=nonsense",
        f"postgresql://me:{SECRET}/@127.0.0.1/db",
        f"postgresql://me:{SECRET}?@127.0.0.1/db",
        f"postgresql://me:{SECRET}#@127.0.0.1/db",
        f"postgresql://me:{SECRET}@@127.0.0.1/db",
        f"postgresql://me@127.0.0.1:{SECRET}/db",
        f"postgresql+asyncpg://me:{SECRET}@127.0.0.1/db",
        f"mysql://me:{SECRET}@127.0.0.1/db",
    ],
)
@in_loop
async def test_a_password_is_never_shown(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((StorageFailed, InvalidInput)) as refused:
        await make_storage(url).open()
    shown = "".join(traceback.format_exception(refused.value))
    assert SECRET not in shown
    assert SECRET not in caplog.text


@in_loop
async def test_a_wrong_password_is_named_but_not_shown(home: PostgresHome) -> None:
    home.sql("CREATE ROLE guest LOGIN SUPERUSER PASSWORD 'right'")
    rules = home.server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all guest scram-sha-256\n{before}")
    home.server.execute("SELECT pg_reload_conf()")
    try:
        refused = await first_failure(home.url.replace("//postgres:", f"//guest:{SECRET}"))
        assert "password authentication failed" in str(refused)
        assert SECRET not in "".join(traceback.format_exception(refused))
    finally:
        rules.write_text(before)
        home.server.execute("SELECT pg_reload_conf()")


def _flipped(value: int, bit: int, bits: int) -> int:
    (flipped,) = struct.unpack(">q", struct.pack(">Q", (value ^ 1 << bit) & (2**bits - 1)))
    return int(flipped)


@in_loop
async def test_every_flipped_bit_of_a_row_is_found(home: PostgresHome) -> None:
    """Of the time, the checksum and the body; a text with a flipped bit may be none."""
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 3))
        time, body = stored[1].time, stored[1].body
        (kept,) = home.sql("SELECT checksum FROM {log} WHERE seq = 2")[0]
        (bits,) = struct.unpack(">Q", struct.pack(">d", time))
        damages: list[tuple[str, Any]] = []
        for bit in range(0, 64, 3):
            other = struct.unpack(">d", struct.pack(">Q", bits ^ 1 << bit))[0]
            damages += [("time", other), ("checksum", _flipped(kept & (2**64 - 1), bit, 64))]
        for bit in range(0, 8 * len(body), 7):
            flipped = bytearray(body)
            flipped[bit // 8] ^= 1 << bit % 8
            damages.append(("body", bytes(flipped)))
        damages += [("kind", "tick"), ("point", "routes")]
        whole = {"time": time, "checksum": kept, "body": body, "kind": "decisions"}
        whole["point"] = "router"
        for column, value in damages:
            home.sql(f"UPDATE {{log}} SET {column} = $1 WHERE seq = 2", value)
            with pytest.raises(CorruptLog, match=r"event 2 of the log .*damaged"):
                await storage.read_since(0, 10)
            home.sql(f"UPDATE {{log}} SET {column} = $1 WHERE seq = 2", whole[column])
        assert await storage.read_since(0, 10) == stored


@in_loop
async def test_a_clock_that_is_not_the_last_events_is_damage(home: PostgresHome) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 3))
    home.sql("UPDATE lexbandit_clock SET time = time * 2")
    with pytest.raises(CorruptLog, match="lexbandit_clock is not the one of event 3"):
        await home.opened().__aenter__()
