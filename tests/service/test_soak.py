"""A million decisions on one process: memory stays flat, snapshots quick, and so does a restart."""

import random
from pathlib import Path

import pytest

from lexbandit import Client
from service.process import Service
from service.witness import TASKS

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

DECISIONS, BATCH = 1_000_000, 2_000
# How often to look, and from when on: as many as are kept have come twice then.
EVERY, FROM = DECISIONS // 20, DECISIONS // 5
SNAPSHOTS, SETTINGS = 50_000, "keep = 100_000"
MEGABYTE = 2**20


def _rewards_and_decisions(client: Client, chance: random.Random) -> None:
    """Decide a batch; reward most of it, with one value or both."""
    contexts = [
        {"tokens": chance.randrange(8000), "task": chance.choice(TASKS)} for _ in range(BATCH)
    ]
    made = client.decide_many("router", contexts)
    both = [{"quality": chance.random(), "cost": 0.05 * chance.random()} for _ in made]
    pairs = [
        (one, {"quality": told["quality"]} if chance.random() < 0.5 else told)
        for one, told in zip(made, both, strict=True)
        if chance.random() < 0.7
    ]
    client.reward_many("router", pairs)


def _number(client: Client, name: str) -> float:
    """Return one of the service's metrics."""
    text = client._http.get(f"{client.url}/metrics").text
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return float(line.split()[-1])


def test_a_million_decisions(tmp_path: Path) -> None:
    """100,000 decisions are kept at most: from twice as many on, memory may not grow further."""
    chance = random.Random(7)
    storage = f"sqlite:{tmp_path}/log.db"
    with (
        Service(tmp_path, storage, snapshot_every=SNAPSHOTS, settings=SETTINGS) as service,
        Client(service.url, timeout=60) as client,
    ):
        memory, snapshots = [], []
        for done in range(0, DECISIONS, BATCH):
            _rewards_and_decisions(client, chance)
            if done % EVERY == 0 and done >= FROM:
                memory.append(service.memory())
                snapshots.append(_number(client, "lexbandit_snapshot_seconds"))
        counts = client.summary("router")["counts"]
        restarts = []
        for _ in range(3):
            service.kill()
            restarts.append(service.start())
        after = client.summary("router")["counts"]
        size = (tmp_path / "log.db").stat().st_size
    print(
        f"memory {[round(m / MEGABYTE) for m in memory]} MB, snapshots {snapshots} s, "
        f"restarts {restarts} s, log {size / DECISIONS:.0f} bytes a decision with its rewards"
    )
    assert counts["decisions"] == after["decisions"] == DECISIONS
    assert counts["rewards"] == after["rewards"] > 0.9 * DECISIONS
    assert max(memory[-4:]) < 1.15 * max(memory[:4]) + 10 * MEGABYTE
    assert max(snapshots) < 5.0
    assert min(restarts) < 5.0
