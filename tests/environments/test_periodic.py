import math

import numpy as np
import pytest

import lexbandit
from lexbandit.environments.periodic import Periodic
from lexbandit.errors import InvalidInput
from lexbandit.metrics import Tally, Truth


def make(**parameters: object) -> Periodic:
    environment = lexbandit.make_environment("periodic", **parameters)
    assert isinstance(environment, Periodic)
    return environment


def test_the_last_feature_is_the_time_from_round_1() -> None:
    environment = make(period=4, features=2)
    assert environment.dimension == 3
    contexts = environment.rounds(9, seed=0).contexts
    assert contexts[:, 2].tolist() == [0.25, 0.5, 0.75, 0, 0.25, 0.5, 0.75, 0, 0.25]
    assert len(np.unique(contexts[:, :2])) == 18


@pytest.mark.parametrize("block", [1, 3, 4, 7, 100])
def test_the_clock_does_not_depend_on_blocks(block: int) -> None:
    environment = make(period=7)
    whole = environment.rounds(50, seed=2)
    parts = list(environment.stream(50, seed=2, block=block))
    np.testing.assert_array_equal(np.concatenate([p.contexts for p in parts]), whole.contexts)
    np.testing.assert_array_equal(np.concatenate([p.outcomes for p in parts]), whole.outcomes)


@pytest.mark.parametrize("arms", [1, 2, 3, 4, 5, 8])
def test_pairs_are_tied_exactly_and_take_turns(arms: int) -> None:
    environment = make(arms=arms, features=2)
    means = environment.means(np.random.default_rng(0).random((2000, 3)))
    for arm in range(0, arms - 1, 2):
        assert (means[:, arm, 0] == means[:, arm + 1, 0]).all()
        np.testing.assert_allclose(means[:, arm, 1] + means[:, arm + 1, 1], 1.0)
    assert (environment.optimal_arms(means).mean(axis=0) > 0.5 / (arms + 1)).all()
    assert ((means >= 0.2 - 1e-12) & (means <= 0.8 + 1e-12)).all()


def test_without_the_time_there_is_nothing_to_learn() -> None:
    environment = make(arms=5)
    contexts = np.column_stack([np.full(1000, 0.37), np.arange(1000) / 1000])
    np.testing.assert_allclose(environment.means(contexts).mean(axis=0), 0.5)


@pytest.mark.compiled
def test_with_the_time_a_policy_learns_both_objectives() -> None:
    """moc-mab over 100,000 rounds, with and without the last feature: regret per round."""
    regrets = []
    for features in (2, 1):
        policy = lexbandit.make_policy(
            "moc-mab", arms=4, dimension=features, horizon=100_000, scale=1 / 15, seed=1
        )
        tally = Tally([100_000], objectives=2)
        for block in make().stream(100_000, seed=3):
            rounds = lexbandit.Rounds(block.contexts[:, :features], block.outcomes)
            tally.add(Truth(block.means), policy.replay(rounds))
        regrets.append(tally.regret[0] / 100_000)
    with_time, without = regrets
    assert (with_time < 0.07).all()  # (0.060, 0.015)
    assert (without > 0.17).all()  # as bad as any arm: the average over a period is the same


def test_a_period_joins_the_next() -> None:
    environment = make()
    end, start = environment.means([[0.6, 1.0], [0.6, 0.0]])
    np.testing.assert_allclose(end, start)


@pytest.mark.parametrize("frequency", [0.25, 2.0])
@pytest.mark.parametrize("features", [1, 3])
def test_lipschitz(frequency: float, features: int) -> None:
    environment = make(frequency=frequency, features=features)
    random = np.random.default_rng(0)
    x = random.random((20_000, features + 1))
    y = np.clip(x + 1e-5 * random.standard_normal(x.shape), 0, 1)
    change = np.abs(environment.means(x) - environment.means(y)).max(axis=(1, 2))
    steepest = (change / np.sqrt(((x - y) ** 2).sum(1))).max()
    assert 0.9 * environment.lipschitz < steepest <= environment.lipschitz * (1 + 1e-6)


@pytest.mark.parametrize("period", [0, -3, 2.5, math.nan, "day", None])
def test_bad_periods(period: object) -> None:
    with pytest.raises(InvalidInput, match="period must be a whole number of at least 1"):
        make(period=period)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"arms": 0}, "arms"), ({"features": 0}, "features"), ({"frequency": -1}, "frequency"),
     ({"plan": 0.5}, "plan")],
)  # fmt: skip
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"{words} must be"):
        make(**parameters)
