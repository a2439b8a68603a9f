"""Fold many events of a log at once, with the outcome of `Point.fold` for one after the other.

Bodies are decoded to what is needed of them, contexts are encoded by columns, and what the policy
learns from rewards is worked out by compiled loops, a block at a time. An event that is not as most
are is folded by `Point.fold`, in its place.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
from msgspec import Struct

from lexbandit.chooser.log_blocks import LogBlock
from lexbandit.errors import InvalidInput
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
_kind, _id, _arm, _key = itemgetter(3), attrgetter("id"), attrgetter("arm"), attrgetter("key")


def fold_many(point: Point, events: Sequence[Event]) -> None:
    """Fold events of a point, all after those it has taken."""
    first = 0
    kinds = list(map(_kind, events))
    others = [] if _KINDS.issuperset(kinds) else [n for n, k in enumerate(kinds) if k not in _KINDS]
    for n in others:
        _fold_blocks(point, events[first:n])
        point.fold(events[n])
        first = n + 1
    _fold_blocks(point, events[first:] if first else events)


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
    later, by `_settle`: before an event is folded alone, and at the end.
    """

    def __init__(self, point: Point, events: Sequence[Event]) -> None:
        self._point = point
        self._events = events
        self._block = LogBlock(point.chooser)
        self.lock = self._block.lock
        # The rows of decisions of all events: what they say, their times, versions, and the places
        # of their events among all.
        self._decisions: list[_Decision] = []
        self._times: list[float] = []
        self._versions: list[int] = []
        self._owners: list[int] = []
        self._pending: list[Any] = []  # as they are stored; None: not as most are
        self._rewards: list[_Reward] = []
        # How many events, and rows of decisions, were folded and brought up to date.
        self._folded = self._settled = 0
        # Since the last `_settle`: rewards that were learned, defaults among them (of which
        # decisions, when, and after how many rows of decisions), and what else the history has.
        self._noted: list[tuple[str, dict[str, float], float, int]] = []
        self._late: list[float] = []
        self._expired: list[tuple[float, int]] = []
        self._defaults = 0  # of the rewards

    def fold(self) -> None:
        """Fold the events in their order."""
        sizes = self._decode()
        point, block = self._point, self._block
        past, stored, keep = point.past, block.pending, block.keep
        ids, keys = list(map(_id, self._decisions)), list(map(_key, self._decisions))
        made, versions, rewards = self._pending, self._versions, self._rewards
        note, collect = self._noted.append, block.reward
        row = reward = 0  # the next rows of decisions and of rewards
        for n, (event, size) in enumerate(zip(self._events, sizes, strict=True)):
            fine = event[1] < point.look_at or (size != 0 and self._pass_time(event, row))
            if size == 1:
                id = ids[row]
                if fine and made[row] is not None and id not in stored:
                    if len(stored) >= keep:
                        block.drop_oldest()
                    stored[id] = made[row]
                    if keys[row] is not None:
                        point.keep_key(_tuple(AnsweredRequest, (id, keys[row], versions[row])))
                    if past:
                        past.pop(id, None)
                else:
                    self._fold_alone(n, row, 1)
                row += 1
            elif size == -1:
                one = rewards[reward]
                if fine and one.id not in past and collect(reward, one.id):
                    note((one.id, one.values, event[1], row))
                    point.version = event[0]
                elif not (fine and self._reward_late(event, one)):
                    self._fold_alone(n, row)
                reward += 1
            else:
                self._fold_several(n, size, row, reward, fine=fine)
                row, reward = row + max(size, 0), reward - min(size, 0)
        self._settle(len(sizes), row)

    def _fold_several(self, n: int, size: int, row: int, reward: int, *, fine: bool) -> None:
        """Fold an event of several rows, from these rows of decisions and rewards on."""
        if size > 0 and fine and self._decide_many(row, row + size):
            return
        if size < 0 and fine and self._reward_many(self._events[n], row, reward, reward - size):
            return
        self._fold_alone(n, row, max(size, 0))

    def _decode(self) -> list[int]:
        """Decode and check the events; returns how many rows each has, negative for rewards.

        An event with 0 must be folded alone.
        """
        events = self._events
        decided = [n for n, event in enumerate(events) if event[3] == "decisions"]
        given = [n for n, event in enumerate(events) if event[3] == "rewards"]
        sizes = [0] * len(events)
        bodies = _decoded(_decode_decisions, [events[n] for n in decided])
        for n, body in zip(decided, bodies, strict=True):
            if body is not None:
                rows = body.rows
                sizes[n] = size = len(rows)
                if size == 1:  # the usual case
                    self._decisions.append(rows[0])
                    self._versions.append(body.version)
                    self._owners.append(n)
                else:
                    self._decisions += rows
                    self._versions += [body.version] * size
                    self._owners += [n] * size
        self._times = [events[n][1] for n in self._owners]
        for n, body in zip(
            given, _decoded(_decode_rewards, [events[n] for n in given]), strict=True
        ):
            if body is not None:
                sizes[n] = -len(body.rows)
                self._rewards += body.rows
        self._pending = self._block.decisions(self._decisions, self._times)
        self._block.rewards(self._rewards)
        return sizes

    def _decide_many(self, first: int, end: int) -> bool:
        """Store the decisions of an event; False if it must be folded alone."""
        point, block, rows = self._point, self._block, self._decisions
        stored = block.pending
        if any(self._pending[n] is None or rows[n].id in stored for n in range(first, end)):
            return False
        for n in range(first, end):
            if len(stored) >= block.keep:
                block.drop_oldest()
            stored[rows[n].id] = self._pending[n]
            key = rows[n].key
            if key is not None:
                point.keep_key(AnsweredRequest(rows[n].id, key, self._versions[n]))
            point.past.pop(rows[n].id, None)
        return True

    def _reward_late(self, event: Event, row: _Reward) -> bool:
        """Keep rewards of a decision whose time is over; False if they must be folded alone."""
        point = self._point
        try:
            if row.id not in point.past or point.rewarded(row.id, row.values) is not None:
                return False
        except InvalidInput:
            return False
        point.keep_late(row.id, row.values)
        self._late.append(event.time)
        return True

    def _reward_many(self, event: Event, after: int, first: int, end: int) -> bool:
        """Store the rewards of an event with several rows; False if it must be folded alone."""
        rows, past, block = self._rewards[first:end], self._point.past, self._block
        if len({row.id for row in rows}) < len(rows):
            return False
        if any(row.id in past or not block.fits(n, row.id) for n, row in enumerate(rows, first)):
            return False
        for n, row in enumerate(rows, first):
            block.reward(n, row.id)
            self._noted.append((row.id, row.values, event.time, after))
        self._point.version = event.seq
        return True

    def _pass_time(self, event: Event, after: int) -> bool:
        """Do what `Point.pass_time` does; False if the event must be folded alone."""
        point, time = self._point, event.time
        if not self._block.defers:
            return False
        gone = self._block.expire(time)
        for one in gone:
            point.past[one.id] = _tuple(PastDecision, (*one[:5], {}))
            point.keys.pop(one.id, None)
            if one.defaults:
                self._noted.append((one.id, one.defaults, time, after))
                self._defaults += len(one.defaults)
        if gone:
            point.trim_past()
            point.version = event.seq
            self._expired.append((time, len(gone)))
        point.look_at = self._block.due or time + (point.definition.wait or math.inf)
        return True

    def _fold_alone(self, n: int, row: int, size: int = 0) -> None:
        """Fold event n by itself, after all that comes before it; it has rows of decisions."""
        self._settle(n, row)
        own = [k for k in range(row, row + size) if self._pending[k] is not None]
        self._block.uncount(self._decisions[k].context for k in own)
        self._point.fold(self._events[n])
        self._folded, self._settled = n + 1, row + size

    def _settle(self, end: int, row: int) -> None:
        """Bring the point to where it is before event number `end` and this row of decisions."""
        point, block, counts = self._point, self._block, self._point.counts
        block.learn()
        self._extend_history(row)
        if row > self._settled:
            counts["decisions"] += row - self._settled
            block.recorded(row - self._settled, row)
        for name, count in (
            ("rewards", sum([len(one[1]) for one in self._noted]) - self._defaults),
            ("late", len(self._late)),
            ("expired", sum(gone for _, gone in self._expired)),
            ("events", end - self._folded),
        ):
            if count:
                counts[name] += count
        if end > self._folded:
            point.enter(self._events[end - 1])
            point.seq = self._events[end - 1].seq
        self._folded, self._settled, self._defaults = end, row, 0
        for notes in (self._noted, self._late, self._expired):
            notes.clear()

    def _extend_history(self, row: int) -> None:
        """Add to the history what happened since the last `_settle`."""
        history, rows = self._point.history, self._decisions[self._settled : row]
        ids, given, when, after = zip(*self._noted, strict=True) if self._noted else [()] * 4
        rewards: dict[str, Any] = {}
        for name in dict.fromkeys(chain.from_iterable(given)):
            try:  # the usual case: all have it
                rewards[name] = when, [values[name] for values in given]
            except KeyError:
                some = [(t, v[name]) for t, v in zip(when, given, strict=True) if name in v]
                rewards[name] = tuple(zip(*some, strict=True))
        history.extend(
            (self._times[self._settled : row], list(map(_arm, rows))),
            rewards,
            self._late,
            self._expired,
        )
        recent: dict[str, int] = {}
        for n in range(max(self._settled, row - RECENT), row):
            event = self._events[self._owners[n]]
            first = bisect_left(self._owners, self._owners[n])
            history.keep(event.time, read_body(event)["rows"][n - first])
            recent[self._decisions[n].id] = n
        known = history.recent_ids
        for k, id in enumerate(ids):
            # An id may have been used again, after rewards of its first decision.
            if id in known and recent.get(id, -1) < after[k]:
                history.reward_recent(id, given[k])


def _decoded(decode: Any, events: Sequence[Event]) -> list[Any]:
    """Return the bodies of events, decoded at once; None for one that is not as most are."""
    try:
        found: list[Any] = decode(b"[%b]" % b",".join([event[4] for event in events]))
        return found
    except msgspec.MsgspecError:
        if len(events) == 1:
            return [None]
    return [_decoded(decode, [event])[0] for event in events]
