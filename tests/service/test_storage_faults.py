"""SQLite on a disk that fails, in a damaged file, in use by another: nothing false is told."""

import asyncio
import errno
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx
import pytest

from lexbandit.cli.main import status_of
from lexbandit.errors import InvalidInput
from lexbandit.service.engine.engine import Engine
from lexbandit.service.events import CorruptLog, Event, Snapshot, read_body
from lexbandit.service.maintenance.verify import verify
from lexbandit.service.storage import Storage, StorageFailed, StorageInUse, make_storage
from lexbandit.service.storage.sqlite import SqliteStorage
from service.homes import SqliteHome, in_loop, numbered, whole_log
from service.process import Service, killed_after
from service.witness import look
from service.world import CONTEXT, Hands, definition, engine_on

HERE = Path(__file__).parent


@pytest.fixture
def home(tmp_path: Path) -> SqliteHome:
    return SqliteHome(tmp_path)


@pytest.fixture(scope="session")
def faulty_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes a disk fail."""
    library = tmp_path_factory.mktemp("disk") / "faulty_disk.so"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("a failing disk needs Linux and a C compiler")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, HERE / "faulty_disk.c", "-ldl"], check=True
    )
    return library


@contextmanager
def appender(home: SqliteHome, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that appends to a log, ended at the end."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "appender.py"), home.url],
        env={**os.environ, "FAULTY_DISK": "", **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        with killed_after(120, process):
            yield process
    finally:
        process.kill()
        process.communicate()


def said(process: "subprocess.Popen[str]", lines: int | None = None) -> list[Any]:
    """What it said next: so many lines, or all until it ends."""
    assert process.stdout is not None
    if lines is None:
        return [json.loads(line) for line in process.stdout]
    return [json.loads(process.stdout.readline()) for _ in range(lines)]


def numbers(log: list[Event]) -> list[int]:
    return [read_body(stored)["n"] for stored in log]


@pytest.mark.parametrize(
    "fault",
    [f"sync {errno.EIO}", f"sync {errno.ENOSPC}", f"write {errno.EIO}"],
    ids=["failing fsync", "disk full at fsync", "failing write"],
)
@in_loop
async def test_a_failing_disk_stops_all_writing(
    home: SqliteHome, faulty_disk: Path, fault: str, tmp_path: Path
) -> None:
    flag = tmp_path / "fault"
    environment = {"LD_PRELOAD": str(faulty_disk), "FAULTY_DISK": str(flag)}
    with appender(home, **environment) as process:
        told = said(process, 40)
        assert all(words[3] >= 1 for words in told[1:])  # each was on disk before it was told
        waiting = tmp_path / "soon"
        waiting.write_text(fault)
        waiting.rename(flag)
        told += said(process)
        assert process.wait(30) == 0
    kept = [words for words in told if words[0] == "kept"]
    (failed,) = [words for words in told if words[0] == "failed"]
    assert failed[3] is True
    assert "could not be written" in failed[4]
    # The disk is well again, but what the file holds is not known before it is opened again.
    assert told[-3:] == [["refused", True]] * 3

    async with home.opened() as storage:
        there = numbers(await whole_log(storage))
        acknowledged = list(range(1, kept[-1][2] + 1))
        unknown = list(range(failed[1], failed[2] + 1))
        assert there in (acknowledged, acknowledged + unknown)
        (stored,) = await storage.append(numbered(1000, 1))
        assert stored.seq == len(there) + 1


@pytest.mark.parametrize("fault", ["write", "short"])
@in_loop
async def test_a_full_disk_takes_nothing_and_then_everything_again(
    home: SqliteHome, faulty_disk: Path, fault: str, tmp_path: Path
) -> None:
    flag = tmp_path / "fault"
    environment = {"LD_PRELOAD": str(faulty_disk), "FAULTY_DISK": str(flag)}
    with appender(home, **environment) as process:
        told = said(process, 40)
        waiting = tmp_path / "soon"
        waiting.write_text(f"{fault} {errno.ENOSPC}")
        waiting.rename(flag)
        told += said(process)
        assert process.wait(30) == 0
    (failed,) = [words for words in told if words[0] == "failed"]
    assert failed[3] is False
    assert "full" in failed[4]
    assert told[-3:] == [["accepted"]] * 3
    async with home.opened() as storage:
        there = numbers(await whole_log(storage))
    assert there == [*range(1, failed[1]), -1, -1, -1]


@in_loop
async def test_a_file_that_another_program_locks_is_written_again_after_it(
    home: SqliteHome,
) -> None:
    """Such as the `VACUUM` of somebody who did not know better: it took a start to go on."""
    async with engine_on(home.path) as engine:
        await engine.decide("router", CONTEXT)
        storage = engine.storage
        assert isinstance(storage, SqliteStorage)
        storage._writer.execute("PRAGMA busy_timeout = 10")  # 5,000 is the usual
        with closing(sqlite3.connect(home.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageFailed, match="database is locked") as refused:
                await engine.decide("router", CONTEXT)
            assert not refused.value.final
            other.execute("ROLLBACK")
        async with asyncio.timeout(10):
            while engine.trouble is not None:
                await asyncio.sleep(0.05)
        await engine.decide("router", CONTEXT)
    async with home.opened() as storage:
        kinds = [event.kind for event in await whole_log(storage)]
    assert kinds.count("decisions") == 2


@pytest.mark.compiled
def test_a_service_on_a_full_disk_is_ready_again_by_itself_when_there_is_room(
    faulty_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "fault"
    monkeypatch.setenv("LD_PRELOAD", str(faulty_disk))
    monkeypatch.setenv("FAULTY_DISK", str(flag))
    body = {"context": {"tokens": 900, "task": "code"}}
    with Service(tmp_path, f"sqlite:{tmp_path}/log.db") as service, httpx.Client() as http:
        decisions = f"{service.url}/v1/router/decisions"
        ids = [http.post(decisions, json=body).json()["id"]]
        (tmp_path / "soon").write_text(f"write {errno.ENOSPC}")
        (tmp_path / "soon").rename(flag)
        for path in (decisions, f"{service.url}/ready"):
            reply = http.post(path, json=body) if path == decisions else http.get(path)
            assert reply.status_code == 503
            assert ("full" in reply.json()["detail"]) == (path != decisions)  # to readers only
            assert "retry-after" not in reply.headers  # nobody knows when there is room
        flag.unlink()
        service._wait_until_ready(time.monotonic() + 60)  # without a request that writes
        ids.append(http.post(decisions, json=body).json()["id"])
    rows = look(service.config).decided()
    assert list(rows) == ids


@pytest.mark.parametrize("what", ["file", "write-ahead log"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
@in_loop
async def test_what_is_written_to_a_file_that_is_gone_is_not_acknowledged(
    home: SqliteHome, what: str, how: str
) -> None:
    path = home.path if what == "file" else Path(f"{home.path}-wal")
    storage = SqliteStorage(home.path)
    await storage.open()
    await storage.append(numbered(1, 3))
    copy = path.read_bytes()
    path.unlink()
    if how == "replaced":
        path.write_bytes(copy)
    for _ in range(2):
        with pytest.raises(StorageFailed, match=f"{path.name} (is gone|was replaced)") as failed:
            await storage.append(numbered(4, 1))
        assert failed.value.final
    with pytest.raises(StorageFailed):
        await storage.probe()
    await storage.close()


@pytest.mark.parametrize("what", ["file", "write-ahead log"])
@in_loop
async def test_after_a_file_was_cut_off_nothing_is_acknowledged(
    home: SqliteHome, what: str
) -> None:
    """As by `> log.db-wal` on a disk that is nearly full: a write makes it as long as before."""
    path = home.path if what == "file" else Path(f"{home.path}-wal")
    storage = SqliteStorage(home.path)
    await storage.open()
    for n in range(1, 50):
        await storage.append(numbered(n, 1))
    os.truncate(path, 0)
    for _ in range(2):
        with pytest.raises(StorageFailed, match=f"{path.name} was cut off") as failed:
            await storage.append(numbered(50, 1))
        assert failed.value.final
    assert Path(f"{home.path}-wal").exists()  # SQLite removes it if it opens an empty file
    await storage.close()


@pytest.mark.parametrize("left", [0, 0.5])
@in_loop
async def test_what_is_cut_off_during_a_write_is_noticed(home: SqliteHome, left: float) -> None:
    """The write makes the file as long as before, with a hole."""
    wal = Path(f"{home.path}-wal")
    storage = SqliteStorage(home.path)
    await storage.open()
    for n in range(1, 50):
        await storage.append(numbered(n, 1))
    writer = storage._writer

    class Cut:
        in_transaction = False

        def execute(self, *statement: Any) -> Any:
            os.truncate(wal, int(wal.stat().st_size * left))
            return writer.execute(*statement)

    storage._writer = cast(sqlite3.Connection, Cut())
    with pytest.raises(StorageFailed, match="-wal was cut off") as failed:
        await storage.append(numbered(50, 1))
    assert failed.value.final
    storage._writer = writer
    await storage.close()


@pytest.mark.parametrize("statement", ["PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"])
@in_loop
async def test_a_file_that_sqlite_makes_shorter_is_whole(home: SqliteHome, statement: str) -> None:
    async with home.opened() as storage:
        for n in range(1, 200):
            await storage.append(numbered(n, 1))
        home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        before = home.path.stat().st_size
        await storage.remove_until(190)
        home.sql(statement)
        home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        for n in range(200, 203):
            await storage.append(numbered(n, 1))
        assert (home.path.stat().st_size < before) == (statement == "VACUUM")
        assert [one.seq for one in await storage.read_since(199, 10)] == [200, 201, 202]


def test_an_empty_file_beside_its_write_ahead_log_is_no_new_log(home: SqliteHome) -> None:
    @in_loop
    async def write() -> None:
        storage = SqliteStorage(home.path)
        await storage.open()
        await storage.append(numbered(1, 3))
        copies.update({path: path.read_bytes() for path in (home.path, wal)})
        await storage.close()

    @in_loop
    async def open_it() -> None:
        async with home.opened() as storage:
            assert len(await whole_log(storage)) == 3

    wal = Path(f"{home.path}-wal")
    copies: dict[Path, bytes] = {}
    write()
    wal.write_bytes(copies[wal])
    home.path.write_bytes(b"")
    with pytest.raises(StorageFailed, match=r"is empty, and .*-wal is not: the file was cut off"):
        open_it()
    home.path.write_bytes(copies[home.path])
    open_it()


@in_loop
async def test_a_disk_with_little_room_is_still_full(
    home: SqliteHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be room for what changes nothing, and none for the next events."""
    async with home.opened() as storage:
        await storage.probe()
        with monkeypatch.context() as full:
            full.setattr(shutil, "disk_usage", lambda _: Usage(100, 99, 1))
            with pytest.raises(StorageFailed, match="less than 1 MB of room") as failed:
                await storage.probe()
            assert not failed.value.final
        await storage.probe()


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@in_loop
async def test_a_process_killed_while_it_appends_has_lost_nothing_it_told(home: SqliteHome) -> None:
    told: list[Any] = []
    for _ in range(3):
        with appender(home) as process:
            told.append(said(process, random.Random(len(told)).randint(20, 200)))
    async with home.opened() as storage:
        log = numbers(await whole_log(storage))
    starts = [at for at, n in enumerate(log) if n == 1]  # each process counted from 1
    for words, (start, end) in zip(told, pairwise([*starts, len(log)]), strict=True):
        there = log[start:end]
        assert there == list(range(1, len(there) + 1))  # in order, once each
        assert len(there) >= words[-1][2]


def test_a_second_process_is_refused_until_the_first_is_gone(
    home: SqliteHome, tmp_path: Path
) -> None:
    @in_loop
    async def open_it(path: Path) -> None:
        storage = SqliteStorage(path)
        await storage.open()
        await storage.close()

    by_another_name = tmp_path / "another" / "name.db"
    by_another_name.parent.mkdir()
    by_another_name.symlink_to(home.path)
    with appender(home) as process:
        ((_, pid),) = said(process, 1)
        for path in (home.path, by_another_name):
            told = rf"{path.name} is in use .*pid {pid}\).*Stop that"
            with pytest.raises(StorageInUse, match=told):
                open_it(path)
        said(process, 5)  # and the first one goes on
    open_it(home.path)
    open_it(by_another_name)


def frames(wal: bytes) -> Iterator[tuple[int, bool]]:
    """Where each frame of a write-ahead log ends, and whether it ends a transaction."""
    (page,) = struct.unpack(">I", wal[8:12])
    at = 32
    while at < len(wal):
        (pages,) = struct.unpack(">I", wal[at + 4 : at + 8])
        at += 24 + page
        yield at, pages != 0


@in_loop
async def test_a_torn_tail_costs_the_batches_it_tore_and_no_other(
    home: SqliteHome, tmp_path: Path
) -> None:
    wal = Path(f"{home.path}-wal")
    async with home.opened() as storage:
        batches = [await storage.append(numbered(10 * n, 1 + n % 7)) for n in range(30)]
        data, whole = home.path.read_bytes(), wal.read_bytes()
    commits = [end for end, last in frames(whole) if last]
    draws = random.Random(1)
    cuts = [draws.randrange(commits[-20], len(whole)) for _ in range(20)] + commits[-3:]
    torn = SqliteHome(tmp_path / "torn")
    torn.path.parent.mkdir()
    for cut in cuts:
        for garbage in (b"", draws.randbytes(3000)):
            torn.path.write_bytes(data)
            Path(f"{torn.path}-wal").write_bytes(whole[:cut] + garbage)
            left = len(batches) - sum(end > cut for end in commits)
            async with torn.opened() as storage:
                assert await whole_log(storage) == [one for b in batches[:left] for one in b]
                await storage.append(numbered(1, 2))
                assert (await whole_log(storage))[-1].seq == sum(map(len, batches[:left])) + 2


async def filled(home: SqliteHome) -> list[Event]:
    """Write a small log with two snapshots."""
    async with home.opened() as storage:
        log = [(await storage.append(numbered(n, 1)))[0] for n in range(1, 200)]
        await storage.save_snapshot("router", "d", Snapshot(100, b"the first snapshot"))
        await storage.save_snapshot("router", "d", Snapshot(199, b"the second snapshot"))
    return log


def flip(path: Path, at: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


@in_loop
async def test_a_flipped_byte_in_an_event_is_found_and_named(home: SqliteHome) -> None:
    log = await filled(home)
    flip(home.path, home.path.read_bytes().index(b'{"n":77}') + 3)
    async with home.opened() as storage:
        assert await storage.read_since(0, 76) == log[:76]
        with pytest.raises(CorruptLog, match=r"event 77 of the log .*damaged"):
            await whole_log(storage)


@in_loop
async def test_a_flipped_byte_in_a_snapshot_costs_that_snapshot(home: SqliteHome) -> None:
    log = await filled(home)
    flip(home.path, home.path.read_bytes().index(b"the second snapshot") + 6)
    async with home.opened() as storage:
        assert await storage.load_snapshot("router", "d") == Snapshot(100, b"the first snapshot")
        assert await whole_log(storage) == log


async def verified(home: SqliteHome) -> tuple[list[Event], list[Any]]:
    """Return the events and the snapshots of a log that is found to be whole."""
    storage = make_storage(home.url, reading=True)
    await storage.open()
    try:
        await verify(storage, lambda _: None)
        log = await whole_log(storage)
    finally:
        await storage.close()
    return log, list(home.sql("SELECT * FROM snapshots ORDER BY seq"))


@pytest.fixture
def damaged(tmp_path: Path) -> SqliteHome:
    """A place for copies with a flipped bit."""
    folder = tmp_path / "damaged"
    folder.mkdir()
    return SqliteHome(folder)


@in_loop
async def test_a_flipped_bit_anywhere_is_found_or_harmless(
    home: SqliteHome, damaged: SqliteHome
) -> None:
    await filled(home)
    before = await verified(home)
    whole = home.path.read_bytes()
    draws = random.Random(3)
    found = 0
    for _ in range(100):
        damaged.path.write_bytes(whole)
        flip(damaged.path, draws.randrange(len(whole)), draws.randrange(8))
        try:
            assert await verified(damaged) == before  # it was in free space
        except (CorruptLog, StorageFailed):
            found += 1
    assert found > 20


@in_loop
async def test_every_flipped_bit_of_an_event_is_found_and_it_is_named(
    home: SqliteHome, damaged: SqliteHome
) -> None:
    """The values of a row lie behind each other: time, point, kind, body, checksum."""
    await filled(home)
    whole = home.path.read_bytes()
    end = whole.index(b'{"n":77}') + len(b'{"n":77}') + 8
    begin = end - 8 - len(b'{"n":77}') - len(b"routerdecisions") - 8
    for at in range(begin, end):
        for bit in range(8) if at < begin + 8 else [at % 8]:  # all bits of the time
            damaged.path.write_bytes(whole)
            flip(damaged.path, at, bit)
            with pytest.raises(CorruptLog, match=r"event 77 (of the log|is the first)"):
                await verified(damaged)


@in_loop
async def test_every_flipped_bit_of_a_write_ahead_log_is_found(
    home: SqliteHome, damaged: SqliteHome
) -> None:
    """SQLite itself would take the log for a shorter one."""
    wal, copy = Path(f"{home.path}-wal"), Path(f"{damaged.path}-wal")
    async with home.opened() as storage:
        for n in range(1, 40):
            await storage.append(numbered(n, 1))
        file, whole = home.path.read_bytes(), wal.read_bytes()
    damaged.path.write_bytes(file)
    copy.write_bytes(whole)
    assert len((await verified(damaged))[0]) == 39
    (page,) = struct.unpack(">I", whole[8:12])
    heads = [32 + n * (24 + page) for n in range((len(whole) - 32) // (24 + page))]
    draws = random.Random(4)
    header = [draws.randrange(32) for _ in range(8)]
    places = [draws.randrange(len(whole)) for _ in range(40)]
    last = [heads[-1] + n for n in range(24)]
    for at in (*header, *last, *places):
        damaged.path.write_bytes(file)
        damaged.path.with_name(f"{damaged.path.name}-shm").unlink(missing_ok=True)
        copy.write_bytes(whole)
        flip(copy, at, draws.randrange(8))
        with pytest.raises(CorruptLog, match=r"-wal is damaged|damaged where"):
            await verified(damaged)


@in_loop
async def test_frames_that_are_missing_in_a_write_ahead_log_are_found(
    home: SqliteHome, damaged: SqliteHome
) -> None:
    """SQLite takes what comes after them for the remains of an earlier round."""
    wal, copy = Path(f"{home.path}-wal"), Path(f"{damaged.path}-wal")
    async with home.opened() as storage:
        for n in range(1, 40):
            await storage.append(numbered(n, 1))
        file, whole = home.path.read_bytes(), wal.read_bytes()
    (page,) = struct.unpack(">I", whole[8:12])
    for frames in (1, 2, 5):
        damaged.path.write_bytes(file)
        damaged.path.with_name(f"{damaged.path.name}-shm").unlink(missing_ok=True)
        first, missing = 32 + 20 * (24 + page), frames * (24 + page)
        copy.write_bytes(whole[:first] + bytes(missing) + whole[first + missing :])
        with pytest.raises(CorruptLog, match="-wal is damaged"):
            await verified(damaged)


@in_loop
async def test_what_a_transaction_that_was_given_up_left_is_no_damage(home: SqliteHome) -> None:
    """As on a full disk: its frames stay behind those of the next one."""
    async with home.opened() as storage:
        assert isinstance(storage, SqliteStorage)
        await storage.append(numbered(1, 20))
        storage._writer.execute("PRAGMA cache_size = 5")  # so that it is written at once
        size = Path(f"{home.path}-wal").stat().st_size
        storage._writer.execute("BEGIN IMMEDIATE")
        for n in range(50):
            row = ("router", "x", n, bytes(5_000), b"")
            storage._writer.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", row)
        storage._writer.execute("ROLLBACK")
        assert Path(f"{home.path}-wal").stat().st_size > size + 100_000
        await storage.append(numbered(21, 1))
        assert len((await verified(home))[0]) == 21


@in_loop
async def test_a_log_that_is_served_is_verified_meanwhile(home: SqliteHome) -> None:
    async with home.opened() as storage:
        await storage.append(numbered(0, 1))
        work = asyncio.create_task(_append_all_the_time(storage))
        for _ in range(5):
            assert (await verified(home))[0]
        work.cancel()


async def _append_all_the_time(storage: Storage) -> None:
    for n in range(100_000):
        await storage.append(numbered(n, 1))


def test_verify_names_the_first_damaged_event(
    home: SqliteHome, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(filled(home))
    assert status_of(["verify", home.url]) == 0
    assert "All 199 events are as they were written: 1 to 199" in capsys.readouterr().out
    home.sql("UPDATE log SET time = time + 0.001 WHERE seq = 150")
    assert status_of(["verify", home.url]) == 1
    assert "event 150" in capsys.readouterr().err


@in_loop
async def test_a_file_that_is_not_a_log_is_refused_by_its_name(home: SqliteHome) -> None:
    home.path.write_bytes(b"something else\n" * 1000)
    with pytest.raises(StorageFailed, match=r"decisions.db cannot be opened: .*not a database"):
        await home.opened().__aenter__()
    assert home.path.read_bytes() == b"something else\n" * 1000


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
@in_loop
async def test_a_clock_set_while_it_runs_does_not_move_the_log(
    home: SqliteHome, jump: float
) -> None:
    hands = Hands()
    storage = SqliteStorage(home.path, hands.clock())
    await storage.open()
    times = []
    for step in range(6):
        hands.pass_by(10)
        if step == 3:
            hands.wall += jump
        times.append((await storage.append(numbered(step, 1)))[0].time)
    await storage.close()
    assert times == [1_700_000_010.0 + 10 * n for n in range(6)]


@in_loop
async def test_a_clock_set_back_between_two_runs_lets_time_stand(home: SqliteHome) -> None:
    hands = Hands()
    times = []
    for jump in (0.0, -86_400.0, 0.0):
        hands.wall += jump
        hands.monotonic = 5.0  # the machine was started again
        storage = SqliteStorage(home.path, hands.clock())
        await storage.open()
        for _ in range(2):
            hands.pass_by(10)
            times.append((await storage.append(numbered(1, 1)))[0].time - 1_700_000_000)
        await storage.close()
    assert times == [10, 20, 30, 40, 50, 60]


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
@in_loop
async def test_a_clock_set_while_it_runs_ends_no_decision_early_or_late(
    home: SqliteHome, jump: float
) -> None:
    hands = Hands()
    engine = await Engine.start(
        {"router": definition(wait=100.0)}, SqliteStorage(home.path, hands.clock())
    )
    early, late = [await engine.decide("router", CONTEXT) for _ in range(2)]
    hands.wall += jump
    hands.pass_by(90)
    assert (await engine.reward("router", early.id, {"quality": 1.0})).learned
    hands.pass_by(20)
    await engine.decide("router", CONTEXT)  # so that the log's time passes
    assert (await engine.reward("router", late.id, {"quality": 1.0})).late
    await engine.stop()


@pytest.mark.parametrize("years", [3.0, -3.0])
@in_loop
async def test_a_clock_years_from_the_log_is_refused_unless_it_is_right(
    home: SqliteHome, years: float
) -> None:
    hands = Hands()
    async with engine_on(home.path, hands=hands) as engine:
        await engine.decide("router", CONTEXT)
    hands.wall += years * 365.25 * 86_400
    with pytest.raises(InvalidInput, match=r"the clock is 3.0 years .*--accept-clock"):
        await engine_on(home.path, hands=hands).__aenter__()
    storage = SqliteStorage(home.path, hands.clock())
    engine = await Engine.start({"router": definition()}, storage, accept_clock=True)
    assert engine.points["router"].counts["decisions"] == 1
    await engine.stop()
