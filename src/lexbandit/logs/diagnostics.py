"""Diagnostics of a log and a candidate: how far the rows can answer for it, in plain words.

With w the candidate's weight of a row, its probability of the played arm over the propensity:

    effective rows   (Σw)²/Σw²: as many equal weights would say as much (Kish, 1965)
    mean weight      1 on average, if every arm had a chance wherever the candidate plays it
    Pareto k         the tail of the weights, by a generalised Pareto distribution that is fitted to
                     the largest of them (Zhang and Stephens, 2009, Technometrics 51; with the prior
                     of Vehtari et al., 2024, JMLR 25, on Pareto smoothed importance sampling). From
                     ½ on the variance of the weights is infinite, from 0.7 on means are unreliable
    unsupported      the share of the candidate's probability on arms that were never played, and
                     that of the policy it is compared with
    calibration      in rows that allow an arm, 1{played}/propensity is 1 on average. So the share
                     of an arm equals the harmonic mean of the propensities of its plays
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import estimation as kernel
from lexbandit.logs.sums import Sums

# A verdict is refused beyond these: probability on arms that were never played; the least effective
# rows; and the least mean weight, or its inverse, beyond which it must lie by so many standard
# errors.
MOST_UNSUPPORTED = 0.01
LEAST_EFFECTIVE = 10.0
LEAST_MEAN, CERTAIN = 0.9, 4.0
# Pareto k from which on the variance is infinite, and from which on means are unreliable.
HEAVY, UNRELIABLE = 0.5, 0.7
# A tail whose heaviest row has less than this share of all weight moves no mean by much.
NEGLIGIBLE = 0.005
# An arm's propensities are tested from so many plays on; so small a p-value is said.
LEAST_PLAYS = 10
SUSPICIOUS = 0.001


@dataclass(frozen=True)
class ArmShare:
    """One arm: how often it was played, beside what the logged propensities say.

    plays            rows in which it was played
    share            of the rows that allowed it
    mean_propensity  the harmonic mean of the propensities of its plays: about the share, if they
                     are right; NaN if it was never played
    p_value          of a test that both are equal, two-sided; NaN below 10 plays
    mass             the candidate's mean probability of it
    """

    arm: str
    plays: int
    share: float
    mean_propensity: float
    p_value: float
    mass: float

    @property
    def mean_weight(self) -> float:
        """The mean of 1{played}/propensity over rows that allowed it: 1, if all is right."""
        return self.share / self.mean_propensity if self.plays else 0.0


@dataclass(frozen=True)
class Diagnostics:
    """What the weights of a candidate say; `sentences` has one for each in plain words.

    calibration       the least p-value of the arms times their number: near 0, if propensities are
                      wrong
    missing_p_values  for each objective the p-value of a test that rewards are missing alike for
                      all arms; no share of them
    overplayed        arms that were played more often than right propensities allow; one refuses a
                      verdict
    enough_overlap    False refuses a verdict
    """

    rows: int
    effective_rows: float
    largest_weight: float
    mean_weight: float
    pareto_k: float
    unsupported: float
    missing_arms: tuple[str, ...]
    base_unsupported: float
    base_missing_arms: tuple[str, ...]
    calibration: float
    missing_p_values: tuple[float, ...]
    arms: tuple[ArmShare, ...]
    overplayed: tuple[str, ...]
    enough_overlap: bool
    sentences: tuple[str, ...]


def diagnose(
    sums: Sums, arms: Sequence[str], objectives: Sequence[str] | None = None
) -> Diagnostics:
    """Return the diagnostics of a log's sums, with the names of the arms and the objectives."""
    if sums.arms.shape[1] != len(arms):
        raise InvalidInput(f"the sums have {sums.arms.shape[1]} arms, got {len(arms)} names.")
    totals = sums.arms.sum(axis=0)
    weights = sums.policies[:, 0].sum(axis=0)
    rows = float(weights[kernel.ROWS])
    if rows == 0.0:
        raise InvalidInput("the log has no rows to diagnose.")
    total, square = float(weights[kernel.WEIGHTS]), float(weights[kernel.SQUARES])
    mean = total / rows
    effective = total * total / square if square > 0.0 else 0.0
    largest = float(sums.policies[:, 0, kernel.LARGEST].max())
    heaviest = largest / total if total > 0.0 else 0.0
    error = math.sqrt(max(square / rows - mean * mean, 0.0) / rows)
    unsupported, missing = _unsupported(totals, kernel.MASS, rows, arms)
    base_unsupported, base_missing = _unsupported(totals, kernel.BASE_MASS, rows, arms)
    shares = tuple(_share(name, arm, rows) for name, arm in zip(arms, totals, strict=True))
    tested = [share.p_value for share in shares if not math.isnan(share.p_value)]
    calibration = min(1.0, len(tested) * min(tested)) if tested else math.nan
    doubted = [one for one in shares if len(tested) * one.p_value < SUSPICIOUS]
    heaviness = pareto_k(sums.tails, rows)
    absent = tuple(
        _missing_test(totals[:, kernel.PLAYS], totals[:, kernel.ARM_FIELDS + i])
        for i in range(sums.objectives.shape[1])
    )
    enough = (
        max(unsupported, base_unsupported) <= MOST_UNSUPPORTED
        and effective >= min(LEAST_EFFECTIVE, rows)
        and mean + CERTAIN * error >= LEAST_MEAN
        and mean - CERTAIN * error <= 1.0 / LEAST_MEAN
    )
    sentences = (
        f"The {rows:,.0f} rows say as much about the candidate as {effective:,.0f} of its own "
        f"decisions would ({effective / rows:.1%}).",
        f"The heaviest row counts {largest:,.3g} times, {heaviest:.2%} of all weight.",
        _mean_words(mean, error),
        _tail_words(heaviness, heaviest),
        _support_words(unsupported, missing),
        *_base_words(base_unsupported, base_missing),
        _calibration_words(calibration, doubted),
        *_missing_words(absent, objectives or [f"objective {i + 1}" for i in range(len(absent))]),
    )
    return Diagnostics(
        rows=round(rows),
        effective_rows=effective,
        largest_weight=largest,
        mean_weight=mean,
        pareto_k=heaviness,
        unsupported=unsupported,
        missing_arms=missing,
        base_unsupported=base_unsupported,
        base_missing_arms=base_missing,
        calibration=calibration,
        missing_p_values=absent,
        arms=shares,
        overplayed=tuple(one.arm for one in doubted if one.mean_weight > 1.0),
        enough_overlap=enough,
        sentences=sentences,
    )


def _unsupported(
    totals: Floats, mass: int, rows: float, arms: Sequence[str]
) -> tuple[float, tuple[str, ...]]:
    """Return a policy's probability on arms that were never played, and these arms."""
    never = (totals[:, kernel.PLAYS] == 0.0) & (totals[:, mass] > 1e-9 * rows)
    names = tuple(name for name, lacks in zip(arms, never, strict=True) if lacks)
    return float(totals[never, mass].sum()) / rows, names


def _share(name: str, arm: Floats, rows: float) -> ArmShare:
    plays, inverse, allowed = (
        float(arm[field]) for field in (kernel.PLAYS, kernel.INVERSE, kernel.ALLOWED)
    )
    square = float(arm[kernel.INVERSE_SQUARE]) - 2.0 * inverse + allowed
    p_value = math.nan
    if plays >= LEAST_PLAYS:
        distance = abs(inverse - allowed)
        p_value = 1.0  # an arm that was always played with propensity 1 has nothing to test
        if distance > 1e-9 * allowed:
            p_value = 2.0 * NormalDist().cdf(-distance / math.sqrt(max(square, 1e-300)))
    return ArmShare(
        arm=name,
        plays=round(plays),
        share=plays / allowed if allowed else 0.0,
        mean_propensity=plays / inverse if plays else math.nan,
        p_value=p_value,
        mass=float(arm[kernel.MASS]) / rows,
    )


def _missing_test(plays: Floats, rewards: Floats) -> float:
    """Return the p-value of Pearson's χ² test that all arms lack rewards equally often."""
    known = plays > 0.0
    played, seen = plays[known], rewards[known]
    share = float(seen.sum() / played.sum())
    degrees = len(played) - 1
    if degrees < 1 or share in (0.0, 1.0):
        return 1.0
    expected = played * share
    statistic = float(((seen - expected) ** 2 / (expected * (1.0 - share))).sum())
    # χ² by the cube root of Wilson and Hilferty (1931).
    scale = 2.0 / (9.0 * degrees)
    z = ((statistic / degrees) ** (1.0 / 3.0) - (1.0 - scale)) / math.sqrt(scale)
    return NormalDist().cdf(-z)


def pareto_k(tails: Floats, rows: float) -> float:
    """Return the shape of a generalised Pareto distribution fitted to the largest weights.

    tails[m, TAIL] are the largest weights of blocks. The largest min(rows/5, 3√rows) of all are
    fitted, where they are stored, by what they exceed the next one. NaN with fewer than five that
    exceed it: there is no tail, as with weights that are all alike.
    """
    largest = np.sort(tails[tails > 0.0])[::-1]
    size = int(min(rows / 5.0, 3.0 * math.sqrt(rows), tails.shape[1] - 1, len(largest) - 1))
    if size < 5:
        return math.nan
    excess = np.sort(largest[:size] - largest[size])
    excess = excess[excess > 0.0]
    return _pareto_shape(excess) if len(excess) >= 5 else math.nan


def _pareto_shape(excess: Floats) -> float:
    """Return the shape k of ascending excesses: the posterior mean of Zhang and Stephens.

    The likelihood is profiled over b = k/σ on a grid, averaged, and k is drawn to ½ by ten pseudo
    observations.
    """
    n = len(excess)
    grid = 30 + int(math.sqrt(n))
    quarter = excess[int(n / 4.0 + 0.5) - 1]
    steps = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = 1.0 / excess[-1] + steps / (3.0 * quarter)
    shapes = np.log1p(-b[:, np.newaxis] * excess).mean(axis=1)
    # Equal excesses can bring b to 0, where −b/k becomes one over their mean.
    ratios = np.divide(-b, shapes, out=np.full(grid, 1.0 / excess.mean()), where=shapes != 0.0)
    likelihood = n * (np.log(ratios) - shapes - 1.0)
    weights = np.exp(likelihood - likelihood.max())
    chosen = float((weights * b).sum() / weights.sum())
    shape = float(np.log1p(-chosen * excess).mean())
    return (n * shape + 5.0) / (n + 10.0)


def _mean_words(mean: float, error: float) -> str:
    beginning = f"The mean weight is {mean:.3f}, where 1 is expected"
    if abs(mean - 1.0) <= CERTAIN * error or abs(mean - 1.0) < 1e-6:
        return f"{beginning}: within chance."
    if mean < 1.0:
        return (
            f"{beginning}: in part of the rows the candidate plays arms that had no chance there, "
            "or logged propensities are too large."
        )
    return f"{beginning}: logged propensities are too small."


def _tail_words(k: float, heaviest: float) -> str:
    if math.isnan(k):
        return "The weights have no long tail."
    beginning = f"The tail of the weights has a Pareto k of {k:.2f}"
    if k < HEAVY:
        return f"{beginning}: light."
    if heaviest < NEGLIGIBLE:
        return f"{beginning}: heavy, but no single row counts for much."
    if k < UNRELIABLE:
        return f"{beginning}: heavy, a few rows count for much."
    return f"{beginning}: very heavy, estimates hang on a few rows; trust the interval alone."


def _support_words(unsupported: float, missing: tuple[str, ...]) -> str:
    if not missing:
        return "Every arm that the candidate plays was played in the log."
    names = ", ".join(missing)
    return (
        f"{unsupported:.1%} of the candidate's decisions fall on arms that the log never played: "
        f"{names}. Nothing is known of them."
    )


def _base_words(unsupported: float, missing: tuple[str, ...]) -> list[str]:
    if not missing:
        return []
    return [
        f"{unsupported:.1%} of the decisions of what it is compared with fall on arms that the log "
        f"never played: {', '.join(missing)}. Nothing is known of them."
    ]


def _calibration_words(calibration: float, doubted: Sequence[ArmShare]) -> str:
    if math.isnan(calibration):
        return "Too few plays to test the propensities."
    if not doubted:
        return f"The arms were played as often as their propensities say (p = {calibration:.2g})."
    # An arm that was played too often can mean nothing else, so it comes first.
    worst = min(doubted, key=lambda share: (share.mean_weight <= 1.0, share.p_value))
    beginning = (
        f"Arm {worst.arm} was played in {worst.share:.1%} of the rows that allowed it, but its "
        f"propensities say {worst.mean_propensity:.1%} (p = {calibration:.1g})"
    )
    if worst.mean_weight > 1.0:
        return f"{beginning}: the logged propensities are wrong."
    return f"{beginning}: it had no chance in part of the rows, or its propensities are wrong."


def _missing_words(absent: tuple[float, ...], objectives: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"Rewards of {name} are missing more often for some arms than for others "
        f"(p = {p:.1g}): what is compared are rows with a reward, which may differ by arm."
        for name, p in zip(objectives, absent, strict=True)
        if p < SUSPICIOUS
    )
