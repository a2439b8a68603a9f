"""What every storage must do: the log in one order, nothing lost, damage noticed."""

import asyncio
import logging
import time
from itertools import chain, pairwise
from pathlib import Path

import pytest

from lexbandit.service.events import CorruptLog, Event, Kind, Snapshot, body_of
from lexbandit.service.storage import (
    Storage,
    StorageFailed,
    StorageInUse,
    make_storage,
    schemes,
)
from lexbandit.service.storage.base import LARGEST_PAGE
from service.homes import HOMES, Home, in_loop, new_event, numbered, whole_log


@pytest.fixture(params=sorted(HOMES))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return HOMES[request.param](tmp_path)


def test_every_storage_is_here() -> None:
    assert set(schemes()) == set(HOMES)


@in_loop
async def test_a_log_begins_empty(home: Home) -> None:
    async with home.opened() as storage:
        assert await storage.read_since(0, 10) == []
        assert await storage.load_snapshot("router", "d") is None


@in_loop
async def test_events_get_the_places_1_2_3_in_the_order_given(home: Home) -> None:
    async with home.opened() as storage:
        events = numbered(1, 7)
        stored = await storage.append(events[:4]) + await storage.append(events[4:])
        assert [one.seq for one in stored] == [1, 2, 3, 4, 5, 6, 7]
        assert [new_event(one.point, one.kind, one.body) for one in stored] == events
        assert await storage.read_since(0, 100) == stored


@in_loop
async def test_an_empty_batch_is_nothing(home: Home) -> None:
    async with home.opened() as storage:
        assert await storage.append([]) == []
        (stored,) = await storage.append(numbered(1, 1))
        assert stored.seq == 1


@in_loop
async def test_a_batch_has_one_time_and_times_never_go_back(home: Home) -> None:
    async with home.opened() as storage:
        batches = [await storage.append(numbered(1, 3)) for _ in range(20)]
    async with home.opened() as storage:
        batches += [await storage.append(numbered(1, 3)) for _ in range(20)]
    times = [{one.time for one in batch} for batch in batches]
    assert all(len(one) == 1 for one in times)
    assert all(min(before) <= min(after) for before, after in pairwise(times))
    assert abs(min(times[-1]) - time.time()) < 60


@in_loop
async def test_time_goes_on_from_the_last_event_when_the_clock_was_set_back(home: Home) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 1))
    tomorrow = time.time() + 86_400
    home.sql("UPDATE {log} SET time = " + repr(tomorrow))
    if home.log == "lexbandit_log":  # its clock is a table, which every replica reads
        home.sql("UPDATE lexbandit_clock SET time = " + repr(tomorrow))
    async with home.opened() as storage:
        later = [(await storage.append(numbered(2, 1)))[0].time for _ in range(3)]
    assert later == sorted(later)
    assert tomorrow <= later[0]
    assert later[-1] < tomorrow + 60


@pytest.mark.parametrize("page", [1, 3, 10, 100])
@in_loop
async def test_a_log_is_read_in_pages(home: Home, page: int) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 10))
        assert await storage.read_since(0, page) == stored[:page]
        assert await storage.read_since(4, page) == stored[4 : 4 + page]
        assert await whole_log(storage, page) == stored
        assert await storage.read_since(10, page) == []
        assert await storage.read_since(99, page) == []


@in_loop
async def test_a_large_batch_is_there_whole(home: Home) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 200))
        assert [one.seq for one in stored] == list(range(1, 201))
        assert await storage.read_since(0, 1000) == stored


@in_loop
async def test_a_page_ends_where_it_is_large(home: Home) -> None:
    large = new_event("router", "rewards", b"x" * (LARGEST_PAGE // 2))
    async with home.opened() as storage:
        stored = await storage.append([*numbered(1, 1), large, large, large, *numbered(5, 1)])
        assert await storage.read_since(0, 10) == stored[:3]
        assert await storage.read_since(3, 10) == stored[3:]
        assert await whole_log(storage, 10) == stored


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", '{"名":"žluťoučký 🐎"}'.encode(), bytes(range(256)), b"x" * 1_000_000],
    ids=["empty", "object", "unicode", "every byte", "a megabyte"],
)
@in_loop
async def test_a_body_comes_back_as_it_was(home: Home, body: bytes) -> None:
    events = [new_event("router", "rewards", body), new_event("Router-2_", "tick", b"{}")]
    async with home.opened() as storage:
        stored = await storage.append(events)
    async with home.opened() as storage:
        read = await storage.read_since(0, 10)
    assert read == stored
    assert [new_event(one.point, one.kind, one.body) for one in read] == events


@in_loop
async def test_opened_again_everything_is_there_and_goes_on(home: Home) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 5))
        await storage.save_snapshot("router", "d", Snapshot(5, b"state"))
    async with home.opened() as storage:
        assert await storage.read_since(0, 10) == stored
        assert await storage.load_snapshot("router", "d") == Snapshot(5, b"state")
        stored += await storage.append(numbered(6, 1))
    async with home.opened() as storage:
        assert await storage.read_since(0, 10) == stored
    assert [one.seq for one in stored] == [1, 2, 3, 4, 5, 6]


@in_loop
async def test_of_a_batch_that_fails_nothing_is_there(home: Home) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 1))
        home.refuse(4)
        with pytest.raises(StorageFailed, match="refused"):
            await storage.append(numbered(2, 3))
        assert home.sql("SELECT seq FROM {log} ORDER BY seq") == [(1,)]
    home.refuse(None)
    async with home.opened() as storage:
        await storage.append(numbered(2, 3))
        assert [one.seq for one in await storage.read_since(0, 10)] == [1, 2, 3, 4]


@in_loop
async def test_events_of_another_log_keep_their_places_and_times(home: Home) -> None:
    old = [Event(n, 1000.125 + n // 3, *event[2:]) for n, event in enumerate(numbered(1, 200), 1)]
    async with home.opened() as storage:
        await storage.restore([])
        await storage.restore(old[:150])
        await storage.restore(old[150:])
        assert await whole_log(storage) == old
        (after,) = await storage.append(numbered(201, 1))
        assert after.seq == 201
        assert abs(after.time - time.time()) < 60
    async with home.opened() as storage:
        assert await whole_log(storage) == [*old, after]


@in_loop
async def test_time_goes_on_from_events_of_another_log_that_are_later(home: Home) -> None:
    async with home.opened() as storage:
        late = time.time() + 1000
        await storage.restore([Event(1, late, *numbered(1, 1)[0][2:])])
        (after,) = await storage.append(numbered(2, 1))
        assert after.time >= late


@in_loop
@pytest.mark.parametrize("seq", [1, 3, 5])
async def test_events_of_another_log_come_right_after_this_ones_or_not_at_all(
    home: Home, seq: int
) -> None:
    async with home.opened() as storage:
        there = await storage.append(numbered(1, 3))
        with pytest.raises(StorageFailed, match=f"not end right before event {seq}"):
            await storage.restore([Event(seq, time.time(), *numbered(seq, 1)[0][2:])])
        assert await whole_log(storage) == there
        await storage.append(numbered(4, 1))  # and it is not broken by it


@in_loop
async def test_of_another_logs_batch_that_fails_nothing_is_there(home: Home) -> None:
    old = [Event(n, 5.0, *event[2:]) for n, event in enumerate(numbered(1, 3), 1)]
    async with home.opened() as storage:
        home.refuse(2)
        with pytest.raises(StorageFailed, match="refused"):
            await storage.restore(old)
        assert home.sql("SELECT seq FROM {log}") == []
    home.refuse(None)
    async with home.opened() as storage:
        await storage.restore(old)
        assert await whole_log(storage) == old


@in_loop
async def test_batches_appended_at_once_do_not_mix(home: Home) -> None:
    async with home.opened() as storage:
        batches = await asyncio.gather(
            *(storage.append(numbered(100 * n, 1 + n % 5)) for n in range(40))
        )
        log = await whole_log(storage)
    assert [one.seq for one in log] == list(range(1, len(log) + 1))
    assert sorted(chain.from_iterable(batches)) == log
    for n, batch in enumerate(batches):
        assert [new_event(*one[2:]) for one in batch] == numbered(100 * n, 1 + n % 5)
        assert [one.seq for one in batch] == list(range(batch[0].seq, batch[0].seq + len(batch)))


@in_loop
async def test_a_log_is_shared_or_refused_to_a_second(home: Home) -> None:
    async with home.opened() as first:
        if not first.shared:
            with pytest.raises(StorageInUse, match=r"in use by another process .*PostgreSQL"):
                await home.opened().__aenter__()
            return
        async with home.opened() as second:
            await first.append(numbered(1, 2))
            await second.append(numbered(3, 2))
            assert await first.read_since(0, 10) == await second.read_since(0, 10)
            assert len(await first.read_since(0, 10)) == 4


@in_loop
async def test_the_newest_snapshot_of_a_point_under_a_definition_is_loaded(home: Home) -> None:
    async with home.opened() as storage:
        await storage.save_snapshot("router", "one", Snapshot(10, b"ten"))
        await storage.save_snapshot("router", "one", Snapshot(20, bytes(range(256))))
        await storage.save_snapshot("router", "two", Snapshot(30, b"thirty"))
        await storage.save_snapshot("banner", "one", Snapshot(40, b""))
        assert await storage.load_snapshot("router", "one") == Snapshot(20, bytes(range(256)))
        assert await storage.load_snapshot("router", "two") == Snapshot(30, b"thirty")
        assert await storage.load_snapshot("banner", "one") == Snapshot(40, b"")
        assert await storage.load_snapshot("banner", "two") is None
        assert await storage.load_snapshot("other", "one") is None


@in_loop
async def test_the_last_two_snapshots_are_kept(home: Home) -> None:
    async with home.opened() as storage:
        for seq in (10, 20, 30, 40):
            await storage.save_snapshot("router", "one", Snapshot(seq, b"data"))
        await storage.save_snapshot("router", "two", Snapshot(5, b"data"))
        await storage.save_snapshot("router", "one", Snapshot(40, b"again"))
        assert await storage.load_snapshot("router", "one") == Snapshot(40, b"again")
    kept = home.sql("SELECT definition, seq FROM {snapshots} ORDER BY definition, seq")
    assert kept == [("one", 30), ("one", 40), ("two", 5)]


@in_loop
async def test_a_damaged_snapshot_is_passed_over(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with home.opened() as storage:
        await storage.save_snapshot("router", "d", Snapshot(10, b"before"))
        await storage.save_snapshot("router", "d", Snapshot(20, b"newest"))
        home.sql("UPDATE {snapshots} SET data = substr(data, 2) WHERE seq = 20")
        assert await storage.load_snapshot("router", "d") == Snapshot(10, b"before")
        assert "the snapshot of router after event 20 is damaged" in caplog.text
        home.sql("UPDATE {snapshots} SET data = substr(data, 2) WHERE seq = 10")
        assert await storage.load_snapshot("router", "d") is None
        assert "the snapshot of router after event 10 is damaged" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [
        "body = substr(body, 2)",
        "kind = 'tick'",
        "point = 'other'",
        "time = time + 0.0001",
        "checksum = checksum + 1",
    ],
)
@in_loop
async def test_a_damaged_event_is_refused_by_its_place(home: Home, damage: str) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 5))
        home.sql("UPDATE {log} SET " + damage + " WHERE seq = 4")
        with pytest.raises(CorruptLog, match=r"event 4 of the log .*damaged.* backup"):
            await storage.read_since(0, 10)
        assert await storage.read_since(0, 3) == stored[:3]
        assert await storage.read_since(4, 10) == stored[4:]


@in_loop
async def test_a_damaged_snapshot_is_found_by_a_check_of_all(home: Home) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 3))
        await storage.save_snapshot("router", "d", Snapshot(2, b"whole"))
        await storage.check_rest()
        home.sql("UPDATE {snapshots} SET data = substr(data, 2)")
        with pytest.raises(CorruptLog, match="snapshot of router after event 2 is damaged"):
            await storage.check_rest()


@in_loop
async def test_a_probe_changes_nothing(home: Home) -> None:
    async with home.opened() as storage:
        stored = await storage.append(numbered(1, 3))
        await storage.probe()
        assert await whole_log(storage) == stored
        assert [one.seq for one in await storage.append(numbered(4, 1))] == [4]


@in_loop
async def test_the_clock_is_compared_with_the_last_event(home: Home) -> None:
    async with home.opened() as storage:
        assert await storage.clock_ahead() is None
        await storage.restore([Event(1, time.time() - 1e6, *numbered(1, 1)[0][2:])])
    async with home.opened() as storage:
        assert await storage.clock_ahead() == pytest.approx(1e6, abs=60)


async def removed_until(storage: Storage, seq: int) -> int:
    done = -1
    while done != (done := await storage.remove_until(seq)):
        pass
    return done


@in_loop
async def test_the_first_events_are_removed_and_the_log_goes_on(home: Home) -> None:
    async with home.opened() as storage:
        assert (await storage.removed(), await storage.first_events()) == (0, [])
        begin: Kind = "begin"
        log = await storage.append([new_event("router", begin, b"{}"), *numbered(2, 700)])
        assert await removed_until(storage, 650) == 650
        assert await removed_until(storage, 600) == 650  # it is so already
        assert await storage.removed() == 650
        assert await storage.first_events() == log[:1]
        for seq in (0, 649, 650):
            assert await storage.read_since(seq, 100) == log[650:]
        assert await storage.read_since(0, 100, "router") == log[650:]
        log += await storage.append(numbered(702, 1))
        assert log[-1].seq == 702
        await storage.check_rest()
        await storage.shrink()
    async with home.opened() as storage:
        assert await storage.read_since(0, 100) == log[650:]
        assert await storage.first_events() == log[:1]
        home.sql("DELETE FROM {log} WHERE seq = 651")
        with pytest.raises(CorruptLog, match="event 651 of the log is missing"):
            await storage.read_since(0, 100)


@in_loop
async def test_the_last_event_is_never_removed(home: Home) -> None:
    async with home.opened() as storage:
        log = await storage.append(numbered(1, 5))
        assert await removed_until(storage, 100) == 4
    async with home.opened() as storage:
        assert await storage.read_since(0, 10) == log[-1:]
        assert (await storage.append(numbered(6, 1)))[0].seq == 6


@in_loop
async def test_the_events_of_a_point_are_read_alone(home: Home) -> None:
    async with home.opened() as storage:
        assert await storage.points() == []
        log = [
            one
            for n in range(20)
            for one in await storage.append(numbered(n, 1, "quiet" if n % 7 == 3 else "busy"))
        ]
        assert await storage.points() == ["busy", "quiet"]
        quiet = [one for one in log if one.point == "quiet"]
        assert await storage.read_since(0, 10, "quiet") == quiet
        assert await storage.read_since(quiet[0].seq, 1, "quiet") == quiet[1:2]
        assert await storage.read_since(0, 10, "nobody") == []
        home.sql("UPDATE {log} SET time = time + 1 WHERE seq = 11")
        with pytest.raises(CorruptLog, match="event 11 of the log"):
            await storage.read_since(0, 10, "quiet")


@in_loop
async def test_the_bodies_of_events_are_replaced(home: Home) -> None:
    async with home.opened() as storage:
        log = await storage.append(numbered(1, 3))
        other = log[1]._replace(body=b'{"n":"nothing"}')
        await storage.rewrite([other])
        assert await storage.read_since(0, 10) == [log[0], other, log[2]]


@in_loop
async def test_an_empty_log_begins_where_another_begins(home: Home) -> None:
    arm: Kind = "arm"
    first = [Event(3, 5.0, "router", arm, b"{}")]
    later = [Event(n, 10.0, *numbered(n, 1)[0][2:]) for n in (11, 12)]
    async with home.opened() as storage:
        await storage.begin_at(10, first)
    async with home.opened() as storage:
        assert await storage.first_events() == first
        await storage.restore(later)
        with pytest.raises(StorageFailed, match="not end right before event 11"):
            await storage.begin_at(10, first)
    async with home.opened() as storage:
        assert await storage.read_since(0, 10) == later
        assert await storage.removed() == 10


@in_loop
async def test_snapshots_are_listed_and_removed(home: Home) -> None:
    async with home.opened() as storage:
        for seq, point in ((5, "router"), (9, "router"), (7, "banner")):
            await storage.save_snapshot(point, "d", Snapshot(seq, b"data"))
        listed = [("banner", "d", 7), ("router", "d", 9), ("router", "d", 5)]
        assert await storage.snapshots() == listed
        await storage.remove_snapshots("router", 9)
        assert await storage.snapshots() == listed[:2]
        await storage.save_snapshot("router", "former", Snapshot(8, b"data"))
        await storage.remove_snapshots("router", 9, "former")
        assert await storage.snapshots() == listed[:2]
        await storage.remove_snapshots("router", 10, "former")
        assert await storage.snapshots() == listed[:2]


@in_loop
async def test_a_reader_of_its_own_reads_the_same(home: Home) -> None:
    async with home.opened() as storage:
        log = await storage.append(numbered(1, 3))
        reader = storage.reader()
        await reader.open()
        assert await reader.read_since(0, 10) == log
        assert await reader.points() == ["router"]
        await reader.close()


@in_loop
async def test_a_missing_event_is_noticed(home: Home) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 5))
        home.sql("DELETE FROM {log} WHERE seq = 3")
        with pytest.raises(CorruptLog, match="event 3 of the log is missing"):
            await storage.read_since(0, 10)
        with pytest.raises(CorruptLog, match="event 3 of the log is missing"):
            await storage.read_since(2, 1)


@pytest.mark.parametrize("left", [0, 3])
@in_loop
async def test_a_log_that_lost_its_end_is_not_opened(home: Home, left: int) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 5))
    home.sql(f"DELETE FROM {home.log} WHERE seq > {left}")
    with pytest.raises(CorruptLog, match=rf"ends with event {left}, and event 5 was the last"):
        await home.opened().__aenter__()
    with pytest.raises(CorruptLog, match=rf"ends with event {left}, and event 5 was the last"):
        await make_storage(home.url, reading=True).open()


@in_loop
async def test_tables_of_a_newer_version_are_left_alone(home: Home) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(1, 2))
    known = home.version()
    home.set_version(known + 6)
    with pytest.raises(StorageFailed, match=rf"version {known + 6}\b.*newer lexbandit") as refused:
        await home.opened().__aenter__()
    assert refused.value.final
    assert home.version() == known + 6
    home.set_version(known)
    async with home.opened() as storage:
        assert len(await storage.read_since(0, 10)) == 2


@in_loop
async def test_its_size_is_known_and_grows(home: Home) -> None:
    async with home.opened() as storage:
        before = await storage.size()
        await storage.append([new_event("router", "decisions", body_of({"n": "x" * 3_000_000}))])
        after = await storage.size()
    assert before is not None
    assert after is not None
    # PostgreSQL packs what repeats; SQLite does not.
    assert after > before
