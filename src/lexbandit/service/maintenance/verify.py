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
    times: list[float] = []
    points: dict[str, None] = {}
    while True:
        try:
            page = await storage.read_since(seq, _PAGE)
        except CorruptLog:
            await _name_the_first(storage, seq)
            raise
        if not page:
            break
        seq = page[-1].seq
        times = [times[0] if times else page[0].time, page[-1].time]
        points.update(dict.fromkeys(event.point for event in page))
        progress(seq)
    await storage.check_rest()
    begin, end = times or (0.0, 0.0)
    return Verified(first + 1, seq, begin, end, tuple(points))


async def _name_the_first(storage: Storage, seq: int) -> None:
    """Find the first event that cannot be read, where a whole page cannot."""
    while True:
        try:
            page = await storage.read_since(seq, 1)
        except CorruptLog as error:
            raise CorruptLog(f"event {seq + 1} is the first that is damaged: {error}") from error
        if not page:
            return
        seq = page[-1].seq
