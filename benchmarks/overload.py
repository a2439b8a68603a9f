"""Twice the load that the service can answer: how many are answered, and how quickly.

    python -m benchmarks.overload [--seconds 5] [--times 2]

The peak is what 64 connections that ask again at once get. Then requests come at a rate of their
own, `--times` the peak, on as many connections as it takes: a request that is not answered yet does
not hold the next one back. The service has the first core, the load the second.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import cast

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


async def _open_loop(port: int, rate: float, seconds: float) -> dict[str, list[float]]:
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
    found: dict[str, list[float]] = {"missed": [float(missed)]}
    for status, seconds_taken in taken:
        found.setdefault(status, []).append(seconds_taken)
    return found


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
            peak = load(Load(port, PATH, bodies(), seconds=given.seconds, core=CORES[-1]))
            each = 1e6 * (cpu_of(pid) - before) / (peak.per_second * (given.seconds + 1))
            before = cpu_of(pid)
            told = [str(port), str(peak.per_second * given.times), str(given.seconds)]
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.overload", "--load", *told],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            used = cpu_of(pid) - before
    found = json.loads(done.stdout)
    counts = Counter({status: len(times) for status, times in found.items()})
    counts["missed"] = int(found["missed"][0])
    accepted = np.array(found.get("200", [np.nan])) * 1e3
    rate = counts["200"] / given.seconds
    print(f"peak: {peak.per_second:,.0f} decisions/s, p99 {peak.p99:.1f} ms")
    print(f"{given.times:g} times that: {dict(counts)} in {given.seconds:g} s")
    print(f"answered: {rate:,.0f}/s, {rate / peak.per_second:.2f} of the peak (at least 0.9)")
    print(f"p99 of the answered {np.percentile(accepted, 99):.1f} ms (under 100)")
    print(f"CPU {each:.0f} µs a decision at the peak; {used:.1f} s in the overload")
    if "503" in found:
        print(f"p99 of the refused {np.percentile(np.array(found['503']) * 1e3, 99):.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--load"]:
        import uvloop

        os.sched_setaffinity(0, {CORES[-1]})
        print(json.dumps(uvloop.run(_open_loop(int(sys.argv[2]), *map(float, sys.argv[3:])))))
    else:
        main()
