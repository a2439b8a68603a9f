"""What operators see: the metrics of a point, of its arms, of the log and of the process."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lexbandit import __version__
from lexbandit.service.storage import StorageFailed
from service.http import Served, served


async def numbers(s: Served) -> dict[str, float]:
    """Return every number of /metrics by its name and labels."""
    text = (await s.http.get("/metrics")).text
    return {
        sample.name + str(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("lexbandit")
    }


def of(name: str, **labels: str) -> str:
    """Return under which a number is found."""
    return f"lexbandit_{name}{sorted(labels.items())}"


def test_points_arms_queue_commits_log_and_build_are_told(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            made = [await s.decide(id=f"d{n}") for n in range(12)]
            for one in made[:5]:
                reply = await s.http.post(
                    f"/v1/router/decisions/{one['id']}/rewards", json={"quality": 1, "cost": 0.01}
                )
                assert reply.status_code == 200
            await s.http.get("/v1/nothing")  # no label of the caller's making
            told = await numbers(s)
            for arm in ("small", "medium", "large"):
                labels = {"point": "router", "arm": arm}
                chosen = [one["arm"] for one in made]
                assert told[of("arm_decisions_total", **labels)] == chosen.count(arm)
                assert told[of("arm_rewarded_total", **labels)] == chosen[:5].count(arm)
            assert told[of("point_seconds_count", point="router")] == 17
            assert of("point_seconds_count", point="nothing") not in told
            # The point's beginning is one more; what came together was written together.
            assert 1 <= told[of("commit_seconds_count")] <= 18
            assert told[of("commit_seconds_sum")] > 0
            assert told[of("queue_events")] == 0
            assert told[of("log_bytes")] > 4096
            assert told[of("snapshot_age_seconds")] > 0
            assert told[of("replay_progress", point="router")] == 1
            versions = [name for name in told if "build_info" in name]
            assert len(versions) == 1
            assert __version__ in versions[0]
            s.engine.replay_progress["router"] = 0.25
            s.app.metrics.connections = lambda: 7
            await s.engine.snapshots.take()
            told = await numbers(s)
            assert told[of("replay_progress", point="router")] == 0.25
            assert told[of("connections")] == 7
            assert told[of("snapshot_age_seconds")] == 0  # nothing happened since

    asyncio.run(run())


def test_what_waits_to_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:
            storage = s.engine.storage
            append, begun, gate = storage.append, asyncio.Event(), asyncio.Event()

            async def held(events: Any) -> Any:
                begun.set()
                await gate.wait()
                return await append(events)

            monkeypatch.setattr(storage, "append", held)
            asked = [asyncio.create_task(s.decide())]
            await begun.wait()  # the first one is being written
            asked += [asyncio.create_task(s.decide()) for _ in range(8)]
            for _ in range(1000):
                if s.engine.journal.queued == 8:
                    break
                await asyncio.sleep(0.01)
            assert (await numbers(s))[of("queue_events")] == 8
            gate.set()
            await asyncio.gather(*asked)
            assert (await numbers(s))[of("queue_events")] == 0

    asyncio.run(run())


def test_a_storage_that_does_not_tell_its_size_hides_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with served(tmp_path) as s:

            async def fails() -> int:
                raise StorageFailed("away")

            monkeypatch.setattr(s.engine.storage, "size", fails)
            told = await numbers(s)
            assert of("log_bytes") not in told
            assert of("ready") in told

    asyncio.run(run())
