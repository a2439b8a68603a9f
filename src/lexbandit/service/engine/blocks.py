"""Fold many events of a log at once, with the outcome of `Point.fold` for one after the other.

Bodies are read and contexts are encoded by columns, and what the policy learns from rewards is
worked out by compiled loops, a block at a time. An event that is not as most are is folded by
`Point.fold`, in its place.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, repeat
from typing import Self

import numpy as np

from lexbandit.checks import Integers
from lexbandit.chooser.ledger import Pending
from lexbandit.chooser.log_blocks import Learned, LogBlock, Stretch, learns_in_blocks
from lexbandit.errors import InvalidInput
from lexbandit.service.engine.bodies import read_decisions, read_rewards
from lexbandit.service.engine.history import RECENT
from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point
from lexbandit.service.events import Event, Events, by_columns, read_body

_KINDS = frozenset(("decisions", "rewards"))
# So many events are folded together, at most.
_BLOCK = 10_000
# So many are folded one by one from the first one on that is not as most are: where there is one
# there often are more, and to begin a stretch takes as long as some events.
_ALONE = 20
# Makes a named tuple in half the time.
_tuple = tuple.__new__
# One for all decisions without late rewards; such a dict is never changed, but replaced.
_NONE_LATE: dict[str, float] = {}


def fold_many(point: Point, events: Sequence[Event]) -> None:
    """Fold events of a point, all after those it has taken.

    With several blocks the policy learns one in another thread while the next is read.
    """
    page = by_columns(events)
    with _Learning(at_once=len(page) <= _BLOCK) as learning:
        first = 0
        others = np.array([kind not in _KINDS for _, kind in page.names], np.bool_)
        for n in np.flatnonzero(others[page.labels]).tolist():
            _fold_blocks(point, page[first:n], learning)
            learning.finish()
            point.fold(page[n])
            first = n + 1
        _fold_blocks(point, page[first:], learning)


class _Learning:
    """What the policy learns, in another thread, in the order in which it is given.

    With `at_once` there is no thread: it is learned where a stretch is applied.
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self._thread = None if at_once else ThreadPoolExecutor(1, "lexbandit-learn")
        self._under_way: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.finish()
        finally:
            if self._thread is not None:
                self._thread.shutdown()

    def submit(self, learn: Callable[[Learned], None], learned: Learned) -> None:
        """Let a policy learn."""
        if self._thread is not None:
            self._under_way.append(self._thread.submit(learn, learned))

    def finish(self) -> None:
        """Wait until all is learned."""
        while self._under_way:
            self._under_way.popleft().result()


def _fold_blocks(point: Point, events: Events, learning: _Learning) -> None:
    """Fold events of decisions and rewards."""
    if not point.begun or not learns_in_blocks(point.chooser):
        for event in events:
            point.fold(event)
        return
    for start in range(0, len(events), _BLOCK):
        _Block(point, events[start : start + _BLOCK], learning).fold()


class _Block:
    """A block of events of decisions and rewards."""

    def __init__(self, point: Point, events: Events, learning: _Learning) -> None:
        self._point = point
        self._events = events
        self._times = events.times
        self._learning = learning
        definition = point.definition
        self._names = [objective.name for objective in definition.objectives]
        made = read_decisions(events, [feature.name for feature in definition.context])
        came = read_rewards(events, self._names)
        self._decisions, self._keys, self._versions, _ = made
        self._rewards = came.rewards
        self._alone = np.sort(np.concatenate([made.alone, came.alone])).tolist()
        self._block = LogBlock(point.chooser, self._times, self._decisions, self._rewards)

    def fold(self) -> None:
        """Fold the events in their order."""
        start = 0
        for stop in [*self._alone, len(self._events)]:
            while start < stop:
                start = self._fold_stretch(start, stop)
                if start < stop:
                    start = self._fold_alone(start, min(start + _ALONE, stop))
            if start < len(self._events):
                start = self._fold_alone(start, start + 1)

    def _fold_alone(self, start: int, end: int) -> int:
        """Fold events one by one; returns the next one."""
        self._learning.finish()
        self._block.uncount(start, end)
        for event in self._events[start:end]:
            self._point.fold(event)
        return end

    def _fold_stretch(self, start: int, end: int) -> int:
        """Fold events up to the first that must be folded alone; returns which that is."""
        point, block = self._point, self._block
        over, taken = point.past.keys(), point.keys.keys()
        stretch = block.plan(start, end, over, taken)
        stop, late = self._late(stretch)
        if stop < stretch.end:
            stretch = block.plan(start, stop, over, taken)
        if stop == start:
            return start
        block.apply(stretch, learn=self._learning.at_once)
        if not self._learning.at_once:
            self._learning.submit(block.learn, stretch.learned)
        events, expired = stretch.leaving.over()
        self._keep_keys(stretch, events, expired)
        self._keep_past(expired, late)
        self._extend_history(stretch, events)
        first, last = stretch.rows
        rewards = int(np.count_nonzero(~np.isnan(stretch.learned.values)))
        for name, count in (
            ("events", stop - start),
            ("decisions", last - first),
            ("rewards", rewards - stretch.defaulted),
            ("late", len(stretch.others)),
            ("expired", len(expired)),
        ):
            if count:
                point.counts[name] += count
        changes = [*stretch.learned.events[-1:], *events[-1:]]
        if changes:
            point.version = self._events[max(changes)].seq
        final = self._events[stop - 1]
        point.enter(final)
        point.seq = final.seq
        if point.definition.wait is not None:
            point.look_at = block.due or final.time + point.definition.wait
        return stop

    def _late(self, stretch: Stretch) -> tuple[int, dict[str, PastDecision]]:
        """Return up to which event it holds, and past decisions with the late rewards they got.

        That event is the first that must be folded alone, or else the end of the stretch. The time
        of these decisions was over before their rewards came.
        """
        if not stretch.others:
            return stretch.end, {}
        point, owners = self._point, self._rewards.events.tolist()
        past, keep = point.past, point.definition.keep
        leaving, expired = stretch.leaving.over()
        events = leaving.tolist()
        # The positions of decisions in `past`: the first ones leave when it is full.
        first = islice(past, max(len(past) + len(expired) - keep, 0))
        positions = {id: n for n, id in enumerate(first)}
        new = {one.id: n for n, one in enumerate(expired)}
        late: dict[str, PastDecision] = {}
        for n in stretch.others:
            id, event = self._rewards.ids[n], owners[n]
            k = new.get(id)
            before = late.get(id) or past.get(id)
            if before is None and k is not None and events[k] <= event:
                (before,) = self._past([expired[k]])
            position = len(past) + k if k is not None else positions.get(id, len(past))
            several = event in (*owners[max(n - 1, 0) : n], *owners[n + 1 : n + 2])
            if (
                before is None
                or several
                or position < len(past) + bisect_right(events, event) - keep
            ):
                return event, late
            try:
                values = zip(self._names, self._rewards.values[n].tolist(), strict=True)
                came = {name: value for name, value in values if not math.isnan(value)}
                after = point.with_late(before, came)
            except InvalidInput:
                return event, late
            if after is None:
                return event, late
            late[id] = after
        return stretch.end, late

    def _past(self, expired: Sequence[Pending]) -> list[PastDecision]:
        """Return decisions whose time is over."""
        ids, arms, _, _, propensities, since, rewards, _ = zip(*expired, strict=True)
        names = self._names
        came = [
            {name: value for name, value in zip(names, some, strict=True) if value is not None}
            if None in some
            else dict(zip(names, some, strict=True))
            for some in rewards
        ]
        played = map(self._block.arms.__getitem__, arms)
        fields = zip(ids, played, propensities, since, came, repeat(_NONE_LATE), strict=False)
        return list(map(_tuple, repeat(PastDecision), fields))

    def _keep_past(self, expired: Sequence[Pending], late: dict[str, PastDecision]) -> None:
        """Store decisions whose time is over, and the rewards that came late."""
        past = self._point.past
        if expired:
            past.extend([one[0] for one in expired], self._past(expired))
        for id, after in late.items():
            past[id] = after
        if expired:
            self._point.trim_past()

    def _keep_keys(self, stretch: Stretch, events: Integers, expired: Sequence[Pending]) -> None:
        """Store what callers' own ids stand for, and forget those of decisions that expired."""
        keys, keep, (first, last) = self._point.keys, self._point.definition.keep, stretch.rows
        ids, owners = self._decisions.ids[first:last], self._decisions.events[first:last]
        fields = zip(ids, self._keys[first:last], self._versions[first:last], strict=True)
        new = [one for one in map(_tuple, repeat(AnsweredRequest), fields) if one[1] is not None]
        if not expired or len(keys) + len(new) <= keep:  # then the order makes no difference
            keys.extend([one[0] for one in new], new)
            keys.remove([one[0] for one in expired])
            keys.drop_oldest(max(len(keys) - keep, 0))
            return
        left = deque(zip(events.tolist(), expired, strict=True))
        made = dict(zip(ids, owners.tolist(), strict=True))
        for one in new:
            while left and left[0][0] <= made[one.id]:
                keys.pop(left.popleft()[1].id)
            self._point.keep_key(one)
        for _, gone in left:
            keys.pop(gone.id)

    def _extend_history(self, stretch: Stretch, expired: Integers) -> None:
        """Add to the history what happened in a stretch."""
        history, times = self._point.history, self._times
        (first, last), learned = stretch.rows, stretch.learned
        names = self._names
        rewards = {}
        for name, column in zip(names, learned.values.T, strict=True):
            there = ~np.isnan(column)
            if there.any():
                rewards[name] = times[learned.events[there]], column[there]
        over, counts = np.unique(expired, return_counts=True)
        owners = self._decisions.events
        history.extend(
            (times[owners[first:last]], self._decisions.arms[first:last]),
            rewards,
            times[self._rewards.events[stretch.others]],
            (times[over], counts),
        )
        for n in range(max(first, last - RECENT), last):
            event = self._events[owners[n]]
            row = n - int(np.searchsorted(owners, owners[n]))
            history.keep(event.time, read_body(event)["rows"][row])
        known, ids = history.recent_ids, learned.decisions.ids
        for n in [n for n, id in enumerate(ids) if id in known]:
            values = zip(names, learned.values[n].tolist(), strict=True)
            history.reward_recent(ids[n], {k: v for k, v in values if not math.isnan(v)})
