"""Clients that note what the service acknowledged, and the check that the log has all of it."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lexbandit import AsyncClient, ServiceError
from lexbandit.client import Decided
from lexbandit.client.wire import new_id
from lexbandit.service.config.file import read_config
from lexbandit.service.engine.point import Point
from lexbandit.service.engine.start import restored
from lexbandit.service.events import Event, read_body
from lexbandit.service.storage import Storage, make_storage

T = TypeVar("T")
TASKS = ("code", "maths", "chat")
# So long a worker waits after a refusal; else many would take the core that the service needs.
_AGAIN = 0.1


@dataclass
class Witness:
    """Sends decisions and rewards until told to stop, through every kill, and notes the answers.

    `doubtful` are the ids that were asked for once and got no answer: they may be there or not.
    With `once` nothing is asked for again.
    """

    url: str
    seed: int
    decided: dict[str, tuple[dict[str, Any], Decided]] = field(default_factory=dict)
    rewarded: dict[str, dict[str, float]] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    stopped: bool = False
    once: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    async def run(self, workers: int) -> None:
        """Send from several connections at once until `stopped`."""
        async with AsyncClient(self.url, retries=0, timeout=5) as client:
            await asyncio.gather(*(self._work(client) for _ in range(workers)))

    async def _work(self, client: AsyncClient) -> None:
        while not self.stopped:
            kind = self.random.random()
            if self.once or kind < 0.1:
                await self._once(client)
            elif kind < 0.2:
                await self._many(client)
            else:
                await self._one(client)

    def context(self) -> dict[str, Any]:
        """Return a context."""
        return {"tokens": self.random.randrange(8000), "task": self.random.choice(TASKS)}

    async def _until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the same again until there is an answer, through kills and restarts."""
        while True:
            try:
                return await ask()
            except ServiceError as error:
                _must_pass(error)
                await asyncio.sleep(_AGAIN)

    async def _one(self, client: AsyncClient) -> None:
        """Decide; then tell rewards: none, at once or in parts; now and then all of it twice."""
        id, context = new_id(), self.context()

        async def ask() -> Decided:
            return await client.decide("router", context, id=id)

        decision = await self._until_answered(ask)
        assert decision.id == id
        self.decided[id] = context, decision
        if self.random.random() < 0.1:
            assert await self._until_answered(ask) == decision
        values = {"quality": self.random.random(), "cost": 0.05 * self.random.random()}
        parts = self.random.choice([[], [["quality", "cost"]], [["cost"], ["quality"]]])
        for part in parts:
            await self._reward(client, id, {name: values[name] for name in part})

    async def _reward(self, client: AsyncClient, id: str, values: dict[str, float]) -> None:
        for _ in range(2 if self.random.random() < 0.1 else 1):
            told = await self._until_answered(lambda: client.reward("router", id, values))
            assert not told.late
        self.rewarded.setdefault(id, {}).update(values)

    async def _many(self, client: AsyncClient) -> None:
        """Decide and reward some at once."""
        contexts = [self.context() for _ in range(5)]
        ids = [new_id() for _ in contexts]
        made = await self._until_answered(lambda: client.decide_many("router", contexts, ids=ids))
        self.decided |= {one.id: (c, one) for one, c in zip(made, contexts, strict=True)}
        values = [{"quality": self.random.random()} for _ in made]
        pairs = list(zip(made, values, strict=True))
        await self._until_answered(lambda: client.reward_many("router", pairs))
        self.rewarded |= {one.id: told for one, told in pairs}

    async def _once(self, client: AsyncClient) -> None:
        """Decide, and do not ask again whatever happens."""
        id, context = new_id(), self.context()
        try:
            self.decided[id] = context, await client.decide("router", context, id=id)
        except ServiceError as error:
            _must_pass(error)
            self.doubtful.add(id)
            await asyncio.sleep(_AGAIN)


def _must_pass(error: ServiceError) -> None:
    if not error.passing:
        raise error


@dataclass
class Found:
    """What a log holds, and the states it leads to: from the last snapshot, and from nothing."""

    events: list[Event]
    snapshot_seq: int
    from_snapshot: str
    from_nothing: str

    def decided(self) -> dict[str, list[dict[str, Any]]]:
        """Return the decisions of the log, by id."""
        rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for stored in self.events:
            for row in read_body(stored)["rows"] if stored.kind == "decisions" else ():
                rows[row["id"]].append(row)
        return rows

    def rewarded(self) -> dict[str, list[tuple[str, float]]]:
        """Return the rewards of the log, by the decision's id."""
        told: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        for stored in self.events:
            for row in read_body(stored)["rows"] if stored.kind == "rewards" else ():
                told[row["id"]] += row["values"].items()
        return told


def look(config: Path) -> Found:
    """Read the log of a service that does not run."""
    told = read_config(config, {})
    return asyncio.run(_look(told.points, make_storage(told.storage)))


async def _look(points: Mapping[str, Any], storage: Storage) -> Found:
    await storage.open()
    try:
        events: list[Event] = []
        while page := await storage.read_since(len(events), 1000):
            events += page
        (point,) = (await restored(points, storage))[0].values()
        seq = point.seq
        anew = Point(point.definition)
        return Found(events, seq, _folded(point, events), _folded(anew, events))
    finally:
        await storage.close()


def _folded(point: Point, events: list[Event]) -> str:
    for stored in events:
        if stored.seq > point.seq:
            point.fold(stored)
    return point.digest()


def check(witness: Witness, found: Found) -> None:
    """Check that all that was acknowledged is in the log once, and the state is the log's."""
    assert [stored.seq for stored in found.events] == [*range(1, len(found.events) + 1)]
    times = [stored.time for stored in found.events]
    assert times == sorted(times)
    rows = found.decided()
    assert [id for id, same in rows.items() if len(same) > 1] == []
    assert set(witness.decided) <= set(rows)
    assert set(rows) <= set(witness.decided) | witness.doubtful
    for id, (context, decision) in witness.decided.items():
        (row,) = rows[id]
        assert (row["arm"], row["propensity"]) == (decision.arm, decision.propensity)
        assert row["context"] == context
    assert {id: sorted(values) for id, values in found.rewarded().items()} == {
        id: sorted(values.items()) for id, values in witness.rewarded.items()
    }
    assert found.from_snapshot == found.from_nothing
