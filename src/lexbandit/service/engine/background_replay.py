"""Replay a point's log under a changed definition, while the definition before it serves.

The new state is folded in a thread, beside the requests. Snapshots of it are saved on the way, so
that a process that is killed goes on where it stopped. At the log's end it takes the old state's
place, between two events.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from lexbandit.service.engine.blocks import fold_many
from lexbandit.service.engine.journal import Journal
from lexbandit.service.engine.point import Point
from lexbandit.service.events import CorruptLog, Snapshot, by_columns
from lexbandit.service.storage import Storage, StorageFailed

log = logging.getLogger("lexbandit.service")

# So many events are read and folded at once; how often to report progress and to save a snapshot,
# in seconds; and how long to wait after the storage failed.
_PAGE = 5_000
_REPORT, _SAVE, _REST = 5.0, 10.0, 1.0


class Replay:
    """The replay of one point.

    point      the new state
    stopped    why it cannot go on; None while it does
    """

    def __init__(
        self,
        point: Point,
        storage: Storage,
        journal: Journal,
        *,
        progress: dict[str, float],
        switch: Callable[[Point], None],
        erased: Callable[[], int],
        skip_untaken: bool,
    ) -> None:
        self.point = point
        self.stopped: str | None = None
        self._storage = storage
        self._journal = journal
        self._progress = progress  # by point, the share of the log that was replayed
        self._switch = switch
        self._erased = erased  # the last event by which the point that serves forgot contexts
        self._skip_untaken = skip_untaken
        self._first = point.seq
        progress[point.name] = 0.0

    async def run(self) -> None:
        """Replay the log to its end, then take the place of the point that serves."""
        name, reported, saved = self.point.name, time.monotonic(), time.monotonic()
        log.info(
            "%s: its definition has changed; its log is replayed while the one before serves", name
        )
        while self.stopped is None:
            try:
                more = await self._page()
                if time.monotonic() - saved > _SAVE:
                    await self.save()
                    saved = time.monotonic()
                if not more:
                    async with self._journal.ordered():
                        while await self._page():
                            pass
                        if self.stopped is None:
                            self._switch(self.point)
                            log.info("%s: the changed definition serves from here on", name)
                    return
            except StorageFailed as error:
                log.warning("%s: the replay of its log waits: %s", name, error)
                await asyncio.sleep(_REST)
            except CorruptLog as error:
                self._stop(str(error))
            if time.monotonic() - reported > _REPORT:
                reported = time.monotonic()
                log.info("%s: replayed %.0f %%", name, 100 * self._progress[name])

    async def save(self) -> None:
        """Save a snapshot, from which the next process goes on.

        Not of a state that may hold contexts which were erased since.
        """
        point = self.point
        if point.begun and not self._unfit() and point.seq >= self._erased():
            data = await asyncio.to_thread(point.packer())
            await self._storage.save_snapshot(
                point.name, point.definition.fingerprint, Snapshot(point.seq, data)
            )
            if point.seq < self._erased():  # meanwhile
                await self._storage.remove_snapshots(point.name, self._erased())

    async def _page(self) -> bool:
        """Fold the next events; returns whether there were any."""
        point = self.point
        page = by_columns(await self._storage.read_since(point.seq, _PAGE, point.name))
        if await self._storage.removed() > point.seq:
            raise CorruptLog("events that were to be learned have left the log. Start again.")
        events = page.until(self._journal.seq)
        folding = asyncio.create_task(asyncio.to_thread(fold_many, point, events))
        try:
            await asyncio.shield(folding)
        except asyncio.CancelledError:
            await folding  # it cannot be broken off, and what it changes is saved afterwards
            raise
        if self._unfit():
            self._stop(
                f"{point.unfit:,} decisions and rewards of the log do not fit its changed "
                f"definition, the first one at {point.first_unfit} The definition of before goes "
                "on. Put it back, or start once with --skip-untaken to go on without them."
            )
        learned, all_of_it = point.seq - self._first, self._journal.seq - self._first
        self._progress[point.name] = min(learned / max(all_of_it, 1), 1.0)
        return bool(events) and self.stopped is None

    def _unfit(self) -> bool:
        return bool(self.point.unfit) and not self._skip_untaken

    def _stop(self, reason: str) -> None:
        self.stopped = reason
        log.error("%s: %s", self.point.name, reason)
