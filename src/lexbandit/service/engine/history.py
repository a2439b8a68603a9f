"""What happened over time at a decision point, in bounded memory: for the dashboard.

There are two series: `whole`, everything since the beginning in at most 240 buckets whose width
doubles when they run out, from a second on, and `hour`, the last hour in buckets of half a minute.
Events are counted in a bucket of their own until a bucket of either series is over, and then added
to both. Beside them stand the last 50 decisions.

Times come from the log, so the same events lead to the same history, before and after a restart.
"""

import math
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, convert, to_builtins

from lexbandit.checks import Floats, Integers
from lexbandit.kernels.welford import add_numbers

MOST_BUCKETS = 240
"""So many buckets a series has at most."""
RECENT = 50
"""How many of the last decisions are stored."""
_HOUR, _HALF_MINUTE = 3600.0, 30.0
# A reward beyond this counts as this, so that no square is infinite.
_MOST = 1e140
# Makes a named tuple in half the time.
_tuple = tuple.__new__

Spread = list[int | float]
"""Count and mean of rewards, and the sum of their squared distances from it (Welford 1962).

Plain sums of squares have no digits left for what 1.7e9 and 1.7e9 + 10 differ by."""


def _bounded(value: float) -> float:
    return value if -_MOST < value < _MOST else math.copysign(_MOST, value)


def _add(into: Spread, value: float) -> None:
    """Add a reward."""
    count, mean, squares = into
    count += 1
    apart = value - mean
    mean += apart / count
    into[:] = count, mean, squares + apart * (value - mean)


def _add_many(into: Spread, values: Floats) -> None:
    """Add rewards one after the other, as `_add` does."""
    spread = np.array(into, np.float64)
    add_numbers(spread, values)
    count, mean, squares = spread.tolist()
    into[:] = int(count), mean, squares


def _put_together(into: Spread, other: Spread) -> None:
    """Add the rewards of another stretch (Chan, Golub and LeVeque 1979)."""
    before, mean, squares = into
    more, other_mean, other_squares = other
    count = before + more
    apart = other_mean - mean
    share = more / count
    into[:] = (
        count,
        mean + apart * share,
        squares + other_squares + apart * apart * before * share,
    )


class Bucket(Struct):
    """What happened in a stretch of time."""

    arms: dict[str, int] = {}  # of each its own
    rewards: dict[str, Spread] = {}
    late: int = 0
    expired: int = 0

    def add(self, other: "Bucket") -> None:
        """Add what happened in another stretch."""
        for arm, count in other.arms.items():
            self.arms[arm] = self.arms.get(arm, 0) + count
        for name, spread in other.rewards.items():
            _put_together(self.rewards.setdefault(name, [0, 0.0, 0.0]), spread)
        self.late += other.late
        self.expired += other.expired


class Series:
    """Buckets by their place: floor(time / width). Stretches in which nothing happened have none.

    With `span` the series forgets what is older than so many seconds; without, its width doubles
    whenever more than `MOST_BUCKETS` widths lie between the first bucket and the last.
    """

    def __init__(self, width: float, span: float | None = None) -> None:
        self.width = width
        self.span = span
        self.buckets: dict[int, Bucket] = {}

    def add(self, time: float, bucket: Bucket) -> None:
        """Add what happened around `time`, which lies in the last bucket or after it."""
        place = math.floor(time / self.width)
        if self.span is None:
            while self.buckets and place - next(iter(self.buckets)) >= MOST_BUCKETS:
                self._double()
                place = math.floor(time / self.width)
        else:
            oldest = place - math.ceil(self.span / self.width)
            while self.buckets and next(iter(self.buckets)) <= oldest:
                del self.buckets[next(iter(self.buckets))]
        self.buckets.setdefault(place, Bucket()).add(bucket)

    def end(self, time: float) -> float:
        """Return when the bucket of a moment ends."""
        return (math.floor(time / self.width) + 1) * self.width

    def _double(self) -> None:
        """Make buckets twice as wide: each takes in its neighbour."""
        self.width *= 2.0
        old, self.buckets = self.buckets, {}
        for place, bucket in old.items():
            self.buckets.setdefault(place // 2, Bucket()).add(bucket)

    def plain(self) -> dict[str, Any]:
        """Return the series as plain values."""
        buckets = [[place, to_builtins(bucket)] for place, bucket in self.buckets.items()]
        return {"width": self.width, "span": self.span, "buckets": buckets}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Series":
        """Return a series from what `plain` returned."""
        series = cls(plain["width"], plain["span"])
        series.buckets = {place: convert(bucket, Bucket) for place, bucket in plain["buckets"]}
        return series


class Recent(NamedTuple):
    """A recent decision as the log has it, and the rewards that came so far."""

    time: float
    row: Mapping[str, Any]
    rewards: dict[str, float]


class History:
    """What happened over time, by the events of the log, added in their order."""

    def __init__(self) -> None:
        self._series = {"whole": Series(1.0), "hour": Series(_HALF_MINUTE, _HOUR)}
        self._now = Bucket()
        self._latest = 0.0  # when something last happened
        self._end = -math.inf  # when `_now` is over; -inf: nothing happened yet
        self._recent: OrderedDict[str, Recent] = OrderedDict()

    def _open(self, time: float) -> Bucket:
        """Return the bucket of a moment; what was before it is over."""
        if time >= self._end:
            if self._end > -math.inf:
                for series in self._series.values():
                    series.add(self._latest, self._now)
                self._now = Bucket()
            self._end = min(series.end(time) for series in self._series.values())
        self._latest = time
        return self._now

    def decided(self, time: float, arms: Sequence[str]) -> None:
        """Count decisions, a whole batch of them."""
        counts = self._open(time).arms
        for arm in arms:
            counts[arm] = counts.get(arm, 0) + 1

    def keep(self, time: float, row: Mapping[str, Any]) -> None:
        """Keep a decision among the last ones: a row of the log, with its id.

        Of a batch only the last `RECENT` need be added.
        """
        recent = self._recent
        recent.pop(row["id"], None)  # an id that is used again is a decision of now
        recent[row["id"]] = _tuple(Recent, (time, row, {}))
        if len(recent) > RECENT:
            recent.popitem(last=False)

    def forget(self, ids: Iterable[str]) -> None:
        """Forget decisions of late, with their contexts."""
        for id in ids:
            self._recent.pop(id, None)

    def rewarded(self, time: float, objective: str, value: float, id: str | None = None) -> None:
        """Count a reward that was learned, a default among them; `id` is its decision."""
        value = _bounded(value)
        rewards = self._open(time).rewards
        _add(rewards.setdefault(objective, [0, 0.0, 0.0]), value)
        if id is not None and id in self._recent:
            self._recent[id].rewards[objective] = value

    def extend(
        self,
        decided: tuple[Floats, Sequence[str]],
        rewards: Mapping[str, tuple[Floats, Floats]],
        late: Floats,
        expired: tuple[Floats, Integers],
    ) -> None:
        """Count what happened over a stretch of time, as the calls for each of it do.

        Each has its times, in order: those of decisions with their arms, of rewards by objective
        with their values, of late rewards, and of decisions whose time was over with their number.
        """
        (times, arms), (whens, numbers) = decided, expired
        columns = [times, late, whens, *(when for when, _ in rewards.values())]
        moments = [column.tolist() for column in columns]
        bounded = {name: np.clip(values, -_MOST, _MOST) for name, (_, values) in rewards.items()}
        done = [0] * len(moments)
        while left := [one[n] for one, n in zip(moments, done, strict=True) if n < len(one)]:
            bucket = self._open(min(left))
            first = done
            done = [bisect_left(one, self._end, n) for one, n in zip(moments, done, strict=True)]
            self._latest = max(one[n - 1] for one, n in zip(moments, done, strict=True) if n)
            for arm, count in Counter(arms[first[0] : done[0]]).items():
                bucket.arms[arm] = bucket.arms.get(arm, 0) + count
            bucket.late += done[1] - first[1]
            bucket.expired += int(numbers[first[2] : done[2]].sum())
            for n, (name, values) in enumerate(bounded.items(), 3):
                if first[n] < done[n]:
                    spread = bucket.rewards.setdefault(name, [0, 0.0, 0.0])
                    _add_many(spread, values[first[n] : done[n]])

    @property
    def recent_ids(self) -> Collection[str]:
        """The ids of the last decisions."""
        return self._recent.keys()

    def reward_recent(self, id: str, values: Mapping[str, float]) -> None:
        """Note the rewards of a decision that is one of the last ones."""
        for name, value in values.items():
            self._recent[id].rewards[name] = _bounded(value)

    def late(self, time: float) -> None:
        """Count a reward that came after its time."""
        self._open(time).late += 1

    def expired(self, time: float, n: int) -> None:
        """Count decisions whose time was over."""
        if n:
            self._open(time).expired += n

    def recent(self) -> list[Recent]:
        """Return the last decisions, the newest first."""
        return list(reversed(self._recent.values()))

    def buckets(self, series: str) -> Iterator[tuple[float, float, Bucket]]:
        """Yield begin, end and contents of the buckets of "whole" or "hour", the oldest first.

        The last one ends with the second of the last event.
        """
        one = self._series[series]
        last = None if self._end == -math.inf else math.floor(self._latest / one.width)
        first = -math.inf
        if one.span is not None and last is not None:
            first = last - math.ceil(one.span / one.width) + 1
        for place, bucket in one.buckets.items():
            if first <= place != last:
                yield place * one.width, (place + 1) * one.width, bucket
        if last is not None:
            now = Bucket()
            now.add(one.buckets.get(last, Bucket()))
            now.add(self._now)
            yield last * one.width, math.floor(self._latest) + 1.0, now

    def width(self, series: str) -> float:
        """Return how many seconds a bucket of "whole" or "hour" spans."""
        return self._series[series].width

    def plain(self) -> dict[str, Any]:
        """Return the history as plain values, as JSON holds them."""
        return {
            "series": {name: series.plain() for name, series in self._series.items()},
            "now": None if self._end == -math.inf else [self._latest, to_builtins(self._now)],
            "recent": [
                [one.time, dict(one.row), dict(one.rewards)] for one in self._recent.values()
            ],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "History":
        """Return a history from what `plain` returned; it goes on as that one would."""
        history = cls()
        history._series = {name: Series.from_plain(one) for name, one in plain["series"].items()}
        if plain["now"] is not None:
            time, now = plain["now"]
            history._open(time)
            history._now = convert(now, Bucket)
        for time, row, rewards in plain["recent"]:
            history._recent[row["id"]] = Recent(time, row, dict(rewards))
        return history
