"""What policies predict: of every arm in a context, of one arm, and of averages over contexts."""

from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.policies import Policy

ARMS, OBJECTIVES, DIMENSION = 3, 2, 2


def taught(name: str, *, binary: bool = False, **settings: Any) -> Policy:
    policy = lb.make_policy(
        name, arms=ARMS, dimension=DIMENSION, objectives=OBJECTIVES, seed=1, **settings
    )
    random = np.random.default_rng(3)
    for n in range(70):
        rewards = random.random(OBJECTIVES)
        policy.update(random.random(DIMENSION), n % ARMS, rewards.round() if binary else rewards)
    return policy


@pytest.mark.parametrize("name", ["lex-thompson", "lex-linucb"])
@pytest.mark.parametrize("binary", [False, True])
def test_one_arm_and_averages_agree_with_all_arms(name: str, binary: bool) -> None:
    policy = taught(name, binary=binary)
    contexts = np.random.default_rng(5).random((4, DIMENSION))
    every = [policy.predict(context)[0] for context in contexts]
    features = []
    for context, means in zip(contexts, every, strict=True):
        for arm in range(ARMS):
            seen, expected = policy._expect_checked(context, arm)
            np.testing.assert_allclose(expected, means[arm], rtol=1e-9)
        assert len(seen) == policy.model_features
        features.append(seen.copy())
    average = np.broadcast_to(np.mean(features, axis=0), (ARMS, OBJECTIVES, policy.model_features))
    means, _ = policy._predict_averages(np.ascontiguousarray(average))
    np.testing.assert_allclose(means, np.mean(every, axis=0), rtol=1e-9)


def test_a_context_is_an_average_of_one() -> None:
    policy = taught("lex-thompson")
    context = [0.3, 0.8]
    features, _ = policy._expect_checked(np.array(context), 0)
    shape = (ARMS, OBJECTIVES, len(features))
    found = policy._predict_averages(np.ascontiguousarray(np.broadcast_to(features, shape)))
    np.testing.assert_allclose(found, policy.predict(context), rtol=1e-9)
    assert policy.knows_deviations


def test_an_average_is_known_better_than_its_contexts() -> None:
    """The deviation of a mean over contexts is at most the mean of the deviations."""
    policy = taught("lex-thompson")
    random = np.random.default_rng(8)
    shape = (ARMS, OBJECTIVES, policy.model_features)
    contexts = random.random((40, DIMENSION))
    features = [policy._expect_checked(context, 0)[0].copy() for context in contexts]
    average = np.ascontiguousarray(np.broadcast_to(np.mean(features, axis=0), shape))
    each = np.mean([policy.predict(context)[1] for context in contexts], axis=0)
    together = policy._predict_averages(average)[1]
    assert (together < each).all()
    assert (together > 0).all()
    zero = policy._predict_averages(np.zeros(shape))
    assert not np.any(zero)  # what nothing has to be judged of is certain


@pytest.mark.parametrize("name", ["random", "suplinucb", "lex-tree"])
def test_policies_without_a_linear_model_say_so(name: str) -> None:
    horizon = {"horizon": 1000} if name == "suplinucb" else {}
    policy = lb.make_policy(name, arms=ARMS, dimension=DIMENSION, objectives=OBJECTIVES, **horizon)
    means, deviations = policy.predict([0.5, 0.5])
    assert means.shape == deviations.shape == (ARMS, OBJECTIVES)
    assert np.isnan(means).all()
    assert np.isnan(deviations).all()
    assert policy.model_features == 1
    assert not policy.knows_deviations
    with pytest.raises(lb.InvalidInput, match="context"):
        policy.predict([0.5, 7.0])


def test_deviations_that_are_not_known_are_not_numbers() -> None:
    policy = taught("lex-linucb")
    assert np.isfinite(policy.predict([0.5, 0.5])[0]).all()
    assert np.isnan(policy.predict([0.5, 0.5])[1]).all()
    assert not policy.knows_deviations


def test_a_projected_policy_predicts_by_what_it_sees() -> None:
    settings = {"arms": ARMS, "objectives": OBJECTIVES, "dimension": 3}
    policy = lb.make_policy("projected", policy="lex-thompson", visible=[2, 0], **settings)
    policy.update([0.1, 0.9, 0.4], 1, [0.7, 0.2])
    np.testing.assert_array_equal(policy.predict([0.1, 0.2, 0.4]), policy.predict([0.1, 0.9, 0.4]))
    expected = policy._expect_checked(np.array([0.1, 0.2, 0.4]), 1)[1]
    np.testing.assert_allclose(expected, policy.predict([0.1, 0.2, 0.4])[0][1], rtol=1e-9)
    assert policy.knows_deviations
