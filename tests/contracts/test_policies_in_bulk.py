"""What every policy must do with many decisions at once, rewards in parts, and other policies."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lexbandit.errors import InvalidInput
from lexbandit.policies import Policy
from support import EVERY_POLICY, assert_same_state, make, some_rounds

CONTEXT = np.array([0.4, 0.7])
every_policy = pytest.mark.parametrize("name", EVERY_POLICY)


def masks(n: int, seed: int = 0) -> np.ndarray:
    """Random masks that allow at least one arm each."""
    random = np.random.default_rng(seed)
    allowed = random.random((n, 4)) < 0.5
    allowed[np.arange(n), random.integers(4, size=n)] = True
    return allowed


def stream(n: int, *, holes: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts, arms and rewards, a fifth of them missing."""
    random = np.random.default_rng(0)
    rounds = some_rounds(n, binary=True)
    arms = random.integers(4, size=n)
    rewards = rounds.outcomes[np.arange(n), arms]
    if holes:
        rewards[random.random(rewards.shape) < 0.2] = math.nan
    return rounds.contexts, arms, rewards


def refused(policy: Policy, act: Callable[[], Any]) -> str:
    """The message of a refusal that left the state as it was, random state and all."""
    before = policy.state()
    with pytest.raises(InvalidInput) as caught:
        act()
    after = policy.state()
    for array in before:
        np.testing.assert_array_equal(before[array], after[array])
    return str(caught.value)


@every_policy
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("learned", [0, 200])
def test_many_selections_are_selections_one_by_one(name: str, masked: bool, learned: int) -> None:
    contexts, arms, rewards = stream(200)
    slowly, quickly, plainly = (make(name, seed=3) for _ in range(3))
    for policy in (slowly, quickly, plainly):
        policy.update_many(contexts[:learned], arms[:learned], rewards[:learned])
    asked = np.random.default_rng(7).random((150, 2))
    allowed = masks(150) if masked else None
    single = [
        slowly.select(context, None if allowed is None else allowed[t])
        for t, context in enumerate(asked)
    ]
    played, propensities = quickly.select_many(asked, allowed)
    assert played.dtype == np.int64
    assert propensities.dtype == np.float64
    np.testing.assert_array_equal(played, [decision.arm for decision in single])
    np.testing.assert_array_equal(propensities, [decision.propensity for decision in single])
    np.testing.assert_array_equal(Policy.select_many(plainly, asked, allowed)[0], played)
    for policy in (quickly, plainly):
        assert_same_state(slowly, policy)
    if allowed is not None:
        assert allowed[np.arange(150), played].all()


@every_policy
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("learned", [0, 200])
def test_many_propensities_are_those_of_one_context_and_change_nothing(
    name: str, masked: bool, learned: int
) -> None:
    contexts, arms, rewards = stream(200)
    policy = make(name, seed=3)
    policy.update_many(contexts[:learned], arms[:learned], rewards[:learned])
    asked = np.random.default_rng(7).random((60, 2))
    allowed = masks(60) if masked else None
    before = policy.state()
    shares = policy.propensities_many(asked, allowed)
    after = policy.state()
    for array in before:
        np.testing.assert_array_equal(before[array], after[array])
    assert shares.shape == (60, 4)
    for t, context in enumerate(asked):
        mask = None if allowed is None else allowed[t]
        told = [report.propensity for report in policy.explain(context, mask).arms]
        np.testing.assert_array_equal(shares[t], told)


@every_policy
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_many_updates_are_updates_one_by_one(name: str, holes: bool, masked: bool) -> None:
    contexts, arms, rewards = stream(300, holes=holes)
    allowed = masks(300) if masked else None
    if allowed is not None:
        allowed[np.arange(300), arms] = True
    slowly, quickly, plainly = (make(name, seed=3) for _ in range(3))
    for t in range(300):
        mask = None if allowed is None else allowed[t]
        slowly.update(contexts[t], int(arms[t]), rewards[t], mask)
    quickly.update_many(contexts, arms, rewards, allowed)
    Policy.update_many(plainly, contexts.tolist(), arms.tolist(), rewards.tolist(), allowed)
    for policy in (quickly, plainly):
        assert_same_state(slowly, policy)


@every_policy
def test_none_at_all_is_nothing(name: str) -> None:
    policy = make(name)
    before = policy.state()
    arms, propensities = policy.select_many(np.empty((0, 2)))
    assert len(arms) == len(propensities) == 0
    policy.update_many(np.empty((0, 2)), np.empty(0, np.int64), np.empty((0, 2)))
    for array, value in policy.state().items():
        np.testing.assert_array_equal(value, before[array])


@every_policy
def test_bad_input_among_many_is_refused_and_nothing_changes(name: str) -> None:
    policy = make(name)
    contexts, arms, rewards = stream(60)
    policy.update_many(contexts, arms, rewards)
    for wrong in ([0.5, 1.5], [math.nan, 0.5]):
        bad = contexts.copy()
        bad[59] = wrong
        assert "contexts[59" in refused(policy, lambda b=bad: policy.select_many(b))  # type: ignore[misc]
        assert "contexts[59" in refused(policy, lambda b=bad: policy.update_many(b, arms, rewards))  # type: ignore[misc]
    for shape in (contexts[0], contexts[:, :1], "contexts", None):
        assert "contexts" in refused(policy, lambda s=shape: policy.select_many(s))  # type: ignore[misc]
    infinite = rewards.copy()
    infinite[59, 1] = math.inf
    for told in (infinite, rewards[:, :1], rewards[:59], None):
        message = refused(policy, lambda r=told: policy.update_many(contexts, arms, r))  # type: ignore[misc]
        assert "rewards" in message
    unknown = arms.copy()
    unknown[59] = 4
    for played in (unknown, arms[:59], arms * 0.5, -arms - 1, "arms"):
        message = refused(policy, lambda a=played: policy.update_many(contexts, a, rewards))  # type: ignore[misc]
        assert "arms" in message
    nobody = masks(60)
    nobody[59] = False
    for mask in (nobody, masks(59), masks(60).astype(int), [True] * 4):
        assert "allowed" in refused(policy, lambda m=mask: policy.select_many(contexts, m))  # type: ignore[misc]
        assert "allowed" in refused(
            policy,
            lambda m=mask: policy.update_many(contexts, arms, rewards, m),  # type: ignore[misc]
        )


@every_policy
def test_rewards_in_parts_are_rewards_at_once(name: str) -> None:
    """Or the policy says that it cannot take them, and nothing changes."""
    contexts, arms, rewards = stream(200, holes=False)
    at_once, in_parts = make(name), make(name)
    for t in range(200):
        context, arm = contexts[t], int(arms[t])
        at_once.update(context, arm, rewards[t])
        first, later = ([0], [1]) if t % 3 == 0 else ([1], [0]) if t % 3 == 1 else ([], [0, 1])
        parts = np.full((2, 2), math.nan)
        parts[0, first], parts[1, later] = rewards[t, first], rewards[t, later]
        in_parts.update(context, arm, parts[0])
        try:
            in_parts.amend(context, arm, parts[1])
        except InvalidInput:
            message = refused(in_parts, lambda: in_parts.amend(CONTEXT, 0, [math.nan, 0.5]))
            assert "in parts" in message
            return
    for context in np.random.default_rng(2).random((20, 2)):
        mine, wanted = in_parts.explain(context).arms, at_once.explain(context).arms
        for one, other in zip(mine, wanted, strict=True):
            assert one.plays == other.plays
            assert one.observations == other.observations
            np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(one.width, other.width, rtol=1e-9)
    restored = make(name)
    restored.load_state(in_parts.state())


@every_policy
def test_bad_amendments_are_refused_and_nothing_changes(name: str) -> None:
    policy = make(name)
    policy.update(CONTEXT, 1, [0.5, math.nan])
    half = [math.nan, 0.5]
    for context in ([0.5], [0.5, 1.5], [math.nan, 0.5], None):
        refused(policy, lambda c=context: policy.amend(c, 1, half))  # type: ignore[misc]
    for rewards in ([0.5], [math.nan, math.inf], None, "ab"):
        refused(policy, lambda r=rewards: policy.amend(CONTEXT, 1, r))  # type: ignore[misc]
    for arm in (-1, 4, 1.5, None):
        refused(policy, lambda a=arm: policy.amend(CONTEXT, a, half))  # type: ignore[misc]
    refused(policy, lambda: policy.amend(CONTEXT, 1, half, [True] * 3))
    # no play of the arm, or none that lacks the reward
    refused(policy, lambda: policy.amend(CONTEXT, 0, half))
    refused(policy, lambda: policy.amend(CONTEXT, 1, [0.5, math.nan]))


@every_policy
def test_merging_adds_plays_or_is_refused(name: str) -> None:
    contexts, arms, rewards = stream(200)
    one, other = make(name), make(name, seed=1)
    one.update_many(contexts[:80], arms[:80], rewards[:80])
    other.update_many(contexts[80:], arms[80:], rewards[80:])
    untouched = other.state()
    try:
        one.merge(other.state())
    except InvalidInput as error:
        assert "cannot be merged" in str(error)  # noqa: PT017
        assert "cannot be merged" in refused(one, lambda: one.merge(other.state()))
        return
    assert one.state()["plays"].sum() == 200
    for array, value in other.state().items():
        np.testing.assert_array_equal(value, untouched[array])
    for wrong in (None, {}, untouched | {"extra": np.zeros(2)}, untouched | {"plays": np.zeros(1)}):
        refused(one, lambda s=wrong: one.merge(s))  # type: ignore[misc]
