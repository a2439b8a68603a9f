"""Learn a point's log anew under a changed definition, while the one before serves.

The new state is folded beside the requests, in a thread. Snapshots of it are kept on the way, so
that a process that is killed goes on where it stopped. At the log's end it takes the old one's
place, between two events.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from lexbandit.service.engine.point import Point
from lexbandit.service.engine.snapshots import packer
from lexbandit.service.events import CorruptLog, Snapshot, Stored
from lexbandit.service.storage import StorageFailed

if TYPE_CHECKING:
    from lexbandit.service.engine.core import EngineCore

log = logging.getLogger("lexbandit.service")

# So many events are read and folded at once; how often to say how far it is and to keep a snapshot,
# in seconds; and how long to wait after the storage failed.
_PAGE = 500
_TELL, _KEEP, _REST = 5.0, 10.0, 1.0


class Replay:
    """The replay of one point.

    point      the new state
    stopped    why it cannot go on; None while it does
    """

    def __init__(self, point: Point, *, skip_untaken: bool) -> None:
        self.point = point
        self.stopped: str | None = None
        self._skip_untaken = skip_untaken
        self._first = point.seq

    def _progress(self, end: int) -> float:
        """Return which share of the log up to the event `end` was learned."""
        return min((self.point.seq - self._first) / max(end - self._first, 1), 1.0)

    async def run(self, engine: "EngineCore") -> None:
        """Learn the log to its end, then take the place of the point that serves."""
        name, told, kept = self.point.name, time.monotonic(), time.monotonic()
        log.info("%s: its definition has changed; the log is learned anew beside requests", name)
        while self.stopped is None:
            try:
                more = await self._page(engine)
                if time.monotonic() - kept > _KEEP:
                    await self.keep(engine)
                    kept = time.monotonic()
                if not more:
                    async with engine.folding():
                        while await self._page(engine):
                            pass
                        if self.stopped is None:
                            engine.switch(self.point)
                            log.info("%s: the changed definition serves from here on", name)
                    return
            except StorageFailed as error:
                log.warning("%s: learning the log anew waits: %s", name, error)
                await asyncio.sleep(_REST)
            except CorruptLog as error:
                self._stop(str(error))
            if time.monotonic() - told > _TELL:
                told = time.monotonic()
                log.info("%s: learned anew %.0f %%", name, 100 * engine.replay_progress[name])

    async def keep(self, engine: "EngineCore") -> None:
        """Keep a snapshot, from which the next process goes on."""
        point = self.point
        if point.begun and not self._unfit():
            data = await asyncio.to_thread(packer(point))
            await engine.storage.save_snapshot(
                point.name, point.definition.fingerprint, Snapshot(point.seq, data)
            )

    async def _page(self, engine: "EngineCore") -> bool:
        """Fold the next events; returns whether there were any."""
        point = self.point
        events = await engine.storage.read_since(point.seq, _PAGE, point.name)
        if await engine.storage.removed() > point.seq:
            raise CorruptLog("events that were to be learned have left the log. Start again.")
        events = [event for event in events if event.seq <= engine.seq]
        folding = asyncio.create_task(asyncio.to_thread(_fold, point, events))
        try:
            await asyncio.shield(folding)
        except asyncio.CancelledError:
            await folding  # it cannot be broken off, and what it changes is kept afterwards
            raise
        if self._unfit():
            self._stop(
                f"{point.unfit:,} decisions and rewards of the log do not fit its changed "
                f"definition, the first one at {point.first_unfit} The definition of before goes "
                "on. Put it back, or start once with --skip-untaken to go on without them."
            )
        engine.replay_progress[point.name] = self._progress(engine.seq)
        return bool(events) and self.stopped is None

    def _unfit(self) -> bool:
        return bool(self.point.unfit) and not self._skip_untaken

    def _stop(self, reason: str) -> None:
        self.stopped = reason
        log.error("%s: %s", self.point.name, reason)


def _fold(point: Point, events: list[Stored]) -> None:
    for event in events:
        point.fold(event)
