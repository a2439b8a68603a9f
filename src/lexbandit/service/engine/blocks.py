"""Fold many events of a log at once, with the outcome of `Point.fold` for one after the other.

Bodies are decoded to what is needed of them, contexts are encoded by columns, and what the policy
learns from rewards is worked out by compiled loops, a block at a time. An event that is not as most
are is folded by `Point.fold`, in its place.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Struct

from lexbandit.checks import Floats
from lexbandit.chooser.log_blocks import LogBlock
from lexbandit.errors import InvalidInput
from lexbandit.service.engine.history import RECENT
from lexbandit.service.engine.point import AnsweredRequest, Point
from lexbandit.service.events import Event, read_body

# So many events are folded together, at most.
_BLOCK = 10_000


class _Decision(Struct):
    id: str
    arm: str
    propensity: float | None
    context: dict[str, Any] | None
    allowed: list[str] | None = None
    key: str | None = None


class _Decisions(Struct):
    version: int
    rows: list[_Decision] = []


class _Reward(Struct):
    id: str
    values: dict[str, Any]


class _Rewards(Struct):
    rows: list[_Reward]


_decisions = msgspec.json.Decoder(_Decisions).decode
_rewards = msgspec.json.Decoder(_Rewards).decode


def fold_many(point: Point, events: Sequence[Event]) -> None:
    """Fold events of a point, all after those it has taken."""
    first = 0
    for n, event in enumerate(events):
        if event.kind not in ("decisions", "rewards"):
            _fold_blocks(point, events[first:n])
            point.fold(event)
            first = n + 1
    _fold_blocks(point, events[first:])


def _fold_blocks(point: Point, events: Sequence[Event]) -> None:
    """Fold events of decisions and rewards."""
    if events and not point.begun:
        point.fold(events[0])  # refuses it
    for start in range(0, len(events), _BLOCK):
        block = _Block(point)
        with block.lock:
            block.fold(events[start : start + _BLOCK])


class _Block:
    """A block of events of decisions and rewards.

    What happened is counted here and told to the point a second at a time (its history), before an
    event is folded alone, and at the end.
    """

    def __init__(self, point: Point) -> None:
        self._point = point
        self._block = LogBlock(point.chooser)
        self.lock = self._block.lock
        # Decisions that leave may teach something then: a default, or rewards told in parts.
        self._leaving_teaches = not self._block.defers or any(
            objective.default is not None for objective in point.chooser.objectives
        )
        self._time = 0.0  # of what waits for the history
        self._arms: list[str] = []
        self._decided: list[tuple[Event, int]] = []  # which row of which event
        self._rewarded: list[tuple[str, dict[str, float]]] = []
        self._events = self._counted = 0
        self._last: Event | None = None

    def fold(self, events: Sequence[Event]) -> None:
        """Fold the events in their order."""
        point, history = self._point, self._point.history
        bodies = _decoded(events)
        decide, reward, taken = self._decide, self._reward, False
        for event, body, points in zip(events, bodies, self._encoded(bodies), strict=True):
            time = event.time
            if time >= history.end:
                self._count()
            self._time = time
            over = time >= point.look_at
            if body is None or (over and self._leaving_teaches):
                taken = False
            else:
                if over:
                    point.enter(event)
                    point.pass_time(time)
                if points is not None:
                    taken = decide(event, body.version, body.rows, points)
                else:
                    taken = body.__class__ is _Rewards and reward(event, body.rows)
            if taken:
                self._last = event
                self._events += 1
            else:
                self._fold_alone(event, body, points)
        self._settle()

    def _encoded(self, bodies: Sequence[Any]) -> list[list[Floats] | None]:
        """Return the points of an event's decisions, for each event whose can be recorded here."""
        takes = self._block.takes
        contexts: list[Any] = []
        sizes = []
        for body in bodies:
            size = 0
            if body.__class__ is _Decisions and all(map(takes, body.rows)):
                contexts += [row.context for row in body.rows]
                size = len(body.rows)
            sizes.append(size)
        points = self._block.points(contexts)
        if points is None:
            return [None] * len(bodies)
        ends = accumulate(sizes)
        return [points[end - size : end] or None for size, end in zip(sizes, ends, strict=True)]

    def _decide(
        self, event: Event, version: int, rows: Sequence["_Decision"], points: list[Floats]
    ) -> bool:
        """Record the decisions of an event; False if they must be taken alone."""
        point, block = self._point, self._block
        try:
            masks = [block.mask(row.arm, row.allowed) for row in rows]
        except InvalidInput:
            return False
        held, past = block.held, point.past
        for row in rows:
            if row.id in held:
                return False
        for n, row in enumerate(rows):
            id = row.id
            if row.key is not None:
                self._tell_recent()  # an id of a caller's own may be used again
                point.keep_key(id, AnsweredRequest(row.key, version))
            block.record(id, row.arm, row.propensity, points[n], masks[n], event.time)
            if past:
                past.pop(id, None)
            self._arms.append(row.arm)
            self._decided.append((event, n))
        return True

    def _reward(self, event: Event, rows: Sequence["_Reward"]) -> bool:
        """Note the rewards of an event; False if they must be taken alone."""
        block = self._block
        if not block.defers:
            return False
        if len(rows) > 1:
            if len({row.id for row in rows}) < len(rows):
                return False
            if any(block.rewards_of(row.id, row.values) is None for row in rows):
                return False
        for row in rows:
            id, values = row.id, row.values
            if not block.reward(id, values):
                return False  # it is the only one
            self._rewarded.append((id, values))
        self._point.version = event.seq
        return True

    def _fold_alone(self, event: Event, body: Any, points: list[Floats] | None) -> None:
        """Fold an event by itself, after all that comes before it."""
        self._settle()
        if points is not None:
            for row in body.rows:
                self._block.uncount(row.context)
        self._point.fold(event)

    def _settle(self) -> None:
        """Bring the point to where it would be."""
        self._block.learn()
        self._tell_recent()
        if self._last is not None:
            self._point.enter(self._last)
            self._point.seq = self._last.seq
            self._point.counts["events"] += self._events
            self._events, self._last = 0, None

    def _count(self) -> None:
        """Count in the history what happened in the last second."""
        history = self._point.history
        if self._arms:
            history.decided(self._time, self._arms)
            self._arms = []
        columns: dict[str, list[float]] = {}
        for _, values in self._rewarded[self._counted :]:
            for name, value in values.items():
                if name in columns:
                    columns[name].append(value)
                else:
                    columns[name] = [value]
        for name, column in columns.items():
            history.rewarded_many(self._time, name, column)
            self._point.counts["rewards"] += len(column)
        self._counted = len(self._rewarded)

    def _tell_recent(self) -> None:
        """Tell the history which decisions are the last ones, and their rewards."""
        history = self._point.history
        if self._decided:
            self._point.counts["decisions"] += len(self._decided)
        for event, n in self._decided[-RECENT:]:
            history.keep(event.time, read_body(event)["rows"][n])
        self._count()
        for id, values in self._rewarded:
            history.reward_recent(id, values)
        self._decided, self._rewarded, self._counted = [], [], 0


def _decoded(events: Sequence[Event]) -> list[Any]:
    """Return what events say; None for one that is not as most are."""
    bodies: list[Any] = []
    for event in events:
        try:
            decode = _decisions if event.kind == "decisions" else _rewards
            body: Any = decode(event.body)
        except msgspec.MsgspecError:
            body = None
        bodies.append(body if body is not None and body.rows else None)
    return bodies
