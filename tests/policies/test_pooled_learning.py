"""What lex-thompson learns, how fast, and that it does not settle on a wrong arm.

Seeds are fixed; each tolerance is stated with what was found when the test was written.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

import lexbandit
from lexbandit.kernels import pooled
from lexbandit.policies.linear.pooled import PooledPolicy
from lexbandit.rounds import Rounds

pytestmark = pytest.mark.compiled

# How a chooser without context features has it: one coordinate that is always 0.
FREE = (("category", 1),)
MIXED = (("number", 1), ("category", 2))


def make(arms: int, layout: Any, **settings: Any) -> PooledPolicy:
    policy = lexbandit.make_policy(
        "lex-thompson",
        arms=arms,
        dimension=sum(size for _, size in layout),
        layout=layout,
        **settings,
    )
    assert isinstance(policy, PooledPolicy)
    return policy


class World(NamedTuple):
    contexts: np.ndarray
    means: np.ndarray

    def rounds(self, noise: np.ndarray) -> Rounds:
        return Rounds(self.contexts, self.means + noise)


def world(n: int, *, seed: int, arms: int = 3) -> World:
    """Means that depend on a number and a category; in the last objective they are constant."""
    random = np.random.default_rng(seed)
    contexts = np.hstack([random.random((n, 1)), np.eye(2)[random.integers(2, size=n)]])
    means = np.empty((n, arms, 2))
    slopes = random.normal(0.0, 0.15, arms)
    means[:, :, 0] = random.uniform(0.3, 0.8, arms) + (contexts[:, :1] - 0.5) * slopes
    means[:, :, 0] += contexts[:, 1:] @ random.normal(0.0, 0.1, (2, arms))
    means[:, :, 1] = random.uniform(0.1, 0.9, arms)
    return World(contexts, means)


def losses(means: np.ndarray, arms: np.ndarray, tolerance: float) -> np.ndarray:
    """Loss beyond tolerance, and what was missed in the last objective, for every round."""
    first, last = means[:, :, 0], means[:, :, 1]
    played = np.arange(len(arms)), arms
    floor = first.max(axis=1) - tolerance
    best = np.where(first >= floor[:, None], last, -np.inf).max(axis=1)
    lost = np.column_stack([floor - first[played], best - last[played]])
    return np.asarray(np.maximum(lost, 0.0))


# Noise.


@pytest.mark.parametrize(("noise", "within"), [(0.001, 0.2), (0.02, 0.05), (0.3, 0.05)])
def test_the_noise_is_learned(noise: float, within: float) -> None:
    """After 3,000 decisions to 5 %; to 20 % at .001, where pseudo rewards still count."""
    random = np.random.default_rng(0)
    there = world(3000, seed=1)
    policy = make(3, MIXED)
    policy.replay(there.rounds(noise * random.normal(size=there.means.shape)))
    found = np.sqrt(policy.state()["facts"][:, pooled.NOISE])
    np.testing.assert_allclose(found, noise, rtol=within)


def test_arms_have_noise_of_their_own() -> None:
    """One arm's rewards vary by .3, the others' by .02, which is found to 40 %."""
    random = np.random.default_rng(0)
    n, deviations = 3000, np.array([0.02, 0.3, 0.02])
    arms = np.arange(n) % 3
    rewards = 0.5 + deviations[arms, None] * random.normal(size=(n, 2))
    policy = make(3, FREE)
    policy.update_many(np.zeros((n, 1)), arms, rewards)
    _, found = policy.predict([0.0])
    np.testing.assert_allclose(found[:, 0] * np.sqrt(n / 3), [0.02, 0.3, 0.02], rtol=0.4)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_binary_rewards_have_the_variance_they_have(share: float) -> None:
    """Deviations of estimates from 1,000 rewards an arm are sqrt(p(1 − p)/n), to 20 %."""
    random = np.random.default_rng(3)
    rewards = (random.random((3000, 2)) < share).astype(float)
    policy = make(3, FREE)
    policy.update_many(np.zeros((3000, 1)), np.arange(3000) % 3, rewards)
    means, deviations = policy.predict([0.0])
    expected = np.sqrt(means * (1 - means) / 1000)
    np.testing.assert_allclose(deviations, expected, rtol=0.2)
    assert (np.abs(means - share) < 4 * deviations).all()


def test_intervals_cover_the_truth() -> None:
    """Three arms, adaptive play: 95 % intervals cover at least 90 % of 300 truths (found: 96 %)."""
    covered = []
    for seed in range(50):
        random = np.random.default_rng(seed)
        there = world(500, seed=seed)
        policy = make(3, MIXED, tolerance=[0.05, 0.0], seed=seed)
        policy.replay(there.rounds(0.2 * random.normal(size=there.means.shape)))
        means, deviations = policy.predict(there.contexts[-1])
        covered.append(np.abs(means - there.means[-1]) <= 1.96 * deviations)
    assert np.mean(covered) > 0.9


# Worlds.


def test_the_example_of_the_readme() -> None:
    """Without noise nearly all requests go to the cheap one within tolerance (found: 99.3 %)."""
    models = {"small": (0.70, 0.001), "medium": (0.91, 0.004), "large": (0.92, 0.03)}
    for seed in range(3):
        chooser = lexbandit.Chooser(
            objectives=[
                lexbandit.Objective("quality", tolerance=0.02),
                lexbandit.Objective("cost", goal="min", range=(0, 0.05)),
            ],
            arms=list(models),
            context=[
                lexbandit.Number("tokens", 0, 8000),
                lexbandit.Category("task", ["code", "chat"]),
            ],
            seed=seed,
        )
        chosen = []
        for tokens in range(0, 8000, 4):
            decision = chooser.choose({"tokens": tokens, "task": "code"})
            quality, cost = models[decision.arm]
            chooser.reward(decision, quality=quality, cost=cost)
            chosen.append(decision.arm)
        assert np.mean(np.array(chosen) == "medium") >= 0.9


@pytest.mark.parametrize("arms", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_a_range_ten_times_too_wide_costs_little(arms: int) -> None:
    """Over 64 worlds at most twice the loss in either objective (found: .8 to 1.2)."""
    lost = np.zeros((2, 2))
    for seed in range(64):
        there = world(2000, seed=seed, arms=arms)
        noise = 0.1 * np.random.default_rng(seed).normal(size=there.means.shape)
        for k, factor in enumerate((1.0, 0.1)):
            policy = make(arms, MIXED, tolerance=[0.05 * factor, 0.0], seed=seed)
            outcomes = 0.45 * (1 - factor) + factor * (there.means + noise)
            played = policy.replay(Rounds(there.contexts, outcomes))
            lost[k] += losses(there.means, played, 0.05).sum(axis=0)
    assert (lost[1] < 2 * lost[0]).all()


@pytest.mark.parametrize("tail", ["student", "pareto"])
def test_heavy_tails_in_the_last_objective_do_not_spoil_the_first(tail: str) -> None:
    """Noise without a variance: all is finite, the first loss at most 1.5 times (found: 1.0)."""
    lost = np.zeros((2, 2))
    for seed in range(8):
        random = np.random.default_rng(seed)
        there = world(3000, seed=seed)
        usual = 0.1 * random.normal(size=there.means.shape)
        heavy = usual.copy()
        size = there.means.shape[:2]
        heavy[:, :, 1] = (
            0.1 * random.standard_t(1.5, size) if tail == "student" else -random.pareto(1.2, size)
        )
        for k, noise in enumerate((usual, heavy)):
            policy = make(3, MIXED, tolerance=[0.05, 0.0], seed=seed)
            played = policy.replay(there.rounds(noise))
            assert all(np.isfinite(array).all() for array in policy.state().values())
            lost[k] += losses(there.means, played, 0.05).sum(axis=0)
    assert lost[1, 0] < 1.5 * lost[0, 0]


def late(there: World, outcomes: np.ndarray, delay: int, **settings: Any) -> np.ndarray:
    """Play with rewards that come `delay` decisions late."""
    policy = make(there.means.shape[1], MIXED, **settings)
    arms = np.empty(len(outcomes), np.int64)
    for t, context in enumerate(there.contexts):
        told = t - delay - 1
        if told >= 0:
            policy.update(there.contexts[told], int(arms[told]), outcomes[told, arms[told]])
        arms[t] = policy.select(context).arm
    return arms


def test_late_rewards() -> None:
    """Rewards 2,000 decisions late, T = 10,000, four worlds.

    Until the first reward nobody knows anything: two of three choices are wrong, as random ones
    are. From then on there are at most 1.5 times as many wrong plays as without delay (found: .8);
    with those before it, 3.1 times as many, nearly all of them before the first reward.
    """
    prompt, delayed, blind = 0, 0, 0
    for seed in range(4):
        there = world(10_000, seed=seed)
        outcomes = there.means + 0.2 * np.random.default_rng(seed).normal(size=there.means.shape)
        wrong = np.array(
            [
                losses(there.means, late(there, outcomes, delay, tolerance=[0.05, 0.0]), 0.05).any(
                    1
                )
                for delay in (0, 2000)
            ]
        )
        prompt += wrong[0].sum()
        blind += wrong[1, :2001].sum()
        delayed += wrong[1, 2001:].sum()
    assert blind < 4 * 2001 * 0.72
    assert delayed < 1.5 * prompt


# No lock-in.


def share_of_wrong_ends(means: Any, tolerance: float, *, seeds: int, n: int = 10_000) -> float:
    """How often the arm of most plays in the last quarter is wrong; rewards are 0 or 1."""
    rates = np.array(means)
    inside = rates[:, 0] >= rates[:, 0].max() - tolerance
    right = np.where(inside, rates[:, 1], -1.0).argmax()
    wrong = 0
    for seed in range(seeds):
        outcomes = np.random.default_rng(seed).random((n, *rates.shape)) < rates
        policy = make(len(rates), FREE, tolerance=[tolerance, 0.0], seed=seed)
        arms = policy.replay(Rounds(np.zeros((n, 1)), outcomes.astype(float)))
        wrong += np.bincount(arms[-n // 4 :], minlength=len(rates)).argmax() != right
    return wrong / seeds


@pytest.mark.parametrize(
    ("means", "tolerance", "most"),
    [
        ([(0.70, 0.3), (0.73, 0.5), (0.75, 0.2), (0.60, 0.9)], 0.05, 0.05),  # found: 0
        pytest.param(
            [(0.50, 0.4), (0.50, 0.6), (0.30, 0.9)], 0.10, 0.05, marks=pytest.mark.slow
        ),  # found: 0
        ([(0.50, 0.4), (0.50, 0.6), (0.30, 0.9)], 0.0, 0.1),  # found: .05
    ],
)
def test_bad_luck_at_the_start_is_mended(means: Any, tolerance: float, most: float) -> None:
    """No context, binary rewards, 60 seeds: an unlucky arm is tried again."""
    assert share_of_wrong_ends(means, tolerance, seeds=60) <= most


@pytest.mark.parametrize(("binary", "most"), [(False, 0.015), (True, 0.08)])
def test_a_dear_best_arm_is_found(binary: bool, most: float) -> None:
    """Eight arms whose quality rises with their price: one low reward does not starve the best.

    The mean loss beyond the tolerance of 3,000 decisions, 40 seeds (found: .005 and .046;
    always playing the next best would lose .1).
    """
    quality = np.array([0.40, 0.45, 0.50, 0.50, 0.55, 0.55, 0.60, 0.75])
    thrift = np.array([0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.1])
    means = np.broadcast_to(np.stack([quality, thrift], axis=1), (3000, 8, 2))
    lost = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        outcomes = means.copy()
        outcomes[:, :, 0] += 0.2 * random.normal(size=(3000, 8))
        if binary:
            outcomes[:, :, 0] = random.random((3000, 8)) < quality
        policy = make(8, FREE, tolerance=[0.05, 0.0], seed=seed)
        played = policy.replay(Rounds(np.zeros((3000, 1)), outcomes))
        lost.append(losses(means, played, 0.05)[:, 0].mean())
    assert np.mean(lost) < most


def test_rare_clicks() -> None:
    """Five e-mails with a tolerance of .003: over 60 seeds more than .026 clicks after 20,000.

    Found: .0269.
    The e-mail that is best in the last objective is the worst in clicks. Random choice has .023.
    """
    rates = np.array([0.030, 0.028, 0.020, 0.012, 0.025])
    found = []
    for seed in range(60):
        outcomes = np.empty((20_000, 5, 2))
        outcomes[:, :, 0] = np.random.default_rng(seed).random((20_000, 5)) < rates
        outcomes[:, :, 1] = [0.2, 0.4, 0.6, 1.0, 0.8]
        policy = make(5, FREE, tolerance=[0.003, 0.0], seed=seed)
        found.append(rates[policy.replay(Rounds(np.zeros((20_000, 1)), outcomes))].mean())
    assert np.mean(found) > 0.026
    assert min(found) > 0.02


@pytest.mark.parametrize("layout", [FREE, MIXED])
def test_all_arms_are_tried_while_only_the_first_objective_is_late(layout: Any) -> None:
    """The worst arm is the cheapest; costs come at once, quality 800 plays later.

    It gets 0.48 and 0.49 of the first 800 plays (a third is what no rule can avoid; 0.98 where the
    doubt grew with all rewards), and hardly any of the next 800.
    """
    quality, cost, late = [0.5, 0.9, 0.91], [0.9, 0.5, 0.1], 800
    random = np.random.default_rng(7)
    policy = make(3, layout, tolerance=[0.05, 0.0])
    size = 1 if layout is FREE else 3
    contexts, arms = np.zeros((2 * late, size)), np.empty(2 * late, int)
    if size == 3:
        contexts[:, 0], contexts[:, 1] = random.random(2 * late), 1.0
    for t in range(2 * late):
        arm = arms[t] = policy.select(contexts[t])[0]
        policy.update(contexts[t], arm, np.array([np.nan, cost[arm] + 0.02 * random.normal()]))
        if t >= late:
            before = arms[t - late]
            graded = np.array([quality[before] + 0.1 * random.normal(), np.nan])
            policy.amend(contexts[t - late], before, graded)
    shares = (arms == 0).reshape(2, late).mean(axis=1)
    assert shares[0] < 0.6
    assert shares[1] < 0.05
