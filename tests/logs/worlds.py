"""Logs whose truth is known: many runs side by side, by policies that learn and that do not."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lexbandit.checks import Floats, Integers

PHI = np.vectorize(NormalDist().cdf, otypes=[float])


@dataclass
class Runs:
    """action[runs, n], propensity[runs, n], reward[runs, n, D], and chances[runs, n, K]."""

    action: Integers
    propensity: Floats
    reward: Floats
    chances: Floats


def uniform(plays: Floats, _: Floats) -> Floats:
    return np.full(plays.shape, 1 / plays.shape[1])


def epsilon_greedy(plays: Floats, wins: Floats, epsilon: float = 0.2) -> Floats:
    """The arm of the highest mean so far, or with probability ε any."""
    arms = plays.shape[1]
    best = ((wins + 0.5) / (plays + 1.0)).argmax(axis=1)
    chances = np.full(plays.shape, epsilon / arms)
    chances[np.arange(len(best)), best] += 1 - epsilon
    return chances


def thompson(plays: Floats, wins: Floats) -> Floats:
    """Thompson sampling of two arms with normal posteriors; no chance has a least value."""
    means = (wins + 1.0) / (plays + 2.0)
    variances = means * (1 - means) / (plays + 3.0)
    first = PHI((means[:, 0] - means[:, 1]) / np.sqrt(variances.sum(axis=1)))
    first = np.clip(first, 1e-4, 1 - 1e-4)
    return np.stack([first, 1 - first], axis=1)


POLICIES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "uniform": uniform,
    "epsilon-greedy": epsilon_greedy,
    "thompson": thompson,
}


def play(policy: str, means: Floats, *, runs: int, rows: int, seed: int) -> Runs:
    """Play Bernoulli arms with means[K, D]; the policy learns from the first objective."""
    random = np.random.default_rng(seed)
    arms, objectives = means.shape
    each = np.arange(runs)
    plays, wins = np.zeros((runs, arms)), np.zeros((runs, arms))
    action = np.empty((runs, rows), np.int64)
    chances = np.empty((runs, rows, arms))
    reward = np.empty((runs, rows, objectives))
    for t in range(rows):
        now = POLICIES[policy](plays, wins)
        drawn = (now.cumsum(axis=1) < random.random((runs, 1))).sum(axis=1)
        arm = np.minimum(drawn, arms - 1)
        got = (random.random((runs, objectives)) < means[arm]).astype(float)
        action[:, t], chances[:, t], reward[:, t] = arm, now, got
        plays[each, arm] += 1
        wins[each, arm] += got[:, 0]
    propensity = np.take_along_axis(chances, action[..., np.newaxis], axis=2)[..., 0]
    return Runs(action, propensity, reward, chances)


def always(arm: int, arms: int, rows: int) -> Floats:
    """The probabilities of always playing one arm."""
    found = np.zeros((rows, arms))
    found[:, arm] = 1.0
    return found


def running_mean(values: Floats) -> Floats:
    return np.asarray(values.cumsum(axis=-1) / np.arange(1, values.shape[-1] + 1))


def at_most(count: int, runs: int, alpha: float) -> bool:
    """Whether so many failures fit a rate of at most alpha: within three standard errors."""
    return count <= runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))
