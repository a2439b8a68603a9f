"""Credible intervals and probabilities to be as good, against plain formulas and simulation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit as lb
from lexbandit.features import features_for
from lexbandit.kernels import pooled
from lexbandit.policies.linear import credible


def policy(**given: Any) -> Any:
    return lb.make_policy("lex-thompson", **{"arms": 3, "dimension": 2, "objectives": 2, **given})


def test_quantiles_of_student() -> None:
    freedom = np.array([2.0, 3.0, 4.0, 6.0, 10.0, 30.0, 1e9])
    tables = [4.303, 3.182, 2.776, 2.447, 2.228, 2.042, 1.960]  # the 97.5 % points
    np.testing.assert_allclose(credible.student(freedom), tables, rtol=0.035)
    np.testing.assert_allclose(credible.student(freedom)[3:], tables[3:], rtol=1e-3)


@pytest.mark.parametrize(
    ("ones", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 100, 0.0018, 0.0545),
    ],
)
def test_wilsons_interval(ones: int, count: int, low: float, high: float) -> None:
    ends = credible.wilson(np.array([ones / count]), np.array([float(count)]))
    np.testing.assert_allclose(np.concatenate(ends), [low, high], atol=1e-4)


chances = st.floats(-1.0, 1.0)
spreads = st.floats(0.0, 0.5) | st.floats(0.0, 1e-6)


@st.composite
def standings(draw: Any) -> tuple[Any, Any, float, Any]:
    arms = draw(st.integers(1, 6))
    means = np.array(draw(st.lists(chances, min_size=arms, max_size=arms)))
    deviations = np.array(draw(st.lists(spreads, min_size=arms, max_size=arms)))
    rivals = np.array(draw(st.lists(st.booleans(), min_size=arms, max_size=arms)))
    rivals[draw(st.integers(0, arms - 1))] = True
    return means, deviations, draw(st.floats(0.0, 0.5)), rivals


@settings(max_examples=60, deadline=None)
@given(standings())
def test_chances_are_those_of_draws(standing: tuple[Any, Any, float, Any]) -> None:
    means, deviations, band, rivals = standing
    found = credible.chances_within(means, deviations, band, rivals)
    drawn = np.random.default_rng(0).normal(
        means, np.maximum(deviations, 1e-12), (20_000, len(means))
    )
    for arm in range(len(means)):
        others = rivals.copy()
        others[arm] = False
        best = np.where(others, drawn, -np.inf).max(axis=1)
        # four standard errors, and what the points are off
        assert found[arm] == pytest.approx((drawn[:, arm] >= best - band).mean(), abs=0.018)
    wider = credible.chances_within(means, deviations, band + 0.1, rivals)
    assert (wider >= found - 0.006).all()


def test_chances_of_many_arms_take_little_time_and_are_right() -> None:
    means, deviations = np.zeros(1000), np.ones(1000)
    means[0] = 8.0
    found = credible.chances_within(means, deviations, 0.5, np.ones(1000, np.bool_))
    assert found[0] == pytest.approx(1.0, abs=0.003)
    assert found[1:].max() < 0.003


def taught(given: Any, contexts: Any, rewards: Any) -> Any:
    made = policy(**given)
    for n, context in enumerate(contexts):
        made.update(context, n % 3, rewards[n])
    return made


def test_rewards_in_one_context_are_all_near() -> None:
    """And what the features cannot represent does not matter there."""
    dice = np.random.default_rng(1)
    contexts = np.full((90, 2), 0.3)
    made = taught({}, contexts, 0.5 + 0.1 * dice.standard_normal((90, 2)))
    told = made.explain([0.3, 0.3])
    for report in told.arms:
        assert report.near == pytest.approx((30.0, 30.0), rel=1e-6)
        # a t-interval of 30 rewards of deviation 0.1, drawn to the other arms
        assert report.width[0] == pytest.approx(2.04 * 0.1 / np.sqrt(30), rel=0.25)
    far = made.explain([0.9, 0.9]).arms
    assert all(report.near[0] < 5.0 for report in far)
    assert all(report.width[0] > 0.05 for report in far)


def test_intervals_are_told_with_their_level() -> None:
    told = policy().explain([0.5, 0.5])
    assert told.level == 0.95
    assert [level.band for level in told.standing] == [pytest.approx(told.standing[0].band)]
    for report in told.arms:
        assert report.interval[0][0] < report.mean[0] < report.interval[0][1]
        assert report.ends(0) == report.interval[0]
        assert len(report.within) == 1
    other = lb.make_policy("lex-linucb", arms=3, dimension=2).explain([0.5, 0.5])
    assert (other.level, other.standing) == (None, ())
    first = other.arms[0]
    assert first.ends(0) == (first.mean[0] - first.width[0], first.mean[0] + first.width[0])


def test_binary_rewards_have_intervals_of_proportions() -> None:
    contexts = np.full((60, 2), 0.5)
    rewards = np.zeros((60, 2))
    rewards[::3, 0] = 1.0  # arm 0 never fails, the others never succeed
    rewards[:, 1] = 0.5
    told = taught({}, contexts, rewards).explain([0.5, 0.5])
    first, second, _ = told.arms
    assert first.interval[0][0] == pytest.approx(20 / (20 + 1.96**2), abs=0.05)
    assert first.interval[0][1] == 1.0
    assert second.interval[0][0] == 0.0
    assert second.interval[0][1] == pytest.approx(1.96**2 / (20 + 1.96**2), abs=0.05)


def test_intervals_of_rewards_that_are_mostly_0_hold_the_truth() -> None:
    """96 worlds of revenue, 1,500 decisions each: at least 95 %.

    Found: 95.5 % (97.3 % in worlds 200 to 519), and 92.0 % in the first 32 before noise was drawn
    to that of all arms.
    """
    held = []
    for world in range(200, 296):
        environment = lb.make_environment("tolerance", kind="revenue", world=world)
        made = lb.make_policy(
            "lex-thompson",
            arms=environment.arms,
            dimension=environment.dimension,
            layout=environment.layout,
            tolerance=environment.tolerances,
            seed=world,
        )
        rounds = environment.rounds(1_500, seed=world)
        assert rounds.means is not None
        made.replay(rounds)
        for arm, report in enumerate(made.explain(rounds.contexts[0]).arms):
            low, high = report.interval[0]
            held.append(low <= rounds.means[0, arm, 0] <= high)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(
    ("layout", "left_out"),
    [
        ([("category", 3)], False),
        ([("category", 3), ("category", 4)], False),
        ([("category", 3), ("category", 3), ("category", 2)], True),
        ([("number", 1)], True),
        ([("number", 1), ("category", 2)], True),
        ([("number", 1)] * 6 + [("category", 9)], True),
        ([("category", 9)] * 4, True),
        ([("vector", 5)], True),
    ],
)
def test_what_features_leave_out(layout: list[tuple[str, int]], left_out: bool) -> None:
    dimension = sum(size for _, size in layout)
    made = features_for({"name": "mixed", "layout": layout}, dimension=dimension)
    weights = made.left_out()
    assert weights.shape == (made.count,)
    assert (weights >= 0.0).all()
    assert weights[0] == 0.0  # of the constant
    assert bool(weights.any()) is left_out
    assert not features_for("legendre", dimension=2).left_out().any()


def test_the_standing_goes_by_estimates_level_by_level() -> None:
    made = policy(objectives=3, tolerance=[0.1, 0.1, 0.0])
    truth = np.array([[0.9, 0.2, 0.5], [0.85, 0.5, 0.5], [0.5, 0.9, 0.9]])
    for n in range(90):
        made.update([0.5, 0.5], n % 3, truth[n % 3])
    first, second = made.explain([0.5, 0.5]).standing
    assert (first.top, first.arms) == (0, (0, 1))
    assert (second.top, second.arms) == (1, (1,))
    within = np.array([report.within for report in made.explain([0.5, 0.5]).arms])
    np.testing.assert_allclose(within, [[1, 0], [1, 1], [0, 1]], atol=0.01)
    masked = made.explain([0.5, 0.5], [False, True, True])
    assert masked.standing[0].top == 1
    assert masked.arms[0].within == (0.0, 0.0)


def test_noise_is_that_of_the_arm_where_the_features_have_no_constant() -> None:
    """What tells the mean squared error is missing then, and nothing may be divided by it."""
    learner = policy()
    random = np.random.default_rng(0)
    for _ in range(60):
        learner.update(random.random(2), int(random.integers(3)), random.random(2))
    model = learner._model
    products = model.matrices[:, :, pooled.INVERSE].sum(axis=-1)
    assert credible.noise_here(model, products, np.zeros(1)).max() > 1.0
    model.prior[pooled.CONSTANT] = 0.0
    assert (credible.noise_here(model, products, np.zeros(1)) == 1.0).all()


def test_squared_errors_that_no_rewards_lead_to_are_refused() -> None:
    learner = policy()
    for n in range(20):
        learner.update([0.1 + 0.04 * n, 0.5], n % 3, [0.3, 0.1 * (n % 4)])
    for value in (0.0, -1.0):
        state = learner.state()
        state["vectors"][0, 0, pooled.ERRORS, 0] = value
        with pytest.raises(lb.InvalidInput, match="squared errors"):
            policy().load_state(state)
