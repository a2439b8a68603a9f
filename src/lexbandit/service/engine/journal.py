"""The log as a process uses it: events are written together, and taken in the log's order."""

import asyncio
import logging
import time
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import accumulate

from lexbandit.service.engine.point import Outcome
from lexbandit.service.events import CorruptLog, Event
from lexbandit.service.storage import Storage, StorageFailed

log = logging.getLogger("lexbandit.service")

# So many events are read at once from the log.
PAGE = 200
# How often to try, in seconds, whether a storage that failed is well again.
_PROBE = 0.5
# Events are folded for so long at a time, in seconds, before others are answered.
_AT_ONCE = 0.005
# A storage that takes longer than this, in seconds, is one that does not answer.
_STALLED = 1.0

# Takes an event of the log; returns what became of each of its rows.
Fold = Callable[[Event], Sequence[Outcome]]


# When it is done, the event is on disk and folded.
Appended = asyncio.Future[Sequence[Outcome]]


# The upper ends of the buckets of durations, in seconds; one more bucket has what took longer.
ENDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Durations:
    """A histogram of seconds."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(ENDS) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count something that took so long."""
        self.counts[bisect_left(ENDS, seconds)] += 1
        self.total += seconds

    def cumulated(self) -> list[tuple[str, float]]:
        """Return the buckets as Prometheus wants them: how many took at most so long."""
        ends = [*map(str, ENDS), "+Inf"]
        return [(end, float(n)) for end, n in zip(ends, accumulate(self.counts), strict=True)]


class Journal:
    """Appends events in groups and folds every event of the log, each once, in its order.

    While one group is being written the next one gathers, so a commit serves all who wait. Events
    of other processes are read before an own one is folded that comes after them.

    seq       the last event that was folded
    commits   how long groups took to be written
    trouble   why nothing is written now; None if all is well
    """

    def __init__(
        self, storage: Storage, fold: Fold, fold_many: Callable[[Sequence[Event]], None], seq: int
    ) -> None:
        self.storage = storage
        self.seq = seq
        self.trouble: str | None = None
        self.commits = Durations()
        self._fold = fold
        self._fold_many = fold_many
        self._time = 0.0  # of the last event
        self._heard = 0.0  # when the log was last heard of, by the monotonic clock
        self._waiting: list[tuple[Event, Fold, Appended]] = []
        self._wake = asyncio.Event()
        self._order = asyncio.Lock()  # one at a time folds, so that the order is the log's
        self._began: float | None = None  # when the storage was asked what it did not answer yet
        self.last_commits: deque[float] = deque([0.0], maxlen=64)
        self._closing = self._broken = False
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def ordered(self) -> AsyncIterator[None]:
        """Let one at a time read or write the log."""
        async with self._order:
            self._began = time.monotonic()
            try:
                yield
            finally:
                self._began = None

    @property
    def stalled(self) -> str | None:
        """Why nothing is to be had of the storage now: it does not answer."""
        waited = 0.0 if self._began is None else time.monotonic() - self._began
        return f"the storage has not answered for {waited:.0f} s." if waited > _STALLED else None

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._write_groups())

    async def stop(self) -> None:
        """Write what waits, then end."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    @property
    def queued(self) -> int:
        """How many events wait to be written."""
        return len(self._waiting)

    def append(self, event: Event, fold: Fold | None = None) -> Appended:
        """Have an event written and folded, by `fold` if it is given; to be awaited."""
        self._check_open()
        if self._closing:
            raise StorageFailed("the service is stopping.")
        done: Appended = asyncio.get_running_loop().create_future()
        self._waiting.append((event, fold or self._fold, done))
        self._wake.set()
        return done

    def withdraw(self, appended: Appended) -> bool:
        """Take an event back that still waits to be written; False if it is under way."""
        for n, (_, _, done) in enumerate(self._waiting):
            if done is appended:
                del self._waiting[n]
                return True
        return False

    def _check_open(self) -> None:
        if self._broken:
            raise StorageFailed(str(self.trouble), final=True)

    def now(self) -> float:
        """Return the log's time, by what was last heard of it."""
        return self._time + time.monotonic() - self._heard

    async def _write_groups(self) -> None:
        while self._waiting or not self._closing:
            await self._wake.wait()
            self._wake.clear()
            group, self._waiting = deque(self._waiting), []
            if group:
                async with self.ordered():
                    await self._write(group)

    async def _write(self, group: deque[tuple[Event, Fold, Appended]]) -> None:
        """Write a group; each who waits gets an answer or an error, never silence.

        What was folded leaves the group, so that a large batch is not freed all at once.
        """
        try:
            self._check_open()  # it may have broken since they came
            began = time.monotonic()
            stored = await self.storage.append([event for event, _, _ in group])
            took = time.monotonic() - began
            self.commits.note(took)
            self.last_commits.append(took)
            await self._catch_up(stored[0].seq - 1)
            if self.seq != stored[0].seq - 1:
                raise CorruptLog(f"event {self.seq + 1} of the log is missing.")
            began = time.monotonic()
            for event in stored:
                _, fold, done = group[0]
                outcome = self._take(event, fold)
                if not done.done():
                    done.set_result(outcome)
                group.popleft()
                if time.monotonic() > began + _AT_ONCE:
                    await asyncio.sleep(0)  # let others be answered
                    began = time.monotonic()
            self._heard = time.monotonic()
            self._is_well()
        except Exception as error:  # whatever it is, those who wait must know
            self.fail(error)
            if isinstance(error, CorruptLog):
                error = StorageFailed(str(error), final=True)
            for _, _, done in group:
                if not done.done():
                    done.set_exception(error)

    def fail(self, error: BaseException) -> None:
        """Say what is wrong, once; after what is final nothing more is written."""
        known, self.trouble = self.trouble is not None, str(error)
        if isinstance(error, StorageFailed | CorruptLog):
            final = isinstance(error, CorruptLog) or error.final
            again = known and final <= self._broken
            self._broken |= final
            log.log(logging.DEBUG if again else logging.ERROR, "the log has failed: %s", error)
        else:  # an event may be half folded: this state is not the log's any more
            self._broken = True
            log.error("nothing more is written, by an error of ours", exc_info=error)

    def _is_well(self) -> None:
        """Say that what was wrong is over; what is final is not."""
        if self.trouble is not None and not self._broken:
            log.info("the log is written and read again")
            self.trouble = None

    def _take(self, event: Event, fold: Fold) -> Sequence[Outcome]:
        self._check_time(event)
        outcome = fold(event)
        self.seq, self._time = event.seq, event.time
        return outcome

    def _check_time(self, event: Event) -> None:
        if event.time < self._time:
            raise CorruptLog(
                f"event {event.seq} of the log was damaged: its time lies before the one before. "
                "Restore the log from a backup."
            )

    async def _catch_up(self, last: int | None = None, page: int = PAGE) -> int:
        """Fold the events that others wrote, up to `last`, a page at a time; returns how many."""
        taken = 0
        while last is None or self.seq < last:
            limit = page if last is None else min(page, last - self.seq)
            events = await self.storage.read_since(self.seq, limit)
            if not events:
                break
            if events[0].seq != self.seq + 1:
                raise CorruptLog(
                    f"event {self.seq + 1} of the log was removed by `lexbandit compact` or "
                    "`retain` before this process took it. Start again."
                )
            self._check_time(events[0])  # a storage checks the others
            self._fold_many(events)
            self.seq, self._time = events[-1].seq, events[-1].time
            self._heard = time.monotonic()
            taken += len(events)
        return taken

    async def catch_up(self, page: int = PAGE) -> int:
        """Fold what is in the log and was not folded yet; returns how many events."""
        async with self.ordered():
            self._check_open()
            return await self._catch_up(page=page)

    async def follow(self, every: float) -> None:
        """Fold what other processes write, within `every` seconds, until what is wrong is final."""
        while not self._broken:
            await asyncio.sleep(every)
            try:
                await self.catch_up()
            except Exception as error:
                self.fail(error)

    async def recover(self, every: float = _PROBE) -> None:
        """While something is wrong, try every so many seconds whether it is over.

        A service that is not ready gets no requests, so it must find out by itself.
        """
        while not self._broken:
            await asyncio.sleep(every)
            if self.trouble is not None:
                try:
                    await self.storage.probe()
                    await self.catch_up()
                except Exception as error:
                    self.fail(error)
                else:
                    self._is_well()
