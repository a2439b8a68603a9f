"""The rules at their edges: ties, confidence, candidates, partial rewards."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.kernels import pareto
from lexbandit.policies.moc_mab import LexicographicRule
from support import make

CONTEXT = [0.5, 0.5]
rewards = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=60
)


def moc(scale: float = 0.1) -> LexicographicRule:
    policy = make("moc-mab", scale=scale)
    assert isinstance(policy, LexicographicRule)
    return policy


@given(rewards, st.sampled_from([0.02, 0.1, 1.0]))
def test_candidates_contain_the_top_arm_and_the_chosen_one(
    history: list[tuple[int, float, float]], scale: float
) -> None:
    policy = moc(scale=scale)
    for arm, first, second in history:
        policy.update(CONTEXT, arm, [first, second])
    arms = policy.explain(CONTEXT).arms
    top = max(arms, key=lambda report: report.index[0])
    assert top.candidate
    for report in arms:
        assert report.candidate or report.propensity == 0
        floor = top.mean[0] - top.width[0] - 2 * policy.margin
        confident = top.width[0] <= policy.beta * policy.margin
        if confident and not math.isinf(top.index[0]):
            assert report.candidate == (report.index[0] >= floor)


def test_the_confident_branch_begins_exactly_at_beta_v() -> None:
    """u > βv plays the top arm; u ≤ βv looks at objective 2 (line 9 of Algorithm 1)."""
    policy = moc(scale=0.1)
    width = policy.bound.width
    needed = next(n for n in range(1, 10**6) if width(n) <= policy.beta * policy.margin)
    for n in range(1, needed + 1):
        policy.update(CONTEXT, 0, [0.9, 0.1])
        for arm in (1, 2, 3):
            policy.update(CONTEXT, arm, [0.8, 0.9 - arm / 10])
        chosen = policy.select(CONTEXT).arm
        assert chosen == (0 if n < needed else 1)


def test_the_margin_is_not_scaled() -> None:
    assert moc(scale=0.1).margin == moc(scale=1.0).margin
    assert moc(scale=0.1).bound.width(3) == 0.1 * moc(scale=1.0).bound.width(3)


def test_unplayed_arms_come_first_in_random_order() -> None:
    orders = set()
    for seed in range(60):
        policy = make("moc-mab", arms=3, seed=seed)
        order: list[int] = []
        for _ in range(3):
            decision = policy.select(CONTEXT)
            assert decision.propensity == 1 / (3 - len(order))
            policy.update(CONTEXT, decision.arm, [0.5, 0.5])
            order.append(decision.arm)
        assert sorted(order) == [0, 1, 2]
        orders.add(tuple(order))
    assert len(orders) == 6


def test_an_unobserved_reward_is_not_zero() -> None:
    policy = moc()
    for value in (0.4, 0.6):
        policy.update(CONTEXT, 2, [value, math.nan])
    report = policy.explain(CONTEXT).arms[2]
    assert (report.plays, report.observations) == (2, (2, 0))
    assert report.mean[0] == 0.5
    assert report.width[1] == math.inf
    assert report.width[0] == policy.bound.width(2)


def test_a_tie_that_leads_to_different_candidates() -> None:
    """Arms tied at the top with different widths: the propensity counts both ways."""
    policy = make("moc-mab", arms=2, scale=1e-9)
    policy.update(CONTEXT, 0, [0.5, 0.9])
    policy.update(CONTEXT, 1, [0.5, 0.1])
    assert policy.select(CONTEXT) == (0, 1.0)


def test_equal_index_vectors_stay_on_the_front_together() -> None:
    front = np.zeros(4, bool)
    vectors = np.array([[1.0, 1.0, 0.5, 2.0], [1.0, 1.0, 1.0, 0.0]])
    assert pareto.mark_front(vectors, front) == 3
    assert front.tolist() == [True, True, False, True]
    everywhere = np.full((2, 4), math.inf)
    assert pareto.mark_front(everywhere, front) == 4


def test_scalarized_default_weights_are_the_papers() -> None:
    policy = lexbandit.make_policy("s-ucb1", arms=2, dimension=1)
    np.testing.assert_array_equal(policy.weights, [[1, 0], [0.5, 0.5], [0, 1]])  # type: ignore[attr-defined]
    three = lexbandit.make_policy("s-ucb1", arms=2, dimension=1, objectives=3)
    assert three.weights.shape == (4, 3)  # type: ignore[attr-defined]


def test_scalarized_credits_one_instance_a_round() -> None:
    policy = lexbandit.make_policy("s-ucb1", arms=3, dimension=1, scale=0.5)
    environment = np.random.default_rng(0)
    for _ in range(500):
        decision = policy.select([0.5])
        policy.update([0.5], decision.arm, environment.random(2))
    counts = policy.state()["counts"][0]
    assert counts[:, :2].sum() == 1000
    assert counts[:, 2:].sum() == 500
    assert (counts[:, 2:].sum(0) > 120).all()  # about a third each


def test_more_objectives_than_two() -> None:
    """The state and the baselines take any number; MOC-MAB's rule is the paper's."""
    for name in ("cp-ucb1", "cs-ucb1", "cd-ucb1"):
        policy = make(name, objectives=3)
        policy.update(CONTEXT, 1, [0.1, 0.2, 0.3])
        assert policy.explain(CONTEXT).arms[1].mean == (0.1, 0.2, 0.3)
