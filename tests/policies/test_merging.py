"""Rewards in parts, many at once, merged and with priors: all come to the same sums."""

import functools
import math
from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.features import FeatureMap, make_features
from lexbandit.policies import Policy
from lexbandit.policies.linear.base import LinearPolicy
from support import make, some_rounds

CELLS = ["moc-mab", "staged-lex", "cd-ucb1", "ucb1", "cp-ucb1", "pf-lex", "random"]
LINEAR = ["lex-linucb", "linucb"]
ORDERED = ["lex-tree", "cs-ucb1", "epoch-greedy", "suplinucb"]


def by_cell(policy: Policy) -> dict[str, np.ndarray]:
    """The state with its cells in order of their keys, and without the random state."""
    state = policy.state()
    order = np.argsort(state["cells"])
    names = ("cells", "plays", "counts", "sums", "spreads")
    return {name: state[name][order] for name in names if name in state}


def stream(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts, arms and rewards, some of them missing."""
    random = np.random.default_rng(seed)
    rounds = some_rounds(n, seed=seed)
    arms = random.integers(4, size=n)
    rewards = rounds.outcomes[np.arange(n), arms]
    rewards[random.random(rewards.shape) < 0.1] = math.nan
    return rounds.contexts, arms, rewards


def assert_same_knowledge(one: Policy, other: Policy) -> None:
    """Plays and observations are equal; means, widths and indices are, to rounding."""
    for context in np.random.default_rng(1).random((20, 2)):
        for mine, theirs in zip(
            one.explain(context).arms, other.explain(context).arms, strict=True
        ):
            assert mine.plays == theirs.plays
            assert mine.observations == theirs.observations
            for what in ("mean", "width", "index"):
                np.testing.assert_allclose(
                    getattr(mine, what), getattr(theirs, what), rtol=1e-9, atol=1e-12
                )


@pytest.mark.parametrize("name", CELLS + LINEAR)
def test_two_halves_merged_are_one_whole(name: str) -> None:
    contexts, arms, rewards = stream(600)
    whole, first, second = make(name), make(name, seed=1), make(name, seed=2)
    whole.update_many(contexts, arms, rewards)
    first.update_many(contexts[:250], arms[:250], rewards[:250])
    second.update_many(contexts[250:], arms[250:], rewards[250:])
    random = first.state()["random"]
    first.merge(second.state())
    np.testing.assert_array_equal(first.state()["random"], random)
    assert_same_knowledge(whole, first)
    mine, wanted = first.state(), whole.state()
    if name in CELLS:
        mine, wanted = by_cell(first), by_cell(whole)
    for array in ("cells", "plays", "counts", "rounds"):
        if array in wanted:
            np.testing.assert_array_equal(mine[array], wanted[array])
    restored = make(name)
    restored.load_state(first.state())
    first.replay(some_rounds(50))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("partial", [(True, False), (False, True), (False, False)])
def test_shared_and_split_gram_matrices_are_merged(name: str, partial: tuple[bool, bool]) -> None:
    contexts, arms, rewards = stream(200)
    whole = np.nan_to_num(rewards, nan=0.5)
    parts = [rewards if kind else whole for kind in partial]
    together, mine, other = make(name), make(name), make(name)
    mine.update_many(contexts[:90], arms[:90], parts[0][:90])
    other.update_many(contexts[90:], arms[90:], parts[1][90:])
    together.update_many(contexts[:90], arms[:90], parts[0][:90])
    together.update_many(contexts[90:], arms[90:], parts[1][90:])
    mine.merge(other.state())
    assert mine.state()["grams"].shape[1] == (2 if any(partial) else 1)
    assert_same_knowledge(mine, together)


@pytest.mark.parametrize("name", ["kl", "empirical-bernstein"])
def test_bounds_with_spreads_are_merged(name: str) -> None:
    contexts, arms, rewards = stream(400)
    rewards = np.clip(rewards, 0.0, 1.0)
    whole, first, second = (make("moc-mab", bound=name) for _ in range(3))
    whole.update_many(contexts, arms, rewards)
    first.update_many(contexts[:200], arms[:200], rewards[:200])
    second.update_many(contexts[200:], arms[200:], rewards[200:])
    spreads = by_cell(first)["spreads"].sum() + by_cell(second)["spreads"].sum()
    first.merge(second.state())
    np.testing.assert_array_equal(by_cell(first)["counts"], by_cell(whole)["counts"])
    assert math.isclose(by_cell(first)["spreads"].sum(), spreads)


@pytest.mark.parametrize("name", ORDERED)
def test_what_is_not_a_sum_cannot_be_merged(name: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    before = policy.state()
    with pytest.raises(InvalidInput, match=f"{name} cannot be merged"):
        policy.merge(make(name).state())
    for array in before:
        np.testing.assert_array_equal(before[array], policy.state()[array])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("moc-mab", {"cells_per_side": 4}),
        ("moc-mab", {"arms": 3}),
        ("lex-linucb", {"ridge": 0.3}),
        ("lex-linucb", {"features": {"name": "legendre", "degree": 2}}),
        ("lex-linucb", {"arms": 3}),
        ("lex-linucb", {"objectives": 3}),
    ],
)
def test_another_definition_is_not_merged(name: str, other: dict[str, Any]) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    before = policy.state()
    with pytest.raises(InvalidInput, match="state"):
        policy.merge(make(name, **other).state())
    for array in before:
        np.testing.assert_array_equal(before[array], policy.state()[array])


@pytest.mark.parametrize("name", ORDERED[1:])
def test_what_needs_all_rewards_at_once_cannot_be_amended(name: str) -> None:
    policy = make(name)
    policy.update([0.5, 0.5], 0, [0.5, math.nan])
    before = policy.state()
    with pytest.raises(InvalidInput, match="in parts"):
        policy.amend([0.5, 0.5], 0, [math.nan, 0.5])
    for array in before:
        np.testing.assert_array_equal(before[array], policy.state()[array])


def test_a_play_whose_cell_was_split_meanwhile_is_amended_where_it_is() -> None:
    policy = make("lex-tree")
    contexts, arms, rewards = stream(300)
    rewards = np.nan_to_num(rewards, nan=0.5)
    dominant, second = rewards.copy(), rewards.copy()
    dominant[:, 1], second[:, 0] = math.nan, math.nan
    policy.update_many(contexts, arms, dominant)
    for t in range(300):
        policy.amend(contexts[t], int(arms[t]), second[t])
    state = policy.state()
    np.testing.assert_array_equal(state["counts"][:, :, 0], state["counts"][:, :, 1])
    np.testing.assert_array_equal(state["counts"][:, :, 0], state["plays"])
    assert math.isclose(state["sums"][:, :, 1].sum(), rewards[:, 1].sum())
    make("lex-tree").load_state(state)


def test_a_tree_amended_at_once_is_a_tree_told_at_once() -> None:
    contexts, arms, rewards = stream(300)
    whole, parts = make("lex-tree"), make("lex-tree")
    for t in range(300):
        arm = int(arms[t])
        whole.update(contexts[t], arm, rewards[t])
        parts.update(contexts[t], arm, [rewards[t, 0], math.nan])
        if not math.isnan(rewards[t, 1]):
            parts.amend(contexts[t], arm, [math.nan, rewards[t, 1]])
    np.testing.assert_array_equal(whole.state()["plays"], parts.state()["plays"])
    np.testing.assert_array_equal(whole.state()["counts"].sum(0), parts.state()["counts"].sum(0))


MEANS = [0.7, 0.3]


@pytest.mark.parametrize("name", ["moc-mab", "staged-lex", "cd-ucb1", "lex-tree"])
def test_a_prior_in_cells_is_so_many_observations_everywhere(name: str) -> None:
    policy, without = make(name, arms=3), make(name, arms=3)
    for one in (policy, without):
        one.replay(some_rounds(200, arms=3))
    assert policy.add_arm((MEANS, 5)) == without.add_arm() == 3
    for context in ([0.1, 0.1], [0.9, 0.2]):  # in the tree, in leaves that nobody saw, too
        report = policy.explain(context).arms[3]
        assert report.plays == 0
        assert report.observations == (0, 0)
        np.testing.assert_allclose(report.mean, MEANS)
        for _ in range(5):
            without.update(context, 3, MEANS)
        assert math.isfinite(report.width[0])
        if name == "moc-mab":
            np.testing.assert_allclose(report.width, without.explain(context).arms[3].width)
    restored = make(name, arms=4)
    restored.load_state(policy.state())
    rounds = some_rounds(300, seed=5)
    np.testing.assert_array_equal(policy.replay(rounds), restored.replay(rounds))
    for array, value in policy.state().items():
        np.testing.assert_array_equal(value, restored.state()[array])


@pytest.mark.parametrize("features", ["legendre", "raw", "fourier"])
def test_a_prior_in_linear_models_is_known_all_over(features: str) -> None:
    policy = make("lex-linucb", arms=3, features=features)
    policy.replay(some_rounds(200, arms=3))
    assert policy.add_arm((MEANS, 1000)) == 3
    for context in np.random.default_rng(0).random((20, 2)):
        report = policy.explain(context).arms[3]
        assert report.observations == (0, 0)
        np.testing.assert_allclose(report.mean, MEANS, atol=0.03)
        assert 0 < report.width[0] < 0.2
    restored = make("lex-linucb", arms=4, features=features)
    restored.load_state(policy.state())
    rounds = some_rounds(300, seed=5)
    np.testing.assert_array_equal(policy.replay(rounds), restored.replay(rounds))


def test_a_prior_is_what_many_even_contexts_teach() -> None:
    """10,000 observations spread evenly, scaled down to 100, against a prior of weight 100."""
    prior, seen = make("lex-linucb", arms=1), make("lex-linucb", arms=1)
    prior.add_arm((MEANS, 100))
    seen.add_arm()
    points = np.random.default_rng(0).random((10_000, 2))
    seen.update_many(points, np.ones(10_000, np.int64), np.tile(MEANS, (10_000, 1)))
    assert isinstance(seen, LinearPolicy)
    ridge = seen.ridge * np.eye(seen.features.count)
    gram = ridge + (seen.state()["grams"][1, 0] - ridge) / 100
    np.testing.assert_allclose(prior.state()["grams"][1, 0], gram, atol=1.5)
    np.testing.assert_allclose(
        prior.state()["moments"][1], seen.state()["moments"][1] / 100, atol=1.5
    )


@pytest.mark.parametrize("name", ["moc-mab", "lex-linucb"])
def test_merging_counts_a_prior_once(name: str) -> None:
    contexts, arms, rewards = stream(400)
    whole, first, second = (make(name, arms=3) for _ in range(3))
    for policy in (whole, first, second):
        policy.add_arm((MEANS, 7))
    whole.update_many(contexts, arms, rewards)
    first.update_many(contexts[:150], arms[:150], rewards[:150])
    second.update_many(contexts[150:], arms[150:], rewards[150:])
    first.merge(second.state())
    assert_same_knowledge(whole, first)
    plain = make(name)
    before = first.state()
    with pytest.raises(InvalidInput, match="same priors"):
        first.merge(plain.state())
    np.testing.assert_array_equal(first.state()["counts"], before["counts"])


@pytest.mark.parametrize("name", ["moc-mab", "lex-linucb"])
@pytest.mark.parametrize(
    "prior",
    [0.5, "ab", (MEANS,), (MEANS, 0), (MEANS, 1.5), ([0.5], 3), ([0.5, math.nan], 3), (None, 3)],
)
def test_a_wrong_prior_is_refused(name: str, prior: Any) -> None:
    policy = make(name)
    with pytest.raises(InvalidInput, match="prior"):
        policy.add_arm(prior)
    assert policy.arms == 4


@pytest.mark.parametrize("name", ["cs-ucb1", "epoch-greedy", "suplinucb"])
def test_a_policy_without_priors_says_so(name: str) -> None:
    policy = make(name)
    with pytest.raises(InvalidInput, match="cannot take a prior"):
        policy.add_arm((MEANS, 3))
    assert policy.arms == 4


@pytest.mark.parametrize("name", ["moc-mab", "lex-linucb"])
@pytest.mark.parametrize(
    ("priors", "words"),
    [([-1.0, 0, 0], "weights"), ([1.5, 0, 0], "weights"), ([0, 0.5, 0], "no means"),
     ([math.nan, 0, 0], "finite"), ([1000.0, 0.5, 0.5], "counts")],
)  # fmt: skip
def test_a_state_with_wrong_priors_is_refused(name: str, priors: list[float], words: str) -> None:
    policy = make(name)
    policy.replay(some_rounds(50))
    state = policy.state()
    state["priors"][1] = priors
    with pytest.raises(InvalidInput, match=words):
        policy.load_state(state)


@pytest.mark.parametrize(
    ("features", "within"), [("legendre", 1e-10), ("raw", 1e-10), ("fourier", 0.01)]
)
def test_expectations_of_features(features: str, within: float) -> None:
    """Against quadrature, which is exact here to rounding; `fourier` has no closed form."""
    nodes, factors = np.polynomial.legendre.leggauss(20)
    for dimension in (1, 3):
        made = make_features(features, dimension=dimension)
        axes = np.meshgrid(*[(1 + nodes) / 2] * dimension)
        weights = functools.reduce(np.multiply.outer, [factors / 2] * dimension).ravel()
        sample = made.apply_all(np.column_stack([axis.ravel() for axis in axes]))
        first, second = made.expectations()
        np.testing.assert_allclose(first, weights @ sample, atol=within)
        np.testing.assert_allclose(second, (weights * sample.T) @ sample, atol=within)


class Squares(FeatureMap):
    """A map of one's own, in Python."""

    def __init__(self) -> None:
        self.dimension, self.count = 2, 3

    def of_checked(self, contexts: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(contexts)), contexts**2])

    def parameters(self) -> tuple[float, ...]:
        return ()


@pytest.mark.parametrize("name", [*LINEAR, "suplinucb"])
def test_a_feature_map_of_ones_own_works_everywhere(name: str) -> None:
    one, other = (make(name, features=Squares()) for _ in range(2))
    rounds = some_rounds(100)
    arms = one.replay(rounds)
    for t in range(100):
        assert other.select(rounds.contexts[t]).arm == arms[t]
        other.update(rounds.contexts[t], int(arms[t]), rounds.outcomes[t, arms[t]])
    for array, value in one.state().items():
        np.testing.assert_array_equal(value, other.state()[array])
    for act in (one.select, lambda c: one.update(c, 0, [0, 0]), one.explain):
        with pytest.raises(InvalidInput, match="context"):
            act([0.5, 1.5])
    if name != "suplinucb":
        one.update([0.5, 0.5], 1, [0.5, math.nan])
        one.amend([0.5, 0.5], 1, [math.nan, 0.5])
        assert one.add_arm((MEANS, 3)) == 4
    assert len(one.select_many(rounds.contexts)[0]) == 100


def test_a_merged_policy_is_as_good_as_it_knows() -> None:
    """Two replicas that share what they learned decide as one that saw all."""
    environment = lexbandit.make_environment("synthetic")
    rounds = environment.rounds(4000, seed=0)
    one, two = (
        lexbandit.make_policy("lex-linucb", arms=4, dimension=2, objectives=2, seed=s)
        for s in (0, 1)
    )
    one.replay(rounds[:2000])
    two.replay(rounds[2000:])
    one.merge(two.state())
    assert one.state()["rounds"] == 4000
    assert one.state()["plays"].sum() == 4000
