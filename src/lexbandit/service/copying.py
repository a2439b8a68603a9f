"""A log copied into another storage: the same events, in the same places, at the same times.

The state of every decision point follows from its events, so it is the same there, bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lexbandit.errors import InvalidInput, counted
from lexbandit.service.events import Stored
from lexbandit.service.storage import Storage
from lexbandit.service.storage.base import LARGEST_PAGE

# So many events are copied at once, or fewer where they are large.
_PAGE = 2_000
# So many bytes, about, are written at once.
_PART = 2**20


class Copied(NamedTuple):
    """How many events were there already, and how many were copied."""

    there: int
    copied: int


async def copy(source: Storage, target: Storage, progress: Callable[[int], None]) -> Copied:
    """Copy what `target` has not yet.

    What it has must be the beginning of `source`, event by event; then the copy goes on from there,
    as after one that was stopped. `progress` is told how many events are the same by now.
    """
    begun = await _same(source, target, progress)
    seq, more = begun, True
    while more and (page := await source.read_since(seq, _PAGE)):
        for part in _parts(page):
            await target.restore(part)
            seq = part[-1].seq
            progress(seq)
        # What comes since is not waited for: from a log that is served there may be always more.
        more = len(page) == _PAGE or sum(len(one.body) for one in page) >= LARGEST_PAGE
    return Copied(begun, seq - begun)


def _parts(page: Sequence[Stored]) -> Iterator[list[Stored]]:
    """Split a page, so that a slow connection takes each part in time."""
    part: list[Stored] = []
    size = 0
    for event in page:
        part.append(event)
        size += len(event.body)
        if size >= _PART:
            yield part
            part, size = [], 0
    if part:
        yield part


async def _same(source: Storage, target: Storage, progress: Callable[[int], None]) -> int:
    """Return how many events `target` has; refuse those that `source` has not."""
    seq = 0
    while there := await target.read_since(seq, _PAGE):
        ours = await source.read_since(seq, len(there))
        for one, other in zip(ours, there, strict=False):
            if one != other:
                raise InvalidInput(
                    f"the log to copy to has another event {other.seq} (of {other.point!r}): it is "
                    "not the beginning of the log to copy from. Copy into an empty database or a "
                    "new file."
                )
            seq = one.seq
        if not ours:
            raise InvalidInput(
                f"the log to copy to goes on where the one to copy from ends, after "
                f"{counted(seq, 'event')}: it was written to since. Copy into an empty database "
                "or a new file."
            )
        progress(seq)
    return seq
