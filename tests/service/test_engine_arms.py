"""Arms that come and go while an engine serves."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lexbandit.errors import Contradiction, InvalidInput, UnknownName
from lexbandit.service.engine.engine import Engine
from service.world import CONTEXT, play


def test_arms_come_and_go_while_it_serves(tmp_path: Path) -> None:
    async def scene(engine: Engine) -> None:
        made = await engine.decide("router", CONTEXT, ["small"])
        assert await engine.add_arm("router", "huge", {"quality": 0.9, "cost": 0.04}, 20)
        assert (await engine.decide("router", CONTEXT)).policy_version == made.policy_version + 3
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
        with pytest.raises(InvalidInput, match="no mean of 'cost'"):  # though it is there already
            await engine.add_arm("router", "large", {"quality": 0.9}, 20)
        with pytest.raises(Contradiction, match="'large' is there and began without a prior"):
            await engine.add_arm("router", "large", prior, 20)
        assert (engine.seq, engine.points["router"].digest()) == (seq, digest)

    play(tmp_path / "log.db", scene)


PRIOR = {"quality": 0.9, "cost": 0.01}


def test_an_arm_begins_once_with_one_prior(tmp_path: Path) -> None:
    others: list[tuple[dict[str, float], int]] = [(PRIOR, 21), ({**PRIOR, "cost": 0.02}, 20)]

    async def same(engine: Engine) -> None:
        seq = engine.seq
        assert not await engine.add_arm("router", "huge", {**PRIOR}, 20)
        assert not await engine.add_arm("router", "huge")
        for means, weight in others:
            with pytest.raises(Contradiction, match=r"'huge' is there and began with .*, 20; it c"):
                await engine.add_arm("router", "huge", means, weight)
        assert engine.seq == seq

    async def scene(engine: Engine) -> None:
        assert await engine.add_arm("router", "huge", PRIOR, 20)
        await same(engine)
        await engine.retire_arm("router", "huge")
        assert await engine.add_arm("router", "huge")  # it still began with that
        await same(engine)
        raced = [engine.add_arm("router", "tiny", PRIOR, n) for n in (20, 20, 30)]
        first, second, third = await asyncio.gather(*raced, return_exceptions=True)
        assert (first, second) == (True, False)
        assert isinstance(third, Contradiction)

    play(tmp_path / "log.db", scene)
    play(tmp_path / "log.db", same)  # from the snapshot


def test_decisions_that_are_written_while_arms_change_are_as_their_log_says(
    tmp_path: Path,
) -> None:
    """All wait in one group: when the decisions are folded the arms are others than proposed."""
    columns = {name: [value] * 3 for name, value in CONTEXT.items()}
    each = [["small"], ["small", "large"], ["medium", "small", "large"]]

    async def scene(engine: Engine) -> None:
        assert await engine.add_arm("router", "tiny")
        assert await engine.retire_arm("router", "tiny")
        seq = engine.seq
        asked = [
            engine.add_arm("router", "huge"),
            engine.retire_arm("router", "small"),
            engine.add_arm("router", "tiny"),
            *[engine.decide("router", CONTEXT) for _ in range(20)],
            *[engine.decide("router", CONTEXT, arms) for arms in each for _ in range(5)],
            engine.decide("router", CONTEXT, ["small", "large"], id="mine"),
        ]
        batches = [engine.decide_columns("router", columns, given) for given in (None, each)]
        made: list[Any] = await asyncio.gather(*asked, *batches)
        kinds = [event.kind for event in await engine.storage.read_since(seq, 100, "router")]
        assert kinds == ["arm"] * 3 + ["decisions"] * 38
        assert made[-3].id == "mine"
        assert "small" in {one.arm for one in made[3:-2]}  # chosen before it was retired
        ids = [one.id for one in made[3:-2]] + [id for many in made[-2:] for id in many.ids]
        await engine.reward_many("router", [(id, {"quality": 0.5, "cost": 0.01}) for id in ids])

    play(tmp_path / "log.db", scene)
