"""kill -9 and SIGTERM under load, while old events leave and definitions change.

The log does not have everything at the end: archives have what left it. Together they have all that
was acknowledged, once.
"""

import asyncio
import contextlib
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lexbandit.service.config.file import read_config
from lexbandit.service.maintenance.export import export
from lexbandit.service.storage import make_storage
from service.process import COMMAND, Service
from service.witness import Witness

pytestmark = pytest.mark.compiled  # processes of their own: the pass without the JIT adds nothing


class Operator:
    """Ends a service, changes its definition, and starts it again.

    `retain` is how many seconds of the log stay. With `deep`, the range of a feature changes as
    well, so that the log is replayed beside the requests, and `lexbandit compact` is run.
    """

    def __init__(self, service: Service, seed: int, retain: int, *, deep: bool) -> None:
        self.service, self.deep = service, deep
        self.chance = random.Random(seed)
        self.archives = service.config.parent / "old"
        self._change(
            "snapshot_every =",
            f'retain = "{retain}s"\narchive = "{self.archives}"\nsnapshot_every =',
        )

    def _change(self, pattern: str, line: str) -> None:
        text, found = re.subn(pattern, line, self.service.config.read_text(), count=1)
        assert found == 1, pattern
        self.service.config.write_text(text)

    def restart(self) -> None:
        """End the service in one of two ways, and start it as something else."""
        if self.chance.random() < 0.7:
            self.service.kill()
        else:
            assert self.service.terminate() == 0
        self._change(r"tolerance = .*", f"tolerance = {self.chance.choice((0.01, 0.02, 0.03))}")
        if self.deep:
            self._change(r"high = .*", f"high = {self.chance.choice((8000, 9000))}")
            if self.chance.random() < 0.2:
                self.compact()
        self.service.start()

    def compact(self) -> None:
        """Let old events leave the log while the service is down."""
        command = [*COMMAND, "compact", str(self.service.config)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr


async def _operated(operator: Operator, witness: Witness, restarts: int) -> None:
    load = asyncio.create_task(witness.run(workers=8))
    try:
        for _ in range(restarts):
            before = len(witness.decided)
            await asyncio.sleep(operator.chance.uniform(0.3, 2.0))
            async with asyncio.timeout(60):
                while len(witness.decided) == before and not load.done():
                    await asyncio.sleep(0.005)
            if load.done():
                break
            await asyncio.to_thread(operator.restart)
        witness.stopped = True
        await asyncio.wait_for(load, 30)
    finally:
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load


async def _left(service: Service) -> pl.DataFrame:
    """Return the decisions that are in the log."""
    storage = make_storage(read_config(service.config, {}).storage)
    file = service.config.parent / "left.parquet"
    await storage.open()
    try:
        await export(storage, "router", file)
    finally:
        await storage.close()
    return pl.read_parquet(file)


def operated(
    folder: Path, storage: str, *, restarts: int, seed: int, retain: int, deep: bool
) -> None:
    """Restart a service so many times, then look at what it and its archives have."""
    witness = Witness("", seed)
    service = Service(folder, storage)
    operator = Operator(service, seed, retain, deep=deep)
    with service:
        witness.url = service.url
        asyncio.run(_operated(operator, witness, restarts))
        assert service.terminate() == 0
    operator.compact()  # a short run may have ended before the service did so
    left = asyncio.run(_left(service))
    parts = [pl.read_parquet(file) for file in sorted(operator.archives.glob("*.parquet"))]
    assert parts, "no event has left the log"
    rows: dict[str, dict[str, Any]] = {}
    for row in pl.concat([*parts, left], how="diagonal_relaxed").iter_rows(named=True):
        assert row["id"] not in rows, "a decision is there twice"
        rows[row["id"]] = row
    assert set(witness.decided) <= set(rows) <= set(witness.decided) | witness.doubtful
    for id, (context, decision) in witness.decided.items():
        assert (rows[id]["arm"], rows[id]["propensity"]) == (decision.arm, decision.propensity)
        assert {name: rows[id][f"context.{name}"] for name in context} == context
    in_log = set(left["id"])
    told = {
        id: {n: rows[id][f"reward.{n}"] for n in values} for id, values in witness.rewarded.items()
    }
    missed = [id for id, values in witness.rewarded.items() if told[id] != values]
    assert not in_log.intersection(missed)
    # A reward that came after its decision had left the log is in no archive.
    assert len(missed) <= len(witness.rewarded) / 20
    assert len(witness.rewarded) > 5 * restarts  # there was a load


def test_kills_while_events_leave_and_the_tolerance_changes(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path}/log.db"
    operated(tmp_path, storage, restarts=2, seed=1, retain=1, deep=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_and_changes_on_sqlite(tmp_path: Path, seed: int) -> None:
    storage = f"sqlite:{tmp_path}/log.db"
    operated(tmp_path, storage, restarts=43, seed=seed, retain=20, deep=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_and_changes_on_postgresql(tmp_path: Path, postgres_url: str, seed: int) -> None:
    operated(tmp_path, postgres_url, restarts=43, seed=100 + seed, retain=20, deep=True)
