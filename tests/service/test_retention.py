"""Events that leave the log, and contexts that leave it: what was learned stays."""

import asyncio
import re
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lexbandit.cli.main import status_of
from lexbandit.errors import InvalidInput
from lexbandit.service.config.file import read_config
from lexbandit.service.engine import start
from lexbandit.service.engine.background_replay import Replay
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.erase import erase, of_ids, of_unit
from lexbandit.service.engine.point import DecisionRequest
from lexbandit.service.events import CorruptLog, Event, Snapshot, read_body
from lexbandit.service.maintenance import export as exporting
from lexbandit.service.maintenance.compact import compact
from lexbandit.service.maintenance.copy import copy
from lexbandit.service.maintenance.export import export
from lexbandit.service.maintenance.verify import verify
from lexbandit.service.storage import StorageFailed, make_storage
from lexbandit.service.storage.sqlite import READ, READ_POINT, SqliteStorage
from service.homes import HOMES, Home, SqliteHome, in_loop, whole_log
from service.world import CONTEXT, Hands, definition

POINTS = {name: definition(name=name) for name in ("router", "quiet")}


@pytest.fixture(params=sorted(HOMES))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return HOMES[request.param](tmp_path)


@asynccontextmanager
async def running(home: Home, **settings: Any) -> AsyncIterator[Engine]:
    engine = await Engine.start(POINTS, make_storage(home.url), **settings)
    try:
        yield engine
    finally:
        await engine.stop()


async def traffic(engine: Engine, n: int) -> list[str]:
    """Decide and reward; every fourth decision waits for its reward."""
    ids = []
    for k in range(n):
        ids.append((await engine.decide("router", {**CONTEXT, "tokens": k % 8000})).id)
        if k % 4:
            await engine.reward("router", ids[-1], {"quality": k % 3 / 2, "cost": 0.01})
    return ids


def digests(engine: Engine) -> dict[str, str]:
    return {name: point.digest() for name, point in engine.points.items()}


async def compacted(engine: Engine) -> int:
    await engine.save_two_snapshots()
    done = await compact(engine.storage, POINTS, before=engine.journal.now() + 1)
    return done.removed


@in_loop
async def test_state_and_open_decisions_stay_when_events_leave(home: Home) -> None:
    async with running(home) as engine:
        await engine.decide("quiet", CONTEXT)
        ids = await traffic(engine, 300)
        await engine.add_arm("router", "tiny")
        assert await compacted(engine) > 500
        before = digests(engine)
    async with running(home) as engine:
        assert digests(engine) == before
        assert len(await whole_log_of(engine)) < 10
        assert (await engine.reward("router", ids[0], {"quality": 1.0})).learned
        before = digests(engine)
    async with running(home) as engine:
        assert digests(engine) == before


async def whole_log_of(engine: Engine) -> Sequence[Event]:
    return await engine.storage.read_since(0, 10_000)


@in_loop
async def test_archives_and_the_export_of_what_is_left_are_the_export_of_before(
    home: Home, tmp_path: Path
) -> None:
    async with running(home) as engine:
        ids = await traffic(engine, 100)
        await export(engine.storage, "router", tmp_path / "before.parquet")
        await engine.save_two_snapshots()
        middle = (await engine.decision("router", ids[60])).time + 1e-6
        done = await compact(engine.storage, POINTS, before=middle, archive=tmp_path / "old")
        await export(engine.storage, "router", tmp_path / "after.parquet")
    (archive,) = done.archives
    assert archive.name == f"router-000000000001-{done.removed:012}.parquet"
    parts = [pl.read_parquet(done.archives[0]), pl.read_parquet(tmp_path / "after.parquet")]
    assert [len(part) for part in parts] == [61, 39]
    assert pl.concat(parts).equals(pl.read_parquet(tmp_path / "before.parquet"))


@in_loop
async def test_no_archive_ends_between_a_decision_and_its_repetition(
    home: Home, tmp_path: Path
) -> None:
    """Two replicas that are asked at once write it twice; the first one counts."""
    async with running(home) as engine:
        await traffic(engine, 10)
        seen = engine.seq
        await engine.decide("router", CONTEXT, id="early")
        first = await engine.decide("router", CONTEXT, id="twice")
        for id in ("twice", "early"):
            await asyncio.sleep(0.01)  # so that it has another time
            made = await engine.storage.read_since(seen, 2, "router")
            body = read_body(made[("early", "twice").index(id)])
            await engine.append("router", "decisions", {**body, "by": "other", "seen": seen})
        assert engine.points["router"].counts["repeated"] == 2
        await engine.reward("router", "twice", {"quality": 1.0})
        await traffic(engine, 10)
        await export(engine.storage, "router", tmp_path / "before.parquet")
        await engine.save_two_snapshots()
        parts: list[pl.DataFrame] = []
        for event in (await whole_log_of(engine))[seen + 1 : seen + 5]:
            done = await compact(
                engine.storage, POINTS, before=event.time, archive=tmp_path / "old"
            )
            assert done.removed in (seen, seen + 4)
            parts += map(pl.read_parquet, done.archives)
        await export(engine.storage, "router", tmp_path / "after.parquet")
    rows = pl.concat([*parts, pl.read_parquet(tmp_path / "after.parquet")])
    assert rows.equals(pl.read_parquet(tmp_path / "before.parquet"))
    assert rows.filter(pl.col("id") == "twice")["arm"].to_list() == [first.arm]


@pytest.mark.parametrize("steps", [0, 1, 2])
@in_loop
async def test_who_is_killed_while_events_leave_archives_none_twice(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The archives are written, and of the events some are removed, or none."""
    old = tmp_path / "old"

    async def leave(engine: Engine) -> None:
        await engine.save_two_snapshots()
        await compact(engine.storage, POINTS, before=time.time() + 1, archive=old)

    async with running(home) as engine:
        await traffic(engine, 300)
        remove = engine.storage.remove_until
        removed: list[int] = []

        async def killed(seq: int) -> int:
            if len(removed) == steps:
                raise StorageFailed("killed")
            removed.append(await remove(seq))
            return removed[-1]

        with monkeypatch.context() as kill:
            kill.setattr(engine.storage, "remove_until", killed)
            with pytest.raises(StorageFailed, match="killed"):
                await leave(engine)
        ids = {one.id for one in engine.points["router"].chooser.decisions()}
        await traffic(engine, 50)
        await leave(engine)
        await leave(engine)
        ids |= {one.id for one in engine.points["router"].chooser.decisions()}
        await export(engine.storage, "router", tmp_path / "after.parquet")
    files = [*sorted(old.glob("router-*")), tmp_path / "after.parquet"]
    rows = [id for file in files for id in pl.read_parquet(file)["id"]]
    assert len(rows) == len(set(rows)) == 350
    assert ids <= set(rows)


async def archived(path: Path, name: str, decisions: int, old: Path) -> None:
    """Decide, then let all but the last event of a log leave it for a folder."""
    points = {name: definition(name=name)}
    engine = await Engine.start(points, SqliteStorage(path))
    try:
        for _ in range(decisions):
            await engine.decide(name, CONTEXT)
        await engine.save_two_snapshots()
        await compact(engine.storage, points, before=time.time() + 1, archive=old)
    finally:
        await engine.stop()


@in_loop
async def test_two_logs_may_be_archived_in_one_folder(tmp_path: Path) -> None:
    """Files of the other one were removed, or taken for archives of what left this one."""
    old = tmp_path / "old"
    await archived(tmp_path / "ads.db", "ads", 30, old)
    for _ in range(2):
        await archived(tmp_path / "router.db", "router", 10, old)
    rows = [len(pl.read_parquet(file)) for file in sorted(old.iterdir())]
    assert rows == [30, 10, 10]


@pytest.mark.parametrize("ends_at", ["tick", "decisions", "removed"])
@in_loop
async def test_an_archive_that_cannot_be_of_this_log_is_refused(
    tmp_path: Path, ends_at: str
) -> None:
    """Its last decision is at another kind of event here, another one, or before later ones."""
    old, home = tmp_path / "old", SqliteHome(tmp_path)
    async with running(home) as engine:
        await traffic(engine, 20)
        await engine.save_two_snapshots()
        await compact(engine.storage, POINTS, before=time.time() + 1, archive=old)
        for file in old.iterdir():
            file.unlink()
        begun = await engine.storage.removed()
        await traffic(engine, 20)
        await engine.append("router", "tick", {})
        tick = engine.seq
        await traffic(engine, 20)
        await engine.save_two_snapshots()
        events = await whole_log(engine.storage)
        decided = [event.seq for event in events if event.kind == "decisions"]
        seq = {"tick": tick, "decisions": decided[0], "removed": begun}[ends_at]
        other = old / f"router-{1:012}-{engine.seq:012}.parquet"
        pl.DataFrame({"seq": [seq], "id": ["of another log"]}).write_parquet(other)
        with pytest.raises(InvalidInput, match="not of this log"):
            await compact(engine.storage, POINTS, before=time.time() + 1, archive=old)
        assert await engine.storage.removed() == begun
        assert [*old.iterdir()] == [other]


@pytest.mark.parametrize("more", [1, 2])
@in_loop
async def test_archives_of_before_a_restore_are_not_touched(tmp_path: Path, more: int) -> None:
    """Their last decisions are not in the backup: they are nowhere else."""
    log, backup, old = tmp_path / "log.db", tmp_path / "backup.db", tmp_path / "old"
    await archived(log, "router", 20, old)
    shutil.copy(log, backup)
    for _ in range(more):
        await archived(log, "router", 20, old)
    shutil.copy(backup, log)
    before = {file.name: file.read_bytes() for file in old.iterdir()}
    words = r"has events after \d+, up to which this log was archived, and it is not of this log"
    for _ in range(2):
        with pytest.raises(InvalidInput, match=words):
            await archived(log, "router", 30, old)
    assert {file.name: file.read_bytes() for file in old.iterdir()} == before
    for name in sorted(before)[1:]:
        (old / name).rename(tmp_path / name)
    await archived(log, "router", 1, old)
    assert sum(len(pl.read_parquet(file)) for file in old.iterdir()) == 20 + 61


@in_loop
async def test_of_several_processes_one_at_a_time_removes_events(postgres_url: str) -> None:
    """Else two of them would archive the same decisions, or one remove what the other archives."""
    point = {"router": definition()}
    one = await Engine.start(point, make_storage(postgres_url))
    other = make_storage(postgres_url)
    await other.open()
    await some_decisions(one)
    async with other.removing_alone() as alone:
        assert alone
        done = await compact(one.storage, point, before=time.time() + 1)
        assert (done.events, done.removed) == (0, 0)
        async with one.storage.removing_alone() as second:
            assert not second
    done = await compact(one.storage, point, before=time.time() + 1)
    assert done.events > 20
    await other.close()
    await one.stop()


async def some_decisions(engine: Engine) -> None:
    for _ in range(20):
        await engine.decide("router", CONTEXT)
    await engine.save_two_snapshots()


@in_loop
async def test_a_point_that_is_not_served_keeps_its_events_unless_it_is_named(home: Home) -> None:
    async with running(home) as engine:
        await traffic(engine, 50)
        await engine.save_two_snapshots()
        left = {"router": POINTS["router"]}
        later = time.time() + 1
        done = await compact(engine.storage, left, before=later)
        assert (done.blocked, done.events) == (("quiet",), 1)  # what comes before its first one
        done = await compact(engine.storage, left, before=later, forget=["quiet"])
        assert done.blocked == ()
        assert done.events > 80


@in_loop
async def test_the_service_removes_old_events_by_itself(home: Home) -> None:
    async with running(home, retain=0.5) as engine:
        await traffic(engine, 40)
        await engine.save_two_snapshots()
        async with asyncio.timeout(30):
            while not await engine.storage.removed():
                await asyncio.sleep(0.05)
        await traffic(engine, 10)
        before = digests(engine)
    async with running(home) as engine:
        assert digests(engine) == before
        assert await engine.storage.removed() > 0


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        pl.exceptions.ComputeError("parquet: No space left on device"),
    ],
)
@in_loop
async def test_a_disk_without_room_for_archives_stops_no_requests(
    tmp_path: Path,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: Any) -> None:
        raise error

    home = HOMES["sqlite"](tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_write", full)
        async with running(home, retain=0.5, archive=tmp_path / "old") as engine:
            await traffic(engine, 40)
            await engine.save_two_snapshots()
            async with asyncio.timeout(30):
                while "cannot be written" not in caplog.text:
                    await asyncio.sleep(0.05)
            await traffic(engine, 1)
            assert not await engine.storage.removed()
            patch.undo()
            async with asyncio.timeout(30):
                while not await engine.storage.removed():
                    await asyncio.sleep(0.05)


@in_loop
async def test_replicas_go_on_while_events_leave(tmp_path: Path) -> None:
    home = HOMES["postgresql"](tmp_path)
    async with running(home, poll=0.02) as one, running(home, poll=0.02) as other:
        await traffic(one, 50)
        await compacted(one)
        ids = await traffic(one, 5)
        await other.reward("router", ids[0], {"quality": 1.0})
        await one.journal.catch_up()
        await other.journal.catch_up()
        assert digests(one) == digests(other)


@in_loop
async def test_a_new_definition_learns_from_what_is_left(home: Home) -> None:
    async with running(home) as engine:
        await engine.add_arm("router", "tiny")
        await traffic(engine, 50)
        await compacted(engine)
        await traffic(engine, 10)
    other = {**POINTS, "router": definition(explore=0.3)}
    engine = await Engine.start(other, make_storage(home.url))
    assert engine.points["router"].counts["decisions"] == 10
    assert "tiny" in engine.points["router"].chooser.arms
    await engine.stop()


@in_loop
async def test_snapshots_from_before_what_is_left_go_with_the_events(home: Home) -> None:
    """No start could take them, under whatever definition they were made."""
    former = {**POINTS, "router": definition(explore=0.3)}
    engine = await Engine.start(former, make_storage(home.url))
    await traffic(engine, 20)
    await engine.stop()
    async with running(home) as engine:
        await traffic(engine, 20)
        keys = await engine.storage.snapshots()
        assert former["router"].fingerprint in [key.definition for key in keys]
        removed = await compacted(engine)
        keys = await engine.storage.snapshots()
        assert min(key.seq for key in keys) >= removed > 0
        assert len(keys) == 4  # two of each point


@in_loop
async def test_without_the_snapshots_a_log_without_its_beginning_is_refused(home: Home) -> None:
    async with running(home) as engine:
        await traffic(engine, 50)
        await compacted(engine)
    home.sql("UPDATE {snapshots} SET data = substr(data, 2)")
    with pytest.raises(CorruptLog, match=r"were removed .* cannot be read: .*damaged"):
        await running(home).__aenter__()


@pytest.mark.parametrize("target", sorted(HOMES))
@in_loop
async def test_a_log_without_its_beginning_is_copied(
    home: Home, target: str, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    there = HOMES[target](tmp_path / "copy")
    async with running(home) as engine:
        await traffic(engine, 50)
        await compacted(engine)
        async with there.opened() as storage:
            await copy(engine.storage, storage, lambda _: None)
        await traffic(engine, 5)
        async with there.opened() as storage:  # and what came since is added
            await copy(engine.storage, storage, lambda _: None)
        before = digests(engine)
    async with running(there) as engine:
        assert digests(engine) == before


def test_compact_and_erase_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "service.toml"
    config.write_text(CONFIG)
    path = tmp_path / "log.db"
    found = read_config(config, {})

    async def fill() -> None:
        engine = await Engine.start(found.points, make_storage(found.storage))
        for n in range(400):
            context = {"age": n % 90, "name": f"somebody-{n % 10}"}
            await engine.reward("ads", (await engine.decide("ads", context)).id, {"click": n % 2})
        await engine.stop()

    asyncio.run(fill())
    assert b"somebody-3" in path.read_bytes()
    unit = ["erase", str(config), "ads", "--unit", "name=somebody-3"]
    for age in ("1" * 401, "1e999", "NaN", "old"):  # no export could hold the first
        assert status_of([*unit, "--replace", f"age={age}"]) == 1
        assert "'age' must be a number, got" in capsys.readouterr().err
    assert status_of(unit) == 0
    assert "The context of 40 decisions was erased." in capsys.readouterr().out
    for file in tmp_path.glob("log.db*"):
        assert b"somebody-3" not in file.read_bytes()
    assert b"somebody-4" in path.read_bytes()
    before = path.stat().st_size
    time.sleep(1.1)
    old = tmp_path / "old"
    assert status_of(["compact", str(config), "--retain", "1s", "--archive", str(old)]) == 0
    assert re.search("80[12] events removed", capsys.readouterr().out)
    assert path.stat().st_size < before
    (archive,) = old.glob("ads-000000000001-*.parquet")
    assert len(pl.read_parquet(archive)) == 400
    assert status_of(["verify", found.storage]) == 0


CONFIG = """
[service]
storage = "sqlite:log.db"
[points.ads]
arms = ["one", "two"]
[[points.ads.objectives]]
name = "click"
[[points.ads.context]]
kind = "number"
name = "age"
low = 0
high = 100
[[points.ads.context]]
kind = "category"
name = "name"
values = ["somebody-1"]
"""


@in_loop
async def test_erased_decisions_leave_what_they_taught(home: Home) -> None:
    async with running(home) as engine:
        ids = await traffic(engine, 40)
        many = await engine.decide_columns(
            "router", {name: [value] * 5 for name, value in CONTEXT.items()}
        )
        policy = engine.points["router"].chooser.policy.state()
        assert await erase(engine, "router", of_ids([ids[0], ids[1], many.ids[2]])) == 3
        after = engine.points["router"].chooser.policy.state()
        assert all((policy[name] == after[name]).all() for name in policy)
        assert (await engine.reward("router", ids[0], {"quality": 1.0})).late  # it was open
        assert (await engine.reward("router", many.ids[1], {"quality": 1.0})).learned
        rows = {recent.row["id"] for recent in engine.points["router"].history.recent()}
        assert ids[0] not in rows
        assert many.ids[1] in rows
        before = digests(engine)
    async with running(home) as engine:
        assert digests(engine) == before
        assert await erase(engine, "router", of_ids([ids[0]])) == 0  # nothing is left of it
        assert (await engine.decision("router", ids[1])).rewards["quality"] == 0.5
    home.sql("DELETE FROM {snapshots}")
    async with running(home) as engine:  # the log alone is taken too, without what they taught
        counts = engine.points["router"].counts
        assert (counts["decisions"], counts["untaken"]) == (45, 0)
        assert engine.points["router"].unfit == 0


@pytest.mark.parametrize("step", ["save_snapshot", "remove_snapshots", "rewrite", "shrink"])
@in_loop
async def test_erasing_that_was_stopped_is_finished_by_asking_again(
    home: Home, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped(*_: Any) -> None:
        raise StorageFailed("stopped")

    async with running(home) as engine:
        await traffic(engine, 5)
        id = (await engine.decide("router", {**CONTEXT, "tokens": 4711.4711})).id
        await engine.snapshots.take()
        with monkeypatch.context() as changed:
            changed.setattr(engine.storage, step, stopped)
            with pytest.raises(StorageFailed, match="stopped"):
                await erase(engine, "router", of_ids([id]))
        await erase(engine, "router", of_ids([id]))
        bodies = [event.body for event in await whole_log(engine.storage)]
    bodies += [data for (data,) in home.sql("SELECT data FROM {snapshots}")]
    if isinstance(home, SqliteHome):
        bodies.append(home.path.read_bytes())
    assert not any(b"4711.4711" in body for body in bodies)


@in_loop
async def test_erasing_says_that_a_reader_keeps_it_in_the_file(tmp_path: Path) -> None:
    """As long as another process reads an earlier state, SQLite cannot overwrite that."""
    home = SqliteHome(tmp_path)
    async with running(home) as engine:
        id = (await engine.decide("router", {**CONTEXT, "tokens": 4711.4711})).id
    reader = sqlite3.connect(home.path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM log").fetchall()
    async with running(home) as engine:
        engine.storage._writer.execute("PRAGMA busy_timeout = 100")  # type: ignore[attr-defined]
        with pytest.raises(StorageFailed, match="since another process reads it"):
            await erase(engine, "router", of_ids([id]))
        reader.close()
        await erase(engine, "router", of_ids([id]))
        for file in tmp_path.iterdir():
            assert b"4711.4711" not in file.read_bytes()


@in_loop
async def test_an_id_that_stood_for_two_decisions_is_erased(tmp_path: Path) -> None:
    """A caller used it again after the time of its first decision was over."""
    hands, points = Hands(), {"router": definition(wait=60.0)}

    async def started() -> Engine:
        return await Engine.start(points, SqliteStorage(tmp_path / "log.db", clock=hands.clock()))

    engine = await started()
    for id in ("order-1", "another", "order-1"):
        hands.pass_by(100.0)
        await engine.decide_many("router", [DecisionRequest(CONTEXT, None, id)])
    assert await erase(engine, "router", of_ids(["order-1"])) == 2
    (erased,) = [event for event in await whole_log_of(engine) if event.kind == "erase"]
    assert read_body(erased) == {"ids": ["order-1"]}
    before = digests(engine)
    await engine.stop()
    engine = await started()
    assert digests(engine) == before
    await engine.stop()


@in_loop
async def test_a_feature_is_replaced_and_the_others_stay(home: Home) -> None:
    async with running(home) as engine:
        await traffic(engine, 20)
        assert await erase(engine, "router", of_unit("tokens", "7"), {"tokens": 0}) == 1
        log = await whole_log(engine.storage)
    assert not any(b'"tokens":7,' in event.body for event in log)
    assert sum(b'"tokens":0,' in event.body for event in log) == 2


def test_the_log_is_read_by_its_indexes(tmp_path: Path) -> None:
    home = SqliteHome(tmp_path)
    asyncio.run(_nothing(home))
    plan = str(home.sql(f"EXPLAIN QUERY PLAN {READ_POINT}", "quiet", 0, 10, 10))
    assert "USING INDEX log_by_point" in plan
    plan = str(home.sql(f"EXPLAIN QUERY PLAN {READ}", 0, 10, 10))
    assert "SEARCH log USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plan
    assert "SCAN log" not in plan
    assert "TEMP B-TREE" not in plan


async def _nothing(home: SqliteHome) -> None:
    async with home.opened():
        pass


@pytest.mark.parametrize("written", ["4711", "4711.0", "4.711e3"])
@in_loop
async def test_a_unit_is_found_however_its_number_is_written(tmp_path: Path, written: str) -> None:
    async with running(SqliteHome(tmp_path)) as engine:
        for tokens in (4711, 4711.0, 4711.5, 471):
            await engine.decide("router", {**CONTEXT, "tokens": tokens})
        columns = {name: [value] * 2 for name, value in CONTEXT.items()}
        await engine.decide_columns("router", {**columns, "tokens": [4711.0, 1.0]})
        assert await erase(engine, "router", of_unit("tokens", written)) == 3
        assert await erase(engine, "router", of_unit("tokens", "true")) == 0
        assert await erase(engine, "router", of_unit("nobody", "None")) == 0
        bodies = [event.body for event in await whole_log(engine.storage)]
    assert not [body for body in bodies if b"4711," in body or b"4711.0" in body]


@pytest.mark.parametrize(
    ("replacing", "words"),
    [
        ({"tokens": "nobody"}, "would not fit the definition: context feature 'tokens' must be a"),
        ({"tokesn": 0}, "has no feature 'tokesn' to replace, it has: tokens, "),
    ],
)
@in_loop
async def test_values_that_do_not_fit_replace_nothing(
    tmp_path: Path, replacing: dict[str, Any], words: str
) -> None:
    """A start from the log would refuse them, or what was to be replaced would stay."""
    async with running(SqliteHome(tmp_path)) as engine:
        id = (await engine.decide("router", {**CONTEXT, "tokens": 7})).id
        before = await whole_log_of(engine)
        with pytest.raises(InvalidInput, match=words) as refused:
            await erase(engine, "router", of_ids([id]), replacing)
        assert str(refused.value).endswith("Nothing was changed.")
        assert await whole_log_of(engine) == before


@in_loop
async def test_what_is_decided_while_others_are_erased_stays(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told to forget it: its replica has its context, and takes its rewards."""
    async with running(home) as engine:
        await engine.decide("router", {**CONTEXT, "tokens": 7})
        save, ids = engine.snapshots.take, []

        async def meanwhile() -> None:
            ids.append((await engine.decide("router", {**CONTEXT, "tokens": 7})).id)
            await save()

        with monkeypatch.context() as patch:
            patch.setattr(engine.snapshots, "take", meanwhile)
            assert await erase(engine, "router", of_unit("tokens", "7")) == 1
    home.sql("DELETE FROM {snapshots}")
    async with running(home) as engine:
        assert engine.points["router"].chooser.waiting == 1
        assert (await engine.reward("router", ids[0], {"quality": 1.0})).learned


@in_loop
async def test_a_snapshot_that_came_after_erasing_does_not_stay(home: Home) -> None:
    """A replica may have begun to write it before it knew."""
    async with running(home) as engine:
        await engine.decide("router", CONTEXT)
        await engine.snapshots.take()
        id = (await engine.decide("router", {**CONTEXT, "tokens": 4711.4711})).id
        point = engine.points["router"]
        late = Snapshot(point.seq, point.packer()())
        await engine.append("router", "erase", {"ids": [id]})
        await engine.storage.save_snapshot("router", point.definition.fingerprint, late)
    saved = [data for (data,) in home.sql("SELECT data FROM {snapshots}")]
    assert saved
    assert not any(b"4711.4711" in data for data in saved)


@in_loop
async def test_a_replay_under_way_saves_nothing_that_was_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read the contexts that leave the log after that."""
    home = SqliteHome(tmp_path)
    async with running(home) as engine:
        await traffic(engine, 20)
        id = (await engine.decide("router", {**CONTEXT, "tokens": 4711.4711})).id
        await traffic(engine, 5)
    monkeypatch.setattr(start, "_BEHIND", 10)
    changed = {**POINTS, "router": definition(explore=0.5)}
    page, has_read = Replay._page, asyncio.Event()

    async def stays(replay: Replay) -> bool:
        await page(replay)
        has_read.set()
        await asyncio.Event().wait()
        return False

    monkeypatch.setattr(Replay, "_page", stays)
    engine = await Engine.start(changed, make_storage(home.url))
    await has_read.wait()
    assert await erase(engine, "router", of_ids([id])) == 1
    await engine.stop()
    for file in tmp_path.iterdir():
        assert b"4711.4711" not in file.read_bytes()


async def verified(home: Home) -> None:
    storage = make_storage(home.url).reader()
    await storage.open()
    try:
        await verify(storage, lambda _: None)
    finally:
        await storage.close()


@in_loop
async def test_a_damaged_mark_of_removed_events_hides_none(home: Home) -> None:
    """Those that it hid were in no export and no state, and the log was said to be whole."""
    async with running(home) as engine:
        await traffic(engine, 30)
        removed = await compacted(engine)
        await traffic(engine, 10)
    await verified(home)
    table = "removed" if isinstance(home, SqliteHome) else "lexbandit_removed"
    home.sql(f"UPDATE {table} SET seq = seq + 4")
    words = f"up to {removed + 4} were removed, and event {removed + 1} is there"
    with pytest.raises(CorruptLog, match=words):
        await verified(home)
    with pytest.raises(CorruptLog, match=words):
        await make_storage(home.url).open()


@in_loop
async def test_a_log_without_its_mark_is_damaged(tmp_path: Path) -> None:
    home = SqliteHome(tmp_path)
    async with running(home) as engine:
        await traffic(engine, 3)
    home.sql("DELETE FROM removed")
    with pytest.raises(CorruptLog, match="does not say which of its events were removed"):
        await verified(home)
    with pytest.raises(CorruptLog, match="does not say which of its events were removed"):
        await make_storage(home.url).open()


@pytest.mark.parametrize("by", [-4, 2])
@in_loop
async def test_a_snapshot_whose_place_was_damaged_is_passed_over(home: Home, by: int) -> None:
    """Else events are folded twice, or those that come next are not folded at all."""
    async with running(home) as engine:
        await traffic(engine, 5)
        await engine.snapshots.take()
        await traffic(engine, 5)
        before = digests(engine)
    home.sql(
        f"UPDATE {{snapshots}} SET seq = seq + {by} WHERE point = 'router' "
        "AND seq = (SELECT max(seq) FROM {snapshots} WHERE point = 'router')"
    )
    with pytest.raises(CorruptLog, match="snapshot of router after event"):
        await verified(home)
    async with running(home) as engine:
        assert digests(engine) == before
        await traffic(engine, 1)
