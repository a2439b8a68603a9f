"""The engine on a real file: semantics of decisions and rewards, and the state after a restart."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lexbandit as lb
from lexbandit.chooser import Chooser
from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision, UnknownName
from lexbandit.service.engine import Engine
from lexbandit.service.events import Stored
from lexbandit.service.rows import DecisionRow
from lexbandit.service.storage import StorageFailed
from lexbandit.service.storage.sqlite import SqliteStorage
from service.world import CONTEXT, definition, engine_on, replayed

Scene = Callable[[Engine], Awaitable[Any]]


def play(path: Path, scene: Scene, **settings: Any) -> Any:
    """Run a scene on an engine; afterwards the log alone leads to the same state."""

    async def run() -> Any:
        async with engine_on(path, **settings) as engine:
            told = await scene(engine)
            digest = engine.points["router"].digest()
        assert await replayed(path, **settings) == digest
        return told

    return asyncio.run(run())


def test_a_decision_is_in_the_log_before_it_is_answered(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        events = await engine.read_log("router", 0, 10)
        assert [event.kind for event in events] == ["begin", "decisions"]
        assert made.id.encode() in events[1].body
        assert made.arm in ("small", "medium", "large")
        assert 0 < made.propensity <= 1

    play(tmp_path / "log.db", scene)


def test_rewards_come_in_parts_in_any_order_and_count_once(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        one, two = [await engine.decide("router", CONTEXT) for _ in range(2)]
        assert await engine.reward("router", two.id, {"cost": 0.01}) == (two.id, True, False)
        assert await engine.reward("router", one.id, {"quality": 1, "cost": 0.02})
        assert await engine.reward("router", two.id, {"quality": 0.5})
        before = engine.seq
        assert await engine.reward("router", two.id, {"quality": 0.5}) == (two.id, True, False)
        assert engine.seq == before  # nothing was written for what was known
        received = engine.summary("router").received
        assert received["quality"].count == received["cost"].count == 2

    play(tmp_path / "log.db", scene)


def test_a_contradicting_reward_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        await engine.reward("router", made.id, {"quality": 1.0})
        digest = engine.points["router"].digest()
        with pytest.raises(Contradiction, match=r"told as 1\.0 before, now as 0\.5"):
            await engine.reward("router", made.id, {"cost": 0.01, "quality": 0.5})
        assert engine.points["router"].digest() == digest

    play(tmp_path / "log.db", scene)


@pytest.mark.parametrize(
    ("id", "values", "error", "words"),
    [
        ("nobody", {"quality": 1.0}, UnknownDecision, "no decision 'nobody'"),
        (None, {"qualty": 1.0}, UnknownName, "did you mean 'quality'"),
        (None, {"quality": float("nan")}, InvalidInput, "finite"),
        (None, {}, InvalidInput, "no reward"),
    ],
)
def test_rewards_that_cannot_be_taken(
    tmp_path: Path, id: str | None, values: dict[str, float], error: type[Exception], words: str
) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        digest, seq = engine.points["router"].digest(), engine.seq
        with pytest.raises(error, match=words):
            await engine.reward("router", id or made.id, values)
        assert (engine.points["router"].digest(), engine.seq) == (digest, seq)

    play(tmp_path / "log.db", scene)


def test_the_same_key_gives_the_same_answer_and_one_decision(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        first = await engine.decide("router", CONTEXT, id="mine")
        await engine.reward("router", "mine", {"quality": 0.3, "cost": 0.01})
        assert await engine.decide("router", CONTEXT, id="mine") == first
        assert engine.points["router"].counts["decisions"] == 1
        with pytest.raises(Contradiction, match="another context"):
            await engine.decide("router", {**CONTEXT, "task": "maths"}, id="mine")
        with pytest.raises(Contradiction, match="allowed"):
            await engine.decide("router", CONTEXT, ["small"], id="mine")

    play(tmp_path / "log.db", scene)


def test_many_at_once_with_one_key_are_one_decision(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        asked = [engine.decide("router", CONTEXT, id="mine") for _ in range(64)]
        answers = await asyncio.gather(*asked)
        assert len(set(answers)) == 1
        told = [engine.reward("router", "mine", {"quality": 0.5}) for _ in range(64)]
        assert len(set(await asyncio.gather(*told))) == 1
        events = await engine.read_log("router", 0, 1000)
        assert [event.kind for event in events] == ["begin", "decisions", "rewards"]

    play(tmp_path / "log.db", scene)


def test_a_batch_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        good = DecisionRow(CONTEXT)
        seq = engine.seq
        with pytest.raises(InvalidInput, match=r"row 1: .*task"):
            await engine.decide_many("router", [good, DecisionRow({**CONTEXT, "tsk": 1})])
        assert engine.seq == seq
        made = await engine.decide_many(
            "router",
            [good, DecisionRow(CONTEXT, ["small"], "a"), DecisionRow(CONTEXT, ["small"], "a")],
        )
        assert made[1] == made[2]
        assert made[1].arm == "small"
        rows = [(made[0].id, {"quality": 1.0}), ("a", {"quality": 0.0}), ("nobody", {"cost": 0.0})]
        with pytest.raises(UnknownDecision, match="row 2"):
            await engine.reward_many("router", rows)
        assert engine.summary("router").received["quality"].count == 0
        told = await engine.reward_many("router", rows[:2])
        assert [one.learned for one in told] == [True, True]

    play(tmp_path / "log.db", scene)


def test_columns_decide_as_rows_do(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "tokens": [10, 4000, 7999.5],
        "task": ["code", "chat", "maths"],
        "hour": [1, 2.5, 23],
    }

    async def scene(engine: Engine) -> None:
        made = await engine.decide_columns("router", columns)
        assert len(set(made.ids)) == 3
        for id, arm, propensity in zip(made.ids, made.arms, made.propensities, strict=True):
            kept = engine.points["router"].chooser.decision(id)
            assert (kept.arm, kept.propensity) == (arm, propensity)
        await engine.reward_many("router", [(id, {"quality": 0.5, "cost": 0.0}) for id in made.ids])
        assert engine.summary("router").received["quality"].count == 3

    play(tmp_path / "log.db", scene)


def test_arms_come_and_go_while_it_serves(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT, ["small"])
        assert await engine.add_arm("router", "huge", {"quality": 0.9, "cost": 0.04}, 20)
        assert not await engine.add_arm("router", "huge")
        assert await engine.retire_arm("router", "small")
        assert not await engine.retire_arm("router", "small")
        with pytest.raises(UnknownName, match="did you mean 'huge'"):
            await engine.retire_arm("router", "hug")
        assert (await engine.reward("router", made.id, {"quality": 0.1})).learned
        later = [await engine.decide("router", CONTEXT) for _ in range(50)]
        assert "small" not in {one.arm for one in later}
        with pytest.raises(InvalidInput, match="retired"):
            await engine.decide("router", CONTEXT, ["small"])

    play(tmp_path / "log.db", scene)


def test_a_refused_change_of_arms_is_not_in_the_log(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        for arm in ("small", "medium"):
            await engine.retire_arm("router", arm)
        seq, digest = engine.seq, engine.points["router"].digest()
        prior = {"quality": 0.9, "cost": 0.01}
        with pytest.raises(InvalidInput, match="no mean of 'cost'"):
            await engine.add_arm("router", "huge", {"quality": 0.9}, 20)
        with pytest.raises(InvalidInput, match="and a weight"):
            await engine.add_arm("router", "huge", prior)
        with pytest.raises(InvalidInput, match="taken back with all it learned"):
            await engine.add_arm("router", "small", prior, 20)
        with pytest.raises(InvalidInput, match="'large' is the last one"):
            await engine.retire_arm("router", "large")
        assert (engine.seq, engine.points["router"].digest()) == (seq, digest)

    play(tmp_path / "log.db", scene)


def test_after_the_wait_the_default_applies_and_a_late_reward_is_kept_apart(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        await engine.reward("router", made.id, {"cost": 0.02})
        await asyncio.sleep(2.2)  # nothing else happens: a tick lets the time pass
        received = engine.summary("router").received
        assert (received["quality"].count, received["quality"].value) == (1, 0.0)
        late = await engine.reward("router", made.id, {"quality": 1.0})
        assert (late.learned, late.late) == (False, True)
        assert await engine.reward("router", made.id, {"quality": 1.0}) == late
        assert (await engine.reward("router", made.id, {"cost": 0.02})).learned  # told in time
        with pytest.raises(Contradiction):
            await engine.reward("router", made.id, {"quality": 0.5})
        assert engine.summary("router").received["quality"].value == 0.0
        events = await engine.read_log("router", 0, 100)
        assert [e.kind for e in events] == ["begin", "decisions", "rewards", "tick", "rewards"]

    play(tmp_path / "log.db", scene, wait=0.5)


def test_a_batch_that_a_race_spoils_is_refused_whole(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        point = engine.points["router"]
        for id in "ab":
            await engine.decide("router", CONTEXT, id=id)
        told = [("b", {"quality": 1.0}), ("a", {"quality": 1.0})]
        # c is written first, and takes the room of a.
        answers = await asyncio.gather(
            engine.decide("router", CONTEXT, id="c"),
            engine.reward_many("router", told),
            return_exceptions=True,
        )
        assert isinstance(answers[1], UnknownDecision)
        assert "row 1" in str(answers[1])
        assert engine.summary("router").received["quality"].count == 0
        assert point.counts["refused"] == 2

    play(tmp_path / "log.db", scene, keep=2)


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        point = engine.points["router"]
        for n in range(12):
            await engine.decide("router", CONTEXT, id=f"key {n}")
            await asyncio.sleep(0.01)
        assert len(point.keys) <= 3
        await asyncio.sleep(0.2)
        await engine.decide("router", CONTEXT, id="key 0")
        assert len(point.past) <= 3
        first = await engine.decide("router", CONTEXT, id="key 0")
        for n in range(2):
            await engine.decide("router", CONTEXT, id=f"new {n}")
        assert await engine.decide("router", CONTEXT, id="key 0") == first

    play(tmp_path / "log.db", scene, keep=3, wait=0.1)


def test_ids_of_the_service_are_not_taken_by_callers(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        with pytest.raises(InvalidInput, match="must not begin with _"):
            await engine.decide("router", CONTEXT, id=made.id[:-1] + "2")
        assert (await engine.reward("router", made.id, {"quality": 0.5})).learned

    play(tmp_path / "log.db", scene)


def test_a_long_log_is_read_to_its_end(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        await asyncio.gather(*[engine.decide("router", CONTEXT) for _ in range(450)])
        events = await engine.read_log("router", 0, 1000)
        assert [event.seq for event in events] == list(range(1, 452))
        assert len(await engine.read_log("router", 10, 300)) == 300

    play(tmp_path / "log.db", scene)


def test_an_error_of_ours_stops_all_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.db"

    async def run() -> str:
        async with engine_on(path) as engine:
            await engine.decide("router", CONTEXT)
            with monkeypatch.context() as broken:
                broken.setattr(Chooser, "record", lambda *_: 1 / 0)
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
        async def read_since(self, seq: int, limit: int) -> list[Stored]:
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


def test_an_unknown_point_is_named(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        with pytest.raises(UnknownName, match="did you mean 'router'"):
            await engine.decide("routr", CONTEXT)

    play(tmp_path / "log.db", scene)


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
        async with engine_on(
            path, tolerance=0.1, arms=("small", "medium", "large", "new")
        ) as engine:
            point = engine.points["router"]
            assert engine.summary("router").received["quality"].count == 20
            assert point.chooser.arms == ("small", "medium", "large", "new")

    asyncio.run(fill())
    before = definition().fingerprint
    assert before != definition(tolerance=0.1).fingerprint
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
            return {what: counts[what] for what in ("refused", "decisions")}

    asyncio.run(fill())
    size = path.stat().st_size
    with pytest.raises(InvalidInput, match=r"router: 5 decisions .* event 2: unknown context feat"):
        asyncio.run(look(context=changed))
    assert asyncio.run(look()) == {"refused": 0, "decisions": 5}  # the definition is put back
    assert path.stat().st_size == size
    skipped = {"refused": 5, "decisions": 0}
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
            assert engine.points["router"].counts["refused"] == 2

    async def look() -> None:
        async with engine_on(tmp_path / "log.db", tolerance=0.1) as engine:
            assert engine.points["router"].counts["refused"] == 2

    asyncio.run(fill())
    asyncio.run(look())


def test_a_decision_is_looked_up_while_it_is_kept_and_after(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lexbandit.service")

    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT, id="mine")
        await engine.reward("router", "mine", {"cost": 0.01})
        kept = await engine.decision("router", "mine")
        assert kept[:3] == made[:3]
        assert (kept.kept, kept.rewards, kept.late) == (True, {"cost": 0.01}, {})
        await asyncio.sleep(0.15)
        await engine.decide("router", CONTEXT)  # time passes with the events of the log
        await engine.reward("router", "mine", {"quality": 0.5})
        over = await engine.decision("router", "mine")
        assert over == kept._replace(kept=False, late={"quality": 0.5})
        with pytest.raises(UnknownDecision, match="no decision 'nobody'"):
            await engine.decision("router", "nobody")

    play(tmp_path / "log.db", scene, wait=0.1)

    async def again() -> None:
        async with engine_on(tmp_path / "log.db", wait=0.1) as engine:
            assert (await engine.decision("router", "mine")).late == {"quality": 0.5}

    asyncio.run(again())
    assert "found router: 5 events, 2 decisions, 1 rewards" in caplog.text


def test_a_key_may_be_used_again_when_its_decision_is_over(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        await engine.decide("router", CONTEXT, id="mine")
        await asyncio.sleep(0.15)
        await engine.decide("router", CONTEXT)  # time passes with the events of the log
        await engine.decide("router", {**CONTEXT, "task": "chat"}, id="mine")
        told = await engine.reward("router", "mine", {"quality": 1.0})
        assert (told.learned, told.late) == (True, False)

    play(tmp_path / "log.db", scene, wait=0.1)
