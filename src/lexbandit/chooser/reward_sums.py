"""Sums of a chooser's rewards: their averages, and what always playing one arm would have given.

The sums of comparisons are those of `kernels.comparison`, in shares of the objectives' ranges. They
grow when a reward comes, before the policy learns it, and depend on decisions, rewards and the
policy's state only: replaying a log gives the same sums.

Rewards in their own units are summed as distances from the first reward, not as values: the squares
of 1.7e9 ± 10 have no digits left for the 10. The squared distance of the first reward from the mean
is at most n times the variance, so with n = 10⁶ rewards ten of sixteen digits remain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit._internal.student import student_quantile
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.kernels import comparison as kernel
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

LEVEL = 0.95
# Half of an interval in standard errors and in deviations of the model. An arm is given up when it
# looks bad, so its estimate has been inspected many times; an interval that holds at all of these
# times has at least sqrt(2 ln 20) = 2.45 deviations (Robbins, 1970). 2.6 is chosen by measured
# coverage (docs/decisions/0020-comparisons-are-doubly-robust.md).
_ERRORS, _DEVIATIONS = 1.959964, 2.6
# For rounding, half an interval is at least this share of the range.
_ROUNDING = 1e-6
# The weight, in plays, of the average noise of all arms in the noise of each.
_POOLED = 30.0
# Without a model's deviations: the least plays of an arm, and the largest share of decisions in
# which it may have had no chance, measured to within so many standard errors.
_LEAST_PLAYS, _LARGEST_SHARE, _CERTAIN = 30, 0.05, 3.0


@dataclass(frozen=True)
class ArmDifference:
    """How much better the chooser did in one objective than always playing one arm would have.

    value      in the objective's own units; positive: the chooser was better. None: cannot tell
    low, high  the ends of the interval
    level      how often such an interval covers the truth
    decisions  the rewarded decisions that are compared: those in which the arm was allowed
    tried      in how many of them it was played
    modelled   the share of them in which the arm had next to no chance to be played, so that the
               policy's model says what it would have given
    """

    value: float | None
    low: float | None
    high: float | None
    level: float
    decisions: int
    tried: int
    modelled: float


class Judged(NamedTuple):
    """A copy of the sums, and the model's predictions for decisions without a chance of the arm."""

    sums: Floats
    means: Floats
    deviations: Floats


class RewardSums:
    """The rewards as received[D, fields], and comparisons with arms as compared[K, D, fields]."""

    def __init__(self, policy: Policy, explore: float) -> None:
        self._policy = policy
        # A model that knows its deviations predicts better than large weights estimate.
        self.explore = 0.0 if policy.knows_deviations else explore
        fields = kernel.FIELDS + policy.model_features
        self.compared: Floats = np.zeros((policy.arms, policy.objectives, fields))
        self.received: Floats = np.zeros((policy.objectives, kernel.RECEIVED))
        self.received[:, kernel.BINARY] = 1.0

    def add_many(
        self,
        arms: Integers,
        propensities: Floats,
        masks: Sequence[Booleans | None],
        shares: Floats,
        values: Floats,
        features: Floats,
        means: Floats,
    ) -> None:
        """Add the rewards of many decisions; the same as `kernels.comparison.score` one by one."""
        allowed = np.empty((len(arms), 0), np.bool_)
        if any(mask is not None for mask in masks):
            every = np.ones(len(self.compared), np.bool_)
            allowed = np.array([every if mask is None else mask for mask in masks])
        kernel.score_many(
            self.compared,
            self.received,
            features,
            means,
            arms,
            propensities,
            self.explore,
            shares,
            values,
            allowed,
        )

    def add_arm(self) -> None:
        """Add sums for one more arm."""
        self.compared = np.concatenate([self.compared, np.zeros((1, *self.compared.shape[1:]))])

    def merge(self, other: "RewardSums") -> None:
        """Add the sums of another chooser's rewards."""
        self.compared += other.compared
        self.received = np.array(list(map(_both, self.received, other.received)))

    def load(self, received: Floats, compared: Floats) -> None:
        """Load the sums of a file."""
        for name, sums in (("received", received), ("comparison", compared)):
            checks.refuse_first(name, sums, ~np.isfinite(sums), "sums are finite")
        binary = received[:, kernel.BINARY]
        checks.refuse_first("received", binary, (binary != 0) & (binary != 1), "flags are 0 or 1")
        counts = compared[:, :, : kernel.FIELDS]
        wrong = (counts < 0.0) & (np.arange(kernel.FIELDS) != kernel.EARNED)
        checks.refuse_first("comparison", counts, wrong, "counts are not negative")
        self.received, self.compared = received, compared

    def judged(self) -> Judged:
        """Return a copy of the sums of comparisons, and the model's present predictions."""
        sums = self.compared.copy()
        counts = np.maximum(sums[:, :, kernel.COUNT, np.newaxis], 1.0)
        means, deviations = self._policy._predict_averages(sums[:, :, kernel.FIELDS :] / counts)
        return Judged(sums, means, deviations)


def _both(one: Floats, other: Floats) -> Floats:
    """Return the sum of two rows of `received`, relative to the origin of the first."""
    if not one[kernel.NUMBER]:
        return other
    count, origin, total, squares, binary = other
    distance = origin - one[kernel.ORIGIN]
    return np.array(
        [
            one[kernel.NUMBER] + count,
            one[kernel.ORIGIN],
            one[kernel.TOTAL] + (total + count * distance),
            one[kernel.SQUARES] + (squares + 2.0 * distance * total + count * distance * distance),
            min(one[kernel.BINARY], binary),
        ]
    )


def average_interval(received: Sequence[float], objective: Objective) -> tuple[float, float] | None:
    """Return the ends of a 95 % interval of the average; None with one reward that is not 0 or 1.

    `received` has the fields of `kernels.comparison`.

    Rewards that all were 0 or 1 have Wilson's interval (Wilson, 1927), others Student's. Rewards
    that all were the same have no variance to go by; but where another value may come in more than
    a share p of all cases, n equal ones have a probability of less than (1 − p)ⁿ. With p = 1 −
    0.025^(1/n), and the other values anywhere in the range, that gives the ends. All ends lie in
    the range, as rewards are taken.
    """
    n, origin, total, squares, binary = received
    distance = total / n
    mean = origin + distance
    low, high = objective.range
    if binary:
        middle = (mean + _ERRORS * _ERRORS / (2.0 * n)) / (1.0 + _ERRORS * _ERRORS / n)
        root = math.sqrt(max(mean * (1.0 - mean), 0.0) / n + (_ERRORS / (2.0 * n)) ** 2)
        half = _ERRORS * root / (1.0 + _ERRORS * _ERRORS / n)
        # At rates of 0 and 1 an end is the average itself, but for rounding.
        ends = min(middle - half, mean), max(middle + half, mean)
        return max(ends[0], low), min(ends[1], high)
    if n < 2:
        return None
    variance = max(squares / n - distance**2, 0.0)
    if variance == 0.0:
        rare = -math.expm1(math.log(0.025) / n)
        return mean - rare * (mean - low), mean + rare * (high - mean)
    half = student_quantile(int(n) - 1) * math.sqrt(variance / (n - 1))
    return max(mean - half, low), min(mean + half, high)


class Intervals(NamedTuple):
    """Differences as shares of the ranges, and half their intervals, float[K, D]; NaN: unknown."""

    values: Floats
    halves: Floats


def intervals(judged: Judged, noise: Floats) -> Intervals:
    """Return what was earned more than always playing each arm would have given.

    noise[K, D] is a variance of the rewards of each arm that the measured one is not believed to be
    below, 0 where there is none.

        value = Σ s·r / n − θᵀ(Σ s·φ / n)
        half  = 1.96 · sqrt(Σ s²e² / (n(n − 1))) + 2.6 · (deviation of the second term)

    With few plays of the arm its part of Σ s²e² may be small by luck, as it is with three failures
    in three plays; so it is at least Σ s² times a noise that is shrunk towards that of all arms,
    and at least `noise`.
    """
    sums, means, deviations = judged
    counts, plays = sums[:, :, kernel.COUNT], sums[:, :, kernel.PLAYS]
    parts, part_errors = sums[:, :, kernel.PARTS], sums[:, :, kernel.PART_ERRORS]
    n = np.maximum(counts, 1.0)
    modelled = 1.0 - sums[:, :, kernel.WEIGHTS] / n
    unknown = np.isnan(means)
    averages = sums[:, :, kernel.REWARDS] / np.maximum(plays, 1.0)
    means = np.where(unknown, modelled * averages, means)
    pooled = sums[:, :, kernel.ERRORS].sum(axis=0) / np.maximum(plays.sum(axis=0), 1.0)
    own = part_errors / np.where(parts > 0.0, parts, 1.0)
    least = np.maximum((plays * own + _POOLED * pooled) / (plays + _POOLED), noise)
    squares = sums[:, :, kernel.OTHERS] + np.maximum(parts * least, part_errors)
    errors = np.sqrt(squares / (n * np.maximum(counts - 1.0, 1.0)))
    unexplored, hopeless = _unexplored(sums, modelled)
    blind = np.isnan(deviations)
    halves = _ERRORS * errors + np.where(blind, unexplored, _DEVIATIONS * deviations)
    halves = np.where(_always(sums), 0.0, np.maximum(halves, _ROUNDING))
    known = (counts > 1.0) & ~(blind & hopeless)
    values = sums[:, :, kernel.EARNED] / n - means
    return Intervals(np.where(known, values, np.nan), np.where(known, halves, np.nan))


def _unexplored(sums: Floats, modelled: Floats) -> tuple[Floats, Booleans]:
    """Return in which share of decisions an arm had no chance, and where that is too much.

    It is 1 − Σw/n less three of its standard errors, since weights vary though the arm always had a
    chance. In that share anything within the range may have happened.
    """
    counts, plays = sums[:, :, kernel.COUNT], sums[:, :, kernel.PLAYS]
    weights = sums[:, :, kernel.WEIGHTS]
    squares = sums[:, :, kernel.PARTS] - plays + 2.0 * weights  # Σw² from Σ(1 − w)²
    n = np.maximum(counts, 1.0)
    errors = np.sqrt(np.maximum(squares / n - (weights / n) ** 2, 0.0) / n)
    share = np.maximum(modelled - _CERTAIN * errors, 0.0)
    return share, ((plays < _LEAST_PLAYS) & ~_always(sums)) | (share > _LARGEST_SHARE)


def _always(sums: Floats) -> Booleans:
    """Tell which arms had to be played in every decision: always playing them is the same."""
    every = sums[:, :, kernel.PLAYS] == sums[:, :, kernel.COUNT]
    return np.asarray(every & (sums[:, :, kernel.PARTS] == 0.0))


def differences(
    judged: Judged, arms: Sequence[str], objectives: Sequence[Objective], binary: Sequence[bool]
) -> dict[str, dict[str, ArmDifference]]:
    """Return the differences of each arm in each objective, in the objectives' own units.

    `binary` says of which objectives all rewards were 0 or 1.
    """
    sums = judged.sums
    spans = np.array([objective.span for objective in objectives])
    found = intervals(judged, _binary_noise(sums, objectives, binary))
    values = np.clip(found.values, -1.0, 1.0) * spans
    lows = np.clip(found.values - found.halves, -1.0, 1.0) * spans
    highs = np.clip(found.values + found.halves, -1.0, 1.0) * spans
    counts = sums[:, :, kernel.COUNT]
    modelled = 1.0 - sums[:, :, kernel.WEIGHTS] / np.maximum(counts, 1.0)
    columns = [
        values,
        lows,
        highs,
        counts,
        sums[:, :, kernel.PLAYS],
        np.where(counts > 0.0, np.clip(modelled, 0.0, 1.0), 0.0),
    ]
    table = np.stack(columns, axis=2).tolist()
    names = [objective.name for objective in objectives]
    return {
        arm: {name: _difference(*cells) for name, cells in zip(names, row, strict=True)}
        for arm, row in zip(arms, table, strict=True)
    }


def _difference(
    value: float, low: float, high: float, count: float, plays: float, modelled: float
) -> ArmDifference:
    if math.isnan(value):
        return ArmDifference(None, None, None, LEVEL, int(count), int(plays), modelled)
    return ArmDifference(value, low, high, LEVEL, int(count), int(plays), modelled)


def _binary_noise(sums: Floats, objectives: Sequence[Objective], binary: Sequence[bool]) -> Floats:
    """Return the variance of each arm's rewards where all are 0 or 1, as squared shares; else 0.

    It is p(1 − p) with p = (successes + 2) / (plays + 4) (Agresti and Coull, 1998).
    """
    noise = np.zeros(sums.shape[:2])
    for i, objective in enumerate(objectives):
        if binary[i]:
            plays, shares = sums[:, i, kernel.PLAYS], sums[:, i, kernel.REWARDS]
            low, high = objective.range
            span = objective.span
            least = objective.goal == "min"
            ones = high * plays - span * shares if least else low * plays + span * shares
            rate = np.clip((ones + 2.0) / (plays + 4.0), 0.0, 1.0)
            noise[:, i] = rate * (1.0 - rate) / span**2
    return noise
