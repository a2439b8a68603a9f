"""The engine on a real file: the semantics of decisions and rewards."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision, UnknownName
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.history import Bucket
from lexbandit.service.engine.point import DecisionRequest, RewardReply, fingerprint
from service.world import CONTEXT, Hands, engine_on, play


def test_a_decision_is_in_the_log_before_it_is_answered(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        events = await engine.storage.read_since(0, 10, "router")
        assert [event.kind for event in events] == ["begin", "decisions"]
        assert made.id.encode() in events[1].body
        assert made.arm in ("small", "medium", "large")
        assert made.propensity is not None
        assert 0 < made.propensity <= 1

    play(tmp_path / "log.db", scene)


def test_rewards_come_in_parts_in_any_order_and_count_once(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        one, two = [await engine.decide("router", CONTEXT) for _ in range(2)]
        assert await engine.reward("router", two.id, {"cost": 0.01}) == RewardReply(
            two.id, True, False
        )
        assert await engine.reward("router", one.id, {"quality": 1, "cost": 0.02})
        assert await engine.reward("router", two.id, {"quality": 0.5})
        before = engine.seq
        assert await engine.reward("router", two.id, {"quality": 0.5}) == RewardReply(
            two.id, True, False
        )
        assert engine.seq == before  # nothing was written for what was known
        received = engine.points["router"].chooser.summary().received
        assert received["quality"].count == received["cost"].count == 2

    play(tmp_path / "log.db", scene)


def test_a_contradicting_reward_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        await engine.reward("router", made.id, {"quality": 1.0})
        digest = engine.points["router"].digest()
        with pytest.raises(Contradiction, match=r"given as 1\.0 before, now as 0\.5"):
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
        events = await engine.storage.read_since(0, 1000, "router")
        assert [event.kind for event in events] == ["begin", "decisions", "rewards"]

    play(tmp_path / "log.db", scene)


def test_a_batch_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        good = DecisionRequest(CONTEXT)
        seq = engine.seq
        with pytest.raises(InvalidInput, match=r"row 1: .*task"):
            await engine.decide_many("router", [good, DecisionRequest({**CONTEXT, "tsk": 1})])
        assert engine.seq == seq
        made = await engine.decide_many(
            "router",
            [
                good,
                DecisionRequest(CONTEXT, ["small"], "a"),
                DecisionRequest(CONTEXT, ["small"], "a"),
            ],
        )
        assert made[1] == made[2]
        assert made[1].arm == "small"
        rows = [(made[0].id, {"quality": 1.0}), ("a", {"quality": 0.0}), ("nobody", {"cost": 0.0})]
        with pytest.raises(UnknownDecision, match="row 2"):
            await engine.reward_many("router", rows)
        assert engine.points["router"].chooser.summary().received["quality"].count == 0
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
        assert engine.points["router"].chooser.summary().received["quality"].count == 3

    play(tmp_path / "log.db", scene)


def test_after_the_wait_the_default_applies_and_a_late_reward_is_kept_apart(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        await engine.reward("router", made.id, {"cost": 0.02})
        async with asyncio.timeout(60):  # nothing else happens: a tick lets the time pass
            while engine.points["router"].chooser.waiting:
                await asyncio.sleep(0.05)
        received = engine.points["router"].chooser.summary().received
        assert (received["quality"].count, received["quality"].value) == (1, 0.0)
        late = await engine.reward("router", made.id, {"quality": 1.0})
        assert (late.learned, late.late) == (False, True)
        assert await engine.reward("router", made.id, {"quality": 1.0}) == late
        assert (await engine.reward("router", made.id, {"cost": 0.02})).learned  # told in time
        with pytest.raises(Contradiction):
            await engine.reward("router", made.id, {"quality": 0.5})
        assert engine.points["router"].chooser.summary().received["quality"].value == 0.0
        events = await engine.storage.read_since(0, 100, "router")
        assert [e.kind for e in events] == ["begin", "decisions", "rewards", "tick", "rewards"]

    play(tmp_path / "log.db", scene, wait=3)


def test_a_default_is_seen_in_the_history_only_where_no_reward_came(tmp_path: Path) -> None:
    hands = Hands()

    async def scene(engine: Engine) -> None:
        told, silent = [await engine.decide("router", CONTEXT) for _ in range(2)]
        await engine.reward("router", told.id, {"quality": 0.75})
        hands.pass_by(101)
        await engine.decide("router", CONTEXT)  # time passes with the events of the log
        history = engine.points["router"].history
        everything = Bucket()
        for _, _, bucket in history.buckets("whole"):
            everything.add(bucket)
        assert everything.rewards["quality"] == [2, 0.375, 0.28125]
        rewards = {kept.row["id"]: kept.rewards for kept in history.recent()}
        assert rewards[told.id] == {"quality": 0.75}
        assert rewards[silent.id] == {"quality": 0.0}

    play(tmp_path / "log.db", scene, hands, wait=100)


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
        assert engine.points["router"].chooser.summary().received["quality"].count == 0
        assert point.counts["untaken"] == 2

    play(tmp_path / "log.db", scene, keep=2)


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    hands = Hands()

    async def scene(engine: Engine) -> None:
        point = engine.points["router"]
        for n in range(12):
            await engine.decide("router", CONTEXT, id=f"key {n}")
            hands.pass_by(1)
        assert len(point.keys) <= 3
        for turn in range(3):  # each time three more are over
            hands.pass_by(101)
            for n in range(3):
                await engine.decide("router", CONTEXT, id=f"{turn}, {n}")
            assert len(point.past) == 3
        hands.pass_by(101)
        first = await engine.decide("router", CONTEXT, id="key 0")
        for n in range(2):
            await engine.decide("router", CONTEXT, id=f"new {n}")
        assert await engine.decide("router", CONTEXT, id="key 0") == first

    play(tmp_path / "log.db", scene, hands, keep=3, wait=100)


def test_ids_of_the_service_are_not_taken_by_callers(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT)
        with pytest.raises(InvalidInput, match="must not begin with _"):
            await engine.decide("router", CONTEXT, id=made.id[:-1] + "2")
        assert (await engine.reward("router", made.id, {"quality": 0.5})).learned

    play(tmp_path / "log.db", scene)


def test_an_unknown_point_is_named(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        with pytest.raises(UnknownName, match="did you mean 'router'"):
            await engine.decide("routr", CONTEXT)

    play(tmp_path / "log.db", scene)


def test_a_decision_is_looked_up_while_it_is_kept_and_after(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lexbandit.service")

    hands = Hands()

    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT, id="mine")
        await engine.reward("router", "mine", {"cost": 0.01})
        kept = await engine.decision("router", "mine")
        assert (kept.id, kept.arm, kept.propensity) == (made.id, made.arm, made.propensity)
        assert (kept.kept, kept.rewards, kept.late) == (True, {"cost": 0.01}, {})
        hands.pass_by(101)
        await engine.decide("router", CONTEXT)  # time passes with the events of the log
        await engine.reward("router", "mine", {"quality": 0.5, "cost": 0.01})  # cost: as in time
        over = await engine.decision("router", "mine")
        assert over == msgspec.structs.replace(kept, kept=False, late={"quality": 0.5})
        with pytest.raises(UnknownDecision, match="no decision 'nobody'"):
            await engine.decision("router", "nobody")

    play(tmp_path / "log.db", scene, hands, wait=100)

    async def again() -> None:
        async with engine_on(tmp_path / "log.db", hands=hands, wait=100) as engine:
            assert (await engine.decision("router", "mine")).late == {"quality": 0.5}

    asyncio.run(again())
    assert "found router: 5 events, 2 decisions, 1 reward" in caplog.text


def test_a_key_may_be_used_again_when_its_decision_is_over(tmp_path: Path) -> None:
    hands = Hands()

    async def scene(engine: Engine) -> None:
        await engine.decide("router", CONTEXT, id="mine")
        hands.pass_by(101)
        await engine.decide("router", CONTEXT)  # time passes with the events of the log
        await engine.decide("router", {**CONTEXT, "task": "chat"}, id="mine")
        told = await engine.reward("router", "mine", {"quality": 1.0})
        assert (told.learned, told.late) == (True, False)

    play(tmp_path / "log.db", scene, hands, wait=100)


SAME = [900, 900.0, 9e2]
OTHER = [901, 900.5, True, "900", None, [900]]


def test_equal_numbers_are_one_request_however_they_are_written(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        for n, number in enumerate(SAME):
            made = await engine.decide("router", {**CONTEXT, "tokens": number}, id=f"own-{n}")
            seq = engine.seq
            for again in SAME:
                asked = {**CONTEXT, "tokens": again}
                assert await engine.decide("router", asked, id=f"own-{n}") == made
                rows = [
                    DecisionRequest(asked, None, "both"),
                    DecisionRequest({**asked, "tokens": number}, None, "both"),
                ]
                assert len(set(await engine.decide_many("router", rows))) == 1
                assert engine.seq <= seq + (n == 0)
            for other in OTHER:
                with pytest.raises(Contradiction):
                    await engine.decide("router", {**CONTEXT, "tokens": other}, id=f"own-{n}")
        rows = [DecisionRequest({**CONTEXT, "tokens": number}, None, "new") for number in (1, True)]
        with pytest.raises(Contradiction, match="came before"):
            await engine.decide_many("router", rows)

    play(tmp_path / "log.db", scene)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (2**53, 2.0**53, True),
        (2**53 + 1, 2.0**53, False),
        (10**22, 1e22, True),
        (0, -0.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        ([1, 2.5], (1.0, 2.5), True),
        ([1], [True], False),
    ],
)
def test_a_fingerprint_knows_numbers_from_their_writing(one: Any, other: Any, same: bool) -> None:
    assert (fingerprint({"x": one}, None) == fingerprint({"x": other}, None)) == same
