"""The interface of a storage: a log of events, and snapshots. One file a storage."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, Self

from lexbandit.service.events import CorruptLog, Event, Snapshot

LARGEST_PAGE = 16 * 2**20
"""A page of events that is read ends when their bodies have so many bytes."""


class SnapshotKey(NamedTuple):
    """Which snapshot: of a point, made under a definition, after an event."""

    point: str
    definition: str
    seq: int


class StorageFailed(Exception):
    """A write failed. Whether it is on disk is not known; it was not acknowledged.

    `final`: it takes nothing more until the process is started again.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def _not_supported(what: str) -> StorageFailed:
    return StorageFailed(f"a log in this storage cannot be {what}.", final=True)


def not_next(place: str, event: Event) -> StorageFailed:
    """Return the error for an event of another log that does not follow on this one."""
    return StorageFailed(
        f"{place}: its log does not end right before event {event.seq}, which was to be copied "
        "there: something else writes to it. Copy into an empty database or a new file.",
        final=True,
    )


def hidden(first: int, removed: int) -> CorruptLog:
    """Return the error for a log with an event that is said to be removed."""
    return CorruptLog(
        f"the log says that its events up to {removed} were removed, and event {first} is there: "
        "that mark was damaged. Restore the log from a backup."
    )


class StorageInUse(StorageFailed):
    """Another process has this storage, and it cannot be shared."""


class Storage(ABC):
    """A log of events, and snapshots of what they lead to.

    `shared`: other processes append to the same log.

    The abstract methods are enough to serve; without the others a log cannot be compacted, erased
    from or copied to. Only `append` is in anybody's way, so it must be quick, and no other call may
    hold it up for long.
    """

    shared: bool

    @abstractmethod
    async def open(self) -> None:
        """Make ready: create what is missing. `StorageInUse` if it is another's."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def clock_ahead(self) -> float | None:
        """Return by how many seconds the clock that gives events their time is after the last one.

        As it was when the storage was opened; negative if it is before it, None for an empty log.
        """
        return None

    async def size(self) -> int | None:
        """Return how many bytes the log and its snapshots take; None if that is not known."""
        return None

    async def probe(self) -> None:
        """Write to the disk what changes nothing; `StorageFailed` if that cannot be done now."""
        await self.read_since(0, 1)

    @abstractmethod
    async def append(self, events: Sequence[Event]) -> list[Event]:
        """Append events at the end, all or none, and return them as stored.

        When this returns they are on disk and survive a loss of power. They follow each other
        without gaps, in the order given, at one time.
        """

    @abstractmethod
    async def read_since(self, seq: int, limit: int, point: str | None = None) -> Sequence[Event]:
        """Return the events after `seq` in their order, at most `limit` (CorruptLog if damaged).

        Those of one point if it is named. They are fewer where they are large: a page ends with the
        event that brings it to `LARGEST_PAGE` bytes. Only at the log's end there are none. Where
        the log's beginning was removed, it begins after that. `Events` are replayed the fastest.
        """

    async def events(self, seq: int, page: int, point: str | None = None) -> AsyncIterator[Event]:
        """Yield the events after `seq` as `read_since` returns them, `page` of them at a time."""
        while events := await self.read_since(seq, page, point):
            for event in events:
                yield event
            seq = events[-1].seq

    @abstractmethod
    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Save a point's snapshot, made under a definition; the last two are stored."""

    @abstractmethod
    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest whole snapshot of a point under a definition, if there is one.

        A damaged one is passed over, with a warning, for the one before it.
        """

    async def snapshots(self) -> list[SnapshotKey]:
        """Return which snapshots there are, the newest of each point first."""
        return []

    async def remove_snapshots(
        self, point: str, before: int, definition: str | None = None
    ) -> None:
        """Remove the snapshots of a point after events before `before`, maybe of one definition."""
        raise _not_supported("removed")

    async def removed(self) -> int:
        """Return the last event that was removed from the log's beginning; 0 if none was."""
        return 0

    async def first_events(self) -> Sequence[Event]:
        """Return those of the removed events that say which arms a point has, in their order."""
        return []

    async def points(self) -> list[str]:
        """Return the points that have events in the log."""
        raise _not_supported("listed by point")

    @asynccontextmanager
    async def removing_alone(self) -> AsyncIterator[bool]:
        """Tell whether this process may remove events: of those that share a log, one at a time."""
        yield True

    async def remove_until(self, seq: int) -> int:
        """Remove some events from the log's beginning, none after `seq`, and not the last one.

        Returns the last one removed by now. Few are removed at a time, so that nobody waits for
        long: call it until it returns `seq`, or what it returned before.
        """
        raise _not_supported("removed")

    async def rewrite(self, events: Sequence[Event]) -> None:
        """Replace the bodies of events, in the log or among `first_events`: all or none."""
        raise _not_supported("changed")

    async def shrink(self) -> None:  # noqa: B027 - nothing to do is right too
        """Return the space of what was removed to the file system, where that is possible."""

    async def check_rest(self) -> None:  # noqa: B027 - nothing to do is right too
        """Raise `CorruptLog` for damage that reading all events does not show."""

    async def begin_at(self, removed: int, first: Sequence[Event]) -> None:
        """Let an empty log begin as another one whose beginning was removed. See `restore`."""
        raise _not_supported("copied to")

    def reader(self) -> "Storage":
        """Return a storage on the same log that only reads, for another thread."""
        raise _not_supported("read by another thread")

    async def restore(self, events: Sequence[Event]) -> None:
        """Append events of another log as they are there, with their numbers and times.

        All or none, and none unless this log ends right before them. Only a log that others can be
        copied to needs it.
        """
        raise _not_supported("copied to")
