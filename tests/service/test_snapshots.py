"""A snapshot is taken quickly, and packed later as it was then."""

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from lexbandit.chooser.ledger import OldestFirst
from lexbandit.service.engine.engine import Pauses
from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point
from lexbandit.service.events import Event, Snapshot, body_of
from lexbandit.service.storage import StorageFailed
from lexbandit.service.storage.sqlite import SqliteStorage
from service.homes import HOMES
from service.http import CONTEXT
from service.world import definition, engine_on


def begun(keep: int = 1000) -> Point:
    point = Point(definition(wait=100.0, keep=keep))
    body = {"arms": ["small", "medium", "large"], "definition": point.definition.plain()}
    point.fold(Event(1, 1000.0, "router", "begin", body_of(body)))
    return point


def filled(rows: int) -> Point:
    """Return a point with so many open decisions, callers' ids and past decisions."""
    point = begun(rows)
    many = 10_000
    for first in range(0, rows, many):
        body = {
            "by": "x",
            "version": 1,
            "ids": [f"d{first + n}" for n in range(many)],
            "arms": ["small"] * many,
            "propensities": [0.5] * many,
            "contexts": {name: [value] * many for name, value in CONTEXT.items()},
            "allowed": None,
        }
        point.fold(Event(2 + first, 1000.0, "router", "decisions", body_of(body)), body)
    for n in range(rows):
        point.keys[f"d{n}"] = AnsweredRequest(f"d{n}", "request", n)
        point.past[f"p{n}"] = PastDecision(f"p{n}", "small", 0.5, 900.0, {"quality": 0.5}, {})
    return point


def taking(point: Point) -> float:
    """Return how long the thread that serves is kept by a snapshot: its processor time."""
    best = 1.0
    for _ in range(5):
        began = time.thread_time()
        point.packer()
        best = min(best, time.thread_time() - began)
    return best


def test_taking_a_snapshot_copies_no_decision() -> None:
    point = filled(100_000)
    assert taking(point) < 0.03  # 3 ms on a quiet machine
    pack = point.packer()
    late = {"rows": [{"id": "p7", "values": {"cost": 0.01}}]}
    now = {"rows": [{"id": "d7", "values": {"cost": 0.01}}]}
    point.fold(Event(200_000, 1001.0, "router", "rewards", body_of(late)))
    point.fold(Event(200_001, 1001.0, "router", "rewards", body_of(now)))
    point.keys.pop_oldest()
    packed = Point.unpack(point.definition, pack())
    assert (packed.past["p7"].late, point.past["p7"].late) == ({}, {"cost": 0.01})
    assert packed.found("d7").rewards == {}
    assert point.found("d7").rewards == {"cost": 0.01}
    assert packed.chooser.waiting == 100_000
    assert list(packed.keys) == [f"d{n}" for n in range(100_000)]
    assert list(packed.past) == list(point.past)


@pytest.mark.slow
def test_a_snapshot_of_a_million_open_decisions_delays_others_little() -> None:
    """Besides the million open ones there are a million ids of callers and of past decisions."""
    point = filled(1_000_000)
    assert taking(point) < 0.09  # 30 ms for each million, and less on a quiet machine
    point.keys, point.past = OldestFirst(), OldestFirst()
    assert taking(point) < 0.03


@pytest.mark.parametrize("kind", sorted(HOMES))
def test_the_checksum_of_a_snapshot_is_made_beside_requests(kind: str, tmp_path: Path) -> None:
    """That of 100 MB takes .1 s; the thread that serves has other work."""
    snapshot = Snapshot(1, bytes(100_000_000))

    async def run() -> None:
        async with HOMES[kind](tmp_path).opened() as storage:
            saving = asyncio.ensure_future(storage.save_snapshot("router", "d", snapshot))
            longest, last = 0.0, time.thread_time()
            for _ in range(200):  # turns until others write or wait
                await asyncio.sleep(0)
                now = time.thread_time()
                longest, last = max(longest, now - last), now
            await saving
            assert longest < 0.03

    asyncio.run(run())


def test_who_packs_a_snapshot_beside_requests_works_a_part_of_the_time() -> None:
    pack, ended, passed = filled(100_000).packer(), threading.Event(), []
    for _ in range(2):
        began, worked = time.monotonic(), time.thread_time()
        pack(Pauses(ended))
        passed.append(time.monotonic() - began)
        if not ended.is_set():
            assert time.thread_time() - worked < passed[0] / 2  # a fifth, but for what is one part
        ended.set()  # the process ends: there is nobody to pause for
    assert passed[1] < passed[0]


def test_a_snapshot_that_is_packed_in_parts_is_read_back() -> None:
    point = filled(50_000)
    assert Point.unpack(point.definition, point.packer()()).digest() == point.digest()


def test_a_snapshot_of_no_rows_is_read_back() -> None:
    point = begun()
    assert Point.unpack(point.definition, point.packer()()).digest() == point.digest()


def test_a_snapshot_that_sqlite_cannot_hold_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A gigabyte, which is 780,000 open decisions with vectors of 128 numbers."""

    async def run() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            storage = engine.storage
            assert isinstance(storage, SqliteStorage)
            for _ in range(100):
                await engine.decide("router", CONTEXT)
            storage._writer.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
            with pytest.raises(StorageFailed, match="bytes, and SQLite takes 9,000"):
                await engine.snapshots.take()
            await engine.decide("router", CONTEXT)
        assert "no last snapshot was saved" in caplog.text
        async with engine_on(tmp_path / "log.db") as engine:
            assert engine.points["router"].counts["decisions"] == 101

    asyncio.run(run())
