"""The service, for a load: on the storage of its configuration, or on one that keeps nothing.

python -m benchmarks.served CONFIG.toml CORE [forget]
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lexbandit.service import process as server
from lexbandit.service.config.file import read_config
from lexbandit.service.events import Event, Snapshot
from lexbandit.service.storage import Storage


class Forgetful(Storage):
    """Numbers events and forgets them: the service without the cost of keeping anything."""

    shared = False

    def __init__(self) -> None:
        self._seq = 0

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def append(self, events: Sequence[Event]) -> list[Event]:
        """Return the events with their numbers."""
        now = time.time()
        stored = [Event(self._seq + n, now, *event[2:]) for n, event in enumerate(events, 1)]
        self._seq += len(stored)
        return stored

    async def read_since(self, seq: int, limit: int, point: str | None = None) -> list[Event]:
        """Return nothing."""
        return []

    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Do nothing."""

    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return none."""
        return None


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    storage = Forgetful() if "forget" in sys.argv else None
    config = read_config(Path(sys.argv[1]), {})
    serving = server.serve(config, no_auth=True, started=lambda *_: None, storage=storage)
    server.run(serving, config)
