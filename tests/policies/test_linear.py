"""The linear policies: states, masks, many features, and what they refuse."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.features import make_features
from lexbandit.policies import Policy
from lexbandit.rounds import Rounds
from support import assert_same_state, step

LINEAR = ["lex-linucb", "linucb", "suplinucb"]
every_linear = pytest.mark.parametrize("name", LINEAR)


def make(name: str, *, arms: int = 4, dimension: int = 2, **parameters: Any) -> Policy:
    values = {"horizon": 2000, "objectives": 2, **parameters}
    return lexbandit.make_policy(name, arms=arms, dimension=dimension, **values)


def rounds_in(
    dimension: int, n: int, *, arms: int = 4, objectives: int = 2, seed: int = 0, hidden: float = 0
) -> Rounds:
    """Means linear in the context, continuous noise, some rewards unobserved."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, dimension))
    slopes = random.random((dimension, arms * objectives)) / dimension
    means = (contexts @ slopes).reshape(n, arms, objectives)
    outcomes = means + 0.1 * (random.random(means.shape) - 0.5)
    outcomes[random.random(means.shape) < hidden] = np.nan
    return Rounds(contexts, outcomes, means)


@pytest.mark.compiled
@every_linear
@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("features", ["raw", "legendre", "fourier"])
def test_fifty_context_features(name: str, objectives: int, features: str) -> None:
    """A grid with two cells a side would have 10^15 cells."""
    rounds = rounds_in(50, 300, objectives=objectives, hidden=0.05)
    slowly, quickly = (
        make(name, dimension=50, objectives=objectives, features=features) for _ in range(2)
    )
    np.testing.assert_array_equal(step(slowly, rounds), quickly.replay(rounds))
    assert_same_state(slowly, quickly)
    explanation = quickly.explain(rounds.contexts[0])
    assert sum(report.propensity for report in explanation.arms) == pytest.approx(1.0)
    assert explanation.cell is None


@pytest.mark.compiled
def test_it_learns_in_fifty_dimensions() -> None:
    """Every arm is best somewhere, by 0.4 on average; far less is lost in the end."""
    random = np.random.default_rng(2)
    contexts = random.random((12_000, 50))
    slopes = random.standard_normal((50, 4)) * 0.5
    means = np.repeat(((contexts - 0.5) @ slopes)[:, :, np.newaxis], 2, axis=2)
    rounds = Rounds(contexts, means + 0.1 * random.standard_normal(means.shape))
    for name in LINEAR[:2]:
        arms = make(name, dimension=50).replay(rounds)
        gaps = means[..., 0].max(axis=1) - means[np.arange(len(arms)), arms, 0]
        assert gaps[-3000:].mean() < 0.1 * gaps[:100].mean(), name


@every_linear
def test_one_gram_matrix_until_a_reward_is_partly_missing(name: str) -> None:
    policy = make(name)
    size = policy.features.count  # type: ignore[attr-defined]
    policy.update([0.1, 0.2], 0, [1.0, 0.5])
    policy.update([0.1, 0.2], 0, [math.nan, math.nan])
    assert policy.state()["grams"].shape[1:] == (1, size, size)
    assert policy.state()["counts"].sum() == 2
    policy.update([0.3, 0.2], 1, [math.nan, 0.5])
    state = policy.state()
    assert state["grams"].shape[1:] == (2, size, size)
    assert state["rounds"] == state["plays"].sum() == 3
    assert policy.explain([0.3, 0.2]).arms[1].observations == (0, 1)
    assert policy.explain([0.3, 0.2]).arms[1].width[0] == math.inf
    other = make(name)
    other.load_state(state)
    assert_same_state(policy, other)


@every_linear
def test_states_of_both_kinds_go_on_bit_by_bit(name: str) -> None:
    for hidden in (0.0, 0.2):
        rounds = rounds_in(2, 600, hidden=hidden, seed=4)
        policy, restored = (make(name, features="raw", seed=seed) for seed in (1, 9))
        policy.replay(rounds[:333])
        restored.load_state(policy.state())
        np.testing.assert_array_equal(policy.replay(rounds[333:]), restored.replay(rounds[333:]))
        assert_same_state(policy, restored)


def test_the_estimates_are_ridge_regression() -> None:
    """Against numpy's solution of the normal equations, objective by objective."""
    rounds = rounds_in(2, 500, seed=6, hidden=0.2)
    policy = make("lex-linucb")
    arms = policy.replay(rounds)
    features = make_features("legendre", dimension=2)
    point = np.array([0.35, 0.8])
    phi = features.apply(point)
    gamma = 0.1 * math.sqrt(2 * math.log(502))
    for arm, report in enumerate(policy.explain(point).arms):
        for i in range(2):
            rewards = rounds.outcomes[:, arm, i]
            seen = (arms == arm) & ~np.isnan(rewards)
            design = features.apply_all(rounds.contexts[seen])
            gram = 0.1 * np.eye(15) + design.T @ design
            theta = np.linalg.solve(gram, design.T @ rewards[seen])
            assert report.observations[i] == seen.sum()
            assert report.mean[i] == pytest.approx(phi @ theta, abs=1e-10)
            width = gamma * math.sqrt(phi @ np.linalg.solve(gram, phi))
            assert report.width[i] == pytest.approx(width, rel=1e-9)
            assert report.index[i] == pytest.approx(report.mean[i] + report.width[i])


@every_linear
def test_an_added_arm_has_the_ridge_and_nothing_else(name: str) -> None:
    policy = make(name)
    policy.replay(rounds_in(2, 300, hidden=0.1))
    before = policy.state()
    assert policy.add_arm() == 4
    after = policy.state()
    rows = len(before["grams"])
    for array in ("grams", "inverses", "moments", "weights", "counts"):
        np.testing.assert_array_equal(after[array][:rows], before[array])
    ridge = policy.ridge  # type: ignore[attr-defined]
    size = policy.features.count  # type: ignore[attr-defined]
    assert (after["grams"][rows:] == ridge * np.eye(size)).all()
    assert not after["counts"][rows:].any()
    larger = make(name, arms=5)
    larger.load_state(after)
    assert_same_state(policy, larger)


def spoil(array: str, act: Callable[[np.ndarray], Any]) -> Callable[[dict[str, np.ndarray]], None]:
    def change(state: dict[str, np.ndarray]) -> None:
        state[array] = np.array(act(state[array]))

    return change


def unsymmetric(matrices: np.ndarray) -> np.ndarray:
    matrices[0, 0, 0, 1] += 1e-3
    return matrices


def negative(matrices: np.ndarray) -> np.ndarray:
    matrices[0, 0] -= 1e4 * np.eye(matrices.shape[2])
    return matrices


@every_linear
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (spoil("grams", unsymmetric), "symmetric"),
        (spoil("inverses", unsymmetric), "symmetric"),
        (spoil("grams", negative), "positive definite"),
        (spoil("grams", lambda a: a * math.nan), "finite"),
        (spoil("inverses", lambda a: a + math.inf), "finite"),
        (spoil("inverses", lambda a: a * 1.01), "inverse of its Gram matrix"),
        (spoil("weights", lambda a: a + 0.01 * (a != 0)), "solve"),
        (spoil("weights", lambda a: a * math.nan), "finite"),
        (spoil("moments", lambda a: a * 2), "solve"),
        (spoil("grams", lambda a: a[:, :, :1]), "shape"),
        (spoil("grams", lambda a: np.repeat(a, 3, axis=1)), "shape"),
        (spoil("grams", lambda a: np.repeat(a, 2, axis=1)), "inverses.*shape"),
        (spoil("counts", lambda a: a + 10**6), "counts go from 0 to the plays"),
        (spoil("counts", lambda a: -a), "counts go from 0"),
        (spoil("counts", lambda a: a * 0), "without counts"),
        (spoil("plays", lambda a: a * 1.5), "int64"),
        (spoil("plays", lambda a: a - 10**6), "at least 0"),
        (spoil("rounds", lambda a: a + 1), "every round plays one arm"),
        (spoil("rounds", lambda a: -a), "at least 0"),
        (spoil("features", lambda a: a + 1), "means something else"),
        (spoil("features", lambda a: a[:2]), "shape"),
        (spoil("ridge", lambda a: a * 2), "means something else"),
    ],
)
def test_a_wrong_state_is_refused_and_nothing_changes(name: str, change: Any, words: str) -> None:
    policy = make(name)
    policy.replay(rounds_in(2, 60))
    before, state = policy.state(), policy.state()
    change(state)
    with pytest.raises(InvalidInput, match=words):
        policy.load_state(state)
    for array, value in policy.state().items():
        np.testing.assert_array_equal(value, before[array])


def test_counts_must_agree_where_one_matrix_serves_all() -> None:
    policy = make("lex-linucb")
    policy.replay(rounds_in(2, 60))
    state = policy.state()
    state["counts"][0, 0] -= 1
    with pytest.raises(InvalidInput, match="differ between objectives"):
        policy.load_state(state)


@pytest.mark.parametrize("name", ["lex-linucb"])
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ridge": 0.0}, "ridge must be at least 0.001, got 0.0: at 0 the Gram .* singular"),
        ({"ridge": -1.0}, "ridge must be a finite number of at least 0"),
        ({"ridge": math.nan}, "ridge must be"),
        ({"width_factor": 0}, "width_factor must be"),
        ({"threshold": 0}, "threshold must be"),
        ({"power": 0}, "power must be"),
        ({"power": 0.6}, "power must be .* at most 0.5"),
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"tolerance": [0.1]}, "tolerance must be one number, or one for each of 2"),
        ({"tolerance": [0.1, -0.1]}, r"tolerance\[1\] must be"),
        ({"lam": -1}, "lam must be"),
        ({"features": {"name": "legendre", "degree": 0}}, "degree must be"),
        ({"features": make_features("raw", dimension=3)}, "contexts of 3 numbers"),
    ],
)
def test_wrong_parameters_are_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make(name, **parameters)


@pytest.mark.parametrize("name", ["linucb", "suplinucb"])
def test_delta_lies_between_0_and_1(name: str) -> None:
    for delta in (0, 1.0, 1.5, -0.1, math.nan, "x"):
        with pytest.raises(InvalidInput, match="delta must"):
            make(name, delta=delta)
    with pytest.raises(UnknownName, match="width_factor"):
        make(name, width_factor=0.1)


@pytest.mark.compiled
def test_a_tolerance_lets_the_second_objective_decide_sooner() -> None:
    """Arm 0 is better by 0.3 in objective 1, arm 1 by 0.8 in objective 2."""
    random = np.random.default_rng(0)
    contexts = random.random((4000, 2))
    means = np.tile([[0.6, 0.1], [0.3, 0.9]], (4000, 1, 1))
    rounds = Rounds(contexts, means + 0.1 * (random.random(means.shape) - 0.5))
    strict = make("lex-linucb", arms=2).replay(rounds)
    tolerant = make("lex-linucb", arms=2, tolerance=[0.4, 0.0]).replay(rounds)
    assert (strict[-1000:] == 0).mean() > 0.95
    assert (tolerant[-1000:] == 1).mean() > 0.8


def test_the_reasons_read_well() -> None:
    policy = make("lex-linucb", objectives=3)
    reason = policy.explain([0.5, 0.5]).reason
    assert reason == "Arms 0, 1, 2 and 3: not observed yet (4 tied, one is drawn uniformly)."
    policy.replay(rounds_in(2, 200, objectives=3))
    assert (
        "exceeds τ = 0.4267, so it is played to learn about it"
        in str(make("lex-linucb", scale=50.0).explain([0.5, 0.5]))
        or "known to within τ" in policy.explain([0.5, 0.5]).reason
    )
    wide = make("lex-linucb", scale=50.0)
    wide.replay(rounds_in(2, 200))
    reason = wide.explain([0.5, 0.5]).reason
    assert "exceeds τ = " in reason
    assert "objective 2 is not considered yet" in reason
    sup = make("suplinucb")
    sup.replay(rounds_in(2, 20))
    assert "stage 1 of 8, where a width of 0.5 is asked for" in sup.explain([0.5, 0.5]).reason


def test_suplinucb_plays_the_highest_index_once_all_is_known() -> None:
    """With tiny widths: 1/√T is reached, the highest index is played and nothing is stored."""
    policy = make("suplinucb", scale=1e-4, horizon=100)
    policy.replay(rounds_in(2, 100))
    before = policy.state()["counts"].sum()
    explanation = policy.explain([0.5, 0.5])
    best = max(range(4), key=lambda arm: explanation.arms[arm].index[0])
    assert explanation.likely == (best,)
    assert "all widths there being at most 1/√T" in explanation.reason
    policy.update([0.5, 0.5], best, [0.3, 0.3])
    assert policy.state()["counts"].sum() == before
    assert policy.state()["plays"].sum() == 101
