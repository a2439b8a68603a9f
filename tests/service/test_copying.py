"""A log copied to another storage leads to the same state there, and serving goes on from it."""

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from lexbandit.cli import copy as copy_verb
from lexbandit.cli.main import status_of
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import Point
from lexbandit.service.events import Event, checksum
from lexbandit.service.maintenance import copy as copying
from lexbandit.service.maintenance.compact import last_before
from lexbandit.service.storage import Storage, make_storage
from lexbandit.service.storage.base import LARGEST_PAGE
from lexbandit.service.storage.sqlite import SqliteStorage
from service.homes import HOMES, Home, in_loop, new_event, numbered, whole_log
from service.world import CONTEXT, definition

_POINT = definition(wait=3600.0)


@pytest.fixture(params=["sqlite postgresql", "postgresql sqlite", "sqlite sqlite"])
def homes(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Home, Home]:
    made = []
    for n, kind in enumerate(request.param.split()):
        (tmp_path / str(n)).mkdir()
        made.append(HOMES[kind](tmp_path / str(n)))
    return made[0], made[1]


def _copied(source: Home, target: Home) -> int:
    return status_of(["copy", source.url, target.url])


def _served(home: Home, name: str, rewarded: str = "") -> str:
    """Serve for a while: decisions, some of them rewarded; return the state's digest."""

    async def run() -> str:
        engine = await Engine.start({"router": _POINT}, make_storage(home.url))
        try:
            for k in range(20):
                await engine.decide("router", CONTEXT, id=f"{name}-{k}")
                if k % 3:
                    await engine.reward("router", f"{name}-{k}", {"quality": k / 20, "cost": 0.01})
            if rewarded:
                await engine.reward("router", rewarded, {"quality": 1.0})
            return engine.points["router"].digest()
        finally:
            await engine.stop()

    return asyncio.run(run())


def _log(home: Home) -> list[Event]:
    async def run() -> list[Event]:
        async with home.opened() as storage:
            return await whole_log(storage)

    return asyncio.run(run())


def _replayed(log: list[Event]) -> str:
    point = Point(_POINT)
    for event in log:
        point.fold(event)
    return point.digest()


def test_the_copy_is_the_same_and_serving_goes_on_from_it(
    homes: tuple[Home, Home],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copying, "_PAGE", 7)
    source, target = homes
    digest = _served(source, "before")
    assert _copied(source, target) == 0
    log = _log(source)
    assert f"{len(log)} events were copied." in capsys.readouterr().err
    assert _log(target) == log
    assert _replayed(_log(target)) == digest
    after = _served(target, "after", rewarded="before-3")  # of a decision before the copy
    assert _replayed(_log(target)) == after
    assert _log(target)[: len(log)] == log


def test_a_copy_is_brought_up_to_date(
    homes: tuple[Home, Home], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_PAGE", 7)
    source, target = homes
    _served(source, "before")
    assert _copied(source, target) == 0
    first = len(_log(target))
    _served(source, "later")
    capsys.readouterr()
    assert _copied(source, target) == 0
    told = f"{len(_log(source)) - first} events were copied, after {first} that were there."
    assert told in capsys.readouterr().err
    assert _log(target) == _log(source)
    assert _copied(source, target) == 0
    assert "0 events were copied, after" in capsys.readouterr().err


def test_a_log_that_is_another_is_left_alone(
    homes: tuple[Home, Home], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = homes
    _served(source, "before")
    _served(target, "other")
    there = _log(target)
    assert _copied(source, target) == 1
    assert "has another event 1 (of 'router')" in capsys.readouterr().err
    assert _log(target) == there


def test_a_copy_that_was_served_is_left_alone(
    homes: tuple[Home, Home], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = homes
    _served(source, "before")
    assert _copied(source, target) == 0
    _served(target, "after")
    there = _log(target)
    assert _copied(source, target) == 1
    assert "goes on where the one to copy from ends" in capsys.readouterr().err
    assert _log(target) == there


def test_a_log_is_copied_while_it_is_served_but_not_over_one_that_is(tmp_path: Path) -> None:
    served, other = tmp_path / "served.db", tmp_path / "other.db"

    async def run() -> tuple[int, int]:
        engine = await Engine.start({"router": _POINT}, make_storage(f"sqlite:{served}"))
        try:
            await engine.decide("router", CONTEXT)
            ways = (
                [f"sqlite:{served}", f"sqlite:{other}"],
                [f"sqlite:{other}", f"sqlite:{served}"],
            )
            first, second = [await asyncio.to_thread(status_of, ["copy", *way]) for way in ways]
            return first, second
        finally:
            await engine.stop()

    assert asyncio.run(run()) == (0, 1)


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("sqlite:nowhere.db", "sqlite:new.db", "there is no file nowhere.db"),
        ("nowhere.db", "sqlite:new.db", "storage must be a URL"),
        ("sqlite:log.db", "mysql://x", "begin with one of"),
        ("postgresql://me:hush@127.0.0.1:99999/x", "sqlite:new.db", "a PORT up to 65535"),
    ],
)
def test_what_cannot_be_copied_is_told(
    source: str,
    target: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(["copy", source, target]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "hush" not in said
    assert list(tmp_path.iterdir()) == []


def test_an_argument_too_many_is_told_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status_of(["copy", "sqlite:a.db", "sqlite:b.db", "postgresql://me:hush@host/x"]) == 2
    said = capsys.readouterr().err
    assert "postgresql://me:***@host/x" in said
    assert "hush" not in said


@asynccontextmanager
async def _two(
    folder: Path, kind: type[SqliteStorage] = SqliteStorage
) -> AsyncIterator[tuple[Storage, Storage]]:
    """A log to copy from, and one to copy to."""
    source, target = kind(folder / "log.db"), SqliteStorage(folder / "copy.db")
    await source.open()
    await target.open()
    try:
        yield source, target
    finally:
        await target.close()
        await source.close()


@in_loop
async def test_what_is_large_is_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_PART", 30)
    async with _two(tmp_path) as (source, target):
        there = await source.append(
            [new_event("router", "tick", b"x" * n) for n in (10, 10, 10, 99, 1)]
        )
        parts: list[int] = []
        assert await copying.copy(source, target, parts.append) == (0, 5)
        assert parts == [3, 4, 5]
        assert await whole_log(target) == there


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 100])
@in_loop
async def test_a_copy_finds_the_end_of_a_log(tmp_path: Path, length: int) -> None:
    storage = SqliteStorage(tmp_path / "log.db")
    async with storage:
        await storage.append(numbered(1, length))
        assert await last_before(storage, math.inf, 0) == length


@pytest.mark.parametrize("differs", [1, 30, 31, 40])
def test_where_the_ends_differ_nothing_is_copied(
    differs: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(copying, "_LAST", 11)
    source, target = tmp_path / "log.db", tmp_path / "copy.db"
    _append(source, 40)
    assert status_of(["copy", f"sqlite:{source}", f"sqlite:{target}"]) == 0
    with closing(sqlite3.connect(target)) as connection, connection:
        for row in connection.execute("SELECT * FROM log WHERE seq >= ?", (differs,)).fetchall():
            later = Event(*row[:-1])._replace(time=row[1] + 1)
            change = "UPDATE log SET time = ?, checksum = ? WHERE seq = ?"
            connection.execute(change, (later.time, checksum(later), later.seq))
    _append(source, 1)
    assert status_of(["copy", f"sqlite:{source}", f"sqlite:{target}"]) == 1
    assert f"has another event {differs} " in capsys.readouterr().err


def test_it_is_said_now_and_then_how_far_a_copy_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_verb, "_TELL", 0.0)
    _append(tmp_path / "log.db", 1)
    given = ["copy", f"sqlite:{tmp_path / 'log.db'}", f"sqlite:{tmp_path / 'copy.db'}"]
    assert status_of(given) == 0
    assert capsys.readouterr().err == "1 event so far\n1 event was copied.\n"


def _append(path: Path, n: int) -> None:
    async def run() -> None:
        storage = SqliteStorage(path)
        await storage.open()
        await storage.append(numbered(1, n))
        await storage.close()

    asyncio.run(run())


class _Busy(SqliteStorage):
    """A log that has one event more whenever it was read."""

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> Sequence[Event]:
        page = await super().read_since(seq, limit)
        (last,) = await self.append(numbered(1, 1))
        assert last.seq < 100, "the copy never ends"
        return page


@in_loop
async def test_a_copy_does_not_wait_for_what_comes_meanwhile(tmp_path: Path) -> None:
    async with _two(tmp_path, _Busy) as (source, target):
        there = await source.append(numbered(1, 5))
        assert await copying.copy(source, target, lambda _: None) == (0, 5)
        assert await whole_log(target) == there


@in_loop
async def test_it_is_told_how_far_a_copy_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_PAGE", 2)
    async with _two(tmp_path) as (source, target):
        await source.append(numbered(1, 5))
        told: list[int] = []
        assert await copying.copy(source, target, told.append) == (0, 5)
        await source.append(numbered(6, 1))
        assert await copying.copy(source, target, told.append) == (5, 1)
        assert told == [2, 4, 5, 6]


@in_loop
async def test_large_events_are_copied_too(tmp_path: Path) -> None:
    async with _two(tmp_path) as (source, target):
        large = new_event("router", "rewards", b"x" * (LARGEST_PAGE // 2))
        there = await source.append([large, large, large, *numbered(4, 1)])
        assert await copying.copy(source, target, lambda _: None) == (0, 4)
        assert await copying.copy(source, target, lambda _: None) == (4, 0)
        assert await whole_log(target) == there


def test_a_log_that_lost_its_end_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = HOMES["sqlite"](tmp_path)
    _served(source, "before")
    source.sql("DELETE FROM {log} WHERE seq > 3")
    assert status_of(["copy", source.url, f"sqlite:{tmp_path / 'copy.db'}"]) == 1
    assert "its log ends with event 3" in capsys.readouterr().err
    assert not (tmp_path / "copy.db").exists()


def test_where_there_is_no_log_nothing_is_said_to_be_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = HOMES["postgresql"](tmp_path)
    assert status_of(["copy", source.url, f"sqlite:{tmp_path / 'copy.db'}"]) == 1
    assert "there are no events in the log to copy from" in capsys.readouterr().err
    assert not (tmp_path / "copy.db").exists()
