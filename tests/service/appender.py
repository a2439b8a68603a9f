"""A process that appends numbered events to a storage until it fails, and says what it was told.

    python appender.py URL

Each line it prints is a list in JSON:
ready PID                 the storage is open
kept FIRST LAST SYNCS     append returned for these numbers, after so many more syncs of the disk
failed FIRST LAST FINAL MESSAGE    else it ends by itself, after 5000 batches
refused FINAL             a later append, after the fault is gone
"""

import asyncio
import ctypes
import json
import os
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from lexbandit.service.events import Event, body_of
from lexbandit.service.storage import StorageFailed, make_storage


def say(*words: Any) -> None:
    print(json.dumps(words), flush=True)


def syncs() -> int:
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(None), "faulty_disk_syncs").value
    except ValueError:  # not on a faulty disk
        return 0


async def main(url: str) -> None:
    storage = make_storage(url)
    await storage.open()
    say("ready", os.getpid())
    number = 1
    for _ in range(5000):
        last = number + random.randint(0, 5)
        batch = [
            Event(0, 0.0, "router", "tick", body_of({"n": n})) for n in range(number, last + 1)
        ]
        before = syncs()
        try:
            await storage.append(batch)
        except StorageFailed as error:
            say("failed", number, last, error.final, str(error))
            break
        say("kept", number, last, syncs() - before)
        number = last + 1
    with suppress(FileNotFoundError):
        Path(os.environ["FAULTY_DISK"]).unlink()
    for _ in range(3):
        try:
            await storage.append([Event(0, 0.0, "router", "tick", body_of({"n": -1}))])
            say("accepted")
        except StorageFailed as error:
            say("refused", error.final)
    await storage.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
