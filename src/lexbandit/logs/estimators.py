"""Estimators of a policy's value from logged decisions, on plain arrays.

Every estimator takes, by keyword,

    reward         float[n], the reward of the arm that was played
    action         int[n], that arm
    propensity     float[n], the probability with which it was played
    probabilities  float[n, K], the probability that the evaluated policy gives to every arm
    predicted      float[n, K], a reward model's prediction for every arm

and returns the estimated mean reward of the policy. Leave rows without a reward out. With
w = probabilities[action]/propensity and q = predicted[action] these are the definitions of Open
Bandit Pipeline (Saito et al., 2021, NeurIPS Datasets and Benchmarks), except that nothing is
computed for positions or slates. The sums of `logs.sums` give the same values for all objectives
and both policies of a comparison in one pass.

IPS and DR are unbiased if the propensities are right and every arm of the policy had one, also on
logs of a learning policy, provided that the model of DR was fitted on other or earlier rows.
"""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput

# The settings of Switch-DR, DR with optimistic shrinkage and clipped IPS, by default.
THRESHOLD, SHRINKAGE, CLIP = 10.0, 100.0, 10.0
# Probabilities of a row sum to 1 within this.
_ROUNDING = 1e-6


def _arrays(
    reward: Any,
    action: Any,
    propensity: Any,
    probabilities: Any,
    predicted: Any,
    *,
    may_miss: bool = False,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return rewards, weights, predictions for the played arm, and the model's value of a row.

    `may_miss`: NaN is a missing reward.
    """
    given = checks.floats("probabilities", probabilities, (None, None))
    rows, arms = given.shape
    if not rows:
        raise InvalidInput("probabilities has no rows: there is nothing to estimate from.")
    values = checks.floats("reward", reward, (rows,))
    chances = checks.floats("propensity", propensity, (rows,))
    played = checks.arms_of(action, rounds=rows, arms_known=arms)
    wrong = ~((chances > 0.0) & (chances <= 1.0))
    checks.refuse_first("propensity", chances, wrong, "a propensity is above 0 and at most 1")
    wrong = np.isinf(values) if may_miss else ~np.isfinite(values)
    checks.refuse_first("reward", values, wrong, "a reward is a finite number; leave others out")
    checks.refuse_first("probabilities", given, ~(given >= 0.0), "a probability is not negative")
    sums = given.sum(axis=1)
    wrong = ~(np.abs(sums - 1.0) <= _ROUNDING)
    checks.refuse_first("the sum of probabilities", sums, wrong, "probabilities of a row sum to 1")
    model = np.zeros_like(given)
    if predicted is not None:
        model = checks.floats("predicted", predicted, (rows, arms))
        checks.refuse_first("predicted", model, ~np.isfinite(model), "a prediction is finite")
    each = np.arange(rows)
    return values, given[each, played] / chances, model[each, played], (given * model).sum(axis=1)


def _total(weights: Floats) -> float:
    """Return the sum of the weights; none at all is refused, where they are divided by."""
    total = float(weights.sum())
    if total == 0.0:
        raise InvalidInput(
            "there is no overlap: the policy has no probability for the action of any row."
        )
    return total


def dm(*, reward: Any, action: Any, propensity: Any, probabilities: Any, predicted: Any) -> float:
    """Direct method: the mean of Σ_a π(a)q(a) (Beygelzimer and Langford, 2009, KDD)."""
    _, _, _, value = _arrays(reward, action, propensity, probabilities, predicted)
    return float(value.mean())


def ips(
    *, reward: Any, action: Any, propensity: Any, probabilities: Any, predicted: Any = None
) -> float:
    """Inverse propensity score: the mean of w·r (Horvitz and Thompson, 1952, JASA 47)."""
    y, w, _, _ = _arrays(reward, action, propensity, probabilities, predicted)
    return float((w * y).mean())


def snips(
    *, reward: Any, action: Any, propensity: Any, probabilities: Any, predicted: Any = None
) -> float:
    """Self-normalised IPS: Σw·r / Σw (Swaminathan and Joachims, 2015, NeurIPS)."""
    y, w, _, _ = _arrays(reward, action, propensity, probabilities, predicted)
    return float((w * y).sum() / _total(w))


def dr(*, reward: Any, action: Any, propensity: Any, probabilities: Any, predicted: Any) -> float:
    """Doubly robust: the mean of Σ_a π(a)q(a) + w(r − q) (Dudík et al., 2014, Stat. Science 29)."""
    y, w, q, value = _arrays(reward, action, propensity, probabilities, predicted)
    return float((value + w * (y - q)).mean())


def sndr(*, reward: Any, action: Any, propensity: Any, probabilities: Any, predicted: Any) -> float:
    """Self-normalised DR: mean Σ_a π(a)q(a) + Σw(r − q)/Σw (Thomas and Brunskill, 2016, ICML)."""
    y, w, q, value = _arrays(reward, action, propensity, probabilities, predicted)
    return float(value.mean() + (w * (y - q)).sum() / _total(w))


def switch_dr(
    *,
    reward: Any,
    action: Any,
    propensity: Any,
    probabilities: Any,
    predicted: Any,
    threshold: float = THRESHOLD,
) -> float:
    """Switch-DR: DR that corrects the model where w ≤ threshold (Wang et al., 2017, ICML)."""
    most = checks.positive("threshold", threshold)
    y, w, q, value = _arrays(reward, action, propensity, probabilities, predicted)
    return float((value + np.where(w <= most, w, 0.0) * (y - q)).mean())


def dr_shrinkage(
    *,
    reward: Any,
    action: Any,
    propensity: Any,
    probabilities: Any,
    predicted: Any,
    shrinkage: float = SHRINKAGE,
) -> float:
    """DR with optimistic shrinkage: weights λw/(w² + λ), λ = shrinkage (Su et al., 2020, ICML)."""
    most = checks.positive("shrinkage", shrinkage)
    y, w, q, value = _arrays(reward, action, propensity, probabilities, predicted)
    return float((value + most * w / (w * w + most) * (y - q)).mean())


def clipped_ips(
    *,
    reward: Any,
    action: Any,
    propensity: Any,
    probabilities: Any,
    predicted: Any = None,
    clip: float = CLIP,
) -> float:
    """Clipped IPS: the mean of min(w, clip)·r (Ionides, 2008, J. Comp. Graph. Statistics 17)."""
    most = checks.positive("clip", clip)
    y, w, _, _ = _arrays(reward, action, propensity, probabilities, predicted)
    return float((np.minimum(w, most) * y).mean())


def scores(
    *,
    reward: Any,
    action: Any,
    propensity: Any,
    candidate: Any,
    baseline: Any = None,
    predicted: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """Return L, U and R of every row, as `logs.sequences` defines them, for one objective.

    reward[n] are shares in [0, 1], NaN where missing; baseline None is what was logged. The mean of
    R is the doubly robust estimate of the difference of candidate and baseline.
    """
    y, w, q, value = _arrays(reward, action, propensity, candidate, predicted, may_miss=True)
    if baseline is None:
        return (w - 1.0) * y, (w - 1.0) * (y - 1.0), value + w * (y - q) - y
    _, v, _, base_value = _arrays(reward, action, propensity, baseline, predicted, may_miss=True)
    moved = np.asarray(candidate, np.float64) - np.asarray(baseline, np.float64)
    gained, lost = np.maximum(w - v, 0.0), np.maximum(v - w, 0.0)
    low = gained * y + lost * (1.0 - y) - np.maximum(-moved, 0.0).sum(axis=1)
    high = np.maximum(moved, 0.0).sum(axis=1) - gained * (1.0 - y) - lost * y
    return low, high, value - base_value + (w - v) * (y - q)
