"""A service that tests of the dashboard look at: real engine, real HTTP, several points."""

import asyncio
import dataclasses
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import lexbandit as lb
from lexbandit._internal.vega_script import NAME
from lexbandit.service.config.file import read_config
from lexbandit.service.dashboard.pages import FILES
from lexbandit.service.definition import Definition
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.point import DecisionRequest
from lexbandit.service.http.access import ApiKey
from lexbandit.service.http.server import serving as http_serving
from lexbandit.service.process import address_of, admission_to, bound, make_app
from lexbandit.service.storage.sqlite import SqliteStorage
from service.world import definition

EVIL = "<img src=x onerror=\"document.title='evil'\">"
# Names that every object of JavaScript has already; more arms than there are colours by hand.
ODD = ("constructor", "__proto__", "toString", "hasOwnProperty", *(f"arm {n}" for n in range(6)))
LONG = "a-name-that-a-program-made-" + "x" * 60
# Only for what it says of the process; the points are made here.
_CONFIG = """
[points.router]
arms = ["a", "b"]
objectives = [{ name = "quality" }]
context = [{ kind = "flag", name = "x" }]
"""


def points(wait: float | None = 3600.0) -> dict[str, Definition]:
    """Return a busy point, one nobody asked, one without rewards, and some of one objective."""
    single = Definition(
        name="single",
        objectives=[lb.Objective("clicks")],
        arms=["a", "b"],
        context=[lb.Flag("member"), lb.Vector("taste", length=2), lb.Number("age", 18, 90)],
    )
    several = [
        definition("router", arms=("small", EVIL, LONG), wait=wait, explore=0.02, **_QUICK),
        definition("empty"),
        definition("silent"),
        single,
        dataclasses.replace(single, name="once", context=[lb.Flag("member")]),
        dataclasses.replace(single, name="odd", arms=ODD, explore=1.0),
    ]
    return {point.name: point for point in several}


# So that a few hundred decisions are enough to see something.
_QUICK: dict[str, Any] = {
    "policy": "lex-linucb",
    "settings": {"scale": 0.1, "threshold": 0.2, "features": "raw"},
}


class Watched:
    """An engine that is served from a thread of its own."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop, url: str) -> None:
        self.engine = engine
        self.url = url
        self._loop = loop
        self._random = np.random.default_rng(1)

    def wait_for(self, work: Any) -> Any:
        """Let the engine's loop do something and return what came of it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def warm(self) -> None:
        """Let everything be made that the page asks for: it does not wait for long."""
        for path in ("history", "map?x=tokens&y=task", "recent"):
            httpx.get(f"{self.url}/v1/router/{path}", timeout=240).raise_for_status()
        assert b"vegaEmbed" in httpx.get(f"{self.url}{FILES}{NAME}", timeout=240).content

    def what_if(self, point: str, **settings: Any) -> dict[str, Any]:
        """Ask what other policies would have done, until it is computed."""
        url = f"{self.url}/v1/{point}/what-if"
        for _ in range(2400):
            told = httpx.get(url, timeout=240, **settings).raise_for_status().json()
            if not told["computing"]:
                report: dict[str, Any] = told["report"]
                return report
            time.sleep(0.1)
        raise AssertionError("it is still being computed")

    def traffic(self, n: int, point: str = "router", rewarded: bool = True) -> None:
        """Make decisions in the busy point's contexts, and tell rewards: the evil arm is dear."""
        draw = self._random
        rows = [
            DecisionRequest(
                {
                    "tokens": int(draw.integers(0, 8000)),
                    "task": str(draw.choice(["code", "maths", "chat"])),
                    "hour": float(draw.uniform(0, 24)),
                }
            )
            for _ in range(n)
        ]
        decided = self.wait_for(self.engine.decide_many(point, rows))
        if rewarded:
            means = {"small": (0.88, 0.005), EVIL: (0.9, 0.03), LONG: (0.4, 0.01)}
            told = []
            for one in decided:
                quality, cost = means[one.arm]
                value = {"quality": float(np.clip(draw.normal(quality, 0.05), 0, 1)), "cost": cost}
                told.append((one.id, value))
            self.wait_for(self.engine.reward_many(point, told))


@contextmanager
def watched(
    folder: Path, keys: tuple[ApiKey, ...] = (), wait: float | None = 3600.0
) -> Iterator[Watched]:
    """Serve until the block ends; without keys, to everybody on this machine.

    `wait` is the busy point's.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def do(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(120)

    engine = do(Engine.start(points(wait), SqliteStorage(folder / "log.db")))
    place = folder / "watched.toml"
    place.write_text(_CONFIG)
    config = dataclasses.replace(read_config(place, {}), keys=keys, port=0)
    app = make_app(engine, config, no_auth=not keys)
    served = bound(config)
    serving = http_serving(app, served, admission=admission_to(app, 60.0))
    do(serving.__aenter__())
    try:
        yield Watched(engine, loop, address_of(config, served))
    finally:
        do(serving.__aexit__(None, None, None))
        do(engine.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
