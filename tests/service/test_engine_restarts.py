"""An engine that stops and starts again: what its log leads to, and what it refuses to forget."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lexbandit as lb
from lexbandit.chooser import RecordingChooser
from lexbandit.errors import InvalidInput
from lexbandit.service.engine.engine import Engine
from lexbandit.service.events import Event
from lexbandit.service.storage import StorageFailed
from lexbandit.service.storage.sqlite import SqliteStorage
from service.world import CONTEXT, definition, engine_on, play, replayed


def test_a_long_log_is_read_to_its_end(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        await asyncio.gather(*[engine.decide("router", CONTEXT) for _ in range(450)])
        events = await engine.storage.read_since(0, 1000, "router")
        assert [event.seq for event in events] == list(range(1, 452))
        assert len(await engine.storage.read_since(10, 300, "router")) == 300

    play(tmp_path / "log.db", scene)


def test_an_error_of_ours_stops_all_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.db"

    async def run() -> str:
        async with engine_on(path) as engine:
            await engine.decide("router", CONTEXT)
            with monkeypatch.context() as broken:
                broken.setattr(RecordingChooser, "record", lambda *_: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    await engine.decide("router", CONTEXT)
            assert engine.trouble is not None
            with pytest.raises(StorageFailed):
                await engine.decide("router", CONTEXT)
        async with engine_on(path) as engine:  # what was written counts, now that it can be folded
            assert engine.points["router"].counts["decisions"] == 2
            return engine.points["router"].digest()

    digest = asyncio.run(run())
    assert asyncio.run(replayed(path)) == digest
    assert "an error of ours" in caplog.text


def test_nothing_is_taken_after_the_end(tmp_path: Path) -> None:
    async def run() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            pass
        with pytest.raises(StorageFailed, match="stopping"):
            await engine.decide("router", CONTEXT)

    asyncio.run(run())


def test_a_quiet_point_does_not_make_a_start_long(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    points = {name: definition(name=name) for name in ("busy", "quiet")}
    read: list[int] = []

    class Counting(SqliteStorage):
        async def read_since(
            self, seq: int, limit: int, point: str | None = None
        ) -> Sequence[Event]:
            events = await super().read_since(seq, limit)
            read.append(len(events))
            return events

    async def run() -> None:
        engine = await Engine.start(points, SqliteStorage(path), snapshot_every=50)
        await engine.decide("quiet", CONTEXT)
        for _ in range(100):
            await engine.decide("busy", CONTEXT)
        digests = {name: point.digest() for name, point in engine.points.items()}
        await engine.stop()
        engine = await Engine.start(points, Counting(path), snapshot_every=50)
        assert {name: point.digest() for name, point in engine.points.items()} == digests
        await engine.stop()

    asyncio.run(run())
    assert sum(read) < 50


def test_what_is_in_a_points_snapshot_is_not_taken_again(tmp_path: Path) -> None:
    """Snapshots end at different events: the log is read from the earliest of them."""
    points = {name: definition(name=name) for name in ("busy", "quiet")}

    def state(engine: Engine) -> dict[str, tuple[str, dict[str, int]]]:
        return {name: (one.digest(), dict(one.counts)) for name, one in engine.points.items()}

    async def run() -> None:
        engine = await Engine.start(points, SqliteStorage(tmp_path / "log.db"))
        await engine.decide("quiet", CONTEXT)
        for _ in range(5):
            await engine.decide("busy", CONTEXT)
        quiet = engine.points.pop("quiet")
        await engine.snapshots.take()  # of the busy one only: the quiet one has none
        engine.points["quiet"] = quiet
        before = state(engine)
        await engine.journal.stop()
        for task in engine._tasks:
            task.cancel()
        await engine.storage.close()  # as a kill would, without the last snapshots
        engine = await Engine.start(points, SqliteStorage(tmp_path / "log.db"))
        assert state(engine) == before
        await engine.stop()

    asyncio.run(run())


def test_a_restart_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def first() -> str:
        async with engine_on(path) as engine:
            for n in range(30):
                made = await engine.decide("router", CONTEXT, id=f"key {n}")
                if n % 2:
                    await engine.reward("router", made.id, {"quality": n / 30, "cost": 0.01})
            return engine.points["router"].digest()

    async def second(digest: str) -> None:
        async with engine_on(path) as engine:
            point = engine.points["router"]
            assert point.digest() == digest
            assert point.history.plain()["recent"]
            again = await engine.decide("router", CONTEXT, id="key 3")
            assert point.counts["decisions"] == 30
            assert again.id == "key 3"
            await engine.reward("router", "key 2", {"quality": 0.7})

    asyncio.run(second(asyncio.run(first())))
    assert asyncio.run(replayed(path))


def test_a_changed_definition_replays_the_log_under_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def fill() -> None:
        async with engine_on(path) as engine:
            for n in range(20):
                made = await engine.decide("router", CONTEXT)
                await engine.reward("router", made.id, {"quality": n / 20, "cost": 0.01})

    async def look() -> None:
        async with engine_on(path, explore=0.1, arms=("small", "medium", "large", "new")) as engine:
            point = engine.points["router"]
            assert engine.points["router"].chooser.summary().received["quality"].count == 20
            assert point.chooser.arms == ("small", "medium", "large", "new")

    asyncio.run(fill())
    before = definition().fingerprint
    assert before != definition(explore=0.1).fingerprint
    assert before == definition(arms=("other",)).fingerprint
    asyncio.run(look())


def test_what_a_new_definition_cannot_take_is_not_forgotten_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, changed = tmp_path / "log.db", [lb.Number("length", 0, 10)]

    async def fill() -> None:
        async with engine_on(path) as engine:
            for _ in range(3):
                await engine.decide("router", CONTEXT)
            await engine.decide_columns("router", {name: [v, v] for name, v in CONTEXT.items()})

    async def look(**settings: Any) -> dict[str, int]:
        async with engine_on(path, **settings) as engine:
            counts = engine.points["router"].counts
            return {what: counts[what] for what in ("untaken", "decisions")}

    asyncio.run(fill())
    size = path.stat().st_size
    with pytest.raises(InvalidInput, match=r"router: 5 decisions .* event 2: unknown context feat"):
        asyncio.run(look(context=changed))
    assert asyncio.run(look()) == {"untaken": 0, "decisions": 5}  # the definition is put back
    assert path.stat().st_size == size
    skipped = {"untaken": 5, "decisions": 0}
    assert asyncio.run(look(context=changed, skip_untaken=True)) == skipped
    assert "5 rows of the log were not taken" in caplog.text
    assert asyncio.run(look(context=changed)) == skipped  # from its snapshot: said once is enough


def test_a_reward_of_an_objective_that_is_gone_is_not_forgotten_in_silence(tmp_path: Path) -> None:
    async def fill() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            made = await engine.decide("router", CONTEXT)
            await engine.reward("router", made.id, {"quality": 1.0, "cost": 0.01})

    async def look(**settings: Any) -> int:
        point = replace(definition(), objectives=[lb.Objective("kindness")])
        storage = SqliteStorage(tmp_path / "log.db")
        engine = await Engine.start({"router": point}, storage, **settings)
        await engine.stop()
        return engine.points["router"].counts["decisions"]

    asyncio.run(fill())
    with pytest.raises(InvalidInput, match=r"router: 1 decisions and rewards .*'quality'"):
        asyncio.run(look())
    assert asyncio.run(look(skip_untaken=True)) == 1


def test_what_a_replica_was_quicker_with_stops_no_start(tmp_path: Path) -> None:
    """Contradictions of a race are in the log, refused; the log alone is still enough."""

    async def fill() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            await engine.decide("router", CONTEXT, id="mine")
            row = {"id": "mine", "arm": "small", "propensity": 1.0, "key": "other"}
            rows = [{**row, "context": {**CONTEXT, "tokens": 1}}]
            await engine.append("router", "decisions", {"by": "b", "version": 1, "rows": rows})
            told = [{"id": "nobody", "values": {"quality": 1.0}}]
            await engine.append("router", "rewards", {"rows": told})
            assert engine.points["router"].counts["untaken"] == 2

    async def look() -> None:
        async with engine_on(tmp_path / "log.db", tolerance=0.1) as engine:
            assert engine.points["router"].counts["untaken"] == 2

    asyncio.run(fill())
    asyncio.run(look())
