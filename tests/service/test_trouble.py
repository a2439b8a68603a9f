"""What an engine does while its shared log fails: it says so, and takes nothing it cannot keep."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lexbandit.service.engine.engine import Engine
from lexbandit.service.events import read_body
from lexbandit.service.storage import StorageFailed, make_storage
from service.homes import PostgresHome, in_loop, numbered, whole_log
from service.world import CONTEXT, definition


@pytest.fixture
def home(tmp_path: Path) -> PostgresHome:
    return PostgresHome(tmp_path)


@asynccontextmanager
async def engine_on(home: PostgresHome) -> AsyncIterator[Engine]:
    engine = await Engine.start({"router": definition()}, make_storage(home.url), poll=0.05)
    try:
        yield engine
    finally:
        await engine.stop()


async def until(engine: Engine, *, well: bool) -> str | None:
    """Wait until the engine says that it is well, or why it is not."""
    begin = time.monotonic()
    while (engine.trouble is None) != well:
        assert time.monotonic() < begin + 20, engine.trouble
        await asyncio.sleep(0.02)
    return engine.trouble


@in_loop
async def test_while_the_server_is_away_nothing_is_acknowledged(
    home: PostgresHome, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_on(home) as engine:
        ids = [(await engine.decide("router", CONTEXT)).id]
        await asyncio.to_thread(home.server.kill)
        try:
            trouble = await until(engine, well=False)  # nobody asked for anything
            assert "PostgreSQL at" in (trouble or "")
            with pytest.raises(StorageFailed) as failed:
                await engine.decide("router", CONTEXT)
            assert not failed.value.final
            told = len(caplog.records)
            await asyncio.sleep(0.5)
            assert len(caplog.records) <= told + 2  # it does not say so at every look
        finally:
            await asyncio.to_thread(home.server.start)
        await until(engine, well=True)
        ids.append((await engine.decide("router", CONTEXT)).id)
        assert (await engine.reward("router", ids[0], {"quality": 1.0})).learned
        log = await whole_log(engine.storage)
    rows = [row for one in log if one.kind == "decisions" for row in read_body(one)["rows"]]
    assert [row["id"] for row in rows if row["id"] in ids] == ids
    assert len(rows) in (2, 3)  # what was not acknowledged may be there


@in_loop
async def test_a_replica_that_meets_a_damaged_event_stops_for_good(
    home: PostgresHome, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with engine_on(home) as engine:
        await engine.decide("router", CONTEXT)
        digest = engine.points["router"].digest()
        async with home.opened() as other:
            home.sql(
                "INSERT INTO {log} SELECT seq + 1, time, 'router', 'tick', 'x', 0 "
                "FROM lexbandit_clock"
            )
            home.sql("UPDATE lexbandit_clock SET seq = seq + 1")
            assert "was damaged" in (await until(engine, well=False) or "")
            await other.append(numbered(1, 1, "elsewhere"))
        before = home.sql("SELECT seq FROM lexbandit_clock")
        for _ in range(2):
            with pytest.raises(StorageFailed, match="was damaged") as failed:
                await engine.decide("router", CONTEXT)
            assert failed.value.final
        assert home.sql("SELECT seq FROM lexbandit_clock") == before  # nothing more is written
        assert engine.points["router"].digest() == digest
        assert "was damaged" in caplog.text
