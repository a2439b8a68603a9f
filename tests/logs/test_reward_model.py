"""The reward model: the package's regression, fitted on earlier rows only."""

import numpy as np
import pytest

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.features import make_features
from lexbandit.logs import reward_model
from lexbandit.logs.differences import differences
from lexbandit.logs.estimators import dr, ips, scores
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
    """After the same rewards it predicts what lex-thompson does, computed from its sums alone.

    These rewards follow the context so closely that all of the regression counts.
    """
    contexts, action, reward = made(1, 500)
    features = make_features("legendre", dimension=2, degree=2)
    model = RewardModel(arms=3, objectives=2, features=features)
    policy = lexbandit.make_policy("lex-thompson", arms=3, dimension=2, features=features)
    policy.update_many(contexts, action, reward)
    for first, last in blocks(0, 500):
        model.learn(contexts[first:last], action[first:last], reward[first:last])
    np.testing.assert_allclose(model._shares, 1.0, atol=0.05)
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


def test_the_regression_counts_by_what_it_predicted_before() -> None:
    """The twin: m + s(g − m), with s from rows that each model had not learned yet."""
    contexts, action, reward = made(6, 300)
    reward[:, 0] = np.random.default_rng(6).random(300) < 0.1  # follows neither arm nor context
    features = make_features("raw", dimension=2)
    model = RewardModel(arms=3, objectives=2, features=features)
    assert (model.predict(contexts) == 0.5).all()
    upper, lower = np.zeros(2), np.zeros(2)
    for first, last in blocks(0, 300):
        part = slice(first, last)
        mean = reward[:first].mean(axis=0) if first else np.full(2, 0.5)
        plain = np.einsum("nf,kdf->nkd", features.apply_all(contexts[part]), model._found)
        plain = plain.clip(0, 1)
        share = np.divide(upper, lower, out=np.zeros(2), where=lower > 0).clip(0, 1)
        np.testing.assert_allclose(
            model.predict(contexts[part]), mean + share * (plain - mean), rtol=0, atol=1e-12
        )
        beyond = plain[np.arange(last - first), action[part]] - mean
        upper += (beyond * (reward[part] - mean)).sum(axis=0)
        lower += (beyond**2).sum(axis=0)
        model.learn(contexts[part], action[part], reward[part])
    assert model._shares[0] < 0.5 < model._shares[1]


@pytest.mark.parametrize("explore", [1.0, 0.2])
def test_dr_is_no_worse_than_ips_on_rare_rewards(explore: float) -> None:
    """1,000 rows, 10 arms, clicks in about 1 %: over 200 logs, within 3 % of the error of IPS."""
    rows, arms, errors = 1000, 10, []
    features = make_features("raw", dimension=2)
    for seed in range(200):
        random = np.random.default_rng(9000 + seed)
        contexts = random.random((rows, 2))
        means = random.uniform(0.002, 0.02, arms) * (0.5 + contexts[:, :1])
        chances = np.full((rows, arms), explore / arms)
        chances[:, -1] += 1.0 - explore
        action = (chances.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
        reward = (random.random(rows) < means[np.arange(rows), action]).astype(float)
        model = RewardModel(arms=arms, objectives=1, features=features)
        predicted = np.empty((rows, arms, 1))
        for first, last in blocks(0, rows):
            part = slice(first, last)
            predicted[part] = model.predict(contexts[part])
            model.learn(contexts[part], action[part], reward[part, np.newaxis])
        log = {
            "reward": reward,
            "action": action,
            "propensity": chances[np.arange(rows), action],
            "probabilities": worlds.always(0, arms, rows),
            "predicted": predicted[:, :, 0],
        }
        truth = means[:, 0].mean()
        errors.append((ips(**log) - truth, dr(**log) - truth))
    by_ips, by_dr = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    assert by_dr <= 1.03 * by_ips


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
