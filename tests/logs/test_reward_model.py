"""The reward model: the package's regression, fitted on earlier rows only."""

import numpy as np
import pytest

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.features import make_features
from lexbandit.logs import reward_model
from lexbandit.logs.differences import differences
from lexbandit.logs.estimators import scores
from lexbandit.logs.reward_model import RewardModel
from lexbandit.logs.sums import blocks, merge, sum_block
from lexbandit.objectives import Objective
from logs import worlds


def made(seed: int, rows: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    contexts = random.random((rows, 2))
    action = random.integers(0, 3, rows)
    slopes = np.array([[0.5, -0.3], [-0.4, 0.2], [0.0, 0.6]])
    means = 0.3 + np.einsum("nd,nd->n", contexts, slopes[action]).clip(-0.3, 0.6)
    reward = np.stack([means, 1 - means], axis=1) + random.normal(0, 0.05, (rows, 2))
    return contexts, action, reward.clip(0, 1)


def test_it_is_the_regression_of_the_policies() -> None:
    """After the same rewards it predicts what lex-thompson does, computed from its sums alone."""
    contexts, action, reward = made(1, 500)
    features = make_features("legendre", dimension=2, degree=2)
    model = RewardModel(arms=3, objectives=2, features=features)
    policy = lexbandit.make_policy("lex-thompson", arms=3, dimension=2, features=features)
    policy.update_many(contexts, action, reward)
    model.learn(contexts, action, reward)
    point = np.array([0.3, 0.6])
    wanted = np.clip(policy.predict(point)[0], 0, 1)
    assert model.predict(point[np.newaxis])[0] == pytest.approx(wanted, abs=0.02)


def test_it_learns_and_stays_within_the_range() -> None:
    contexts, action, reward = made(2)
    model = RewardModel(arms=3, objectives=2, features=make_features("raw", dimension=2))
    before = model.predict(contexts)
    for first, last in blocks(0, 2500):
        model.learn(contexts[first:last], action[first:last], reward[first:last])
    rows, played = np.arange(2500, 3000), action[2500:]
    errors = [
        np.abs(found[rows, played, 0] - reward[2500:, 0]).mean()
        for found in (before, model.predict(contexts))
    ]
    assert errors[1] < 0.3 * errors[0]
    assert model.predict(contexts).min() >= 0
    assert model.predict(contexts).max() <= 1


def test_missing_rewards_are_not_learned() -> None:
    contexts, action, reward = made(3)
    gaps = reward.copy()
    gaps[::2] = np.nan
    models = [
        RewardModel(arms=3, objectives=2, features=make_features("raw", dimension=2))
        for _ in range(2)
    ]
    models[0].learn(contexts, action, gaps)
    models[1].learn(contexts[1::2], action[1::2], reward[1::2])
    np.testing.assert_allclose(
        models[0].predict(contexts), models[1].predict(contexts), rtol=0, atol=1e-12
    )


def test_it_stops_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_model, "ROWS", 1000)
    contexts, action, reward = made(4)
    model = RewardModel(arms=3, objectives=2, features=make_features("raw", dimension=2))
    model.learn(contexts[:1000], action[:1000], reward[:1000])
    assert model.done
    then = model.predict(contexts)
    model.learn(contexts[1000:], action[1000:], 1 - reward[1000:])
    np.testing.assert_array_equal(model.predict(contexts), then)


def test_bad_rows_are_refused() -> None:
    contexts, action, reward = made(5, 10)
    model = RewardModel(arms=3, objectives=2, features=make_features("raw", dimension=2))
    with pytest.raises(InvalidInput, match=r"lie in \[0, 1\]"):
        model.predict(contexts + 1)
    with pytest.raises(InvalidInput, match="arms go from 0 to 2"):
        model.learn(contexts, action + 3, reward)


def test_a_log_of_the_default_policy_is_covered() -> None:
    """Lexicographic logging with explore, a predictable model: 40 runs of 300 rows, every look.

    The truth is the mean over rows of what arm 1 gives more than what was logged.
    """
    rows, explore, missed, least = 300, 0.2, 0, 0.1
    means = np.array([[0.7, 0.3], [0.65, 0.8]])
    candidate = worlds.always(1, 2, rows)
    features = make_features("raw", dimension=1)
    random = np.random.default_rng(6)
    for run in range(40):
        policy = lexbandit.make_policy(
            "lex-thompson", arms=2, dimension=1, features="raw", tolerance=[0.1, 0.0], seed=run
        )
        model = RewardModel(arms=2, objectives=2, features=features)
        contexts = random.random((rows, 1))
        action, chances = np.empty(rows, np.int64), np.empty((rows, 2))
        reward, predicted = np.empty((rows, 2)), np.empty((rows, 2, 2))
        for t in range(rows):
            chances[t] = (1 - explore) * policy._propensities_checked(contexts[t], None)
            chances[t] += explore / 2
            action[t] = int(random.random() < chances[t, 1])
            reward[t] = random.random(2) < means[action[t]]
            policy.update(contexts[t], int(action[t]), reward[t])
        propensity = chances[np.arange(rows), action]
        parts = []
        for first, last in blocks(0, rows):
            part = slice(first, last)
            predicted[part] = model.predict(contexts[part])
            model.learn(contexts[part], action[part], reward[part])
            parts.append(
                sum_block(
                    first,
                    reward=reward[part],
                    action=action[part],
                    propensity=propensity[part],
                    candidate=candidate[part],
                    predicted=predicted[part],
                )
            )
        found = differences(merge(parts), [Objective("a"), Objective("b")], least_propensity=least)
        truth = means[1] - (chances @ means).mean(axis=0)
        missed += any(
            not one.low <= value <= one.high for one, value in zip(found, truth, strict=True)
        )
        robust = scores(
            reward=reward[:, 0],
            action=action,
            propensity=propensity,
            candidate=candidate,
            predicted=predicted[:, :, 0],
        )[2]
        assert found[0].difference == pytest.approx(
            np.clip(robust.mean(), found[0].low, found[0].high), abs=1e-12
        )
    assert missed <= 2
