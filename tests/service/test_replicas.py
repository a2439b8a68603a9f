"""Four services on one PostgreSQL: they share what they learn, and settle who was first."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from lexbandit import AsyncClient, Contradiction
from lexbandit.service.config.file import read_config
from lexbandit.service.engine.point import Point
from lexbandit.service.events import Event, read_body
from service.process import Service
from service.real_postgres import Postgres, running
from service.witness import Witness, look

pytestmark = pytest.mark.compiled  # processes of their own: the pass without the JIT adds nothing

COUNT = 4
# So long replicas may take to agree on a machine that is busy with something else.
_PATIENCE = 30.0
CONTEXT = {"tokens": 900, "task": "code"}
CONTEXTS = [{"tokens": n, "task": task} for n in (10, 3000, 7000) for task in ("code", "chat")]


class Replicas:
    """Services that share a log."""

    def __init__(self, folder: Path) -> None:
        self.server: Postgres = running()
        self.storage = self.server.new_schema()
        self.services = []
        for n in range(COUNT):
            (folder / str(n)).mkdir()
            self.services.append(Service(folder / str(n), self.storage, snapshot_every=300))

    def start(self) -> None:
        """Start all of them at once, on an empty log."""
        with ThreadPoolExecutor(COUNT) as threads:
            list(threads.map(Service.start, self.services))

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Look into the database."""
        return self.server.execute(statement, url=self.storage)

    def stop(self) -> set[str]:
        """Ask one after the other to end; returns the digests of the states that they kept.

        The draws are each one's own, and no part of it. One that has just kept its state does not
        do so again.
        """
        definition = read_config(self.services[0].config, {}).points["router"]
        newest = "SELECT data FROM lexbandit_snapshots ORDER BY seq DESC LIMIT 1"
        kept = set()
        for service in self.services:
            assert service.terminate() == 0
            ((data,),) = self.sql(newest)
            kept.add(Point.unpack(definition, data).digest())
        return kept

    def end(self) -> None:
        """End those that still run."""
        for service in self.services:
            if service.process is not None:
                service.kill()


class Anywhere:
    """A client that asks a replica at random each time, so that a retry meets another one."""

    def __init__(self, clients: list[AsyncClient], draws: random.Random) -> None:
        self._clients, self._draws = clients, draws

    def __getattr__(self, name: str) -> Any:
        return getattr(self._draws.choice(self._clients), name)


class Traveller(Witness):
    """A witness who goes to any replica."""

    async def travel(self, clients: list[AsyncClient], workers: int) -> None:
        """Send until stopped."""
        client = cast(AsyncClient, Anywhere(clients, self.random))
        await asyncio.gather(*(self._work(client) for _ in range(workers)))


async def connected(stack: AsyncExitStack, replicas: Replicas) -> list[AsyncClient]:
    return [
        await stack.enter_async_context(AsyncClient(service.url, retries=0, timeout=60))
        for service in replicas.services
    ]


async def views(clients: list[AsyncClient]) -> list[Any]:
    """Return what each replica says it learned."""

    async def view(client: AsyncClient) -> Any:
        told = [await client.explain("router", context) for context in CONTEXTS]
        return await client.summary("router"), told

    return await asyncio.gather(*(view(client) for client in clients))


async def agreed(clients: list[AsyncClient]) -> None:
    """Wait until all replicas say the same."""
    begin = time.monotonic()
    while True:
        first, *others = await views(clients)
        if all(other == first for other in others):
            return
        assert time.monotonic() < begin + _PATIENCE, (first, others)
        await asyncio.sleep(0.05)


def check(witness: Witness, events: list[Event]) -> None:
    """Check that all that was acknowledged is in the log, and of two the first is taken."""
    rows: dict[str, dict[str, Any]] = {}
    told: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in rows_of(events, "decisions"):
        rows.setdefault(row["id"], row)
    for row in rows_of(events, "rewards"):
        for name, value in row["values"].items():
            told[row["id"]].setdefault(name, value)
    assert set(witness.decided) <= set(rows) <= set(witness.decided) | witness.doubtful
    for id, (context, decision) in witness.decided.items():
        first = rows[id]
        assert (first["arm"], first["context"]) == (decision.arm, context)
        assert first["propensity"] == decision.propensity
    assert told == witness.rewarded


def rows_of(events: list[Event], kind: str) -> Iterator[dict[str, Any]]:
    for stored in events:
        if stored.kind == kind:
            yield from read_body(stored)["rows"]


async def one_key_sent_to_all_at_once_is_one_decision(clients: list[AsyncClient]) -> None:
    for n in range(25):
        made = await asyncio.gather(
            *(client.decide("router", CONTEXT, id=f"key-{n}") for client in clients)
        )
        assert len(set(made)) == 1, made
    for client in clients:
        with pytest.raises(Contradiction):
            await client.decide("router", {"tokens": 1, "task": "chat"}, id="key-0")
    await agreed(clients)
    assert (await clients[0].summary("router"))["decisions"] == 25


async def a_reward_may_be_told_to_another(clients: list[AsyncClient]) -> None:
    one, two, three, four = clients
    for n in range(10):
        made = await one.decide("router", CONTEXT, id=f"told-{n}")
        told = await asyncio.gather(
            *(client.reward("router", made, quality=0.25) for client in (two, three))
        )
        assert all(answer.learned for answer in told)
        with pytest.raises(Contradiction):
            await four.reward("router", made, quality=0.75)
    await agreed(clients)
    assert (await four.summary("router"))["received"]["quality"]["count"] == 10


async def an_arm_added_at_one_is_an_arm_of_all(clients: list[AsyncClient]) -> None:
    await clients[0].add_arm("router", "huge")
    begin = time.monotonic()
    for client in clients:
        while "huge" not in [arm["name"] for arm in await client.arms("router")]:
            assert time.monotonic() < begin + _PATIENCE
            await asyncio.sleep(0.02)
    await asyncio.gather(
        *(client.decide("router", CONTEXT, allowed=["huge"]) for client in clients)
    )
    await agreed(clients)


async def what_one_takes_the_others_know_within_a_second(clients: list[AsyncClient]) -> None:
    """The best of ten: a busy machine may stand still for longer."""
    taken = []
    one, *others = clients
    for n in range(10):
        before = (await one.summary("router"))["decisions"]
        begin = time.monotonic()
        await one.decide("router", CONTEXT, id=f"quick-{n}")
        for other in others:
            while (await other.summary("router"))["decisions"] == before:
                assert time.monotonic() < begin + _PATIENCE
                await asyncio.sleep(0.01)
        taken.append(time.monotonic() - begin)
    assert min(taken) < 1.0, taken


Fate = Callable[[Replicas, "asyncio.Task[None]"], Awaitable[None]]


async def live(replicas: Replicas, witness: Traveller, fate: Fate) -> int:
    """Go through every scene, then load with fate; returns how long the log was before the load."""
    async with AsyncExitStack() as stack:
        clients = await connected(stack, replicas)
        await one_key_sent_to_all_at_once_is_one_decision(clients)
        await a_reward_may_be_told_to_another(clients)
        await an_arm_added_at_one_is_an_arm_of_all(clients)
        await what_one_takes_the_others_know_within_a_second(clients)
        ((before,),) = await asyncio.to_thread(replicas.sql, "SELECT seq FROM lexbandit_clock")
        load = asyncio.create_task(witness.travel(clients, workers=8))
        try:
            await fate(replicas, load)
            witness.stopped = True
            await asyncio.wait_for(load, 60)
        finally:
            load.cancel()
            await asyncio.gather(load, return_exceptions=True)
        await agreed(clients)
        return int(before)


def survive(folder: Path, fate: Fate, seed: int) -> Traveller:
    """Start replicas on an empty log, see what they make of it, and look at what they left."""
    witness = Traveller("", seed)
    replicas = Replicas(folder)
    try:
        replicas.start()
        before = asyncio.run(live(replicas, witness, fate))
        last = replicas.stop()
    finally:
        replicas.end()
    found = look(replicas.services[0].config)
    assert last == {found.from_nothing}  # the same state, bit for bit
    assert [stored.seq for stored in found.events] == [*range(1, len(found.events) + 1)]
    assert found.from_snapshot == found.from_nothing
    check(witness, found.events[before:])
    return witness


def test_replicas_share_what_they_learn_and_one_is_killed(tmp_path: Path) -> None:
    async def fate(replicas: Replicas, load: "asyncio.Task[None]") -> None:
        await asyncio.sleep(1.0)
        await asyncio.to_thread(replicas.services[1].kill)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(replicas.services[1].start)
        await asyncio.sleep(0.5)
        assert not load.done(), load

    witness = survive(tmp_path, fate, seed=1)
    assert len(witness.rewarded) > 50


@pytest.mark.slow
def test_replicas_and_server_killed_again_and_again(tmp_path: Path) -> None:
    async def fate(replicas: Replicas, load: "asyncio.Task[None]") -> None:
        draws = random.Random(5)
        for n in range(24):
            await asyncio.sleep(draws.uniform(0.2, 2.0))
            assert not load.done(), load
            if n % 6 == 5:
                await asyncio.to_thread(replicas.server.restart)
            else:
                service = draws.choice(replicas.services)
                await asyncio.to_thread(service.kill)
                await asyncio.to_thread(service.start)

    witness = survive(tmp_path, fate, seed=2)
    assert len(witness.rewarded) > 1000
