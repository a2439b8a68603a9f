"""What a log holds, and how far it can answer questions about other policies."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from lexbandit._internal.svg import html_table, xml
from lexbandit._internal.text_table import text_table
from lexbandit.checks import Floats, Integers
from lexbandit.errors import counted
from lexbandit.logs.rows import Rows
from lexbandit.objectives import Objective

# Propensities are doubted where they would be as far off by chance in fewer than one in so many.
_DOUBT = 0.001


@dataclass(frozen=True)
class ArmOverview:
    """One arm in a log.

    plays            rows that played it
    share            of all rows
    mean_propensity  of the rows that played it; this and what follows is NaN without propensities
    mean_weight      the mean of 1/propensity over the rows that allowed it, 0 where another arm was
                     played: 1 if the propensities are right
    p_value          how likely a mean weight as far from 1 is, if they are
    effective_rows   what its rows are worth to evaluate "always this arm"
    """

    arm: str
    plays: int
    share: float
    mean_propensity: float
    mean_weight: float
    p_value: float
    effective_rows: float


@dataclass(frozen=True)
class RewardOverview:
    """One objective in a log: rows with a reward, too young to have one, and without one.

    mean     of the rewards, in the objective's own units
    outside  rewards outside of the declared range: each counts as the nearer end of it
    """

    objective: str
    rewards: int
    immature: int
    missing: int
    mean: float
    outside: int = 0


@dataclass(frozen=True)
class Description:
    """What a log holds; `print` shows it as a table."""

    rows: int
    times: tuple[float, float] | None
    arms: tuple[ArmOverview, ...]
    objectives: tuple[RewardOverview, ...]

    @property
    def calibrated(self) -> bool:
        """Whether the propensities agree with how often the arms were played."""
        tested = [arm.p_value for arm in self.arms if not math.isnan(arm.p_value)]
        return all(p * len(tested) >= _DOUBT for p in tested)

    def __str__(self) -> str:
        arms, rewards = self._tables()
        head, *said = self._sentences()
        return "\n".join([head, *text_table(arms), "", *text_table(rewards), *said])

    def _repr_html_(self) -> str:
        """Return tables for a notebook; they have the colours of the page, light or dark."""
        tables = (html_table(head, rows) for head, *rows in self._tables())
        return "".join([*(f"<p>{xml(said)}</p>" for said in self._sentences()), *tables])

    def _sentences(self) -> list[str]:
        """Return how many rows there are, and what is to be known of them."""
        when = "" if self.times is None else f", {_date(self.times[0])} to {_date(self.times[1])}"
        played = [arm.arm for arm in self.arms if arm.plays]
        if all(math.isnan(arm.mean_propensity) for arm in self.arms):
            said = (
                "There are no propensities: a chooser can learn from this log, but nothing can be "
                "evaluated on it."
            )
        elif self.calibrated and len(played) == 1 < len(self.arms):
            said = f"Only {played[0]!r} was played: no other arm can be evaluated."
        elif self.calibrated:
            said = "The propensities agree with how often the arms were played."
        else:
            said = (
                "The propensities do not agree with how often the arms were played: the mean "
                "weight of an arm should be 1. Estimates from this log would be wrong."
            )
        rows = counted(self.rows, "row")
        clipped = [outside_words(one.outside, one.objective) for one in self.objectives]
        clipped = [words for words in clipped if words]
        return [f"{rows}{when}", *clipped, said]

    def _tables(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the arms and the objectives, a line each below its head."""
        arms = [["arm", "plays", "share", "propensity", "mean weight", "p", "effective rows"]]
        for arm in self.arms:
            numbers = [
                f"{arm.share:.1%}",
                f"{arm.mean_propensity:.3f}",
                f"{arm.mean_weight:.3f}",
                f"{arm.p_value:.3f}",
                f"{arm.effective_rows:,.0f}",
            ]
            arms.append([arm.arm, f"{arm.plays:,}", *(n.replace("nan", "-") for n in numbers)])
        rewards = [["objective", "rewards", "too young", "missing", "mean"]]
        for one in self.objectives:
            counts = [f"{n:,}" for n in (one.rewards, one.immature, one.missing)]
            rewards.append([one.objective, *counts, f"{one.mean:.4g}".replace("nan", "-")])
        return arms, rewards


def outside_words(count: int, objective: str) -> str:
    """Say that rewards lie outside of the declared range; "" if none does."""
    if not count:
        return ""
    lie, take = ("lies", "counts") if count == 1 else ("lie", "count")
    return (
        f"{counted(count, 'reward')} of {objective} {lie} outside of its range and {take} as the "
        "nearer end of it. Declare a wider range if such values are right."
    )


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # no date: a count of another kind
        return f"{seconds:g}"


def describe_log(
    batches: Iterable[Rows],
    arms: Sequence[str],
    objectives: Sequence[Objective],
    times: tuple[float, float] | None,
    wait: float | None,
) -> Description:
    """Return the description of a log, read once."""
    count, young = 0, 0
    sums = np.zeros((5, len(arms)))  # rows that allowed it, plays, Σp, Σ1/p, Σ1/p²
    seen, totals = np.zeros(len(objectives), np.int64), np.zeros(len(objectives))
    outside = np.zeros(len(objectives), np.int64)
    for rows in batches:
        count += len(rows)
        weights = 1.0 / rows.propensities
        sums[0] += len(rows) if rows.allowed is None else rows.allowed.sum(axis=0)
        for field, values in enumerate([None, rows.propensities, weights, weights**2], start=1):
            sums[field] += np.bincount(rows.arms, values, minlength=len(arms))
        seen += (~np.isnan(rows.rewards)).sum(axis=0)
        totals += np.nansum(rows.rewards, axis=0)
        outside += outside_of(rows.rewards, objectives)
        if wait is not None and times is not None and rows.times is not None:
            young += int((rows.times > times[1] - wait).sum())
    return Description(
        count,
        times,
        tuple(_arm(arm, count, sums[:, k].tolist()) for k, arm in enumerate(arms)),
        tuple(
            RewardOverview(
                objective.name,
                int(seen[i]),
                young,
                count - young - int(seen[i]),
                float(totals[i] / seen[i]) if seen[i] else math.nan,
                int(outside[i]),
            )
            for i, objective in enumerate(objectives)
        ),
    )


def outside_of(rewards: Floats, objectives: Sequence[Objective]) -> Integers:
    """Return how many rewards[n, D] of each objective lie outside of its range, int64[D]."""
    return np.array([one.count_outside(rewards[:, i]) for i, one in enumerate(objectives)])


def _arm(arm: str, rows: int, sums: list[float]) -> ArmOverview:
    allowed, plays, propensities, weights, squares = sums
    mean = weights / allowed if allowed else math.nan
    variance = max(squares / allowed - mean**2, 0.0) / allowed if allowed else math.nan
    p_value = math.nan
    if plays and not math.isnan(mean):
        distance = abs(mean - 1.0)
        p_value = 1.0 if distance < 1e-9 else 0.0
        if variance > 0.0 and distance >= 1e-9:
            p_value = math.erfc(distance / math.sqrt(2.0 * variance))
    return ArmOverview(
        arm,
        int(plays),
        plays / rows if rows else math.nan,
        propensities / plays if plays else math.nan,
        mean,
        p_value,
        weights**2 / squares if squares else 0.0,
    )
