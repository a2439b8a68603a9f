"""Read a whole log, or a backup of one, and check that all of it is as it was written."""

from collections.abc import Callable
from typing import NamedTuple

from lexbandit.service.events import CorruptLog
from lexbandit.service.storage import Storage

_PAGE = 2_000


class Verified(NamedTuple):
    """What a log without damage holds: its first and last event, their times, and its points."""

    first: int
    last: int
    begin: float
    end: float
    points: tuple[str, ...]


async def verify(storage: Storage, progress: Callable[[int], None]) -> Verified:
    """Check every event, then what is beside them; `CorruptLog` names the first that is damaged.

    `progress` is called with the last event that was read.
    """
    first = seq = await storage.removed()
    begin = end = 0.0
    points: dict[str, None] = {}
    try:
        async for event in storage.events(first, _PAGE):
            begin = event.time if seq == first else begin
            seq, end = event.seq, event.time
            points[event.point] = None
            progress(seq)
    except CorruptLog:
        await _name_the_first(storage, seq)
        raise
    await storage.check_rest()
    return Verified(first + 1, seq, begin, end, tuple(points))


async def _name_the_first(storage: Storage, seq: int) -> None:
    """Find the first event that cannot be read, where a whole page cannot."""
    try:
        async for event in storage.events(seq, 1):
            seq = event.seq
    except CorruptLog as error:
        raise CorruptLog(f"event {seq + 1} is the first that is damaged: {error}") from error
