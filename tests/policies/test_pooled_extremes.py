"""lex-thompson at the edges: constant, missing, huge and tiny rewards, very long runs."""

import math
from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.policies.linear.pooled import PooledPolicy
from lexbandit.rounds import Rounds

# Without context, and with a number and a category.
FREE = (("category", 1),)
MIXED = (("number", 1), ("category", 3))
NUMBERS = (("number", 2), ("category", 4))
pytestmark = pytest.mark.compiled
layouts = pytest.mark.parametrize("layout", [FREE, MIXED])

MEANS = np.array([(0.40, 0.2), (0.50, 0.5), (0.60, 0.3)])


def make(layout: Any, *, arms: int = 3, **settings: Any) -> PooledPolicy:
    policy = lexbandit.make_policy(
        "lex-thompson",
        arms=arms,
        dimension=sum(size for _, size in layout),
        layout=layout,
        **settings,
    )
    assert isinstance(policy, PooledPolicy)
    return policy


def contexts_of(layout: Any, n: int) -> np.ndarray:
    random = np.random.default_rng(1)
    if layout == FREE:
        return np.zeros((n, 1))
    return np.hstack([random.random((n, 1)), np.eye(3)[random.integers(3, size=n)]])


def noisy(n: int, *, seed: int = 0) -> np.ndarray:
    return MEANS + 0.1 * np.random.default_rng(seed).normal(size=(n, 3, 2))


def assert_sound(policy: PooledPolicy, contexts: np.ndarray) -> None:
    """Nothing is NaN or infinite, probabilities add up, and the state can be loaded and merged."""
    state = policy.state()
    for name, array in state.items():
        assert np.isfinite(array).all(), name
    for context in contexts:
        for array in policy.predict(context):
            assert np.isfinite(array).all()
        shares = policy.propensities(context)
        assert (shares >= 0).all()
        assert shares.sum() == pytest.approx(1.0, abs=1e-9)
        decision = policy.select(context)
        assert decision.propensity == pytest.approx(shares[decision.arm], abs=1e-12)
        assert "nan" not in str(policy.explain(context))
    other = make(policy.features.layout, arms=policy.arms)  # type: ignore[attr-defined]
    other.load_state(state)
    other.merge(state)
    for name, array in other.state().items():
        assert np.isfinite(array).all(), name


def last_shares(arms: np.ndarray, part: int = 500) -> np.ndarray:
    return np.bincount(arms[-part:], minlength=3) / part


@layouts
def test_a_tolerance_larger_than_the_spread(layout: Any) -> None:
    """All arms are inside, so the last objective decides alone."""
    contexts = contexts_of(layout, 1500)
    policy = make(layout, tolerance=[5.0, 0.0])
    arms = policy.replay(Rounds(contexts, noisy(1500)))
    assert last_shares(arms)[1] > 0.95
    assert_sound(policy, contexts[:3])


@layouts
@pytest.mark.parametrize("value", [0.0, 1.0, 0.7, -3.0])
@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_all_rewards_equal(layout: Any, value: float, tolerance: float) -> None:
    """No arm is preferred: each has at least a fifth of the plays."""
    contexts = contexts_of(layout, 1500)
    policy = make(layout, tolerance=[tolerance, 0.0])
    arms = policy.replay(Rounds(contexts, np.full((1500, 3, 2), value)))
    assert last_shares(arms).min() > 0.2
    assert_sound(policy, contexts[:3])
    means, _ = policy.predict(contexts[0])
    np.testing.assert_allclose(means, value, atol=1e-3)


@layouts
def test_one_arm(layout: Any) -> None:
    contexts = contexts_of(layout, 300)
    policy = make(layout, arms=1)
    assert not policy.replay(Rounds(contexts, noisy(300)[:, :1])).any()
    assert policy.propensities(contexts[0]) == [1.0]
    assert_sound(policy, contexts[:3])


@layouts
@pytest.mark.parametrize("rewards", [[0.3, 0.9], [1.0, 0.0], [0.3, math.nan], [math.nan, math.nan]])
def test_one_reward(layout: Any, rewards: Any) -> None:
    """Every arm keeps a chance of at least a tenth."""
    contexts = contexts_of(layout, 3)
    policy = make(layout)
    assert_sound(policy, contexts)
    policy.update(contexts[0], 1, rewards)
    assert_sound(policy, contexts)
    assert policy.propensities(contexts[0]).min() > 0.1


@layouts
@pytest.mark.parametrize("scale", [1e15, -1e15, 1e99])
def test_huge_rewards(layout: Any, scale: float) -> None:
    """The best arm is found all the same: a scale is learned."""
    contexts = contexts_of(layout, 1500)
    policy = make(layout, tolerance=[0.02 * abs(scale), 0.0])
    arms = policy.replay(Rounds(contexts, scale * noisy(1500)))
    assert last_shares(arms)[2 if scale > 0 else 0] > 0.9
    assert_sound(policy, contexts[:3])


@layouts
@pytest.mark.parametrize("scale", [1e-15, 1e-99, 1e-300])
def test_tiny_rewards(layout: Any, scale: float) -> None:
    """Differences far below what the pseudo rewards blur: no arm is preferred, none left out."""
    contexts = contexts_of(layout, 1500)
    policy = make(layout, tolerance=[0.02 * scale, 0.0])
    arms = policy.replay(Rounds(contexts, scale * noisy(1500)))
    assert last_shares(arms).min() > 0.2
    assert_sound(policy, contexts[:3])


@layouts
@pytest.mark.parametrize("when", [slice(0, 3), slice(500, 503), slice(500, None)])
def test_rewards_that_are_suddenly_huge(layout: Any, when: slice) -> None:
    """Whatever is learned of them, all is finite; and each arm is played."""
    contexts = contexts_of(layout, 1500)
    outcomes = noisy(1500)
    outcomes[when] *= 1e15
    policy = make(layout)
    arms = policy.replay(Rounds(contexts, outcomes))
    assert np.bincount(arms, minlength=3).min() > 0
    assert_sound(policy, contexts[:3])


@layouts
def test_an_objective_never_rewarded(layout: Any) -> None:
    """Without the first, all arms are tried for ever; without the last, the first decides."""
    contexts = contexts_of(layout, 3000)
    for missing in (0, 1):
        outcomes = noisy(3000)
        outcomes[:, :, missing] = math.nan
        policy = make(layout, tolerance=[0.02, 0.0])
        shares = last_shares(policy.replay(Rounds(contexts, outcomes)))
        assert shares.min() > 0.2 if missing == 0 else shares[2] > 0.9
        assert_sound(policy, contexts[:3])
        for report in policy.explain(contexts[0]).arms:
            assert report.observations[missing] == 0


@layouts
def test_rewards_missing_in_turn(layout: Any) -> None:
    """Every decision is told one of the two: both are learned."""
    contexts = contexts_of(layout, 3000)
    outcomes = noisy(3000)
    outcomes[::2, :, 0] = math.nan
    outcomes[1::2, :, 1] = math.nan
    policy = make(layout, tolerance=[0.02, 0.0])
    arms = policy.replay(Rounds(contexts, outcomes))
    assert last_shares(arms)[2] > 0.9
    assert_sound(policy, contexts[:3])
    counts = policy.state()["tallies"][:, :, 0].sum(axis=0)
    np.testing.assert_array_equal(counts, [1500, 1500])


@layouts
def test_no_rewards_at_all(layout: Any) -> None:
    """Every arm keeps its even chance, however many decisions are made."""
    contexts = contexts_of(layout, 1000)
    policy = make(layout)
    arms = policy.replay(Rounds(contexts, np.full((1000, 3, 2), math.nan)))
    assert last_shares(arms).min() > 0.25
    np.testing.assert_allclose(policy.propensities(contexts[0]), 1 / 3, atol=1e-9)
    assert_sound(policy, contexts[:3])


def same_context(layout: Any) -> np.ndarray:
    points = {FREE: [0.0], MIXED: [0.3, 0, 1, 0], NUMBERS: [0.3, 0.8, 0, 1, 0, 0]}
    return np.array(points[layout])


def replay_identical(layout: Any, n: int, noise: Any, seed: int = 0) -> PooledPolicy:
    """Play n rounds in one context; arm 1 is right, within the tolerance and best in the last."""
    random = np.random.default_rng(seed)
    means = np.array([(0.70, 0.2), (0.91, 0.5), (0.92, 0.1)])
    context = same_context(layout)
    policy = make(layout, tolerance=[0.02, 0.0], seed=seed)
    for _ in range(0, n, 100_000):
        shape = (min(n, 100_000), 3, 2)
        if noise == "binary":
            outcomes = (random.random(shape) < means).astype(float)
        else:
            outcomes = means + noise * random.normal(size=shape)
        arms = policy.replay(Rounds(np.tile(context, (shape[0], 1)), outcomes))
    assert last_shares(arms)[1] > 0.9
    return policy


@pytest.mark.parametrize(
    ("layout", "noise"),
    [
        (FREE, 0.0),
        (FREE, 0.1),
        (MIXED, 0.1),
        (MIXED, "binary"),
        (MIXED, 0.0),
        (NUMBERS, 0.0),
    ],
)
def test_identical_contexts(layout: Any, noise: Any) -> None:
    """100,000 rounds in one context, of which the features are one direction."""
    policy = replay_identical(layout, 100_000, noise)
    assert_sound(policy, same_context(layout)[None])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "noise"),
    [
        (FREE, 0.1),
        (MIXED, "binary"),
        (NUMBERS, 0.1),
        (NUMBERS, 0.0),
    ],
)
def test_a_million_identical_contexts(layout: Any, noise: Any) -> None:
    policy = replay_identical(layout, 1_000_000, noise)
    assert_sound(policy, same_context(layout)[None])


def fresh_solution(policy: PooledPolicy, phi: np.ndarray) -> np.ndarray:
    """Means [K, D] from the sums of a state, solved by numpy with its penalties and θ_0."""
    state = policy.state()
    means = np.empty((policy.arms, policy.objectives))
    for arm, i in np.ndindex(*means.shape):
        penalties, common = state["shared"][i, 0], state["shared"][i, 1]
        gram, moment = state["matrices"][arm, i, 0], state["vectors"][arm, i, 0]
        whole = gram + np.diag(penalties)
        means[arm, i] = phi @ np.linalg.solve(whole, moment + penalties * common)
    return means


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("n", "noise"),
    [
        (20_000, 0.0),
        (20_000, 0.1),
        pytest.param(1_000_000, 0.1, marks=slow),
        pytest.param(1_000_000, 0.0, marks=slow),
    ],
)
def test_means_are_accurate_after_long_runs(n: int, noise: float) -> None:
    """They agree with a fresh solution from the sums to 1e-6."""
    random = np.random.default_rng(0)
    slopes = random.normal(0.0, 0.2, (2, 3, 4))
    policy = make(MIXED, tolerance=[0.02, 0.0])
    for part in range(0, n, 20_000):
        contexts = contexts_of(MIXED, 20_000)
        contexts[:, 0] = np.random.default_rng(part).random(20_000)
        means = 0.5 + np.einsum("nd,iad->nai", contexts, slopes)
        outcomes = means + noise * random.normal(size=means.shape)
        policy.replay(Rounds(contexts, outcomes))
    for context in contexts[:20]:
        found, _ = policy.predict(context)
        expected = fresh_solution(policy, policy.features.apply(context))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert_sound(policy, contexts[:2])
