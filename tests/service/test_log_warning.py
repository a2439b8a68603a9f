"""A start says so where the log will not tell what another policy would have done.

And where a tolerance is too small for the first decisions.
"""

import asyncio
import logging
from pathlib import Path

import pytest

import lexbandit as lb
from lexbandit.service.definition import Definition
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.start import draws
from lexbandit.service.storage import make_storage


def definition(policy: str | None, explore: float = 0.0) -> Definition:
    return Definition(
        name="router",
        objectives=[lb.Objective("quality"), lb.Objective("cost", goal="min")],
        arms=["small", "large"],
        policy=policy,
        explore=explore,
        horizon=1_000,
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, True),
        ("random", True),
        ("cs-ts", True),
        ("doubling", True),
        ("lex-linucb", False),
        ("linucb", False),
    ],
)
def test_which_policies_draw(policy: str | None, expected: bool) -> None:
    assert draws(definition(policy)) == expected


@pytest.mark.parametrize(
    ("policy", "explore", "times"), [("lex-linucb", 0.0, 1), ("lex-linucb", 0.1, 0), (None, 0.0, 0)]
)
def test_one_warning(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    policy: str | None,
    explore: float,
    times: int,
) -> None:
    async def run() -> None:
        point = definition(policy, explore)
        engine = await Engine.start(
            {"router": point}, make_storage(f"sqlite:{tmp_path / 'log.db'}")
        )
        await engine.stop()

    with caplog.at_level(logging.WARNING, logger="lexbandit"):
        asyncio.run(run())
    said = [record for record in caplog.records if "will not tell" in record.getMessage()]
    assert len(said) == times


def test_a_tolerance_that_is_too_small_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    objectives = [lb.Objective("quality", tolerance=1e-4), lb.Objective("cost", goal="min")]
    point = Definition(name="router", objectives=objectives, arms=["small", "large"])

    async def start() -> int:
        caplog.clear()
        engine = await Engine.start(
            {"router": point}, make_storage(f"sqlite:{tmp_path / 'log.db'}")
        )
        made = await engine.decide("router", {})
        await engine.reward("router", made.id, {"quality": 1.0})
        await engine.stop()
        return sum("may be too small" in record.getMessage() for record in caplog.records)

    with caplog.at_level(logging.WARNING, logger="lexbandit"):
        assert [asyncio.run(start()), asyncio.run(start())] == [1, 0]
