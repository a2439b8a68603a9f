"""The service as a process of its own: started as a user starts it, ended as fate ends it."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

COMMAND = (sys.executable, "-c", "from lexbandit.cli import main; main()")
CONFIG = """
[service]
storage = "{storage}"
port = {port}
snapshot_every = {snapshot_every}
drain = 0.3

[points.router]
arms = ["small", "medium", "large"]
explore = 0.05
{settings}

[[points.router.objectives]]
name = "quality"
range = [0, 1]
tolerance = 0.02
default = 0.0

[[points.router.objectives]]
name = "cost"
goal = "min"
range = [0, 0.05]

[[points.router.context]]
kind = "number"
name = "tokens"
low = 0
high = 8000

[[points.router.context]]
kind = "category"
name = "task"
values = ["code", "maths", "chat"]
"""


def free_port() -> int:
    """Return a port that nobody uses now, and that the system gives to nobody by itself.

    It stays free while a service starts, or is started again.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def killed_after(seconds: float, process: "subprocess.Popen[Any]") -> Iterator[None]:
    """Kill a process unless the block ends before: who reads what it writes waits no longer."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Service:
    """`lexbandit serve` on a configuration of its own; the port stays when it is started again."""

    def __init__(
        self,
        folder: Path,
        storage: str,
        *,
        snapshot_every: int = 100,
        settings: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Have a service; `variables` are of its environment, and with a key it asks for it."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = folder / "service.toml"
        self.config.write_text(
            CONFIG.format(
                storage=storage, port=self.port, snapshot_every=snapshot_every, settings=settings
            )
        )
        self.output = folder / "service.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.kills = 0
        self.variables = {"PYTHONUNBUFFERED": "1", **(variables or {})}
        keyed = any(name.startswith("LEXBANDIT_KEY_") for name in self.variables)
        self.arguments = [] if keyed else ["--no-auth"]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> float:
        """Start it and wait until it serves; returns the seconds that took."""
        begin = time.monotonic()
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", str(self.config), *self.arguments],
                stdout=output,
                stderr=output,
                env={**os.environ, **self.variables},
            )
        try:
            self._wait_until_ready(begin + 300)  # the first time the kernels are compiled
        except BaseException:
            self._end(signal.SIGKILL)
            raise
        return time.monotonic() - begin

    def _wait_until_ready(self, end: float) -> None:
        assert self.process is not None
        with httpx.Client() as http:
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if http.get(f"{self.url}/ready").status_code == 200:
                        return
                assert self.process.poll() is None, self.output.read_text()
                assert time.monotonic() < end, self.output.read_text()
                time.sleep(0.02)

    def kill(self) -> None:
        """End it as a loss of power does for a process: it gets no chance to tidy up."""
        self._end(signal.SIGKILL)
        self.kills += 1

    def terminate(self) -> int:
        """Ask it to end; returns its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.process = None
        return code

    def memory(self) -> int:
        """Return the bytes of memory that it holds now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def processor_seconds(self) -> float:
        """Return the processor time that it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
