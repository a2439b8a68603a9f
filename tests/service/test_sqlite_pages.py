"""Pages that SQLite puts together are those that it gives row by row, or the same is refused."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lexbandit.service.events import CorruptLog, Event, Events, Kind
from lexbandit.service.storage import sqlite
from lexbandit.service.storage.sqlite import SqliteStorage

KINDS: tuple[Kind, ...] = ("begin", "decisions", "rewards", "rewards", "tick")
AT_ONCE = 10**9


def log_of(count: int, points: int = 2, step: float = 0.1, size: int = 1) -> list[Event]:
    return [
        Event(n, 1.7e9 + n * step, f"p{n % points}", KINDS[n % 5], b"\x00\xff\xc3" * (n % 7) * size)
        for n in range(1, count + 1)
    ]


def written(path: Path, events: Sequence[Event]) -> Path:
    async def write() -> None:
        storage = SqliteStorage(path)
        await storage.open()
        await storage.restore(events)
        await storage.close()

    asyncio.run(write())
    return path


def pages(path: Path, limit: int = 40_000, point: str | None = None) -> list[Sequence[Event]]:
    async def read() -> list[Sequence[Event]]:
        storage = SqliteStorage(path)
        await storage.open()
        try:
            found, seq = [], 0
            while page := await storage.read_since(seq, limit, point):
                found.append(page)
                seq = page[-1].seq
            return found
        finally:
            await storage.close()

    return asyncio.run(read())


def in_both_ways(monkeypatch: pytest.MonkeyPatch, path: Path, **how: Any) -> tuple[Any, Any]:
    """Return what is read, or the error, with rows put together and row by row."""
    found: list[Any] = []
    for together in (3, AT_ONCE):
        monkeypatch.setattr(sqlite, "_JOINED", together)
        try:
            found.append([list(page) for page in pages(path, **how)])
        except CorruptLog as error:
            found.append([str(error)])
    return found[0], found[1]


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 100])
@pytest.mark.parametrize("point", [None, "p1", "none"])
def test_all_events_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: int, point: str | None
) -> None:
    events = log_of(23)
    path = written(tmp_path / "log.db", events)
    together, rows = in_both_ways(monkeypatch, path, limit=limit, point=point)
    ours = [event for event in events if point in (None, event.point)]
    assert together == rows == [ours[n : n + limit] for n in range(0, len(ours), limit)]


@pytest.mark.parametrize(
    "events",
    [
        log_of(40, points=30),  # more points than are put together
        log_of(40, step=0.123456789),  # times that are no short fractions
        [event._replace(time=event.time - 1.7e9) for event in log_of(40, step=0.123456789)],
        log_of(40, size=1000),  # some bodies are large
        [event._replace(body=b"") for event in log_of(40)],
        [event._replace(point=f"p{event.seq // 20}") for event in log_of(40)],  # one comes later
        [event._replace(kind="other") for event in log_of(8)],  # type: ignore[arg-type]
    ],
    ids=["points", "fractions", "before 2004", "large", "empty", "later", "unknown"],
)
def test_unusual_events_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, events: list[Event]
) -> None:
    path = written(tmp_path / "log.db", events)
    assert in_both_ways(monkeypatch, path) == ([events], [events])


def test_a_page_ends_with_the_event_that_makes_it_large(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = log_of(60, size=10)
    path = written(tmp_path / "log.db", events)
    monkeypatch.setattr(sqlite, "LARGEST_PAGE", 500)
    together, rows = in_both_ways(monkeypatch, path)
    assert together == rows
    assert [event for page in together for event in page] == events
    for page in together[:-1]:
        sizes = [len(event.body) for event in page]
        assert sum(sizes[:-1]) < 500 <= sum(sizes)


DAMAGE = [
    "UPDATE log SET body = x'00ffc301' WHERE seq = 8",
    "UPDATE log SET body = CAST(body AS TEXT) WHERE seq = 13",
    "UPDATE log SET body = 12 WHERE seq = 13",
    "UPDATE log SET kind = 'rewards' WHERE seq = 11",
    "UPDATE log SET kind = CAST(kind AS BLOB) WHERE seq = 11",
    "UPDATE log SET kind = 'x' WHERE seq = 11",
    "UPDATE log SET point = 'p0' WHERE seq = 9",
    "UPDATE log SET point = CAST(point AS BLOB) WHERE seq = 9",
    "UPDATE log SET time = time + 1e-6 WHERE seq = 12",
    "UPDATE log SET time = 'now' WHERE seq = 12",
    "UPDATE log SET time = 9e999 WHERE seq = 12",
    "UPDATE log SET checksum = checksum + 1 WHERE seq = 1",
    "UPDATE log SET checksum = 1.5 WHERE seq = 10",
    "UPDATE log SET checksum = 'x' WHERE seq = 10",
    "DELETE FROM log WHERE seq = 1",
    "DELETE FROM log WHERE seq = 9",
    "DELETE FROM log WHERE seq > 4 AND seq < 18",
    "UPDATE log SET seq = -seq WHERE seq = 5",
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_same_event_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str
) -> None:
    path = written(tmp_path / "log.db", log_of(23))
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    together, rows = in_both_ways(monkeypatch, path)
    assert together == rows
    assert "Restore" in together[0]


def test_a_time_that_goes_back_is_named_wherever_it_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = log_of(23)
    for n in range(1, 23):
        changed = [*events[:n], *(event._replace(time=1.7e9) for event in events[n:])]
        path = written(tmp_path / f"log{n}.db", changed)
        message = (
            f"event {n + 1} of the log (of 'p{(n + 1) % 2}') was damaged: it is not as it was "
            "written. Restore the log from a backup."
        )
        assert in_both_ways(monkeypatch, path) == ([message], [message])


def test_events_by_columns_are_a_sequence() -> None:
    events = log_of(9)
    page = Events.of(events)
    assert page == events
    assert page != events[1:]
    assert (page[0], page[-1], list(page[2:5])) == (events[0], events[-1], events[2:5])
    assert page.of_point("p1") == [event for event in events if event.point == "p1"]
    assert page.after(4) == events[4:]
    assert page.until(4) == events[:4]
    assert page.points() == ["p1", "p0"]
    assert Events.joined([page[:3], page[3:4], Events.of(events[4:])]) == events
    assert Events.joined([]) == []


def test_a_gap_is_named_at_once(tmp_path: Path) -> None:
    """However far the next event is: places are not gone through one by one."""
    path = tmp_path / "log"
    written(path, log_of(2500))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"UPDATE log SET seq = {2**50} WHERE seq = 2500")
        file.execute(f"UPDATE sqlite_sequence SET seq = {2**50} WHERE name = 'log'")
    with pytest.raises(CorruptLog, match="event 2500 of the log is missing"):
        pages(path)


def test_a_point_does_not_mind_the_damage_of_another(tmp_path: Path) -> None:
    path = tmp_path / "log"
    written(path, log_of(2500))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE log SET point = CAST(x'ff' AS TEXT) WHERE seq = 9")
    ours = [event for event in log_of(2500) if event.point == "p0"]
    assert [event for page in pages(path, point="p0") for event in page] == ours
