"""What a chooser learned so far, and what the order of priority gained and gave up."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lexbandit.decisions import ArmReport
from lexbandit.errors import counted

if TYPE_CHECKING:
    from lexbandit.chooser.chooser import Chooser


@dataclass(frozen=True)
class Mean:
    """An average with an interval; None where nothing is known. `Summary` says which interval.

    One reward gives an average, and no interval.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int

    def __str__(self) -> str:
        if self.value is None:
            return "nothing yet"
        if self.low is None:
            return f"{self.value:.4g}, by one reward"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Summary:
    """What a chooser learned.

    received    per objective, the average of the rewards told so far, as they were learned: one
                outside the range is its nearest end; with a 95 % interval
    gained      per objective, how much better the arms now chosen are than the arms best for the
                first objective alone, by the present estimates, averaged over recent contexts; in
                the objective's own units, positive is better. The interval comes from the widths
                that the policy works with; it is no 95 % interval
    plays       per arm, the rewarded decisions and the rows of logs that were learned from
    rows        how many rows of logs were learned from (`learn`); the averages are without them
    outside     per objective, how many rewards lay outside its range
    ranges      per objective, its range
    contexts    per feature, how many values were outside its range, missing or unknown
    """

    received: dict[str, Mean]
    gained: dict[str, Mean]
    plays: dict[str, int]
    decisions: int
    waiting: int
    rows: int = 0
    outside: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    contexts: dict[str, dict[str, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        kept = f"{self.waiting:,} kept for {'its' if self.waiting == 1 else 'their'} rewards"
        lines = [f"{counted(self.decisions, 'decision')}, {kept}."]
        if self.rows:
            lines.append(f"Learned from {counted(self.rows, 'row')} of logs besides.")
        total = sum(self.plays.values())
        shares = [f"{arm} {n / total:.1%}" for arm, n in self.plays.items()] if total else []
        lines.append(f"Rewarded plays: {', '.join(shares) or 'none yet'}.")
        wide = max(len(name) for name in self.received)
        if self.rows:
            lines.append("Its own decisions, without the logs:")
        for name, mean in self.received.items():
            lines.append(f"{name.ljust(wide)}  on average {mean}")
        lines += self._taken_otherwise()
        lines.append("Against always taking the arm best for the first objective:")
        if not self.decisions:
            lines.append("nothing known yet: it is averaged over the contexts of decisions.")
            return "\n".join(lines)
        for name, mean in self.gained.items():
            lines.append(f"{name.ljust(wide)}  {_gain(mean)}")
        return "\n".join(lines)

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


def _gain(mean: Mean) -> str:
    if mean.value is None:
        return "nothing known yet"
    low, high = mean.low or 0.0, mean.high or 0.0
    if low == high == 0.0:
        return "the same"
    if low < 0.0 < high:
        return f"{_change(mean.value)} ({_change(low)} to {_change(high)})"
    near, far = sorted((abs(low), abs(high)))
    return f"{_change(mean.value)} ({near:.4g} to {far:.4g})"


def _change(gain: float) -> str:
    """Return a gain in words, so that no sign has to be read."""
    if gain == 0.0:
        return "the same"
    return f"{abs(gain):.4g} {'better' if gain > 0.0 else 'worse'}"


def summarized(chooser: "Chooser") -> Summary:
    """Return the summary of a chooser."""
    ledger = chooser._ledger
    return Summary(
        received={
            objective.name: _received(*ledger.received[i])
            for i, objective in enumerate(chooser.objectives)
        },
        gained=_gained(chooser),
        plays=dict(zip(chooser._arms.names, ledger.plays, strict=True)),
        decisions=ledger.made,
        waiting=len(ledger.room),
        rows=ledger.rows,
        outside=dict(ledger.outside),
        ranges={objective.name: objective.range for objective in chooser.objectives},
        contexts={name: dict(counts) for name, counts in chooser.contexts.counts.items()},
    )


def _received(count: float, origin: float, total: float, squares: float) -> Mean:
    if count == 0:
        return Mean(None, None, None, 0)
    apart = total / count
    mean = origin + apart
    if count == 1:
        return Mean(mean, None, None, 1)
    variance = max(squares / count - apart**2, 0.0)
    half = 1.96 * math.sqrt(variance / (count - 1))
    return Mean(mean, mean - half, mean + half, int(count))


def _gained(chooser: "Chooser") -> dict[str, Mean]:
    """Return the difference between what is chosen and the best for the first objective alone."""
    depth = len(chooser.objectives)
    gains, halves = [], []
    for point, mask in list(chooser._ledger.recent):
        told = chooser.policy.explain(point, mask)
        known = [arm for arm in told.arms if arm.allowed and all(arm.observations)]
        chosen = [(arm, _chance(arm)) for arm in known if arm.arm in told.likely]
        if not chosen:
            continue
        best = max(known, key=lambda arm: arm.mean[0])
        gains.append([_mixed(chosen, best, i)[0] for i in range(depth)])
        halves.append([_mixed(chosen, best, i)[1] for i in range(depth)])
    if not gains:
        return {o.name: Mean(None, None, None, 0) for o in chooser.objectives}
    out = {}
    for i, objective in enumerate(chooser.objectives):
        gain = float(np.mean([row[i] for row in gains])) * objective.span
        half = float(np.mean([row[i] for row in halves])) * objective.span
        out[objective.name] = Mean(gain, gain - half, gain + half, len(gains))
    return out


def _chance(arm: ArmReport) -> float:
    """Return the weight of a likely arm; candidates whose chances are not known count alike."""
    return 1.0 if math.isnan(arm.propensity) else arm.propensity


def _mixed(chosen: list[tuple[ArmReport, float]], best: ArmReport, i: int) -> tuple[float, float]:
    """Return the expected gain in objective i over `best`, and half its interval."""
    total = sum(chance for _, chance in chosen)
    gain = half = 0.0
    for arm, chance in chosen:
        if arm.arm != best.arm:
            gain += chance / total * (arm.mean[i] - best.mean[i])
            half += chance / total * (arm.width[i] + best.width[i])
    return gain, half
