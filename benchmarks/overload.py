"""Twice the load that the service can answer: how many are answered, and how quickly.

    python -m benchmarks.overload [--seconds 5] [--times 2]

Requests come at a rate of their own, on as many connections as it takes: a request that is not
answered yet does not hold the next one back, unless all connections wait. The rate rises by steps;
the peak is the most that was answered at any of them, and then the rate is `--times` the peak. The
service has the first core, the load the second. What 64 connections that ask again at once get is
printed too.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from benchmarks.loader import Load, load
from benchmarks.service import CONFIG, CORES, PATH, bodies, cpu_of, free_port, running

MOST = 4000


class _Connection(asyncio.Protocol):
    """Asks when it is told to, and is idle again when it is answered."""

    def __init__(self, idle: "list[_Connection]", taken: list[tuple[str, float]]) -> None:
        self.idle, self.taken = idle, taken
        self.got, self.since = b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.idle.append(self)

    def ask(self, request: bytes, since: float) -> None:
        self.got, self.since = b"", since
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.got += data
        head, end, body = self.got.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            self.taken.append((head[9:12].decode(), time.perf_counter() - self.since))
            self.idle.append(self)


class Offered(NamedTuple):
    """What came of requests at a given rate: how many, and the slowest in a hundred, by status."""

    counts: dict[str, int]
    p99: dict[str, float]
    seconds: float

    @property
    def answered(self) -> float:
        """Return how many were answered in a second."""
        return self.counts.get("200", 0) / self.seconds


async def _open_loop(port: int, rate: float, seconds: float) -> Offered:
    loop = asyncio.get_running_loop()
    idle: list[_Connection] = []
    taken: list[tuple[str, float]] = []
    head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    ready = [f"{head}content-length: {len(one)}\r\n\r\n{one}".encode() for one in bodies()]
    for _ in range(MOST):
        await loop.create_connection(lambda: _Connection(idle, taken), "127.0.0.1", port)
    asked, begin = 0, time.perf_counter()
    measured, missed = begin + 1.0, 0
    while (now := time.perf_counter()) < measured + seconds:
        if taken and now < measured:
            taken.clear()
        due = int((now - begin) * rate)
        for n in range(asked, due):
            if idle:  # the request counts from when it was due
                idle.pop().ask(ready[n % len(ready)], begin + n / rate)
            else:
                missed += 1
        asked = due
        await asyncio.sleep(0.001)
    times: dict[str, list[float]] = {}
    for status, seconds_taken in taken:
        times.setdefault(status, []).append(seconds_taken)
    counts = {status: len(found) for status, found in times.items()} | {"not sent": missed}
    p99 = {status: 1e3 * float(np.percentile(found, 99)) for status, found in times.items()}
    return Offered(counts, p99, seconds)


def _offered(port: int, rate: float, seconds: float) -> Offered:
    told = [str(port), str(rate), str(seconds)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.overload", "--load", *told],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Offered(*json.loads(done.stdout))


def main() -> None:
    """Measure the peak, then the overload."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("--seconds", type=float, default=5.0)
    asked.add_argument("--times", type=float, default=2.0)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="lexbandit-overload-") as folder:
        port, config = free_port(), Path(folder) / "service.toml"
        config.write_text(CONFIG.format(storage=f"sqlite:{folder}/log.db", port=port))
        command = [sys.executable, "-m", "benchmarks.served", str(config), str(CORES[0])]
        with running(command, port) as pid:
            before = cpu_of(pid)
            closed = load(Load(port, PATH, bodies(), seconds=given.seconds, core=CORES[-1]))
            each = 1e6 * (cpu_of(pid) - before) / (closed.per_second * (given.seconds + 1))
            rates = [closed.per_second * share for share in (0.6, 0.7, 0.8, 0.9, 1.0)]
            steps = [_offered(port, rate, given.seconds) for rate in rates]
            peak = max(step.answered for step in steps)
            found = _offered(port, peak * given.times, given.seconds)
    print(
        f"64 connections that ask again at once: {closed.per_second:,.0f} decisions/s, "
        f"p99 {closed.p99:.1f} ms, {each:.0f} µs of processor each"
    )
    for rate, step in zip(rates, steps, strict=True):
        print(f"offered {rate:,.0f}/s: answered {step.answered:,.0f}/s")
    print(f"{given.times:g} times the peak of {peak:,.0f}/s: {found.counts} in {given.seconds:g} s")
    share = found.answered / peak
    print(f"answered: {found.answered:,.0f}/s, {share:.2f} of the peak (at least 0.9)")
    print(f"p99 of the answered {found.p99.get('200', np.nan):.1f} ms (under 100)")
    print(f"p99 of the refused {found.p99.get('503', np.nan):.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--load"]:
        import uvloop

        os.sched_setaffinity(0, {CORES[-1]})
        print(json.dumps(uvloop.run(_open_loop(int(sys.argv[2]), *map(float, sys.argv[3:])))))
    else:
        main()
