"""The log of a service as a `Log`: read from its storage, while it runs."""

import asyncio
from pathlib import Path

import pytest

import lexbandit as lb
from lexbandit.errors import InvalidInput
from lexbandit.service.maintenance.log_source import opened
from service.http import CONTEXT, served


def test_a_storage_is_a_log(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"

    async def run() -> lb.Log:
        async with served(tmp_path) as s:
            for n in range(60):
                await s.decide(id=f"d{n}", context={**CONTEXT, "tokens": 50.0 * n})
                await s.engine.reward("router", f"d{n}", {"quality": 0.5 + 0.005 * n})
            await s.engine.add_arm("router", "huge")
            return await asyncio.to_thread(lb.Log, url)

    log = asyncio.run(run())
    assert len(log) == 60
    assert log.arms[-1] == "huge"
    assert [objective.name for objective in log.objectives] == ["quality", "cost"]
    told = log.describe()
    assert told.objectives[0].rewards == 60
    assert told.objectives[1].rewards == 0
    assert sum(arm.plays for arm in told.arms) == 60
    with pytest.raises(InvalidInput, match="unknown decision point"):
        lb.Log(url, point="other")
    path = opened(url, "router").path
    assert not path.exists()  # it went with what kept it


def test_no_storage_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        lb.Log(f"sqlite:{tmp_path / 'none.db'}")


def test_the_tolerances_are_those_of_now(tmp_path: Path) -> None:
    """New tolerances take effect with a start, without an event; the next snapshot has them."""
    url = f"sqlite:{tmp_path / 'log.db'}"

    async def run(tolerance: float) -> None:
        async with served(tmp_path, tolerance=tolerance) as s:
            decided = await s.decide(context=CONTEXT)
            await s.engine.reward("router", decided["id"], {"quality": 0.5})

    for tolerance in (0.02, 0.1):
        asyncio.run(run(tolerance))
        assert [one.tolerance for one in lb.Log(url).objectives] == [tolerance, 0.0]
