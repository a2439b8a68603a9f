"""Connections to PostgreSQL: who gets one, and what becomes of one that failed."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from lexbandit.service.events import read_body
from lexbandit.service.storage import StorageFailed, postgresql
from lexbandit.service.storage.postgresql import CONNECTIONS, PostgresStorage
from service.homes import PostgresHome, in_loop, numbered, whole_log


@pytest.fixture
def home(tmp_path: Path) -> PostgresHome:
    return PostgresHome(tmp_path)


BACKEND = "SELECT pg_backend_pid()"


async def gone(home: PostgresHome, backend: int) -> None:
    """Wait until the server's process of a connection has ended."""
    left = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
    async with asyncio.timeout(30):
        while home.sql(left, backend) != [(0,)]:
            await asyncio.sleep(0.02)


@asynccontextmanager
async def locked(home: PostgresHome) -> AsyncIterator[None]:
    """Let whoever asks for a snapshot wait."""
    connection = await asyncpg.connect(home.url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE lexbandit_snapshots")
            yield
    finally:
        await connection.close()


@in_loop
async def test_reading_never_takes_the_last_connection(home: PostgresHome) -> None:
    async with home.opened() as storage:
        async with locked(home):
            reads = [
                asyncio.create_task(storage.load_snapshot("router", "d"))
                for _ in range(2 * CONNECTIONS)
            ]
            await asyncio.sleep(0.3)
            async with asyncio.timeout(30):
                assert await storage.append(numbered(1, 1))
            assert not any(task.done() for task in reads)
        assert await asyncio.gather(*reads) == [None] * len(reads)


@in_loop
async def test_a_connection_that_failed_is_not_used_again(home: PostgresHome) -> None:
    async with home.opened() as storage:
        assert isinstance(storage, PostgresStorage)
        async with storage._connection("x") as connection:
            before = await connection.fetchval(BACKEND)
        async with storage._connection("x") as connection:
            assert await connection.fetchval(BACKEND) == before  # one that is well is
        home.refuse(1)
        with pytest.raises(StorageFailed, match="refused"):
            await storage.append(numbered(1, 1))
        async with storage._connection("x") as connection:
            assert await connection.fetchval(BACKEND) != before
        await gone(home, before)


@in_loop
async def test_closing_does_not_wait_for_ever(home: PostgresHome) -> None:
    storage = PostgresStorage(home.url, patience=2.0)
    await storage.open()
    async with storage._connection("x") as connection:
        backend = await connection.fetchval(BACKEND)
        async with asyncio.timeout(30):
            await storage.close()
        await gone(home, backend)


@in_loop
async def test_a_server_that_does_not_answer_is_given_up_in_time(home: PostgresHome) -> None:
    storage = PostgresStorage(home.url, patience=2.0)
    await storage.open()
    await storage.append(numbered(1, 1))
    backends = home.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'lexbandit'")
    for (pid,) in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        with pytest.raises(StorageFailed, match=r"no answer within 2 seconds") as failed:
            await storage.append(numbered(2, 1))
        assert not failed.value.final
        assert time.monotonic() - begin < 30
    finally:
        for (pid,) in backends:
            os.kill(pid, signal.SIGCONT)
    await storage.append(numbered(3, 1))
    numbers = [read_body(stored)["n"] for stored in await whole_log(storage)]
    assert numbers in ([1, 3], [1, 2, 3])
    await storage.close()


@in_loop
async def test_a_lock_that_cannot_be_had_is_a_failure_of_the_storage(
    home: PostgresHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or else a service with `retain` takes nothing more: an error it does not know is its own."""
    ended = "SELECT pg_terminate_backend(pg_backend_pid()) AND $1::int > 0"
    monkeypatch.setattr(postgresql, "_LOCK", ended)
    async with home.opened() as storage:
        with pytest.raises(StorageFailed, match="did not lock the log"):
            async with storage.removing_alone():
                pass
