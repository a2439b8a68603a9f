"""While the storage is down, a point that is told to goes on answering: marked, and not learned."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import DecisionRequest, RewardReply
from lexbandit.service.events import Event
from lexbandit.service.metrics import Metrics
from lexbandit.service.storage import StorageFailed
from lexbandit.service.storage.sqlite import SqliteStorage
from service.homes import in_loop
from service.world import CONTEXT, definition


class Unreliable(SqliteStorage):
    """A storage that refuses everything while it is `down`, and answers nothing while `silent`."""

    down = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.speaks = asyncio.Event()
        self.speaks.set()

    async def append(self, events: Sequence[Event]) -> list[Event]:
        await self.probe()
        return await super().append(events)

    async def probe(self) -> None:
        await self.speaks.wait()
        if self.down:
            raise StorageFailed("the storage is down")


@asynccontextmanager
async def engine_with(storage: Unreliable, when_down: str | None) -> AsyncIterator[Engine]:
    engine = await Engine.start({"router": definition(when_down=when_down)}, storage)
    try:
        yield engine
    finally:
        storage.down = False
        storage.speaks.set()
        await engine.stop()


async def break_down(engine: Engine, storage: Unreliable) -> None:
    """Let the storage refuse an event, and the engine notice it."""
    storage.down = True
    while engine.trouble is None:
        with suppress(StorageFailed):  # whether what was being written is there is not known
            await engine.decide("router", CONTEXT)
    engine.not_durable.clear()


@pytest.mark.parametrize("when_down", ["default-arm", "best-known"])
@in_loop
async def test_a_point_goes_on_answering(tmp_path: Path, when_down: str) -> None:
    storage = Unreliable(tmp_path / "log.db")
    async with engine_with(storage, when_down) as engine:
        for n in range(60):
            made = await engine.decide("router", CONTEXT)
            good = {"quality": float(made.arm == "large"), "cost": 0.01 + n * 1e-4}
            await engine.reward("router", made.id, good)
        mine = await engine.decide("router", CONTEXT, id="mine")
        digest, seq = engine.points["router"].digest(), engine.seq
        await break_down(engine, storage)
        made = await engine.decide("router", CONTEXT)
        assert (made.durable, made.arm) == (
            False,
            "small" if when_down == "default-arm" else "large",
        )
        assert b'"durable":false' in msgspec.json.encode(made)
        assert (await engine.decide("router", CONTEXT, ["medium"])).arm == "medium"
        assert await engine.decide("router", CONTEXT, id="mine") == mine  # it is in the log
        rows = [DecisionRequest(CONTEXT), DecisionRequest(CONTEXT, None, "other")]
        assert [row.durable for row in await engine.decide_many("router", rows)] == [False] * 2
        columns = {name: [value] * 3 for name, value in CONTEXT.items()}
        many = await engine.decide_columns("router", columns)
        assert (many.durable, many.arms) == (False, [made.arm] * 3)
        with pytest.raises(InvalidInput, match="task"):
            await engine.decide("router", {**CONTEXT, "task": 5})
        rewarded = await engine.reward("router", made.id, {"quality": 1.0})
        assert rewarded == RewardReply(made.id, learned=False, late=False)
        with pytest.raises(StorageFailed):
            await engine.reward("router", "mine", {"quality": 1.0})
        assert engine.not_durable["router"] == 7
        text = Metrics(engine).text().decode()
        assert 'lexbandit_not_durable_total{point="router"} 7.0' in text
        assert (engine.points["router"].digest(), engine.seq) == (digest, seq)  # nothing is learned
        storage.down = False
        async with asyncio.timeout(10):
            while engine.trouble is not None:
                await asyncio.sleep(0.05)
        assert (await engine.decide("router", CONTEXT)).durable


@pytest.mark.parametrize("id", [None, "order-7"])
@in_loop
async def test_a_storage_that_does_not_answer_is_down_within_two_seconds(
    tmp_path: Path, id: str | None
) -> None:
    storage = Unreliable(tmp_path / "log.db")
    async with engine_with(storage, "default-arm") as engine:
        storage.speaks.clear()
        began = time.monotonic()
        under_way = asyncio.create_task(engine.decide("router", CONTEXT))
        await asyncio.sleep(0.05)
        queued = await engine.decide("router", CONTEXT, id=id)
        assert not queued.durable
        assert time.monotonic() - began < 2.0
        assert engine.trouble is not None
        assert not under_way.done()  # whether it is written is not known
        seq = engine.seq
        storage.speaks.set()
        assert (await under_way).durable
        assert engine.seq == seq + 1  # the queued one was withdrawn


@in_loop
async def test_without_it_nothing_is_answered(tmp_path: Path) -> None:
    storage = Unreliable(tmp_path / "log.db")
    async with engine_with(storage, None) as engine:
        await break_down(engine, storage)
        with pytest.raises(StorageFailed):
            await engine.decide("router", CONTEXT)
        assert not engine.answers_when_down


def test_it_is_one_of_two_and_changes_nothing_that_is_learned() -> None:
    with pytest.raises(InvalidInput, match=r"when_down 'best'.*default-arm"):
        definition(when_down="best")
    assert definition().fingerprint == definition(when_down="best-known").fingerprint
