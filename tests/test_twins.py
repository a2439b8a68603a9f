"""Every compiled policy against its plain twin, written from the paper."""

import numpy as np
import pytest

import lexbandit
from lexbandit.rounds import Rounds
from naive import InEveryCell, RememberingScalarizedUcb1, run
from support import PAPER, as_lists, some_rounds, twin_of

LETTER = {"cs-ucb1": RememberingScalarizedUcb1, "s-ucb1": RememberingScalarizedUcb1}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 1 / 5, 1 / 30])
@pytest.mark.parametrize("name", [*PAPER, "ucb1"])
def test_arms_are_identical_on_continuous_rewards(name: str, scale: float, seed: int) -> None:
    arms = 3 + seed
    rounds = some_rounds(1500, arms=arms, seed=seed)
    policy = lexbandit.make_policy(
        name, arms=arms, dimension=2, horizon=1500, scale=scale, cells_per_side=3, seed=seed
    )
    twin = twin_of(name, arms=arms, m=3, scale=scale, horizon=1500, seed=seed)
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))


def test_moc_mab_reaches_its_confident_branch_in_the_comparison() -> None:
    """The identity above would say little if objective 2 never decided."""
    rounds = some_rounds(1500, arms=4, seed=1)
    common = {"arms": 4, "dimension": 2, "horizon": 1500, "cells_per_side": 3, "seed": 1}
    moc = lexbandit.make_policy("moc-mab", scale=1 / 30, **common)
    moc.replay(rounds)
    confident = [
        "Candidates, with" in moc.explain(context).reason for context in rounds.contexts[:100]
    ]
    assert np.mean(confident) > 0.9


def _regrets(name: str, seeds: range, *, letter: bool) -> np.ndarray:
    """Total rewards in both objectives, one row a run on its own Bernoulli stream."""
    n, totals = 400, []
    for seed in seeds:
        rounds = some_rounds(n, seed=seed, binary=True)
        if letter:
            twin = twin_of(name, arms=4, m=2, scale=0.2, horizon=n, seed=seed)
            if name in LETTER:
                twin = InEveryCell(LETTER[name], 4, 2 if name == "cs-ucb1" else 1, 0.2, seed)
            arms = np.array(run(twin, *as_lists(rounds)))
        else:
            policy = lexbandit.make_policy(
                name, arms=4, dimension=2, horizon=n, scale=0.2, cells_per_side=2, seed=seed
            )
            arms = policy.replay(rounds)
        totals.append([*np.bincount(arms, minlength=4), *rounds.outcomes[range(n), arms].sum(0)])
    return np.array(totals, float)


@pytest.mark.parametrize("name", [*PAPER, "ucb1"])
def test_equal_in_distribution_on_bernoulli_rewards(name: str) -> None:
    """Plays of each arm and total rewards agree within 4 standard errors over 80 runs each.

    Scalarized UCB1 is compared with the twin that remembers the function it drew: this is the
    proof by experiment that crediting by the law of the function given the arm changes nothing.
    """
    ours = _regrets(name, range(80), letter=False)
    theirs = _regrets(name, range(1000, 1080), letter=True)
    error = np.sqrt(ours.var(0, ddof=1) / len(ours) + theirs.var(0, ddof=1) / len(theirs))
    assert (np.abs(ours.mean(0) - theirs.mean(0)) <= 4 * error).all()


def test_equal_in_distribution_can_fail() -> None:
    """The comparison above tells policies apart: CS-UCB1 is not taken for CD-UCB1."""
    ours = _regrets("cs-ucb1", range(80), letter=False)
    theirs = _regrets("cd-ucb1", range(1000, 1080), letter=True)
    error = np.sqrt(ours.var(0, ddof=1) / len(ours) + theirs.var(0, ddof=1) / len(theirs))
    assert (np.abs(ours.mean(0) - theirs.mean(0)) > 4 * error).any()


def test_one_arm_and_one_objective() -> None:
    rounds = Rounds(np.random.default_rng(0).random((50, 2)), np.ones((50, 1, 1)))
    for name in PAPER:
        policy = lexbandit.make_policy(name, arms=1, dimension=2, objectives=1, horizon=50)
        assert not policy.replay(rounds).any()
