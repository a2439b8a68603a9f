"""A decision point that tests use: a router of prompts, quality first, then cost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import lexbandit as lb
from lexbandit.contexts import Feature
from lexbandit.service.definition import Definition
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import Point
from lexbandit.service.storage.sqlite import LogClock, SqliteStorage

Scene = Callable[[Engine], Awaitable[Any]]

CONTEXT: dict[str, Any] = {"tokens": 900, "task": "code", "hour": 14.5}


class Hands:
    """A wall clock that somebody sets, and a monotonic one that nobody can."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1_700_000_000.0, 50.0

    def clock(self) -> LogClock:
        """Return the clock of a log that goes by these hands."""
        return LogClock(lambda: self.wall, lambda: self.monotonic)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.monotonic += seconds


def definition(
    name: str = "router",
    arms: tuple[str, ...] = ("small", "medium", "large"),
    tolerance: float = 0.02,
    context: Sequence[Feature] | None = None,
    **settings: Any,
) -> Definition:
    """Return the router; the missing quality of a decision is taken as 0 when its time is over."""
    return Definition(
        name=name,
        objectives=[
            lb.Objective("quality", range=(0, 1), tolerance=tolerance, default=0.0),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        arms=arms,
        context=context
        or [
            lb.Number("tokens", 0, 8000),
            lb.Category("task", ["code", "maths", "chat"]),
            lb.Cycle("hour", 24),
        ],
        **settings,
    )


@asynccontextmanager
async def engine_on(
    path: Path, *, skip_untaken: bool = False, hands: Hands | None = None, **settings: Any
) -> AsyncIterator[Engine]:
    """Run an engine on a SQLite file; its time may go by somebody's hands."""
    point = definition(**settings)
    storage = SqliteStorage(path, None if hands is None else hands.clock())
    engine = await Engine.start({point.name: point}, storage, skip_untaken=skip_untaken)
    try:
        yield engine
    finally:
        await engine.stop()


async def replayed(path: Path, **settings: Any) -> str:
    """Return the digest of the state that the log alone leads to."""
    storage = SqliteStorage(path)
    await storage.open()
    point = Point(definition(**settings))
    for stored in await storage.read_since(0, 1_000_000):
        point.fold(stored)
    await storage.close()
    return point.digest()


def play(path: Path, scene: Scene, hands: Hands | None = None, **settings: Any) -> Any:
    """Run a scene on an engine; afterwards the log alone leads to the same state."""

    async def run() -> Any:
        async with engine_on(path, hands=hands, **settings) as engine:
            told = await scene(engine)
        # Only now is the last event taken: until it stops, time may pass by a tick.
        assert await replayed(path, **settings) == engine.points["router"].digest()
        return told

    return asyncio.run(run())
