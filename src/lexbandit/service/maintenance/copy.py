"""Copy a log into another storage: the same events, with the same numbers and times.

The state of every decision point follows from its events, so it is the same there, bit for bit.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lexbandit.errors import InvalidInput, counted
from lexbandit.service.events import Event, Snapshot
from lexbandit.service.maintenance.compact import last_before
from lexbandit.service.storage import Storage
from lexbandit.service.storage.base import LARGEST_PAGE, SnapshotKey

# So many events are copied at once, or fewer where they are large.
_PAGE = 2_000
# So many events at its end tell whose copy it is.
_LAST = 100
# So many bytes, about, are written at once.
_PART = 2**20


class Copied(NamedTuple):
    """How many events were there already, and how many were copied."""

    there: int
    copied: int


async def copy(source: Storage, target: Storage, progress: Callable[[int], None]) -> Copied:
    """Copy what `target` has not yet.

    What it has must be the beginning of `source`; then the copy goes on from there, as after one
    that was stopped. `progress` is called with the number of events copied.
    """
    there = begun = await _there(source, target)
    removed = await source.removed()
    # Only these hold what the removed events taught. They are read first: then all that they hold
    # is in the log by now, and is copied.
    snapshots = await _snapshots(source) if removed else []
    if removed > begun:
        await target.begin_at(removed, await source.first_events())
        begun = removed
    seq, more = begun, True
    while more and (page := await source.read_since(seq, _PAGE)):
        for part in _parts(page):
            await target.restore(part)
            seq = part[-1].seq
            progress(seq)
        # What comes since is not waited for: from a log that is served there may be always more.
        more = len(page) == _PAGE or sum(len(one.body) for one in page) >= LARGEST_PAGE
    for key, snapshot in snapshots:
        await target.save_snapshot(key.point, key.definition, snapshot)
    return Copied(there, seq - begun)


async def _snapshots(source: Storage) -> list[tuple[SnapshotKey, Snapshot]]:
    """Return the newest snapshot of every point under each definition."""
    newest = {key[:2]: key for key in reversed(await source.snapshots())}
    loaded = [(key, await source.load_snapshot(*key[:2])) for key in newest.values()]
    return [(key, snapshot) for key, snapshot in loaded if snapshot is not None]


def _parts(page: Sequence[Event]) -> Iterator[list[Event]]:
    """Split a page, so that a slow connection takes each part in time."""
    part: list[Event] = []
    size = 0
    for event in page:
        part.append(event)
        size += len(event.body)
        if size >= _PART:
            yield part
            part, size = [], 0
    if part:
        yield part


async def _there(source: Storage, target: Storage) -> int:
    """Return how many events `target` has; refuse it if they are not the first ones of `source`.

    The first event is compared, and the last ones: their times and ids are in no other log.
    """
    length = await last_before(target, math.inf, 0)
    if not length:
        return 0
    first = max(await source.removed(), await target.removed())
    for seq in dict.fromkeys(max(n, first) for n in (0, length - _LAST, length - 1)):
        there = await target.read_since(seq, _LAST)
        ours = await source.read_since(seq, len(there))
        for one, other in zip(ours, there, strict=False):
            if one != other:
                raise InvalidInput(
                    f"the log to copy to has another event {other.seq} (of {other.point!r}): it is "
                    "not the beginning of the log to copy from. Copy into an empty database or a "
                    "new file."
                )
        if len(ours) < len(there):
            raise InvalidInput(
                "the log to copy to goes on where the one to copy from ends, after "
                f"{counted(seq + len(ours), 'event')}: it was written to since. Copy into an empty "
                "database or a new file."
            )
    return length
