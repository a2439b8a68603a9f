"""How often the intervals of comparisons cover the truth where they say 95 %.

The truth is the mean, over the decisions made, of the expected reward of the arm that was played
minus that of the arm it is compared with, in the same context.
"""

from typing import NamedTuple

import numpy as np
import pytest

import lexbandit as lb
from chooser.beliefs import Beliefs


class World(NamedTuple):
    """means[context, arm, objective]; each objective's noise: ± so much, or None for 0 and 1."""

    means: list[list[list[float]]]
    noise: tuple[float | None, ...]


WORLDS = {
    "rates": World([[[0.80, 0.3], [0.78, 0.5], [0.60, 0.8]]] * 2, (None, 0.1)),
    "rare": World([[[0.03], [0.028], [0.012]]] * 2, (None,)),
    "contexts": World(
        [[[0.9, 0.2], [0.88, 0.5], [0.5, 0.9]], [[0.6, 0.2], [0.85, 0.5], [0.84, 0.9]]],
        (None, 0.1),
    ),
    "three": World([[[0.7, 0.4, 0.3], [0.69, 0.6, 0.5], [0.5, 0.6, 0.7]]] * 2, (0.3, 0.3, 0.3)),
}


ARMS = ["a", "b", "c"]


def chooser_of(world: World, policy: str, seed: int) -> lb.Chooser:
    """Return a chooser by a policy for tests that knows its deviations, or by another one."""
    depth = len(world.noise)
    made: str | Beliefs = policy
    if policy == "beliefs":
        noise = tuple(0.5 if one is None else one / 3**0.5 for one in world.noise)
        made = Beliefs(arms=len(ARMS), noise=noise, seed=seed)
    return lb.Chooser(
        objectives=[lb.Objective(f"o{i}") for i in range(depth)],
        arms=ARMS,
        context=[lb.Number("x", 0, 1)],
        policy=made,
        explore=0.15 if policy == "lex-linucb" else 0.0,
        seed=seed,
    )


def covered(world: World, policy: str, n: int, seed: int) -> np.ndarray:
    """Return whether each arm's interval covers the truth in each objective, bool[K, D]."""
    means = np.array(world.means)
    chooser = chooser_of(world, policy, seed)
    random = np.random.default_rng(seed)
    truth = np.zeros(means.shape[1:])
    for x in random.integers(0, 2, n).tolist():
        decision = chooser.choose({"x": x})
        expected = means[x, ARMS.index(decision.arm)]
        truth += (expected - means[x]) / n
        rewards = {}
        for i, spread in enumerate(world.noise):
            if spread is None:
                rewards[f"o{i}"] = float(random.random() < expected[i])
            else:
                rewards[f"o{i}"] = float(expected[i] + random.uniform(-spread, spread))
        chooser.reward(decision, rewards)
    against = chooser.summary().against
    found = [[[one.low, one.high] for one in against[arm].values()] for arm in ARMS]
    low, high = np.moveaxis(np.array(found, float), -1, 0)
    return np.asarray((low <= truth) & (truth <= high))  # no interval counts as one that misses


def least_coverage(name: str, policy: str, n: int, runs: int) -> float:
    """Return the least coverage among arms and objectives."""
    every = [covered(WORLDS[name], policy, n, seed) for seed in range(runs)]
    return float(np.mean(every, axis=0).min())


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("policy", ["lex-thompson", "beliefs"])
def test_intervals_cover_the_truth(name: str, policy: str) -> None:
    assert least_coverage(name, policy, 100, 60) >= 0.90


def test_intervals_cover_the_truth_without_a_model() -> None:
    assert least_coverage("contexts", "random", 200, 100) >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["lex-thompson", "beliefs", "random", "lex-linucb"])
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_cover_the_truth_in_300_runs(name: str, policy: str) -> None:
    rounds = {"lex-thompson": 1000, "lex-linucb": 3000}
    assert least_coverage(name, policy, rounds.get(policy, 600), 300) >= 0.90


# The mean quality of each arm by kind of request: the first is good in one kind and bad in others.
ROUTERS = {
    "quick start": {"code": [0.6, 0.89, 0.9], "maths": [0.3, 0.6, 0.9], "chat": [0.89, 0.89, 0.9]},
    "two kinds": {"code": [0.47, 0.88, 0.9], "sum": [0.72, 0.88, 0.9], "chat": [0.9, 0.9, 0.9]},
}
COSTS = [0.0005, 0.003, 0.02]


def covered_by_kinds(name: str, n: int, seed: int, explore: float) -> list[bool]:
    """Return for each arm whether the interval of its quality covers the truth."""
    kinds = ROUTERS[name]
    random = np.random.default_rng(seed)
    chooser = lb.Chooser(
        objectives=[
            lb.Objective("quality", tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        arms=ARMS,
        context=[lb.Category("kind", list(kinds)), lb.Number("size", 0, 1)],
        explore=explore,
        seed=seed,
    )
    truth = np.zeros(len(ARMS))
    for kind in random.choice(list(kinds), n).tolist():
        decision = chooser.choose({"kind": kind, "size": random.random()})
        arm = ARMS.index(decision.arm)
        means = np.array(kinds[kind])
        chooser.reward(decision, quality=means[arm] + random.uniform(-0.1, 0.1), cost=COSTS[arm])
        truth += (means[arm] - means) / n
    against = chooser.summary().against
    found = [[against[arm]["quality"].low, against[arm]["quality"].high] for arm in ARMS]
    low, high = np.array(found, float).T
    return list(map(bool, (low <= truth) & (truth <= high)))


@pytest.mark.parametrize("explore", [0.06, 0.0])
def test_intervals_cover_arms_of_one_kind(explore: float) -> None:
    every = [covered_by_kinds("two kinds", 300, seed, explore) for seed in range(40)]
    assert np.mean(every, axis=0).min() >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("explore", [0.06, 0.0])
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("name", ROUTERS)
def test_arms_of_one_kind_in_200_runs(name: str, n: int, explore: float) -> None:
    """Without `explore` the model judges the kinds in which an arm was left out."""
    every = [covered_by_kinds(name, n, seed, explore) for seed in range(200)]
    assert np.mean(every, axis=0).min() >= 0.90
