"""How long a start takes that reads a long log, in processor time: the machine may be busy."""

import asyncio
import time
import timeit
from pathlib import Path

import pytest

from lexbandit.service.definition import Definition
from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import Point
from lexbandit.service.engine.start import without_garbage_collection
from lexbandit.service.events import Event, body_of
from lexbandit.service.storage.sqlite import SqliteStorage
from service.http import CONTEXT
from service.world import definition

pytestmark = pytest.mark.compiled


def slowness() -> float:
    """Return how many times as long as 13 ms this machine takes to add a million numbers, or 1."""
    return max(1.0, min(timeit.repeat("sum(range(10**6))", number=1, repeat=9)) / 0.013)


def events_of(point: Definition, count: int) -> list[Event]:
    """Return a log in which decisions and their rewards take turns, ten a second."""
    begin = body_of({"arms": list(point.arms), "definition": point.plain()})
    found = [Event(1, time.time() - count, point.name, "begin", begin)]
    for seq in range(2, count + 1):
        n, at = seq // 2, found[0].time + seq // 10
        if seq % 2 == 0:
            row = {"id": f"d{n}", "arm": point.arms[n % 3], "propensity": 0.5, "context": CONTEXT}
            body = {"by": "x", "version": 1, "rows": [{**row, "key": "k"}], "seen": seq - 1}
            found.append(Event(seq, at, point.name, "decisions", body_of(body)))
        else:
            values = {"quality": n % 7 / 7, "cost": n % 5 / 100}
            body = {"rows": [{"id": f"d{n}", "values": values}]}
            found.append(Event(seq, at, point.name, "rewards", body_of(body)))
    return found


def folding(point: Point, events: list[Event], *, together: bool) -> float:
    """Return how long it takes to fold events together or one by one."""
    with without_garbage_collection():
        began = time.process_time()
        if together:
            fold_many(point, events)
        else:
            for event in events:
                point.fold(event)
        return time.process_time() - began


def test_a_log_is_folded_in_blocks_in_half_the_time_of_one_by_one() -> None:
    meant = definition(wait=None)
    events = events_of(meant, 6000)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(5):  # the first time loads what is compiled
        for together, times in taken.items():
            times.append(folding(Point(meant), events, together=together))
    assert min(taken[True]) < min(taken[False]) / 2  # a quarter on a quiet machine


@pytest.mark.slow
def test_a_start_on_a_million_events_takes_seconds(tmp_path: Path) -> None:
    meant = definition(wait=None)

    async def write() -> None:
        storage = SqliteStorage(tmp_path / "log.db")
        await storage.open()
        events = events_of(meant, 1_000_000)
        for first in range(0, len(events), 20_000):
            await storage.restore(events[first : first + 20_000])
        await storage.close()

    async def start() -> tuple[float, str]:
        began = time.process_time()
        engine = await Engine.start({meant.name: meant}, SqliteStorage(tmp_path / "log.db"))
        taken = time.process_time() - began
        digest = engine.points[meant.name].digest()
        await engine.stop()
        return taken, digest

    asyncio.run(write())
    without, first = asyncio.run(start())
    after, second = asyncio.run(start())
    assert first == second
    allowed = slowness()  # 1 on the machine for which the limits were asked
    assert without < 10 * allowed
    assert after < 5 * allowed
