"""What lex-linucb reaches in the paper's experiments: one setting for both, its defaults.

The default threshold was chosen on these experiments, some of these seeds included, so the tests
guard what was reached; docs/policies/lex-linucb.md has figures from other seeds.
"""

import numpy as np
import pytest

import lexbandit
from lexbandit.metrics import Tally, Truth

pytestmark = pytest.mark.compiled


def regrets(environment: str, name: str, horizon: int, runs: int, scale: float = 1.0) -> np.ndarray:
    source = lexbandit.make_environment(environment)
    finals = []
    for run in range(runs):
        policy = lexbandit.make_policy(
            name, arms=source.arms, dimension=2, horizon=horizon, scale=scale, seed=run
        )
        tally = Tally([horizon], objectives=2)
        for block in source.stream(horizon, seed=run):
            tally.add(Truth(block.means), policy.replay(block))
        finals.append(tally.regret[0])
    return np.array(finals)


def test_experiment_1() -> None:
    """At most (250, 250) on average, where tuned MOC-MAB has about (1300, 465)."""
    mean = regrets("synthetic", "lex-linucb", 100_000, 20).mean(axis=0)
    assert (mean <= [250, 250]).all()


@pytest.mark.slow
def test_experiment_2() -> None:
    """At most (6000, 0), and more reward than tuned CD-UCB1 in both objectives.

    The rounds are the same for both, so less regret is more expected reward.
    """
    ours = regrets("multichannel", "lex-linucb", 1_000_000, 5).mean(axis=0)
    theirs = regrets("multichannel", "cd-ucb1", 1_000_000, 5, scale=1 / 5).mean(axis=0)
    assert (ours <= [6000, 0]).all()
    assert (ours < theirs).all()
