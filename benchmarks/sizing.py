"""How much room the service takes: bytes in the log, memory per open decision, speed of a start.

python -m benchmarks.sizing
"""

import asyncio
import random
import sqlite3
import tempfile
import time
from pathlib import Path

from rich.console import Console

import lexbandit as lb
from lexbandit.service.definition import Definition
from lexbandit.service.engine.engine import Engine
from lexbandit.service.storage.sqlite import SqliteStorage

DECISIONS = 50_000
POINT = Definition(
    name="router",
    objectives=[
        lb.Objective("quality", range=(0, 1), tolerance=0.02, default=0.0),
        lb.Objective("cost", goal="min", range=(0, 0.05)),
    ],
    arms=["small", "medium", "large"],
    context=[lb.Number("tokens", 0, 8000), lb.Category("task", ["code", "maths", "chat"])],
    explore=0.02,
    wait=3600,
)


def memory() -> int:
    """Return the bytes of memory that this process holds now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


async def decide(engine: Engine, count: int) -> list[str]:
    """Make decisions under ids of the caller, as the Python client does; 64 at a time."""
    chance = random.Random(1)
    made: list[str] = []
    while len(made) < count:
        asked = [
            engine.decide(
                "router",
                {"tokens": chance.randrange(8000), "task": chance.choice(["code", "maths"])},
                id=f"{chance.getrandbits(96):024x}",
            )
            for _ in range(64)
        ]
        made += [one.id for one in await asyncio.gather(*asked)]
    return made


def size_of(path: Path) -> int:
    """Return the bytes of the log, its events and their index, without snapshots."""
    with sqlite3.connect(path) as log:
        (pages,) = log.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'log'").fetchone()
    return int(pages)


async def start_without_snapshot(path: Path) -> float:
    """Start from the log alone; returns how many of its events a second of processor time reads."""
    with sqlite3.connect(path) as log:
        log.execute("DELETE FROM snapshots")
        (events,) = log.execute("SELECT count(*) FROM log").fetchone()
    start = time.process_time()
    engine = await Engine.start({"router": POINT}, SqliteStorage(path))
    taken = time.process_time() - start
    await engine.stop()
    return float(events / taken)


async def measure(console: Console, path: Path) -> None:
    """Print the figures."""
    engine = await Engine.start({"router": POINT}, SqliteStorage(path))
    await decide(engine, 2000)  # compiles, and fills what has a fixed size
    before, begin = memory(), size_of(path)
    console.print(f"A process with few open decisions holds {before / 1e6:,.0f} MB.")
    ids = await decide(engine, DECISIONS)
    console.print(f"An open decision takes {(memory() - before) / len(ids):,.0f} bytes of memory.")
    decided = size_of(path)
    console.print(f"A decision takes {(decided - begin) / len(ids):,.0f} bytes of the log.")
    for first in range(0, len(ids), 64):
        told = ids[first : first + 64]
        values = {"quality": 0.93, "cost": 0.0123}
        await asyncio.gather(*(engine.reward("router", id, values) for id in told))
    rewarded = size_of(path) - decided
    console.print(f"Its two rewards, told at once, take {rewarded / len(ids):,.0f} more.")
    await engine.stop()
    with sqlite3.connect(path) as log:
        (snapshot,) = log.execute("SELECT max(length(data)) FROM snapshots").fetchone()
        kept = len(ids) + 2000
        console.print(f"A snapshot takes {snapshot / kept:,.0f} bytes per kept decision.")
        start = time.process_time()
        engine = await Engine.start({"router": POINT}, SqliteStorage(path))
        taken = time.process_time() - start
        console.print(f"A start from it takes {taken:.1f} s of processor time;")
        await engine.stop()
    await start_without_snapshot(path)  # loads what replays logs, or compiles it for half a minute
    speed = await start_without_snapshot(path)
    console.print(f"without a snapshot the log is read at {speed:,.0f} events per second of it.")


def main() -> None:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="lexbandit-sizing-") as folder:
        asyncio.run(measure(Console(width=100), Path(folder) / "log.db"))


if __name__ == "__main__":
    main()
