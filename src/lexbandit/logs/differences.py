"""From the sums of a log to the difference of two policies in each objective."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import estimation as kernel
from lexbandit.logs import bootstrap, sequences
from lexbandit.logs.sums import EXPLORES, Sums
from lexbandit.objectives import Objective

Estimator = Literal["dm", "ips", "snips", "dr", "sndr", "switch_dr", "dr_shrinkage", "clipped_ips"]
ESTIMATORS = ("dm", "ips", "snips", "dr", "sndr", "switch_dr", "dr_shrinkage", "clipped_ips")
Interval = Literal["anytime", "asymptotic", "bootstrap"]
INTERVALS = ("anytime", "asymptotic", "bootstrap")

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
    low, high   the ends of the interval; NaN if they contradict each other, as they do where the
                logged propensities are wrong
    level       1 − alpha: how often it covers the true difference, at least
    estimator   "dr" unless asked otherwise
    interval    "anytime" (holds on logs of a learning policy and at every look), "asymptotic" or
                "bootstrap"
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

    def ends(self) -> str:
        """Return the estimate and its interval as a verdict's sentence has them."""
        return f"{self.difference:+.4g}, between {self.low:+.4g} and {self.high:+.4g}"


class _Levels(NamedTuple):
    """How often each end may be wrong: of the interval, and those that verdicts are judged by."""

    end: float
    better: float
    worse: float


class _Ends(NamedTuple):
    """The ends of an interval, and those that "better" and "worse" are judged by, as shares."""

    low: float = -1.0
    high: float = 1.0
    better: float = -1.0
    worse: float = 1.0


def check_interval(interval: str, estimator: str) -> None:
    """Refuse unknown names, and estimators without an interval of this kind."""
    checks.one_of("estimator", estimator, ESTIMATORS)
    checks.one_of("interval", interval, INTERVALS)
    if interval == "anytime" and estimator not in ("dr", "ips"):
        raise InvalidInput(
            f"anytime intervals are for the estimators 'dr' and 'ips', which are unbiased; for "
            f"{estimator!r} ask for interval='asymptotic'."
        )


def differences(
    sums: Sums,
    objectives: Sequence[Objective],
    *,
    alpha: float = 0.05,
    estimator: Estimator = "dr",
    interval: Interval = "anytime",
    least_propensity: float = 0.0,
    units: Floats | None = None,
) -> tuple[Difference, ...]:
    """Return the difference in each objective.

    `least_propensity` is a promise about the policy that wrote the log: it gave every allowed arm
    at least this probability (`explore` divided by the number of arms). 0 promises nothing.
    `units` are the sums of groups of units that a bootstrap draws (`logs.bootstrap`). An estimate
    outside of its interval is moved to the nearer end.
    """
    count = sums.objectives.shape[1]
    if len(objectives) != count:
        raise InvalidInput(f"the sums have {count} objectives, got {len(objectives)}.")
    check_interval(interval, estimator)
    if not 0.0 < alpha < 1.0:
        raise InvalidInput(f"alpha must lie between 0 and 1, got {alpha!r}.")
    _check_promise(sums, least_propensity)
    every = round(float(sums.policies[:, 0, kernel.ROWS].sum()))
    found = []
    for i, objective in enumerate(objectives):
        blocks = sums.objectives[:, i]
        one = Estimates(blocks.sum(axis=0), sums)
        groups = None if units is None else units[:, i]
        levels = _levels(alpha, last=i == count - 1, count=count)
        ends = _ends(one, blocks, groups, sums, levels, estimator, interval, least_propensity)
        if ends.low > ends.high:  # it cannot be as assumed
            ends = _Ends(*[math.nan] * 4)
        candidate, baseline = one.values(estimator) if one.rows else (math.nan, math.nan)
        value = min(max(candidate - baseline, ends.low), ends.high) if one.rows else math.nan
        found.append(
            Difference(
                objective=objective.name,
                difference=objective.span * value,
                low=objective.span * ends.low,
                high=objective.span * ends.high,
                level=1.0 - alpha,
                estimator=estimator,
                interval=interval,
                candidate=objective.value(candidate),
                baseline=objective.value(baseline),
                rows=one.rows,
                missing=every - one.rows,
                better_low=objective.span * ends.better,
                worse_high=objective.span * ends.worse,
                variances=one.variances(blocks, alpha, least_propensity) if one.rows else {},
            )
        )
    return tuple(found)


def wider(one: Difference, other: Difference) -> Difference:
    """Return a difference with the wider ends of two; NaN where one of them has none."""
    return replace(
        one,
        low=float(np.minimum(one.low, other.low)),
        high=float(np.maximum(one.high, other.high)),
        better_low=float(np.minimum(one.better_low, other.better_low)),
        worse_high=float(np.maximum(one.worse_high, other.worse_high)),
    )


def _levels(alpha: float, *, last: bool, count: int) -> _Levels:
    """Return how often the ends of an objective may be wrong (see `logs.verdict`)."""
    better = alpha / 2.0 if last else alpha / (2.0 * (count - 1))
    return _Levels(end=alpha / 2.0, better=better, worse=alpha / max(2, count))


def _ends(
    one: "Estimates",
    blocks: Floats,
    units: Floats | None,
    sums: Sums,
    levels: _Levels,
    estimator: str,
    interval: str,
    least_propensity: float,
) -> _Ends:
    """Return the ends of an objective's interval; the whole range where there is no reward."""
    if not one.rows:
        return _Ends()
    if one.same:
        return _Ends(0.0, 0.0, 0.0, 0.0)
    if interval == "asymptotic":
        return _asymptotic(one, estimator, levels)
    if interval == "anytime":
        # IPS is the score without a model: no promise is used.
        return _anytime(blocks, levels, least_propensity if estimator == "dr" else 0.0)
    if units is None:
        raise InvalidInput("interval='bootstrap' needs the sums of units.")
    return _bootstrapped(units, sums, estimator, levels)


def _anytime(blocks: Floats, levels: _Levels, least_propensity: float) -> _Ends:
    @functools.cache  # with one or two objectives the levels are the same
    def low(level: float) -> float:
        found = sequences.lower_bound(
            blocks[:, _LOWER], alpha=level, least_propensity=least_propensity
        )
        return found.bound

    @functools.cache
    def high(level: float) -> float:
        mirrored = blocks[:, _UPPER] * _MIRRORED
        found = sequences.lower_bound(mirrored, alpha=level, least_propensity=least_propensity)
        return -found.bound

    return _Ends(low(levels.end), high(levels.end), low(levels.better), high(levels.worse))


def _asymptotic(one: "Estimates", estimator: str, levels: _Levels) -> _Ends:
    mean, variance = one.difference(estimator), one.variance(estimator)

    def ends(level: float) -> tuple[float, float]:
        return sequences.normal_interval(mean, variance, one.rows, 2.0 * level)

    return _Ends(*ends(levels.end), ends(levels.better)[0], ends(levels.worse)[1])


def _bootstrapped(units: Floats, sums: Sums, estimator: str, levels: _Levels) -> _Ends:
    drawn = [Estimates(one, sums) for one in bootstrap.draws(units, kernel.COUNT)]
    values = [one.difference(estimator) for one in drawn]
    quantiles = [levels.end, 1.0 - levels.end, levels.better, 1.0 - levels.worse]
    return _Ends(*np.quantile(values, quantiles).tolist())


def _check_promise(sums: Sums, least_propensity: float) -> None:
    least = float(sums.arms[:, :, kernel.LEAST].min())
    if least < least_propensity * (1.0 - 1e-9):
        raise InvalidInput(
            f"least_propensity promises at least {least_propensity:g} for every arm, but the log "
            f"has a propensity of {least:g}: promise less, or 0."
        )


class Estimates:
    """All estimates of one objective from its sums over rows, as shares of the range."""

    def __init__(self, fields: Floats, sums: Sums) -> None:
        self.sums = fields
        self.rows = round(float(self.sums[kernel.COUNT]))
        moved = float(sums.policies[:, 0, kernel.MOVED].sum())
        self.logged = math.isnan(moved)
        self.same = moved == 0.0

    def mean(self, name: int) -> float:
        """Return the mean of a field over rows."""
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
        """Return the candidate's value less the baseline's, by an estimator."""
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
        """Return the variances of the scores L and U, as logged and for values of `explore`.

        What an `explore` would change is the ratio of two variances over the same rows, those with
        and without it.
        """
        found: dict[float | None, tuple[float, float]] = {}
        level = {"alpha": alpha / 2.0, "least_propensity": least_propensity}
        found[None] = (
            sequences.lower_bound(blocks[:, _LOWER], **level).variance,
            sequences.lower_bound(blocks[:, _UPPER] * _MIRRORED, **level).variance,
        )
        sampled = float(self.sums[kernel.SAMPLED])
        if sampled:
            squares = self.sums[kernel.EXPLORED :].reshape(len(EXPLORES), 2) / sampled
            variances = np.maximum(squares - self.difference("dr") ** 2, 0.0)
            ratios = np.divide(
                variances, variances[0], out=np.ones_like(variances), where=variances[0] > 0.0
            )
            for explore, ratio in zip(EXPLORES[1:], ratios[1:].tolist(), strict=True):
                found[explore] = found[None][0] * ratio[0], found[None][1] * ratio[1]
        return found
