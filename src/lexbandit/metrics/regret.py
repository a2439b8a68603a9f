"""Regrets and expected rewards of the arms that were played, from the true means."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.tally import tally
from lexbandit.kernels.ties import ceilings_of


class Truth:
    """The means[n, K, D] of a block of rounds, the optimum, the Pareto gaps and the bands.

    means    float[n, K, D]
    optimal  float[n, D]     the means μ_* of a lexicographically optimal arm
    gaps     float[n, K]     the Pareto suboptimality gap Δ_a of every arm (Definition 2)
    floors   float[n, D]     the least mean inside the band of each objective but the last, then the
                             best last mean of the arms inside all bands

    With `allowed` (bool[n, K]) only the allowed arms enter the optimum, the front and the bands.

    `tolerances` say how much less of each objective is as good: one number for all, or a list with
    one an objective; none is 0 for all. The last one has no effect. An arm is inside the band of an
    objective if its mean is at least the best one, of the arms inside all earlier bands, minus the
    tolerance. A relative slack of 1e-12 keeps rounding from deciding this.
    """

    def __init__(self, means: Any, allowed: Any = None, tolerances: Any = None) -> None:
        self.means = checks.floats("means", means, (None, None, None))
        if 0 in self.means.shape[1:]:
            raise InvalidInput(
                f"means need at least one arm and one objective, got {self.means.shape}."
            )
        wrong = ~np.isfinite(self.means)
        checks.refuse_first("means", self.means, wrong, "means must be finite")
        mask = np.ones((1, self.means.shape[1]), np.bool_)
        self.allowed: Booleans | None = None
        if allowed is not None:
            mask = self.allowed = checks.allowed_arms(allowed, self.means.shape[:2])
        ceilings = ceilings_of(mask)
        self.optimal: Floats = optimality.optimal_means(self.means, ceilings)
        self.gaps: Floats = optimality.pareto_gaps(self.means, ceilings)
        self.tolerances = checks.tolerances(
            0.0 if tolerances is None else tolerances, self.means.shape[2]
        )
        self.floors: Floats = optimality.band_floors(self.means, ceilings, self.tolerances)

    def __len__(self) -> int:
        return len(self.means)


def pareto_gaps(means: Any) -> Floats:
    """Return float[n, K], the Pareto suboptimality gaps: max(0, max_b min_i (μ^i_b − μ^i_a))."""
    return Truth(means).gaps


class Tally:
    """Regrets and expected rewards of one policy's arms, noted at checkpoints.

    Feed it block by block: it remembers totals, never rounds. Checkpoints are numbers of rounds,
    increasing from at least 1. Each result has one row a checkpoint, NaN until it is reached.
    """

    def __init__(self, checkpoints: Any, *, objectives: int) -> None:
        self.objectives = checks.whole("objectives", objectives, least=1)
        self.checkpoints = _checkpoints(checkpoints)
        self.rounds = 0
        self._totals = np.zeros(3 * self.objectives + 1)
        self._notes = np.full((len(self.checkpoints), len(self._totals)), np.nan)

    @classmethod
    def of(cls, truth: Truth, arms: Any, checkpoints: Any = None) -> Self:
        """Return the tally of one whole block; by default one checkpoint, at its end."""
        marks = [max(1, len(truth))] if checkpoints is None else checkpoints
        counted = cls(marks, objectives=truth.means.shape[2])
        _refuse_beyond(counted.checkpoints, len(truth))
        counted.add(truth, arms)
        return counted

    def add(self, truth: Truth, arms: Any, observed: Any = None) -> None:
        """Count the next block of rounds.

        `observed`, bool[n, D], says which rewards of the played arms were observed. A round whose
        reward in an objective was not, such as that of a user who gives no novelty rating, is
        discarded from the regret and the tolerance regret of that objective (the paper's footnote
        on recommender systems). Pareto regret and expected rewards count every round.
        """
        if not isinstance(truth, Truth):
            raise InvalidInput(f"add takes a Truth(means), got {type(truth).__name__}.")
        if truth.means.shape[2] != self.objectives:
            raise InvalidInput(
                f"means have {truth.means.shape[2]} objectives, the tally {self.objectives}."
            )
        checked = checks.arms_of(arms, rounds=len(truth), arms_known=truth.means.shape[1])
        if truth.allowed is not None:
            wrong = ~truth.allowed[np.arange(len(checked)), checked]
            checks.refuse_first("arms", checked, wrong, "only allowed arms may be played")
        tally(
            truth.means,
            truth.optimal,
            truth.gaps,
            truth.floors,
            checked,
            self._observed(observed, len(checked)),
            self.rounds,
            self._totals,
            self.checkpoints,
            self._notes,
        )
        self.rounds += len(checked)

    def _observed(self, observed: Any, rounds: int) -> Booleans:
        """Return the checked mask, with no rows where all is observed."""
        if observed is None:
            return np.ones((0, self.objectives), np.bool_)
        mask = np.asarray(observed)
        if mask.dtype != np.bool_ or mask.shape != (rounds, self.objectives):
            raise InvalidInput(
                f"observed must be booleans of shape ({rounds}, {self.objectives}), "
                f"got {mask.dtype} of shape {mask.shape}."
            )
        return np.ascontiguousarray(mask)

    @property
    def regret(self) -> Floats:
        """Reg^i(t) of equation (1): float[checkpoints, D]; components may be negative."""
        return self._notes[:, : self.objectives].copy()

    @property
    def pareto_regret(self) -> Floats:
        """PR(t) of equation (2): float[checkpoints]."""
        return self._notes[:, self.objectives].copy()

    @property
    def reward(self) -> Floats:
        """The sum of the played arms' means: float[checkpoints, D]."""
        return self._notes[:, self.objectives + 1 : 2 * self.objectives + 1].copy()

    @property
    def tolerance_regret(self) -> Floats:
        """What was lost beyond the truth's tolerances: float[checkpoints, D]; never negative.

        Cost-subsidy regret (Sinha et al., "Multi-armed bandits with cost subsidy", AISTATS 2021;
        Juneja et al., "Pairwise elimination with instance-dependent guarantees for bandits with
        cost subsidy", ICLR 2025), for any number of objectives. In each objective but the last, a
        round adds max(0, μ* − tolerance − μ), with μ* the best mean of the arms inside all earlier
        bands; in the last, max(0, best mean of the arms inside all bands − μ). Positive parts, so
        a gain in one objective or round never pays for a loss in another.
        """
        return self._notes[:, 2 * self.objectives + 1 :].copy()


def regret(means: Any, arms: Any, checkpoints: Any = None) -> Floats:
    """Return Reg^i(t) of equation (1): float[D] at the last round, or float[checkpoints, D]."""
    truth = means if isinstance(means, Truth) else Truth(means)
    return _last_or_all(Tally.of(truth, arms, checkpoints).regret, checkpoints)


def tolerance_regret(means: Any, arms: Any, tolerances: Any, checkpoints: Any = None) -> Floats:
    """Return `Tally.tolerance_regret`: float[D] at the last round, or float[checkpoints, D].

    `means` may be a Truth only if `tolerances` is None: then the truth's own hold.
    """
    truth = means if isinstance(means, Truth) else Truth(means, tolerances=tolerances)
    if isinstance(means, Truth) and tolerances is not None:
        raise InvalidInput("give tolerances to the Truth: Truth(means, tolerances=...).")
    return _last_or_all(Tally.of(truth, arms, checkpoints).tolerance_regret, checkpoints)


def pareto_regret(means: Any, arms: Any, checkpoints: Any = None) -> Floats:
    """Return PR(t) of equation (2): a number at the last round, or float[checkpoints]."""
    truth = means if isinstance(means, Truth) else Truth(means)
    return _last_or_all(Tally.of(truth, arms, checkpoints).pareto_regret, checkpoints)


def total(values: Any, arms: Any, checkpoints: Any = None) -> Floats:
    """Return the totals of values[t, arms[t]]: float[D] at the last round, or [checkpoints, D].

    With the means as values these are expected rewards, with the outcomes the rewards received;
    an outcome that was not observed (NaN) adds nothing.
    """
    array = checks.floats("values", values, (None, None, None))
    checks.refuse_first("values", array, np.isinf(array), "values are finite or NaN")
    played = checks.arms_of(arms, rounds=len(array), arms_known=array.shape[1])
    running = np.nan_to_num(array[np.arange(len(array)), played]).cumsum(axis=0)
    marks = _checkpoints([max(1, len(array))] if checkpoints is None else checkpoints)
    _refuse_beyond(marks, len(array))
    return _last_or_all(running[marks - 1], checkpoints)


def _last_or_all(rows: Floats, checkpoints: Any) -> Floats:
    return np.asarray(rows[-1] if checkpoints is None else rows)


def _refuse_beyond(checkpoints: Integers, rounds: int) -> None:
    if checkpoints[-1] > rounds:
        raise InvalidInput(f"checkpoint {checkpoints[-1]} lies beyond the {rounds} rounds.")


def _checkpoints(checkpoints: Any) -> Integers:
    try:
        marks = [checks.whole("a checkpoint", t, least=1, most=2**62) for t in checkpoints]
    except TypeError as error:
        raise InvalidInput(
            f"checkpoints must be a list of numbers of rounds, got {checkpoints!r}."
        ) from error
    if not marks or any(later <= earlier for earlier, later in pairwise(marks)):
        raise InvalidInput(f"checkpoints must increase, at least one, got {checkpoints!r}.")
    return np.array(marks, np.int64)


def log_log_fit(x: Sequence[float], y: Sequence[float]) -> tuple[float, float | None]:
    """Return the least-squares slope of ln y against ln x, and its standard error.

    All values must be positive. Two points leave no error: None.
    """
    a, b = [math.log(value) for value in x], [math.log(value) for value in y]
    n, center, level = len(a), math.fsum(a) / len(a), math.fsum(b) / len(b)
    spread = math.fsum((u - center) ** 2 for u in a)
    slope = math.fsum((u - center) * (w - level) for u, w in zip(a, b, strict=True)) / spread
    if n <= 2:
        return slope, None
    residuals = [w - level - slope * (u - center) for u, w in zip(a, b, strict=True)]
    return slope, math.sqrt(math.fsum(r * r for r in residuals) / (n - 2) / spread)
