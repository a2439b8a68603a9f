"""Fold many events of a log at once, with the outcome of `Point.fold` for one after the other.

Bodies are decoded to what is needed of them, contexts are encoded by columns, and what the policy
learns from rewards is worked out by compiled loops, a block at a time. An event that is not as most
are is folded by `Point.fold`, in its place.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from lexbandit.chooser.log_blocks import LogBlock
from lexbandit.service.engine.history import RECENT
from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point
from lexbandit.service.events import Event, read_body

_KINDS = frozenset(("decisions", "rewards"))
# So many events are folded together, at most.
_BLOCK = 10_000
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class _Decision(Struct, gc=False):
    id: str
    arm: str
    propensity: float | None
    context: dict[str, Any] | None
    allowed: list[str] | None = None
    key: str | None = None


class _Decisions(Struct, gc=False):
    version: int
    rows: list[_Decision] = []


class _Reward(Struct, gc=False):
    id: str
    values: dict[str, Any]


class _Rewards(Struct, gc=False):
    rows: list[_Reward]


_decode_decisions = msgspec.json.Decoder(list[_Decisions]).decode
_decode_rewards = msgspec.json.Decoder(list[_Rewards]).decode


def fold_many(point: Point, events: Sequence[Event]) -> None:
    """Fold events of a point, all after those it has taken."""
    first = 0
    others = [n for n, event in enumerate(events) if event.kind not in _KINDS]
    for n in others:
        _fold_blocks(point, events[first:n])
        point.fold(events[n])
        first = n + 1
    _fold_blocks(point, events[first:])


def _fold_blocks(point: Point, events: Sequence[Event]) -> None:
    """Fold events of decisions and rewards."""
    if events and not point.begun:
        point.fold(events[0])  # refuses it
    for start in range(0, len(events), _BLOCK):
        block = _Block(point, events[start : start + _BLOCK])
        with block.lock:
            block.fold()


class _Block:
    """A block of events of decisions and rewards.

    Decisions and rewards are stored in the order of the log. What follows from them is worked out
    later: the history is extended a second at a time, and all else is brought up to date by
    `_settle`, before an event is folded alone and at the end.
    """

    def __init__(self, point: Point, events: Sequence[Event]) -> None:
        self._point = point
        self._events = events
        self._block = LogBlock(point.chooser)
        self.lock = self._block.lock
        # The rows of decisions of all events: what they say, their events, versions.
        self._decisions: list[_Decision] = []
        self._owners: list[Event] = []
        self._versions: list[int] = []
        self._pending: list[Any] = []  # as they are stored; None: not as most are
        self._rewards: list[_Reward] = []
        # How many rows of decisions are past, were brought up to date, and are in the history.
        self._at = self._settled = self._counted = 0
        # Rewards that were learned since the last `_settle`, defaults among them: of which
        # decisions, and after how many rows of decisions.
        self._ids: list[str] = []
        self._values: list[dict[str, float]] = []
        self._after: list[int] = []
        self._counted_rewards = 0
        self._learned = 0  # values, without defaults
        self._time = 0.0  # of the events that are not in the history yet
        self._last: Event | None = None
        self._folded = 0

    def fold(self) -> None:
        """Fold the events in their order."""
        point, history = self._point, self._point.history
        sizes = self._decode()
        n = 0  # the next row of rewards
        for event, size in zip(self._events, sizes, strict=True):
            time = event.time
            if time >= history.end:
                self._count()
            self._time = time
            folded = size != 0 and (time < point.look_at or self._pass_time(event))
            if size > 0:
                folded = folded and self._decide(size)
                self._at += size
            elif size < 0:
                folded = folded and self._block.defers
                if size == -1:
                    folded = folded and self._reward(event, n)
                else:
                    folded = folded and self._reward_many(event, n, n - size)
                n -= size
            if folded:
                self._last = event
                self._folded += 1
            else:
                self._fold_alone(event, max(size, 0))
        self._settle()

    def _decode(self) -> list[int]:
        """Decode and check the events; returns how many rows each has, negative for rewards.

        An event with 0 must be folded alone.
        """
        decided = [event for event in self._events if event.kind == "decisions"]
        bodies = _decoded(_decode_decisions, decided)
        sizes = [0 if body is None else len(body.rows) for body in bodies]
        if sizes.count(1) == len(sizes):  # the usual case
            self._decisions = [body.rows[0] for body in bodies]
            self._versions = [body.version for body in bodies]
            self._owners = decided
        else:
            for event, body, size in zip(decided, bodies, sizes, strict=True):
                if size:
                    self._decisions += body.rows
                    self._versions += [body.version] * size
                    self._owners += [event] * size
        given = _decoded(_decode_rewards, [e for e in self._events if e.kind == "rewards"])
        rewards = [[] if body is None else body.rows for body in given]
        self._rewards = [row for rows in rewards for row in rows]
        self._pending = self._block.decisions(self._decisions, [e.time for e in self._owners])
        self._block.rewards(self._rewards)
        decisions, others = iter(sizes), iter([-len(rows) for rows in rewards])
        return [next(decisions if event.kind == "decisions" else others) for event in self._events]

    def _decide(self, size: int) -> bool:
        """Store the decisions of an event; False if it must be folded alone."""
        first, block, point = self._at, self._block, self._point
        stored, past = block.pending, point.past
        rows = range(first, first + size)
        for n in rows:
            if self._pending[n] is None or self._decisions[n].id in stored:
                return False
        for n in rows:
            row = self._decisions[n]
            if len(stored) >= block.keep:
                block.drop_oldest()
            stored[row.id] = self._pending[n]
            if row.key is not None:
                key = (row.id, row.key, self._versions[n])
                point.keep_key(_tuple(AnsweredRequest, key))
            if past:
                past.pop(row.id, None)
        return True

    def _reward(self, event: Event, n: int) -> bool:
        """Store the rewards of an event with one row; False if it must be folded alone."""
        row, point = self._rewards[n], self._point
        if row.id in point.past:  # it is late
            point.enter(event)
            point.take_rewards([{"id": row.id, "values": row.values}])
            return True
        if not self._block.reward(n, row.id):
            return False
        self._note(row.id, row.values)
        self._learned += len(row.values)
        point.version = event.seq
        return True

    def _reward_many(self, event: Event, first: int, end: int) -> bool:
        """Store the rewards of an event with several rows; False if it must be folded alone."""
        rows, past = self._rewards[first:end], self._point.past
        if len({row.id for row in rows}) < len(rows):
            return False
        fits = self._block.fits
        if any(row.id in past or not fits(n, row.id) for n, row in enumerate(rows, first)):
            return False
        return all(self._reward(event, n) for n in range(first, end))

    def _note(self, id: str, values: dict[str, float]) -> None:
        """Note rewards for the history."""
        self._ids.append(id)
        self._values.append(values)
        self._after.append(self._at)

    def _pass_time(self, event: Event) -> bool:
        """Do what `Point.pass_time` does; False if the event must be folded alone."""
        point, time = self._point, event.time
        if not self._block.defers:
            return False
        gone = self._block.expire(time)
        for one in gone:
            point.past[one.id] = _tuple(PastDecision, (*one[:5], {}))
            point.keys.pop(one.id, None)
            if one.defaults:
                self._note(one.id, one.defaults)
        if gone:
            point.trim_past()
            point.version = event.seq
            point.counts["expired"] += len(gone)
            point.history.expired(time, len(gone))
        point.look_at = self._block.due or time + (point.definition.wait or math.inf)
        return True

    def _fold_alone(self, event: Event, decisions: int) -> None:
        """Fold an event by itself, after all that comes before it; it has so many decisions."""
        at = self._at
        self._at -= decisions
        self._settle()
        own = [n for n in range(self._at, at) if self._pending[n] is not None]
        self._block.uncount(self._decisions[n].context for n in own)
        self._at = self._settled = self._counted = at
        self._point.fold(event)

    def _settle(self) -> None:
        """Bring the point to where it would be."""
        self._block.learn()
        self._count()
        self._keep_recent()
        decided = self._at - self._settled
        if decided:
            self._point.counts["decisions"] += decided
            self._block.recorded(decided, self._at)
            self._settled = self._at
        if self._learned:
            self._point.counts["rewards"] += self._learned
            self._learned = 0
        if self._last is not None:
            self._point.enter(self._last)
            self._point.seq = self._last.seq
            self._point.counts["events"] += self._folded
            self._folded, self._last = 0, None

    def _count(self) -> None:
        """Count in the history what happened in the last second."""
        history = self._point.history
        if self._counted < self._at:
            rows = self._decisions[self._counted : self._at]
            history.decided(self._time, [row.arm for row in rows])
            self._counted = self._at
        some = self._values[self._counted_rewards :]
        if some:
            names = dict.fromkeys(name for values in some for name in values)
            for name in names:
                column = [values[name] for values in some if name in values]
                history.rewarded_many(self._time, name, column)
            self._counted_rewards = len(self._values)

    def _keep_recent(self) -> None:
        """Add the last decisions, and rewards of recent ones, to the history."""
        history, rows = self._point.history, self._decisions
        positions: dict[str, int] = {}
        for n in range(max(self._settled, self._at - RECENT), self._at):
            event, first = self._owners[n], n
            while first and self._owners[first - 1] is event:
                first -= 1
            history.keep(event.time, read_body(event)["rows"][n - first])
            positions[rows[n].id] = n
        for k, id in enumerate(self._ids):
            # An id may have been used again, after rewards of its first decision.
            if history.is_recent(id) and positions.get(id, -1) < self._after[k]:
                history.reward_recent(id, self._values[k])
        self._ids, self._values, self._after, self._counted_rewards = [], [], [], 0


def _decoded(decode: Any, events: Sequence[Event]) -> list[Any]:
    """Return the bodies of events, decoded at once; None for one that is not as most are."""
    try:
        found: list[Any] = decode(b"[%b]" % b",".join([event.body for event in events]))
        return found
    except msgspec.MsgspecError:
        if len(events) == 1:
            return [None]
    return [_decoded(decode, [event])[0] for event in events]
