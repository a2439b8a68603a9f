"""What a storage does: it keeps the log and the snapshots. One file a storage."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from lexbandit.service.events import Event, Snapshot, Stored

LARGEST_PAGE = 16 * 2**20
"""A page of events that is read ends when their bodies have so many bytes."""


class StorageFailed(Exception):
    """The storage did not take something; whether it is there is not known, and nobody was told so.

    `final`: it takes nothing more until the process is started again.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def not_next(place: str, event: Stored) -> StorageFailed:
    """Return the error for an event of another log that does not follow on this one."""
    return StorageFailed(
        f"{place}: its log does not end right before event {event.seq}, which was to be copied "
        "there: something else writes to it. Copy into an empty database or a new file.",
        final=True,
    )


class StorageInUse(Exception):
    """Another process has this storage, and it cannot be shared."""


class Storage(ABC):
    """A log of events, and snapshots of what they lead to.

    `shared`: other processes append to the same log.

    Of the four methods only `append` is in anybody's way, so it alone must be quick.
    """

    shared: bool

    @abstractmethod
    async def open(self) -> None:
        """Make ready: create or migrate what is missing. `StorageInUse` if it is another's."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""

    @abstractmethod
    async def append(self, events: Sequence[Event]) -> list[Stored]:
        """Append events at the end, all or none, and return them as stored.

        When this returns they are on disk and survive a loss of power. They follow each other
        without gaps, in the order given, at one time.
        """

    @abstractmethod
    async def read_since(self, seq: int, limit: int) -> list[Stored]:
        """Return the events after `seq` in their order, at most `limit` (CorruptLog if damaged).

        They are fewer where they are large: a page ends with the event that brings it to
        `LARGEST_PAGE` bytes. Only at the log's end there are none.
        """

    @abstractmethod
    async def save_snapshot(self, point: str, definition: str, snapshot: Snapshot) -> None:
        """Keep a point's snapshot, made under a definition; the last two are kept."""

    @abstractmethod
    async def load_snapshot(self, point: str, definition: str) -> Snapshot | None:
        """Return the newest whole snapshot of a point under a definition, if there is one.

        A damaged one is passed over, with a warning, for the one before it.
        """

    async def restore(self, events: Sequence[Stored]) -> None:
        """Append events of another log as they are there, with their places and times.

        All or none, and none unless this log ends right before them. Only a log that others can be
        copied to needs it.
        """
        raise StorageFailed("another log cannot be copied to this storage.", final=True)


async def read_one(storage: Storage) -> None:
    """Open a storage, read the first event of its log and close it."""
    await storage.open()
    try:
        await storage.read_since(0, 1)
    finally:
        await storage.close()
