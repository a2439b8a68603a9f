"""`Chooser.summary`: average rewards, and what always playing one arm would have given."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lexbandit._internal.svg import html_table, xml
from lexbandit.checks import Floats
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.ledger import Ledger, Pending
from lexbandit.chooser.reward_sums import ArmDifference, Judged, average_interval, differences
from lexbandit.contexts import noted
from lexbandit.decisions import enumerated
from lexbandit.errors import counted
from lexbandit.kernels import comparison as kernel
from lexbandit.objectives import Objective

# The number of arms in the text, the most played first.
_SHOWN = 10
# From this share on, the text mentions decisions for which only the model has an estimate.
_MENTIONED = 0.05
# With fewer decisions it is too early to say that exploring is needed, or that rewards are missing.
_EARLY = 30
# An arm without a reward in an objective is mentioned once so many would have come at the rate of
# the other arms, and an average's number of rewards if it is below this share of the decisions.
_SURPRISING, _FEW = 5.0, 0.5
# Rewards that vary by a standard deviation of at most this share of a tolerance lie within it.
_WITHIN = 0.25
# How many arms that were never rewarded are named, found in so many of the last decisions: copying
# all stored ones takes too long.
_NAMED = 3
_RECENT_PENDING = 10_000


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

    received    per objective, the average of the rewards so far, as they were learned: one
                outside the range is its nearest end; with a 95 % interval
    against     per arm and objective, how much better the chooser did than always playing that arm
                would have, over the same decisions: unbiased, by the probabilities that arms had;
                each with a 95 % interval of its own
    plays       per arm, the rewarded decisions and the rows of logs that were learned from
    decisions   how many decisions were made
    waiting     how many of them are stored until their rewards come, complete ones too
    expired     how many expired (`wait`)
    dropped     how many were dropped because `keep` was reached
    defaulted   how many rewards did not come in time and took their objective's default
    rows        how many rows of logs were learned from (`learn`); other counts leave them out
    outside     per objective, how many rewards lay outside its range
    ranges      per objective, its range
    contexts    per feature, how many values were outside its range, missing or unknown
    explore     the share of choices that are drawn uniformly
    notes       sentences on unexpected findings: an objective or an arm that was never rewarded, an
                arm that never was in an objective in which others were, a tolerance that nearly
                all rewards lie within
    """

    received: dict[str, Mean]
    against: dict[str, dict[str, ArmDifference]]
    plays: dict[str, int]
    decisions: int
    waiting: int
    expired: int = 0
    dropped: int = 0
    defaulted: int = 0
    rows: int = 0
    outside: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    contexts: dict[str, dict[str, int]] = field(default_factory=dict)
    explore: float = 0.0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{counted(self.decisions, 'decision')}, {self.waiting:,} open for rewards."]
        if self.rows:
            lines.append(f"Learned from {counted(self.rows, 'row')} of logs besides.")
        lines.append(f"Rewarded plays: {self._shares()}.")
        wide = max(len(name) for name in self.received)
        if self.rows:
            lines.append("Its own decisions, without the logs:")
        for name, mean in self.received.items():
            few = mean.low is not None and mean.count < _FEW * self.decisions
            by = f", from {counted(mean.count, 'reward')}" if few else ""
            lines.append(f"{name.ljust(wide)}  on average {mean}{by}")
        lines += self._taken_otherwise()
        lines += self.notes
        lines += self._compared()
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return tables for a notebook, in the colours of its page."""
        means = [[name, str(mean), f"{mean.count:,}"] for name, mean in self.received.items()]
        rewarded = max(mean.count for mean in self.received.values())
        total = max(sum(self.plays.values()), 1)
        arms = [
            [
                arm,
                f"{self.plays[arm] / total:.1%}",
                self._line(arm, rewarded) if _rewards(self.against[arm]) else "nothing known yet",
            ]
            for arm in self._by_plays()[:_SHOWN]
        ]
        lines = [*str(self).splitlines()[:1], *self._taken_otherwise(), *self.notes]
        rest = len(self.plays) - len(arms)
        if rest:
            lines.append(f"{counted(rest, 'more arm')} not shown.")
        always = "always playing it instead would have been (95 % intervals)"
        return (
            html_table(["metric", "average (95 % interval)", "rewards"], means)
            + html_table(["arm", "plays", always], arms)
            + "".join(f"<p>{xml(line)}</p>" for line in lines)
        )

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
        """Say which rewards and context values were clipped, missing or unknown."""
        lines = []
        for name, count in self.outside.items():
            if count:
                low, high = self.ranges[name]
                were = "was taken as its" if count == 1 else "were taken as its"
                lines.append(
                    f"{counted(count, 'reward')} of {name} lay outside its range {low:g} to "
                    f"{high:g} and {were} nearest end."
                )
        if said := noted(self.contexts):
            lines.append(said)
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
        """Return how an arm compares in every objective, and the data behind it."""
        compared = {name: one for name, one in self.against[arm].items() if one.decisions}
        unknown = [one for one in compared.values() if one.value is None]
        if len(unknown) == len(compared):
            return self._cannot_tell(unknown[0])
        notes = []
        modelled = max(one.modelled for one in compared.values())
        if modelled >= _MENTIONED and not unknown:
            notes.append(f"{modelled:.0%} judged by the model")
        count = _rewards(compared)
        if count < rewarded:
            notes.append(f"over the {count:,} of {counted(rewarded, 'decision')} that allowed it")
        line = ", ".join(f"{name} {_worse_or_better(one)}" for name, one in compared.items())
        return f"{line} [{'; '.join(notes)}]" if notes else line

    def _cannot_tell(self, one: ArmDifference) -> str:
        tried = f"it was tried {counted(one.tried, 'time')} in {counted(one.decisions, 'decision')}"
        early = self.explore > 0.0 or one.decisions < _EARLY
        remedy = "more decisions will tell" if early else "explore=0.05 would tell"
        return f"cannot tell: {tried}; {remedy}"


def _rewards(by_objective: dict[str, ArmDifference]) -> int:
    """Return over how many decisions an arm is compared, in the objective with the most."""
    return max(one.decisions for one in by_objective.values())


def _worse_or_better(one: ArmDifference) -> str:
    """Return in words whether always playing an arm would have been worse or better."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    if one.low == one.high == 0.0:
        return "the same, since it was always played"
    value, near, far = -one.value, -one.high, -one.low
    shown = [text.removeprefix("-") for text in numbers(value, near, far)]
    middle = f"{shown[0]} {'better' if value > 0.0 else 'worse'}"
    if near < 0.0 < far:
        return f"{middle} ({shown[1]} worse to {shown[2]} better)"
    ends = shown[1:] if abs(near) <= abs(far) else shown[:0:-1]
    return f"{middle} ({ends[0]} to {ends[1]})"


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


class SummarySource(NamedTuple):
    """The data of a summary, copied under the lock of the chooser.

    `pending` are recent decisions, if an arm was never rewarded; `counts` are fields of `Summary`.
    """

    arms: list[str]
    objectives: Sequence[Objective]
    received: Floats
    judged: Judged
    plays: list[int]
    pending: list[Pending]
    counts: dict[str, Any]


def copy_for_summary(arms: Arms, ledger: Ledger, explore: float) -> SummarySource:
    """Return a copy of the data of a summary."""
    pending = ledger.pending.values()
    return SummarySource(
        arms=list(arms.names),
        objectives=ledger.objectives,
        received=ledger.sums.received.copy(),
        judged=ledger.sums.judged(),
        plays=list(ledger.plays),
        pending=list(islice(reversed(pending), _RECENT_PENDING)) if 0 in ledger.plays else [],
        counts={
            "decisions": ledger.made,
            "waiting": len(pending),
            "expired": ledger.expired,
            "dropped": ledger.dropped,
            "defaulted": ledger.defaulted,
            "rows": ledger.rows,
            "outside": dict(ledger.outside),
            "contexts": {name: dict(counts) for name, counts in ledger.contexts.counts.items()},
            "explore": explore,
        },
    )


def summarize(source: SummarySource) -> Summary:
    """Return the summary."""
    binary = [bool(flag) for flag in source.received[:, kernel.BINARY]]
    return Summary(
        received={
            objective.name: _mean(sums, objective)
            for objective, sums in zip(source.objectives, source.received.tolist(), strict=True)
        },
        against=differences(source.judged, source.arms, source.objectives, binary),
        plays=dict(zip(source.arms, source.plays, strict=True)),
        ranges={objective.name: objective.range for objective in source.objectives},
        notes=(
            *_unrewarded_objectives(source),
            *_unrewarded_arms(source),
            *_unrewarded_plays(source),
            *_all_as_good(source),
        ),
        **source.counts,
    )


def _unrewarded_objectives(source: SummarySource) -> Iterator[str]:
    """Yield a sentence for each objective without a reward, while others have some."""
    if source.counts["rows"] or source.received[:, kernel.NUMBER].max() < _EARLY:
        return
    for objective, number in zip(source.objectives, source.received[:, kernel.NUMBER], strict=True):
        if not number:
            yield (
                f"{objective.name} was never rewarded: any arm may be the best in it, so it tells "
                "none apart."
            )


def _unrewarded_arms(source: SummarySource) -> Iterator[str]:
    """Yield a sentence for arms that are chosen but never rewarded."""
    unrewarded = (one for one in source.pending if all(value is None for value in one.rewards))
    chosen = Counter(pending.arm for pending in unrewarded)
    silent = {
        source.arms[arm]: count
        for arm, count in chosen.most_common()
        if not source.plays[arm] and count >= _EARLY and sum(source.plays) >= _EARLY
    }
    if silent:
        yield (
            f"Rewards never came for {_listed(silent, 'decision')}: an arm of which nothing is "
            "known goes on being tried."
        )


def _unrewarded_plays(source: SummarySource) -> Iterator[str]:
    """Yield a sentence for each objective in which some arms were rewarded and others never.

    By the chooser's own decisions with a reward in any objective; a log may have told the rest.
    """
    if source.counts["rows"]:
        return
    rewarded = source.judged.sums[:, :, kernel.PLAYS]
    plays = rewarded.max(axis=1)
    for objective, counts in zip(source.objectives, rewarded.T, strict=True):
        some = counts > 0.0
        if not some.any():
            continue
        expected = plays * counts.sum() / plays[some].sum()
        missing = ~some & (plays >= _EARLY) & (expected >= _SURPRISING)
        arms = sorted(np.flatnonzero(missing).tolist(), key=lambda arm: -plays[arm])
        if arms:
            named = {source.arms[arm]: int(plays[arm]) for arm in arms}
            yield (
                f"{objective.name} was never told for {_listed(named, 'play')}, while other arms "
                f"had {counted(int(counts.sum()), 'reward')}: the average leaves these plays out, "
                "and an arm of which nothing is known goes on being tried. If it failed before it "
                "could be rewarded, tell that as a reward, or give the objective a default and the "
                "chooser a wait."
            )


def _listed(counts: dict[str, int], what: str) -> str:
    """Return a few arms with their counts, and how many there are besides."""
    listed = [f"{name} ({counted(count, what)})" for name, count in counts.items()][:_NAMED]
    if len(counts) > _NAMED:
        listed.append(counted(len(counts) - _NAMED, "more arm"))
    return enumerated(listed)


def _all_as_good(source: SummarySource) -> Iterator[str]:
    """Yield a sentence for each tolerance that is larger than the spread of the rewards."""
    if sum(plays > 0 for plays in source.plays) < 2:
        return
    later = [objective.name for objective in source.objectives[1:]]
    for objective, sums, following in zip(source.objectives, source.received, later, strict=False):
        number, _, total, squares, _ = sums
        if number < _EARLY or not objective.tolerance:
            continue
        variance = squares / number - (total / number) ** 2
        if variance <= (_WITHIN * objective.tolerance) ** 2:
            yield (
                f"Nearly all rewards of {objective.name} lie within its tolerance, "
                f"{objective.tolerance:g}, of each other: arms that differ by so little are as "
                f"good, and {following} decides between them."
            )


def _mean(received: Sequence[float], objective: Objective) -> Mean:
    number, origin, total, _, _ = received
    if not number:
        return Mean(None, None, None, 0)
    low, high = average_interval(received, objective) or (None, None)
    return Mean(origin + total / number, low, high, int(number))
