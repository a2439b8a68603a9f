"""Those who wait for the log: each gets an answer, whatever becomes of the others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lexbandit.chooser import RecordingChooser
from lexbandit.service.engine import engine as engines
from lexbandit.service.engine.engine import Engine
from lexbandit.service.events import Event, Snapshot
from lexbandit.service.storage import StorageFailed
from lexbandit.service.storage.sqlite import SqliteStorage
from service.homes import in_loop
from service.world import CONTEXT, Hands, definition, engine_on, replayed


class Held(SqliteStorage):
    """A storage that appends only while its gate is open, and fails as told."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails: StorageFailed | None = None
        self.snapshot_fails: StorageFailed | None = None
        self.kept: list[int] = []

    async def append(self, events: Sequence[Event]) -> list[Event]:
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return await super().append(events)

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        failed, self.snapshot_fails = self.snapshot_fails, None
        if failed is not None:
            raise failed
        await super().save_snapshot(point, definition, snapshot)
        self.kept.append(snapshot.seq)


@asynccontextmanager
async def engine_with(storage: Held, **settings: Any) -> AsyncIterator[Engine]:
    engine = await Engine.start({"router": definition()}, storage, **settings)
    try:
        yield engine
    finally:
        storage.gate.set()
        storage.fails = None
        await engine.stop()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("fails", [False, True])
@in_loop
async def test_one_who_went_away_keeps_no_other_from_an_answer(tmp_path: Path, fails: bool) -> None:
    storage = Held(tmp_path / "log.db")
    async with engine_with(storage) as engine:
        storage.gate.clear()
        asked = [asyncio.create_task(engine.decide("router", CONTEXT)) for _ in range(3)]
        await asyncio.sleep(0.05)  # all three wait in one group
        asked[0].cancel()
        await asyncio.wait(asked[:1])
        storage.fails = StorageFailed("the disk is away") if fails else None
        storage.gate.set()
        async with asyncio.timeout(10):
            told = await asyncio.gather(*asked[1:], return_exceptions=True)
        assert [str(one) == "the disk is away" for one in told] == [fails] * 2
        storage.fails = None
        await engine.decide("router", CONTEXT)
        assert engine.trouble is None
        assert engine.points["router"].counts["decisions"] == (1 if fails else 4)
        digest = engine.points["router"].digest()
    assert await replayed(storage.path) == digest


@in_loop
async def test_after_an_error_of_ours_those_who_waited_are_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Held(tmp_path / "log.db")
    async with engine_with(storage) as engine:
        storage.gate.clear()
        first = asyncio.create_task(engine.decide("router", CONTEXT))
        await asyncio.sleep(0.05)  # the first group is being written, and the next one gathers
        second = asyncio.create_task(engine.decide("router", CONTEXT))
        await asyncio.sleep(0.05)
        with monkeypatch.context() as broken:
            broken.setattr(RecordingChooser, "record", lambda *_: 1 / 0)
            storage.gate.set()
            with pytest.raises(ZeroDivisionError):
                await first
        with pytest.raises(StorageFailed, match="division by zero") as refused:
            await second
        assert refused.value.final
        assert "division by zero" in (engine.trouble or "")
        log = await storage.read_since(0, 10)
        assert [event.kind for event in log] == ["begin", "decisions"]  # nothing more was written


@in_loop
async def test_after_an_error_of_ours_no_event_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    storage = Held(tmp_path / "log.db")
    storage.shared = True
    async with engine_with(storage, poll=0.01) as engine:
        with monkeypatch.context() as broken:
            broken.setattr(RecordingChooser, "record", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await engine.decide("router", CONTEXT)
        counts = dict(engine.points["router"].counts)
        async with asyncio.timeout(30):
            await engine._tasks[-1]  # the one that follows other processes
        with pytest.raises(StorageFailed, match="division by zero"):
            await engine.reward("router", "another's", {"quality": 0.5})
        assert engine.points["router"].counts == counts
        assert "division by zero" in (engine.trouble or "")
        assert [one.levelname for one in caplog.records if one.levelname != "INFO"] == ["ERROR"]


@in_loop
async def test_a_snapshot_that_fails_is_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engines, "_LOOK", 0.01)
    storage = Held(tmp_path / "log.db")
    async with engine_with(storage, snapshot_every=1) as engine:
        await until(lambda: storage.kept == [1])
        storage.snapshot_fails = StorageFailed("no room for it")
        await engine.decide("router", CONTEXT)
        await until(lambda: "no snapshot was saved: no room for it" in caplog.text)
        assert engine.trouble is None
        await engine.decide("router", CONTEXT)
        await until(lambda: storage.kept == [1, 3])


@in_loop
async def test_snapshots_are_far_apart_if_they_take_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_LOOK", 0.01)
    storage = Held(tmp_path / "log.db")
    async with engine_with(storage, snapshot_every=1) as engine:
        await until(lambda: storage.kept == [1])
        engine.snapshots.seconds = 1e6
        await engine.decide("router", CONTEXT)
        await asyncio.sleep(0.1)
        assert storage.kept == [1]
        engine.snapshots.seconds = 0.0
        await until(lambda: storage.kept == [1, 2])


@in_loop
async def test_time_that_passed_while_nobody_served_has_passed_at_the_start(tmp_path: Path) -> None:
    path, hands = tmp_path / "log.db", Hands()
    async with engine_on(path, hands=hands, wait=100) as engine:
        await engine.decide("router", CONTEXT)
    hands.pass_by(101)
    async with engine_on(path, hands=hands, wait=100) as engine:
        point = engine.points["router"]
        assert (point.counts["expired"], point.chooser.waiting) == (1, 0)
        assert point.chooser.summary().received["quality"].count == 1  # its default
        log = await engine.storage.read_since(0, 10, "router")
        assert [event.kind for event in log] == ["begin", "decisions", "tick"]
    async with engine_on(path, hands=hands, wait=100) as engine:
        assert engine.seq == 3  # nothing waits: no time needs to pass


@in_loop
async def test_an_event_that_is_missing_before_an_own_one_ends_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Held(tmp_path / "log.db")
    async with engine_with(storage) as engine:
        append = storage.append

        async def later(events: Sequence[Event]) -> list[Event]:
            return [stored._replace(seq=stored.seq + 1) for stored in await append(events)]

        async def nothing(*_: int) -> list[Event]:
            return []

        with monkeypatch.context() as gap:
            gap.setattr(storage, "append", later)
            gap.setattr(storage, "read_since", nothing)
            with pytest.raises(StorageFailed, match="event 2 of the log is missing") as refused:
                await engine.decide("router", CONTEXT)
        assert refused.value.final
        assert engine.points["router"].counts["decisions"] == 0
        with pytest.raises(StorageFailed, match="is missing"):
            await engine.decide("router", CONTEXT)


@in_loop
async def test_trouble_is_told_once_and_so_is_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lexbandit.service")
    storage = Held(tmp_path / "log.db")

    def told() -> list[str]:
        said = [record.getMessage() for record in caplog.records if "the log" in record.message]
        caplog.clear()
        return said

    async with engine_with(storage) as engine:
        told()
        for n in range(4):  # what is said of it changes, as where reading and writing fail in turn
            storage.fails = StorageFailed(f"away {n % 2}")
            with pytest.raises(StorageFailed):
                await engine.decide("router", CONTEXT)
        assert told() == ["the log has failed: away 0"]
        storage.fails = None
        for _ in range(2):
            await engine.decide("router", CONTEXT)
        assert told() == ["the log is written and read again"]
        for final in (False, True, True):
            storage.fails = StorageFailed("worse", final=final)
            with pytest.raises(StorageFailed):
                await engine.decide("router", CONTEXT)
        assert told() == ["the log has failed: worse"] * 2  # the second one is for ever
