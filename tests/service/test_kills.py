"""kill -9 under load: nothing acknowledged is lost or doubled, and the state is the log's."""

import asyncio
import contextlib
import random
from pathlib import Path

import httpx
import pytest

from service.process import Service
from service.witness import Witness, check, look

pytestmark = pytest.mark.compiled  # processes of their own: the pass without the JIT adds nothing


async def _killed_again_and_again(
    service: Service, witness: Witness, kills: int, longest: float
) -> None:
    """Kill the service at random moments while the witness sends; it is up when this ends."""
    chance = random.Random(witness.seed)
    load = asyncio.create_task(witness.run(workers=16))
    try:
        for _ in range(kills):
            before = len(witness.decided)
            await asyncio.sleep(chance.uniform(0.0, longest))
            async with asyncio.timeout(60):  # under load, so it serves
                while len(witness.decided) == before and not load.done():
                    await asyncio.sleep(0.005)
            if load.done():
                break
            await asyncio.to_thread(service.kill)
            await asyncio.to_thread(service.start)
        await asyncio.wait_for(_a_snapshot(service, load), 60)
        witness.stopped = True
        await asyncio.wait_for(load, 30)
    finally:
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load


async def _a_snapshot(service: Service, load: "asyncio.Task[None]") -> None:
    """Let the load go on until the running process has kept a snapshot."""
    async with httpx.AsyncClient() as client:
        while not load.done():
            told = (await client.get(f"{service.url}/metrics")).text
            if "\nlexbandit_snapshot_seconds 0.0\n" not in told:
                return
            await asyncio.sleep(0.1)


def survives(folder: Path, storage: str, *, kills: int, longest: float, seed: int) -> None:
    """Kill a service so many times, then look at what it left."""
    witness = Witness("", seed)
    with Service(folder, storage) as service:
        witness.url = service.url
        asyncio.run(_killed_again_and_again(service, witness, kills, longest))
    found = look(service.config)
    check(witness, found)
    assert service.kills == kills + 1
    assert len(witness.rewarded) > 10 * kills  # there was a load
    assert found.snapshot_seq > 0  # and the state came from a snapshot and some of the log


def test_kills_on_sqlite(tmp_path: Path) -> None:
    survives(tmp_path, f"sqlite:{tmp_path}/log.db", kills=3, longest=1.5, seed=1)


@pytest.mark.slow
def test_kills_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    survives(tmp_path, postgres_url, kills=2, longest=1.5, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_on_sqlite(tmp_path: Path, seed: int) -> None:
    survives(tmp_path, f"sqlite:{tmp_path}/log.db", kills=24, longest=1.5, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_on_postgresql(tmp_path: Path, postgres_url: str, seed: int) -> None:
    survives(tmp_path, postgres_url, kills=24, longest=1.5, seed=100 + seed)
