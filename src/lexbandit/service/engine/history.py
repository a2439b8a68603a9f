"""What happened over time at a decision point, in bounded memory: for the dashboard.

Events fall into a second of the log's time. A second that is over is added to two series: `whole`,
everything since the beginning in at most 240 buckets whose width doubles when they run out, and
`hour`, the last hour in buckets of half a minute. Beside them stand the last 50 decisions.

Times come from the log, so the same events lead to the same history, before and after a restart.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

MOST_BUCKETS = 240
"""So many buckets a series has at most."""
RECENT = 50
"""How many of the last decisions are stored."""
_HOUR, _HALF_MINUTE = 3600.0, 30.0
# A reward beyond this counts as this, so that no square is infinite.
_MOST = 1e140
# Makes a named tuple in half the time.
_tuple = tuple.__new__

Spread = list[float]
"""Count and mean of rewards, and the sum of their squared distances from it (Welford 1962).

Plain sums of squares have no digits left for what 1.7e9 and 1.7e9 + 10 differ by."""


def _put_together(into: Spread, other: Spread) -> None:
    """Add the rewards of another stretch (Chan, Golub and LeVeque 1979)."""
    count = into[0] + other[0]
    apart = other[1] - into[1]
    share = other[0] / count
    into[2] += other[2] + apart * apart * into[0] * share
    into[1] += apart * share
    into[0] = count


class Bucket:
    """What happened in a stretch of time."""

    __slots__ = ("arms", "expired", "late", "rewards")

    def __init__(self) -> None:
        self.arms: Counter[str] = Counter()
        self.rewards: dict[str, Spread] = {}
        self.late = 0
        self.expired = 0

    def add(self, other: "Bucket") -> None:
        """Add what happened in another stretch."""
        for arm, count in other.arms.items():
            self.arms[arm] += count
        for name, spread in other.rewards.items():
            _put_together(self.rewards.setdefault(name, [0, 0.0, 0.0]), spread)
        self.late += other.late
        self.expired += other.expired

    def plain(self) -> dict[str, Any]:
        """Return the bucket as plain values."""
        return {
            "arms": dict(self.arms),
            "rewards": {name: list(spread) for name, spread in self.rewards.items()},
            "late": self.late,
            "expired": self.expired,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Bucket":
        """Return a bucket from what `plain` returned."""
        bucket = cls()
        bucket.arms.update(plain["arms"])
        bucket.rewards = {name: list(spread) for name, spread in plain["rewards"].items()}
        bucket.late, bucket.expired = plain["late"], plain["expired"]
        return bucket


class Series:
    """Buckets by their place: floor(time / width). Stretches in which nothing happened have none.

    With `span` the series forgets what is older than so many seconds; without, its width doubles
    whenever more than `MOST_BUCKETS` places lie between the first bucket and the last.
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
        if place not in self.buckets:
            self.buckets[place] = Bucket()
        self.buckets[place].add(bucket)

    def _double(self) -> None:
        """Make buckets twice as wide: each takes in its neighbour."""
        self.width *= 2.0
        old, self.buckets = self.buckets, {}
        for place, bucket in old.items():
            self.buckets.setdefault(place // 2, Bucket()).add(bucket)

    def plain(self) -> dict[str, Any]:
        """Return the series as plain values."""
        buckets = [[place, bucket.plain()] for place, bucket in self.buckets.items()]
        return {"width": self.width, "span": self.span, "buckets": buckets}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Series":
        """Return a series from what `plain` returned."""
        series = cls(plain["width"], plain["span"])
        series.buckets = {place: Bucket.from_plain(bucket) for place, bucket in plain["buckets"]}
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
        self._second = 0  # the one that `_now` is about
        self.end = -math.inf
        """When the second ends that is open; -inf: none is yet."""
        self._recent: OrderedDict[str, Recent] = OrderedDict()

    def _open(self, time: float) -> Bucket:
        """Return the bucket of a moment; the seconds before it are over."""
        if time >= self.end:
            self._close()
            self._second = math.floor(time)
            self.end = self._second + 1.0
        return self._now

    def _close(self) -> None:
        if self.end > -math.inf:
            for series in self._series.values():
                series.add(self._second, self._now)
            self._now = Bucket()

    def decided(self, time: float, arms: Sequence[str]) -> None:
        """Count decisions, a whole batch of them."""
        counts = (self._now if time < self.end else self._open(time)).arms
        if len(arms) == 1:
            counts[arms[0]] += 1
        else:
            counts.update(arms)

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
        if not -_MOST < value < _MOST:
            value = math.copysign(_MOST, value)
        rewards = (self._now if time < self.end else self._open(time)).rewards
        spread = rewards.get(objective)
        if spread is None:
            rewards[objective] = [1, value, 0.0]
        else:
            count, mean, squares = spread
            apart = value - mean
            mean += apart / (count + 1)
            spread[:] = count + 1, mean, squares + apart * (value - mean)
        if id is not None and id in self._recent:
            self._recent[id].rewards[objective] = value

    def rewarded_many(self, time: float, objective: str, values: Sequence[float]) -> None:
        """Count rewards of one second, as `rewarded` does one after the other."""
        rewards = (self._now if time < self.end else self._open(time)).rewards
        count, mean, squares = rewards.setdefault(objective, [0, 0.0, 0.0])
        for given in values:
            value = given if -_MOST < given < _MOST else math.copysign(_MOST, given)
            count += 1
            if count == 1:
                mean = value
                continue
            apart = value - mean
            mean += apart / count
            squares += apart * (value - mean)
        rewards[objective][:] = count, mean, squares

    def is_recent(self, id: str) -> bool:
        """Tell whether a decision is one of the last ones."""
        return id in self._recent

    def reward_recent(self, id: str, values: Mapping[str, float]) -> None:
        """Note the rewards of a decision that is one of the last ones."""
        for name, value in values.items():
            within = -_MOST < value < _MOST
            self._recent[id].rewards[name] = value if within else math.copysign(_MOST, value)

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
        last = None if self.end == -math.inf else math.floor(self._second / one.width)
        for place, bucket in one.buckets.items():
            if place != last:
                yield place * one.width, (place + 1) * one.width, bucket
        if last is not None:
            now = Bucket()
            now.add(one.buckets.get(last, Bucket()))
            now.add(self._now)
            yield last * one.width, self.end, now

    def width(self, series: str) -> float:
        """Return how many seconds a bucket of "whole" or "hour" spans."""
        return self._series[series].width

    def plain(self) -> dict[str, Any]:
        """Return the history as plain values, as JSON holds them."""
        return {
            "series": {name: series.plain() for name, series in self._series.items()},
            "now": None if self.end == -math.inf else [self._second, self._now.plain()],
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
            history._second, now = plain["now"]
            history.end = history._second + 1.0
            history._now = Bucket.from_plain(now)
        for time, row, rewards in plain["recent"]:
            history._recent[row["id"]] = Recent(time, row, dict(rewards))
        return history
