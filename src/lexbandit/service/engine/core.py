"""What an engine runs on: the points, their log, and the work that goes on beside requests."""

import asyncio
import logging
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.durations import Times
from lexbandit.service.engine.background_replay import Replay
from lexbandit.service.engine.journal import Appended, Journal
from lexbandit.service.engine.point import Outcome, Point, Prepared
from lexbandit.service.engine.snapshots import Snapshots
from lexbandit.service.events import CorruptLog, Event, Kind, Stored, body_of
from lexbandit.service.maintenance.compact import compact
from lexbandit.service.storage import Storage, StorageFailed

log = logging.getLogger("lexbandit.service")

_TICK = 1.0
# How often to look for events that are older than `retain`, in seconds, at most.
_RETAIN = 3600.0
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class EngineCore:
    """What an `Engine` is made of; use that."""

    def __init__(
        self, points: Mapping[str, Point], storage: Storage, *, seq: int, snapshot_every: int
    ) -> None:
        self.points = dict(points)
        self.definitions = {name: point.definition for name, point in points.items()}
        """As the configuration has them; a point may serve one of before while it is replayed."""
        self.replays: dict[str, Replay] = {}
        """By point, the replays that have not ended."""
        self.storage = storage
        self.replica = secrets.token_hex(4)
        self._journal = Journal(storage, self._fold, seq)
        self._snapshots = Snapshots(self, snapshot_every)
        self.replay_progress: dict[str, float] = {}
        """By point, the share of its log that was replayed so far under a changed definition."""
        self._tasks: list[asyncio.Task[None]] = []
        self.draining = False
        """The process is about to end: it is not ready, and still serves."""

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work go on beside the requests; if it ends by an error, nothing more is written."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._journal.fail(error)

    async def stop(self) -> None:
        """Answer what is under way, keep a last snapshot, and close the storage."""
        await self._journal.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.trouble is None:
            for replay in self.replays.values():
                await replay.keep(self)
            await self._snapshots.take()
        await self.storage.close()

    def folding(self) -> AbstractAsyncContextManager[None]:
        """Keep others from folding events for a moment."""
        return self._journal.ordered()

    def switch(self, point: Point) -> None:
        """Let a point serve in place of the one of its name, at the same event."""
        self.points[point.name] = point
        del self.replays[point.name], self.replay_progress[point.name]
        self._snapshots.forget(point.name)

    async def keep_snapshots(self) -> None:
        """Keep a snapshot of every point that changed since its last one."""
        await self._snapshots.take()

    async def keep_two_snapshots(self) -> None:
        """Keep two snapshots of every point, which both hold all events so far."""
        for _ in range(2):
            for point in self.points:
                await self.append(point, "tick", {})
            await self.keep_snapshots()

    @property
    def trouble(self) -> str | None:
        """Why nothing is taken now; None if all is well."""
        return self._journal.trouble or self._journal.stalled

    @property
    def commit_seconds(self) -> float:
        """How long the storage takes to write, at its best of late."""
        return min(self._journal.last_commits)

    @property
    def snapshot_seconds(self) -> float:
        """How long the last snapshots took."""
        return self._snapshots.seconds

    @property
    def snapshot_age(self) -> float:
        """How many seconds ago the last snapshots were kept; 0 if nothing happened since."""
        return self._snapshots.age

    @property
    def queued(self) -> int:
        """How many events wait to be written."""
        return self._journal.queued

    @property
    def commits(self) -> Times:
        """How long groups of events took to be written."""
        return self._journal.commits

    @property
    def seq(self) -> int:
        """The last event of the log that was folded."""
        return self._journal.seq

    def point(self, name: str) -> Point:
        """Return a decision point."""
        try:
            return self.points[name]
        except KeyError:
            raise unknown_name("decision point", name, self.points) from None

    def _fold(self, stored: Stored, prepared: Prepared | None) -> Sequence[Outcome]:
        point = self.points.get(stored.point)
        if point is None or stored.seq <= point.seq:  # not served here, or in its snapshot already
            return ()
        outcome = point.fold(stored, prepared)
        self._snapshots.folded += len(outcome)
        return outcome

    def append(
        self, point: str, kind: Kind, body: dict[str, Any], prepared: Prepared | None = None
    ) -> Appended:
        """Have an event written and folded; to be awaited."""
        return self._journal.append(_tuple(Event, (point, kind, body_of(body))), prepared)

    async def _retain(self, seconds: float, archive: Path | None) -> None:
        """Remove events from the log now and then that are older than so many seconds."""
        told: tuple[str, ...] = ()
        while True:
            await asyncio.sleep(min(_RETAIN, seconds / 10))
            if self.replays:
                continue  # they still read what is old
            definitions = {name: point.definition for name, point in self.points.items()}
            before = self._journal.now() - seconds
            try:
                done = await compact(self.storage, definitions, before=before, archive=archive)
            except (StorageFailed, CorruptLog, InvalidInput, OSError) as error:
                log.warning("no events were removed from the log: %s", error)
                continue
            if done.events:
                log.info("events=%d were removed, up to event %d", done.events, done.removed)
            if done.blocked != told:
                told = done.blocked
                log.warning(
                    "events stay in the log for points that are not served: %s. "
                    "`lexbandit compact --forget` removes them.",
                    ", ".join(told),
                )

    async def _tick(self) -> None:
        """Let time pass in the log where something waits for it and nothing else happens."""
        while True:
            await asyncio.sleep(_TICK)
            now = self._journal.now()
            for point in self.points.values():
                due = point.chooser.due
                if due is not None and due <= now:
                    try:
                        await self.append(point.name, "tick", {})
                    except StorageFailed as error:
                        log.warning("%s: time cannot pass: %s", point.name, error)
                        if error.final:
                            return
