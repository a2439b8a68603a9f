"""Logs whose truth is known: many runs side by side, by policies that learn and that do not."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lexbandit.checks import Floats, Integers

PHI = np.vectorize(NormalDist().cdf, otypes=[float])


@dataclass
class Runs:
    """group, action and propensity [runs, n], reward[runs, n, D], chances[runs, n, K]."""

    group: Integers
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


def thompson(plays: Floats, wins: Floats, tolerance: float = 0.0) -> Floats:
    """Thompson sampling of two arms with normal posteriors; no chance has a least value."""
    means = (wins + 1.0) / (plays + 2.0)
    variances = means * (1 - means) / (plays + 3.0)
    first = PHI((means[:, 0] - means[:, 1] - tolerance) / np.sqrt(variances.sum(axis=1)))
    first = np.clip(first, 1e-4, 1 - 1e-4)
    return np.stack([first, 1 - first], axis=1)


def lexicographic(plays: Floats, wins: Floats) -> Floats:
    """Arm 1, which is cheaper, unless arm 0 is drawn to be better by more than 0.05; or any."""
    return 0.9 * thompson(plays, wins, 0.05) + 0.05


POLICIES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "uniform": uniform,
    "epsilon-greedy": epsilon_greedy,
    "thompson": thompson,
    "lexicographic": lexicographic,
}
# The least propensity that each promises.
LEAST = {"uniform": 0.5, "epsilon-greedy": 0.1, "thompson": 0.0, "lexicographic": 0.05}


def play(policy: str, means: Floats, *, runs: int, rows: int, seed: int) -> Runs:
    """Play Bernoulli arms with means[K, D], or means[G, K, D] in G groups of contexts.

    A policy learns from the first objective, in each group by itself.
    """
    random = np.random.default_rng(seed)
    of_groups = means.reshape(-1, *means.shape[-2:])
    groups, arms, objectives = of_groups.shape
    each = np.arange(runs)
    plays, wins = np.zeros((2, runs, groups, arms))
    group = random.integers(0, groups, (runs, rows))
    action = np.empty((runs, rows), np.int64)
    chances = np.empty((runs, rows, arms))
    reward = np.empty((runs, rows, objectives))
    for t in range(rows):
        here = group[:, t]
        now = POLICIES[policy](plays[each, here], wins[each, here])
        drawn = (now.cumsum(axis=1) < random.random((runs, 1))).sum(axis=1)
        arm = np.minimum(drawn, arms - 1)
        got = (random.random((runs, objectives)) < of_groups[here, arm]).astype(float)
        action[:, t], chances[:, t], reward[:, t] = arm, now, got
        plays[each, here, arm] += 1
        wins[each, here, arm] += got[:, 0]
    propensity = np.take_along_axis(chances, action[..., np.newaxis], axis=2)[..., 0]
    return Runs(group, action, propensity, reward, chances)


def always(arm: int, arms: int, rows: int) -> Floats:
    """The probabilities of always playing one arm."""
    found = np.zeros((rows, arms))
    found[:, arm] = 1.0
    return found


def running_mean(values: Floats) -> Floats:
    return np.asarray(values.cumsum(axis=-1) / np.arange(1, values.shape[-1] + 1))
