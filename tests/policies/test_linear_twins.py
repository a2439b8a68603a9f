"""The linear policies against their plain twins, arm by arm on continuous rewards."""

from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.rounds import Rounds
from naive import run
from support import as_lists
from twins.linear import LexLinUcb, LinUcb, Mtlo, SupLinUcb, legendre, raw

pytestmark = pytest.mark.compiled


def smooth_rounds(n: int, *, arms: int = 4, objectives: int = 2, seed: int = 0) -> Rounds:
    """Continuous rewards around smooth means; arms 0 and 1 are tied in all objectives but one."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, 2))
    slopes = random.random((objectives, arms, 2))
    slopes[:-1, 1] = slopes[:-1, 0]
    angles = np.einsum("nd,iad->nai", contexts, slopes) * 2.0
    means = 0.5 + 0.4 * np.cos(angles)
    return Rounds(contexts, means + 0.3 * (random.random(means.shape) - 0.5), means)


def same_arms(policy: Any, twin: Any, rounds: Rounds) -> None:
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))


TWINS = [("lex-linucb", LexLinUcb)]


@pytest.mark.parametrize(("name", "twin"), TWINS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lexicographic_on_two_objectives(name: str, twin: Any, seed: int) -> None:
    rounds = smooth_rounds(1200, arms=3 + seed, seed=seed)
    policy = lexbandit.make_policy(name, arms=3 + seed, dimension=2, seed=seed)
    same_arms(policy, twin(3 + seed, 2, seed=seed), rounds)


@pytest.mark.parametrize(("name", "twin"), TWINS)
@pytest.mark.parametrize(("D", "lam", "tolerance"), [(1, 0.0, 0.0), (3, 0.5, 0.02), (4, 0.0, 0.1)])
def test_lexicographic_on_any_number_of_objectives(
    name: str, twin: Any, D: int, lam: float, tolerance: float
) -> None:
    rounds = smooth_rounds(1200, objectives=D, seed=D)
    own = {"lam": lam, "tolerance": tolerance}
    policy = lexbandit.make_policy(
        name, arms=4, dimension=2, objectives=D, features="raw", threshold=3.0, seed=D, **own
    )
    same_arms(policy, twin(4, D, raw, c=3.0, seed=D, **own), rounds)


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_every_setting_counts(name: str, twin: Any) -> None:
    """Away from the defaults: a setting that were ignored would show."""
    rounds = smooth_rounds(600, seed=8)
    policy = lexbandit.make_policy(
        name, arms=4, dimension=2, features="raw", seed=8,
        ridge=2.0, width_factor=0.3, scale=0.5, threshold=1.5, power=0.25,
    )  # fmt: skip
    slow = twin(4, 2, raw, seed=8, ridge=2.0, width_factor=0.3 * 0.5, c=1.5, p=0.25)
    same_arms(policy, slow, rounds)


@pytest.mark.parametrize("name", [name for name, _ in TWINS])
def test_the_comparison_reaches_the_last_level(name: str) -> None:
    """It would say little if the second objective never decided."""
    rounds = smooth_rounds(1200, seed=1)
    policy = lexbandit.make_policy(name, arms=4, dimension=2, seed=1)
    policy.replay(rounds)
    reasons = [policy.explain(context).reason for context in rounds.contexts[:100]]
    assert np.mean(["Candidates, with" in reason for reason in reasons]) > 0.5


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_missing_rewards_get_a_gram_matrix_for_each_objective(name: str, twin: Any) -> None:
    """The twin has them from the start; the policy from the first partly missing reward on."""
    rounds = smooth_rounds(1200, seed=5)
    hidden = np.random.default_rng(1).random(rounds.outcomes.shape) < 0.3
    hidden[:100] = False
    hidden[100:200] = hidden[100:200, :, :1]  # missing in all objectives or in none
    holey = Rounds(rounds.contexts, np.where(hidden, np.nan, rounds.outcomes))
    policy = lexbandit.make_policy(name, arms=4, dimension=2, seed=3)
    slow = twin(4, 2, seed=3, shared=False)
    same_arms(policy, slow, holey[:200])
    assert policy.state()["grams"].shape[1] == 1
    same_arms(policy, slow, holey[200:])
    assert policy.state()["grams"].shape[1] == 2


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("features", "phi"), [("raw", raw), ("legendre", legendre)])
def test_linucb(seed: int, features: str, phi: Any) -> None:
    rounds = smooth_rounds(1200, seed=seed)
    policy = lexbandit.make_policy("linucb", arms=4, dimension=2, features=features, seed=seed)
    same_arms(policy, LinUcb(4, 2, phi, seed=seed), rounds)


def test_linucb_with_another_scale_and_delta() -> None:
    rounds = smooth_rounds(1200, seed=4)
    policy = lexbandit.make_policy("linucb", arms=4, dimension=2, scale=0.2, delta=0.5, seed=4)
    same_arms(policy, LinUcb(4, 2, raw, scale=0.2, delta=0.5, seed=4), rounds)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_suplinucb_stores_where_the_twin_remembers(seed: int, scale: float) -> None:
    """`update` finds the stage again, and it is the one that chose."""
    rounds = smooth_rounds(1500, seed=seed)
    policy = lexbandit.make_policy(
        "suplinucb", arms=4, dimension=2, horizon=1500, scale=scale, seed=seed
    )
    twin = SupLinUcb(4, 2, 1500, scale=scale, seed=seed)
    same_arms(policy, twin, rounds)
    stored = policy.state()["counts"].reshape(4, twin.S, 2)[:, :, 0]
    twins = [[stage.models[a][0].n for stage in twin.stages] for a in range(4)]
    np.testing.assert_array_equal(stored, twins)
    assert (stored.sum(0) > 0).sum() >= 2


@pytest.mark.parametrize(("D", "scale", "lam"), [(1, 0.02, 1.0), (2, 0.02, 0.5), (3, 0.005, 2.0)])
def test_mtlo_plays_its_twins_arms(D: int, scale: float, lam: float) -> None:
    rounds = smooth_rounds(1200, arms=4, objectives=D, seed=D)
    policy = lexbandit.make_policy(
        "mtlo", arms=4, dimension=2, objectives=D, horizon=1200, scale=scale, lam=lam, seed=D
    )
    same_arms(policy, Mtlo(4, D, 1200, scale=scale, lam=lam, seed=D), rounds)
    plays = policy.state()["plays"]
    assert plays.max() > 2 * plays.min()  # arms were ruled out
