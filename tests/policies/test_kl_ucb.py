"""KL-UCB, and cd-ucb1 with other bounds."""

from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.bounds import REGISTRY as BOUNDS
from lexbandit.bounds import SubGaussianBound, UCB1Bound
from lexbandit.errors import InvalidInput
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.rounds import Rounds
from naive import run
from support import as_lists, assert_same_state, some_rounds, step
from twins.bounds import KlUcb


@pytest.mark.parametrize("cells_per_side", [None, 3])
@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_arms_are_those_of_the_twin(seed: int, scale: float, cells_per_side: int | None) -> None:
    """The roots agree to 1e-12, so arms can differ only where indices are as close as that.

    With continuous rewards they are not, unless both are within 1e-12 of 1: there both take 1, and
    draw.
    """
    arms = 3 + seed
    rounds = some_rounds(1200, arms=arms, seed=seed)
    policy = lexbandit.make_policy(
        "kl-ucb", arms=arms, dimension=2, scale=scale, cells_per_side=cells_per_side, seed=seed
    )
    twin = KlUcb(arms, cells_per_side or 1, scale, seed)
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))


def test_contexts_are_ignored_unless_a_grid_is_asked_for() -> None:
    policy = lexbandit.make_policy("kl-ucb", arms=2, dimension=3, horizon=1000)
    assert isinstance(policy, CellPolicy)
    assert policy.partition.cells == 1
    policy = lexbandit.make_policy("kl-ucb", arms=2, dimension=3, cells_per_side=4)
    assert isinstance(policy, CellPolicy)
    assert policy.partition.cells == 64


def test_the_index_stays_in_the_unit_interval() -> None:
    policy = lexbandit.make_policy("kl-ucb", arms=3, dimension=2)
    policy.replay(some_rounds(300, arms=3, binary=True))
    for report in policy.explain([0.5, 0.5]).arms:
        for mean, width, index in zip(report.mean, report.width, report.index, strict=True):
            assert mean <= index <= 1.0
            assert 0.0 < 2 * width <= 1.0


@pytest.mark.compiled
def test_kl_ucb_beats_ucb1_on_rare_successes() -> None:
    """Garivier and Cappé's point; means of 3 arms at most 0.1, averaged over 10 streams."""
    totals = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        outcomes = random.random((5000, 3, 1)) < np.array([0.1, 0.05, 0.02])[:, np.newaxis]
        rounds = Rounds(np.zeros((5000, 1)), outcomes.astype(float))
        common: dict[str, Any] = {"arms": 3, "dimension": 1, "objectives": 1, "seed": seed}
        totals.append(
            [
                (lexbandit.make_policy(name, **common).replay(rounds) == 0).mean()
                for name in ("kl-ucb", "ucb1")
            ]
        )
    kl_ucb, ucb1 = np.mean(totals, axis=0)
    assert kl_ucb > 0.85
    assert ucb1 < 0.7


@pytest.mark.parametrize("wrong", [-0.01, 1.01, 7.0])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("kl-ucb", {}), ("cd-ucb1", {"bound": "kl"}), ("moc-mab", {"bound": "empirical-bernstein"})],
)
def test_rewards_outside_the_unit_interval_are_refused(
    name: str, parameters: dict[str, Any], wrong: float
) -> None:
    policy = lexbandit.make_policy(name, arms=4, dimension=2, horizon=100, **parameters)
    rounds = some_rounds(50)
    policy.replay(rounds)
    before = policy.state()
    for rewards in ([wrong, 0.5], [0.5, wrong]):
        with pytest.raises(InvalidInput, match=r"rewards\[[01]\] is .* lie in \[0, 1\]"):
            policy.update([0.2, 0.2], 0, rewards)
    outcomes = rounds.outcomes.copy()
    outcomes[7, 2, 1] = wrong
    with pytest.raises(InvalidInput, match=r"outcomes\[7, 2, 1\] is .* lie in \[0, 1\]"):
        policy.replay(Rounds(rounds.contexts, outcomes))
    for array, value in policy.state().items():
        np.testing.assert_array_equal(value, before[array])


@pytest.mark.parametrize("bound", BOUNDS.names())
@pytest.mark.parametrize("name", ["cd-ucb1", "ucb1", "cp-ucb1", "p-ucb1"])
def test_any_bound_serves_the_papers_rules(name: str, bound: str) -> None:
    """One at a time and in a replay: the same arms and state."""
    rounds = some_rounds(250, binary=True)
    common: dict[str, Any] = {"arms": 4, "dimension": 2, "horizon": 250, "scale": 0.3, "seed": 1}
    slowly = lexbandit.make_policy(name, bound=bound, **common)
    quickly = lexbandit.make_policy(name, bound=bound, **common)
    np.testing.assert_array_equal(step(slowly, rounds), quickly.replay(rounds))
    assert_same_state(slowly, quickly)


def test_cd_ucb1_with_the_bound_of_kl_ucb_is_kl_ucb_in_cells() -> None:
    rounds = some_rounds(1000)
    common: dict[str, Any] = {"arms": 4, "dimension": 2, "horizon": 1000, "cells_per_side": 3}
    one = lexbandit.make_policy("cd-ucb1", bound="kl-ucb", **common)
    other = lexbandit.make_policy("kl-ucb", **common)
    np.testing.assert_array_equal(one.replay(rounds), other.replay(rounds))


def test_bounds_are_told_the_problem() -> None:
    policy = lexbandit.make_policy(
        "cd-ucb1", arms=4, dimension=2, horizon=1000, cells_per_side=3, bound="sub-gaussian"
    )
    assert isinstance(policy, CellPolicy)
    assert policy.bound == SubGaussianBound(arms=4, objectives=2, cells=9, horizon=1000)
    policy = lexbandit.make_policy("ucb1", arms=4, dimension=2, scale=0.5)
    assert isinstance(policy, CellPolicy)
    assert policy.bound == UCB1Bound(arms=4, scale=0.5)
    with pytest.raises(InvalidInput, match="needs horizon"):
        lexbandit.make_policy("ucb1", arms=4, dimension=2, bound="kl")
