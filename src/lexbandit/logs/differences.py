"""From the sums of a log to the difference of two policies in each objective."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import estimation as kernel
from lexbandit.logs import sequences
from lexbandit.logs.sums import EXPLORES, Sums
from lexbandit.objectives import Objective

Estimator = Literal["dm", "ips", "snips", "dr", "sndr", "switch_dr", "dr_shrinkage", "clipped_ips"]
ESTIMATORS = ("dm", "ips", "snips", "dr", "sndr", "switch_dr", "dr_shrinkage", "clipped_ips")

_LOWER = [
    kernel.COUNT,
    kernel.LOWER,
    kernel.ROBUST,
    kernel.LOWER_SQUARE,
    kernel.LOWER_ROBUST,
    kernel.ROBUST_SQUARE,
]
_UPPER = [
    kernel.COUNT,
    kernel.UPPER,
    kernel.ROBUST,
    kernel.UPPER_SQUARE,
    kernel.UPPER_ROBUST,
    kernel.ROBUST_SQUARE,
]
# The upper bound is the lower one of scores with the other sign.
_MIRRORED: Floats = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Difference:
    """Candidate less baseline in one objective, in its own units; positive is better.

    objective   its name
    difference  the estimate
    low, high   the ends of the interval
    level       1 − alpha: how often it covers the true difference, at least
    estimator   "dr" unless asked otherwise
    interval    "anytime" (holds on logs of a learning policy and at every look) or "asymptotic"
    candidate   the estimated mean reward of the candidate, in the objective's own units
    baseline    that of the baseline
    rows        rows with a reward in this objective
    missing     rows without one
    better_low  the low end that "better" is judged by, and
    worse_high  the high end that "worse" is judged by: those of the interval for one or two
                objectives, somewhat wider for more (`logs.verdict`)
    variances   {explore: (lower, upper)}: the variance of a row's scores as a share of the range,
                as it was logged (None) and had the log explored so
    """

    objective: str
    difference: float
    low: float
    high: float
    level: float
    estimator: str
    interval: str
    candidate: float
    baseline: float
    rows: int
    missing: int
    better_low: float
    worse_high: float
    variances: Mapping[float | None, tuple[float, float]] = field(default_factory=dict, repr=False)


def differences(
    sums: Sums,
    objectives: Sequence[Objective],
    *,
    alpha: float = 0.05,
    estimator: Estimator = "dr",
    interval: Literal["anytime", "asymptotic"] = "anytime",
    least_propensity: float = 0.0,
) -> tuple[Difference, ...]:
    """Return the difference in each objective.

    `least_propensity` is a promise about the policy that wrote the log: it gave every allowed arm
    at least this probability (`explore` divided by the number of arms). 0 promises nothing. An
    estimate outside of its interval is moved to the nearer end.
    """
    count = sums.objectives.shape[1]
    if len(objectives) != count:
        raise InvalidInput(f"the sums have {count} objectives, got {len(objectives)}.")
    checks.one_of("estimator", estimator, ESTIMATORS)
    checks.one_of("interval", interval, ("anytime", "asymptotic"))
    if interval == "anytime" and estimator not in ("dr", "ips"):
        raise InvalidInput(
            f"anytime intervals are for the estimators 'dr' and 'ips', which are unbiased; for "
            f"{estimator!r} ask for interval='asymptotic'."
        )
    if not 0.0 < alpha < 1.0:
        raise InvalidInput(f"alpha must lie between 0 and 1, got {alpha!r}.")
    _check_promise(sums, least_propensity)
    # The levels of the ends that "better" and "worse" are judged by (see `logs.verdict`).
    ahead = [alpha / 2.0 if i == count - 1 else alpha / (2.0 * (count - 1)) for i in range(count)]
    behind = alpha / max(2, count)
    found = []
    for i, objective in enumerate(objectives):
        blocks = sums.objectives[:, i]
        one = _Found(blocks, sums)
        ends = (-1.0, 1.0, -1.0, 1.0)
        if one.rows and one.same:
            ends = (0.0, 0.0, 0.0, 0.0)
        elif one.rows and interval == "anytime":
            # IPS is the score without a model: no promise is used.
            least = least_propensity if estimator == "dr" else 0.0
            ends = tuple(
                sign
                * sequences.lower_bound(
                    blocks[:, fields] * flip, alpha=level, least_propensity=least
                ).bound
                for sign, fields, flip, level in (
                    (1.0, _LOWER, 1.0, alpha / 2.0),
                    (-1.0, _UPPER, _MIRRORED, alpha / 2.0),
                    (1.0, _LOWER, 1.0, ahead[i]),
                    (-1.0, _UPPER, _MIRRORED, behind),
                )
            )  # type: ignore[assignment]
        elif one.rows:
            mean, variance = one.difference(estimator), one.variance(estimator)
            low, high = sequences.normal_interval(mean, variance, one.rows, alpha)
            better = sequences.normal_interval(mean, variance, one.rows, 2.0 * ahead[i])[0]
            worse = sequences.normal_interval(mean, variance, one.rows, 2.0 * behind)[1]
            ends = (low, high, better, worse)
        low, high, better, worse = ends
        value = one.difference(estimator) if one.rows else math.nan
        candidate, baseline = one.values(estimator) if one.rows else (math.nan, math.nan)
        span = objective.span
        found.append(
            Difference(
                objective=objective.name,
                difference=span * min(max(value, low), high) if one.rows else math.nan,
                low=span * low,
                high=span * high,
                level=1.0 - alpha,
                estimator=estimator,
                interval=interval,
                candidate=objective.value(candidate),
                baseline=objective.value(baseline),
                rows=one.rows,
                missing=round(float(sums.policies[:, 0, kernel.ROWS].sum())) - one.rows,
                better_low=span * better,
                worse_high=span * worse,
                variances=one.variances(blocks, alpha, least_propensity) if one.rows else {},
            )
        )
    return tuple(found)


def _check_promise(sums: Sums, least_propensity: float) -> None:
    least = float(sums.arms[:, :, kernel.LEAST].min())
    if least < least_propensity * (1.0 - 1e-9):
        raise InvalidInput(
            f"least_propensity promises at least {least_propensity:g} for every arm, but the log "
            f"has a propensity of {least:g}: promise less, or 0."
        )


class _Found:
    """All estimates of one objective from the sums of its blocks, as shares of the range."""

    def __init__(self, blocks: Floats, sums: Sums) -> None:
        self.sums: Floats = blocks.sum(axis=0)
        self.rows = round(float(self.sums[kernel.COUNT]))
        moved = float(sums.policies[:, 0, kernel.MOVED].sum())
        self.logged = math.isnan(moved)
        self.same = moved == 0.0

    def mean(self, name: int) -> float:
        return float(self.sums[name]) / self.rows

    def values(self, estimator: str) -> tuple[float, float]:
        """Return the values of the candidate and of the baseline by an estimator."""
        value, base = self.mean(kernel.VALUE), self.mean(kernel.BASE_VALUE)
        if estimator == "ips":
            return self.mean(kernel.EARNED), self.mean(kernel.BASE_EARNED)
        if estimator == "snips":
            return (
                self._ratio(kernel.EARNED, kernel.WEIGHT),
                self._ratio(kernel.BASE_EARNED, kernel.BASE_WEIGHT),
            )
        if estimator == "dm":
            return value, self.mean(kernel.REWARD) if self.logged else base
        if estimator == "sndr":
            return (
                value + self._ratio(kernel.CORRECTION, kernel.WEIGHT),
                base + self._ratio(kernel.BASE_CORRECTION, kernel.BASE_WEIGHT),
            )
        if estimator == "clipped_ips":
            return self.mean(kernel.CLIPPED), self.mean(kernel.BASE_CLIPPED)
        one, other = {
            "dr": (kernel.CORRECTION, kernel.BASE_CORRECTION),
            "switch_dr": (kernel.SWITCHED, kernel.BASE_SWITCHED),
            "dr_shrinkage": (kernel.SHRUNK, kernel.BASE_SHRUNK),
        }[estimator]
        return value + self.mean(one), base + self.mean(other)

    def _ratio(self, one: int, other: int) -> float:
        below = float(self.sums[other])
        return float(self.sums[one]) / below if below > 0.0 else 0.0

    def difference(self, estimator: str) -> float:
        candidate, baseline = self.values(estimator)
        return candidate - baseline

    def variance(self, estimator: str) -> float:
        """Return the variance of a row's score; by the delta method where weights are normalised.

        The influence of a row on the self-normalised difference is x − vw + v'w', with x the row's
        score without normalisation and v, v' the normalised means.
        """
        square = {
            "ips": kernel.GAIN_SQUARE,
            "dr": kernel.ROBUST_SQUARE,
            "dm": kernel.DIRECT_SQUARE,
            "switch_dr": kernel.SWITCHED_SQUARE,
            "dr_shrinkage": kernel.SHRUNK_SQUARE,
            "clipped_ips": kernel.CLIPPED_SQUARE,
        }.get(estimator)
        if square is not None:
            return self.mean(square) - self.difference(estimator) ** 2
        if estimator == "snips":
            fields = kernel.GAIN_SQUARE, kernel.GAIN_WEIGHT, kernel.GAIN_BASE
            x = self.mean(kernel.EARNED) - self.mean(kernel.BASE_EARNED)
            v = self._ratio(kernel.EARNED, kernel.WEIGHT)
            base = self._ratio(kernel.BASE_EARNED, kernel.BASE_WEIGHT)
        else:
            fields = kernel.ROBUST_SQUARE, kernel.ROBUST_WEIGHT, kernel.ROBUST_BASE
            x = self.mean(kernel.ROBUST)
            v = self._ratio(kernel.CORRECTION, kernel.WEIGHT)
            base = self._ratio(kernel.BASE_CORRECTION, kernel.BASE_WEIGHT)
        first, weighted, based = (self.mean(name) for name in fields)
        middle = x - v * self.mean(kernel.WEIGHT) + base * self.mean(kernel.BASE_WEIGHT)
        second = first - 2.0 * v * weighted + 2.0 * base * based
        second += v * v * self.mean(kernel.WEIGHT_SQUARE)
        second += base * base * self.mean(kernel.BASE_WEIGHT_SQUARE)
        second -= 2.0 * v * base * self.mean(kernel.WEIGHT_PRODUCT)
        return second - middle**2

    def variances(
        self, blocks: Floats, alpha: float, least_propensity: float
    ) -> dict[float | None, tuple[float, float]]:
        """Return the variances of the scores L and U, as logged and for values of `explore`."""
        found: dict[float | None, tuple[float, float]] = {}
        level = {"alpha": alpha / 2.0, "least_propensity": least_propensity}
        found[None] = (
            sequences.lower_bound(blocks[:, _LOWER], **level).variance,
            sequences.lower_bound(blocks[:, _UPPER] * _MIRRORED, **level).variance,
        )
        sampled = float(self.sums[kernel.SAMPLED])
        square = self.difference("dr") ** 2
        for j, explore in enumerate(EXPLORES):
            if sampled:
                low, high = self.sums[kernel.EXPLORED + 2 * j : kernel.EXPLORED + 2 * j + 2]
                found[explore] = (
                    max(float(low) / sampled - square, 0.0),
                    max(float(high) / sampled - square, 0.0),
                )
        return found
