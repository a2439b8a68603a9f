"""What a chooser earned, and what always playing one arm would have given instead."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from lexbandit.chooser import received
from lexbandit.chooser.comparison import Difference, Judged, differences
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.received import Received
from lexbandit.chooser.waiting import Waiting
from lexbandit.decisions import enumerated
from lexbandit.errors import counted
from lexbandit.objectives import Objective

# So many arms are shown as text, the most played first.
_SHOWN = 10
# A share of decisions that only the model can judge is told from here on.
_TOLD = 0.05
# With fewer decisions it is too early to say that exploring is needed, or that rewards are missing.
_EARLY = 30
# Rewards that vary by a standard deviation of at most this share of a tolerance lie within it.
_WITHIN = 0.25
# So many arms that were never rewarded are named, by so many of the last decisions: copying all
# that may be kept takes too long.
_NAMED = 3
_HELD = 10_000


@dataclass(frozen=True)
class Mean:
    """An average with a 95 % interval; None where nothing is known.

    One reward that is neither 0 nor 1 gives an average, and no interval.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int

    def __str__(self) -> str:
        if self.value is None:
            return "nothing yet"
        if self.low is None or self.high is None:
            return f"{self.value:.4g}, by one reward"
        value, low, high = numbers(self.value, self.low, self.high)
        return f"{value} ({low} to {high})"


@dataclass(frozen=True)
class Summary:
    """What a chooser earned and learned.

    received    per objective, the average of the rewards told so far, as they were learned: one
                outside the range is its nearest end; with a 95 % interval
    against     per arm and objective, how much better the chooser did than always playing that arm
                would have, over the same decisions: unbiased, by the probabilities that arms had;
                each with a 95 % interval of its own
    plays       per arm, the rewarded decisions and the rows of logs that were learned from
    rows        how many rows of logs were learned from (`learn`); all else is without them
    outside     per objective, how many rewards lay outside its range
    ranges      per objective, its range
    contexts    per feature, how many values were outside its range, missing or unknown
    explore     the share of choices that are drawn uniformly
    notes       sentences on what may surprise: an objective or an arm that was never rewarded, a
                tolerance that nearly all rewards lie within
    """

    received: dict[str, Mean]
    against: dict[str, dict[str, Difference]]
    plays: dict[str, int]
    decisions: int
    waiting: int
    rows: int = 0
    outside: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    contexts: dict[str, dict[str, int]] = field(default_factory=dict)
    explore: float = 0.0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept = f"{self.waiting:,} kept for {'its' if self.waiting == 1 else 'their'} rewards"
        lines = [f"{counted(self.decisions, 'decision')}, {kept}."]
        if self.rows:
            lines.append(f"Learned from {counted(self.rows, 'row')} of logs besides.")
        lines.append(f"Rewarded plays: {self._shares()}.")
        wide = max(len(name) for name in self.received)
        if self.rows:
            lines.append("Its own decisions, without the logs:")
        for name, mean in self.received.items():
            lines.append(f"{name.ljust(wide)}  on average {mean}")
        lines += self._taken_otherwise()
        lines += self.notes
        lines += self._compared()
        return "\n".join(lines)

    def _by_plays(self) -> list[str]:
        """Return the arms, the most played first."""
        return sorted(self.plays, key=lambda arm: -self.plays[arm])

    def _shares(self) -> str:
        total = sum(self.plays.values())
        if not total:
            return "none yet"
        arms = list(self.plays) if len(self.plays) <= _SHOWN else self._by_plays()[:_SHOWN]
        shares = [f"{arm} {self.plays[arm] / total:.1%}" for arm in arms]
        rest = len(self.plays) - len(arms)
        return ", ".join([*shares, f"and {counted(rest, 'more arm')}"] if rest else shares)

    def _taken_otherwise(self) -> list[str]:
        """Say which rewards and context values were not taken as they were given."""
        lines = []
        for name, count in self.outside.items():
            if count:
                low, high = self.ranges[name]
                were = "was taken as its" if count == 1 else "were taken as its"
                lines.append(
                    f"{counted(count, 'reward')} of {name} lay outside its range {low:g} to "
                    f"{high:g} and {were} nearest end."
                )
        otherwise = [
            f"{count:,} of {name} ({note})"
            for name, counts in self.contexts.items()
            for note, count in counts.items()
        ]
        if otherwise:
            lines.append(f"Context values taken otherwise than given: {', '.join(otherwise)}.")
        return lines

    def _compared(self) -> list[str]:
        """Say what always playing each arm would have given, the most played first."""
        compared = [arm for arm in self._by_plays() if _rewards(self.against[arm])]
        if not compared:
            return ["Always playing one arm instead: nothing known yet."]
        lines = ["Always playing one arm instead would have been (95 % intervals):"]
        rewarded = max(mean.count for mean in self.received.values())
        for arm in compared[:_SHOWN]:
            lines.append(f"always {arm}: {self._line(arm, rewarded)}")
        rest = len(self.plays) - len(compared[:_SHOWN])
        if rest:
            lines.append(f"and {counted(rest, 'more arm')}.")
        return lines

    def _line(self, arm: str, rewarded: int) -> str:
        """Return how an arm compares in every objective, and on what that rests."""
        told = {name: one for name, one in self.against[arm].items() if one.decisions}
        unknown = [one for one in told.values() if one.value is None]
        if len(unknown) == len(told):
            return self._cannot_tell(unknown[0])
        notes = []
        modelled = max(one.modelled for one in told.values())
        if modelled >= _TOLD and not unknown:
            notes.append(f"{modelled:.0%} judged by the model")
        count = _rewards(told)
        if count < rewarded:
            notes.append(f"over the {count:,} of {counted(rewarded, 'decision')} that allowed it")
        line = ", ".join(f"{name} {_worse_or_better(one)}" for name, one in told.items())
        return f"{line} [{'; '.join(notes)}]" if notes else line

    def _cannot_tell(self, one: Difference) -> str:
        tried = f"it was tried {counted(one.tried, 'time')} in {counted(one.decisions, 'decision')}"
        early = self.explore > 0.0 or one.decisions < _EARLY
        remedy = "more decisions will tell" if early else "explore=0.05 would tell"
        return f"cannot tell: {tried}; {remedy}"


def _rewards(told: dict[str, Difference]) -> int:
    """Return over how many decisions an arm is compared, in the objective with the most."""
    return max(one.decisions for one in told.values())


def _worse_or_better(one: Difference) -> str:
    """Return in words how always playing an arm would have been, so that no sign has to be read."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    if one.low == one.high == 0.0:
        return "the same, since it was always played"
    value, near, far = -one.value, -one.high, -one.low
    texts = [_unsigned(text) for text in numbers(value, near, far)]
    middle = f"{texts[0]} {_direction(value)}"
    if near < 0.0 < far:
        return f"{middle} ({texts[1]} worse to {texts[2]} better)"
    ends = texts[1:] if abs(near) <= abs(far) else texts[:0:-1]
    return f"{middle} ({ends[0]} to {ends[1]})"


def _direction(gain: float) -> str:
    return "better" if gain > 0.0 else "worse"


def _unsigned(text: str) -> str:
    return text.removeprefix("-")


def numbers(value: float, low: float, high: float) -> list[str]:
    """Return an estimate and its ends with two digits of half the interval, at least."""
    half = (high - low) / 2.0
    if not half > 0.0:
        return [f"{number:.4g}" for number in (value, low, high)]
    digits = 1 - math.floor(math.log10(half))
    largest = max(abs(value), abs(low), abs(high))
    if digits > 9 or largest >= 1e15:
        return [f"{number:.4g}" for number in (value, low, high)]
    return [f"{round(number, digits):,.{max(digits, 0)}f}" for number in (value, low, high)]


class Taken(NamedTuple):
    """What a summary is made of, copied under the lock of the chooser."""

    arms: list[str]
    objectives: Sequence[Objective]
    received: list[Received]
    judged: Judged
    plays: list[int]
    decisions: int
    waiting: int
    rows: int
    outside: dict[str, int]
    contexts: dict[str, dict[str, int]]
    explore: float
    held: list[Waiting]


def taken_of(chooser: ChooserCore) -> Taken:
    """Return a copy of what a summary is made of."""
    ledger = chooser._ledger
    return Taken(
        arms=list(chooser._arms.names),
        objectives=chooser.objectives,
        received=list(ledger.received),
        judged=ledger.comparison.judged(),
        plays=list(ledger.plays),
        decisions=ledger.made,
        waiting=len(ledger.room),
        rows=ledger.rows,
        outside=dict(ledger.outside),
        contexts={name: dict(counts) for name, counts in chooser.contexts.counts.items()},
        explore=chooser.explore,
        held=list(islice(reversed(ledger.room.held.values()), _HELD)) if 0 in ledger.plays else [],
    )


def summarized(taken: Taken) -> Summary:
    """Return the summary."""
    binary = [sums.binary for sums in taken.received]
    return Summary(
        received={
            objective.name: _mean(sums, objective)
            for objective, sums in zip(taken.objectives, taken.received, strict=True)
        },
        against=differences(taken.judged, taken.arms, taken.objectives, binary),
        plays=dict(zip(taken.arms, taken.plays, strict=True)),
        decisions=taken.decisions,
        waiting=taken.waiting,
        rows=taken.rows,
        outside=taken.outside,
        ranges={objective.name: objective.range for objective in taken.objectives},
        contexts=taken.contexts,
        explore=taken.explore,
        notes=(*_unrewarded_objectives(taken), *_unrewarded_arms(taken), *_all_as_good(taken)),
    )


def _unrewarded_objectives(taken: Taken) -> Iterator[str]:
    """Yield a sentence for each objective without a reward, while others have some."""
    if taken.rows or max(sums.number for sums in taken.received) < _EARLY:
        return
    for objective, sums in zip(taken.objectives, taken.received, strict=True):
        if not sums.number:
            yield (
                f"{objective.name} was never rewarded: any arm may be the best in it, so it tells "
                "none apart."
            )


def _unrewarded_arms(taken: Taken) -> Iterator[str]:
    """Yield a sentence for arms that are chosen, and whose rewards never come."""
    unrewarded = (one for one in taken.held if all(value is None for value in one.rewards))
    chosen = Counter(waiting.arm for waiting in unrewarded)
    silent = {
        taken.arms[arm]: count
        for arm, count in chosen.most_common()
        if not taken.plays[arm] and count >= _EARLY and sum(taken.plays) >= _EARLY
    }
    told = [f"{name} ({counted(count, 'decision')})" for name, count in silent.items()][:_NAMED]
    if len(silent) > _NAMED:
        told.append(counted(len(silent) - _NAMED, "more arm"))
    if told:
        yield (
            f"Rewards never came for {enumerated(told)}: an arm of which nothing is known goes on "
            "being tried."
        )


def _all_as_good(taken: Taken) -> Iterator[str]:
    """Yield a sentence for each tolerance that is larger than the spread of the rewards."""
    if sum(plays > 0 for plays in taken.plays) < 2:
        return
    later = [objective.name for objective in taken.objectives[1:]]
    for objective, sums, following in zip(taken.objectives, taken.received, later, strict=False):
        if sums.number < _EARLY or not objective.tolerance:
            continue
        variance = sums.squares / sums.number - (sums.total / sums.number) ** 2
        if variance <= (_WITHIN * objective.tolerance) ** 2:
            yield (
                f"Nearly all rewards of {objective.name} lie within its tolerance, "
                f"{objective.tolerance:g}, of each other: arms that differ by so little are as "
                f"good, and {following} decides between them."
            )


def _mean(sums: Received, objective: Objective) -> Mean:
    if not sums.number:
        return Mean(None, None, None, 0)
    low, high = received.interval(sums, objective) or (None, None)
    return Mean(sums.origin + sums.total / sums.number, low, high, int(sums.number))
