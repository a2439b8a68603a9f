"""A load on an HTTP server: so many connections, each asks again as soon as it is answered.

It runs in a process of its own (`load`), so that it takes nothing from the server's core. It reads
raw bytes and parses only what it needs, to be quicker than any server of Python it measures.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np


@dataclass(frozen=True)
class Load:
    """What is asked: the `bodies` in turn.

    keyed    each has an id of its own
    reward   told of every decision as soon as it is made; both count as requests
    core     which the loader keeps to; None for any
    """

    port: int
    path: str
    bodies: list[str]
    connections: int = 64
    warm_up: float = 1.0
    seconds: float = 5.0
    keyed: bool = False
    reward: str | None = None
    core: int | None = None


@dataclass(frozen=True)
class Answered:
    """What came back in the measured time; milliseconds from a request to its whole answer."""

    per_second: float
    median: float
    p99: float
    statuses: dict[str, int]


class _Requests:
    """Makes the requests, and notes the answers."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.head = "host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length"
        self.ready = [self.whole(body) for body in load.bodies]
        self.prefix = secrets.token_hex(4)
        self.made = 0
        self.times: list[tuple[float, float]] = []
        self.statuses: Counter[str] = Counter()

    def whole(self, body: str, path: str = "") -> bytes:
        line = f"POST {self.load.path}{path} HTTP/1.1"
        return f"{line}\r\n{self.head}: {len(body.encode())}\r\n\r\n{body}".encode()

    def next(self) -> bytes:
        self.made += 1
        n = self.made % len(self.ready)
        if not self.load.keyed:
            return self.ready[n]
        return self.whole(f'{self.load.bodies[n][:-1]},"id":"{self.prefix}-{self.made}"}}')


class _Connection(asyncio.Protocol):
    def __init__(self, requests: _Requests) -> None:
        self.requests = requests
        self.got = b""
        self.missing = -1  # bytes of the answer still to come, once its head was read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.ask()

    def ask(self, request: bytes | None = None) -> None:
        self.rewarding = request is not None
        self.got, self.missing = b"", -1
        self.start = time.perf_counter()
        self.transport.write(self.requests.next() if request is None else request)

    def data_received(self, data: bytes) -> None:
        if self.missing >= 0:
            self.missing -= len(data)
            if self.requests.load.reward is not None:  # the id is needed
                self.got += data
        else:
            self.got += data
            end = self.got.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.got[:end].lower()
            size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            self.status = head[9:12].decode()
            self.missing = end + 4 + size - len(self.got)
        if self.missing == 0:
            self.answered()

    def answered(self) -> None:
        now = time.perf_counter()
        self.requests.times.append((now, now - self.start))
        self.requests.statuses[self.status] += 1
        reward = self.requests.load.reward
        if reward is None or self.rewarding or self.status != "200":
            self.ask()
        else:
            id = self.got.split(b'"id":"')[1].split(b'"')[0].decode()
            self.ask(self.requests.whole(reward, f"/{id}/rewards"))

    def connection_lost(self, error: Exception | None) -> None:
        self.requests.statuses["connection lost"] += 1


async def _run(load: Load) -> Answered:
    requests = _Requests(load)
    loop = asyncio.get_running_loop()
    transports = []
    for _ in range(load.connections):
        made = await loop.create_connection(lambda: _Connection(requests), "127.0.0.1", load.port)
        transports.append(made[0])
    await asyncio.sleep(load.warm_up)
    requests.statuses.clear()
    begin = time.perf_counter()
    await asyncio.sleep(load.seconds)
    end = time.perf_counter()
    statuses = dict(requests.statuses)
    for transport in transports:
        transport.abort()
    taken = np.array([took for at, took in requests.times if begin <= at < end]) * 1e3
    return Answered(
        per_second=len(taken) / (end - begin),
        median=float(np.median(taken)) if len(taken) else float("nan"),
        p99=float(np.percentile(taken, 99)) if len(taken) else float("nan"),
        statuses=statuses,
    )


def load(asked: Load) -> Answered:
    """Run a load in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.loader"],
        input=json.dumps(asdict(asked)),
        capture_output=True,
        text=True,
        check=True,
        timeout=asked.warm_up + asked.seconds + 60,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return Answered(**told)


def _main() -> None:
    asked = Load(**json.load(sys.stdin))
    if asked.core is not None:
        os.sched_setaffinity(0, {asked.core})
    try:
        import uvloop  # noqa: PLC0415

        answered = uvloop.run(_run(asked))
    except ImportError:
        answered = asyncio.run(_run(asked))
    print(json.dumps(asdict(answered)))


if __name__ == "__main__":
    _main()
