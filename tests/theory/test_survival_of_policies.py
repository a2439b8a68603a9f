"""The package's own policies keep the optimal arm, at scale 1, as often as the theory promises."""

import math

import numpy as np
import pytest

import lexbandit
from lexbandit.environments.planted import Planted

HORIZON = 60_000
PARAMETERS: dict[str, dict[str, object]] = {
    "moc-mab": {"bound": "sub-gaussian", "beta": 2.0, "cells_per_side": 10},
    "staged-lex": {"cells_per_side": 10},
    "lex-tree": {"beta": 2.0, "split_after": 2000.0},
}


def probe(name: str, *, seed: int, assumption: float, **other: object) -> tuple[int, int, int]:
    """Return probes in which more than the first objective counted, those with a* lost, all.

    Every 2,000 rounds, 25 contexts are explained; λ is 0.5 for the policy.
    """
    environment = lexbandit.make_environment(
        "planted", arms=4, objectives=3, dimension=1, ties=2, assumption=assumption, plan=seed
    )
    assert isinstance(environment, Planted)
    policy = lexbandit.make_policy(
        name, arms=4, objectives=3, dimension=1, horizon=HORIZON, lam=0.5, seed=seed,
        L=environment.lipschitz, **{**PARAMETERS[name], **other},
    )  # fmt: skip
    random = np.random.default_rng(seed)
    deep = lost = probes = 0
    for block in environment.stream(HORIZON, seed=seed, block=2000):
        policy.replay(block)
        contexts = random.random((25, 1))
        optimal = environment.optimal_arms(environment.means(contexts)).argmax(axis=1)
        for context, arm in zip(contexts, optimal, strict=True):
            explanation = policy.explain(context)
            candidates = {report.arm for report in explanation.arms if report.candidate}
            probes += 1
            # moc-mab's rule names the top arm alone while it is unsure of it: nothing is decided.
            if name == "staged-lex" or explanation.reason.startswith("The top arm"):
                deep += 1
                lost += arm not in candidates
    return deep, lost, probes


@pytest.mark.compiled
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_optimal_arm_stays(name: str) -> None:
    """Intervals fail in at most 1 of 60,000 streams (lex-tree: 1 of 20); here in none."""
    for seed in range(3):
        deep, lost, probes = probe(name, seed=seed, assumption=0.5)
        assert deep > probes / 4
        assert lost == 0


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["moc-mab", "staged-lex"])
def test_it_is_lost_where_no_lambda_is_true(name: str) -> None:
    deep, lost, _ = probe(name, seed=0, assumption=math.inf, scale=0.2, cells_per_side=30)
    assert lost > 0.02 * deep
