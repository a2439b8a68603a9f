"""The rules at their edges: ties, confidence, candidates, partial rewards."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.bounds import HolderBound, UCB1Bound
from lexbandit.errors import InvalidInput
from lexbandit.kernels import lexicographic, pareto
from lexbandit.kernels.cells import MEAN, PLAIN_FIELDS, WIDTH, Cells
from lexbandit.kernels.random import seeded
from lexbandit.policies.cells.moc_mab import LexicographicRule
from lexbandit.policies.cells.scalarized_ucb1 import credited
from support import estimates, make

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
    width = width_of(policy)
    needed = next(n for n in range(1, 10**6) if width(n) <= policy.beta * policy.margin)
    for n in range(1, needed + 1):
        policy.update(CONTEXT, 0, [0.9, 0.1])
        for arm in (1, 2, 3):
            policy.update(CONTEXT, arm, [0.8, 0.9 - arm / 10])
        chosen = policy.select(CONTEXT).arm
        assert chosen == (0 if n < needed else 1)


def test_the_margin_is_not_scaled() -> None:
    assert moc(scale=0.1).margin == moc(scale=1.0).margin
    assert width_of(moc(scale=0.1))(3) == 0.1 * width_of(moc(scale=1.0))(3)


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
    assert report.width[0] == width_of(policy)(2)


def limits(beta: float, margin: float) -> tuple[np.ndarray, lexicographic.Limits]:
    """Tolerances of 0, and the limits of a cell with this margin; λ = 0."""
    return np.zeros(2), lexicographic.Limits(beta * margin, 2.0 * margin, 0.0)


def width_of(policy: LexicographicRule) -> Callable[[float], float]:
    assert isinstance(policy.bound, HolderBound)
    return policy.bound.width


def test_a_tie_that_leads_to_different_candidates() -> None:
    """Arms 0 and 1 tie at the top with different widths, so different arms count as their equals.

    Arm 0 (narrow) leaves arm 2 out, arm 1 (wide) lets it in; arm 2 is best in objective 2.
    """
    known = cell([0.8, 0.7, 0.3], [0.1, 0.2, 0.1], [0.6, 0.5, 0.7])
    known.indices[0, 0] = [0.9, 0.9, 0.4]
    ceilings = np.full((1, 3), np.inf)
    margin = 0.1  # floors: 0.8 − 0.1 − 0.2 = 0.5 and 0.7 − 0.2 − 0.2 = 0.3
    np.testing.assert_allclose(
        lexicographic.shares_of_two(known, 0, ceilings, 0, *limits(2.0, margin)), [0.5, 0.0, 0.5]
    )
    random = seeded(4)
    chosen = [
        lexicographic.choose_of_two(known, 0, ceilings, 0, *limits(2.0, margin), random)
        for _ in range(2000)
    ]
    counts = np.bincount(chosen, minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 1000) < 5 * math.sqrt(500)


def test_the_rule_refuses_a_bound_that_grows_with_the_rounds() -> None:
    policy = moc()
    with pytest.raises(InvalidInput, match="does not grow with the rounds"):
        LexicographicRule(
            arms=2,
            objectives=2,
            partition=policy.partition,
            bound=UCB1Bound(arms=2),
            beta=1.0,
            seed=0,
        )


@given(
    st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=4, max_size=4), min_size=3, max_size=3
    ),
    st.integers(0, 3),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_credits_follow_the_law_of_the_function_given_the_arm(
    indices: list[list[float]], arm: int, mask: list[bool]
) -> None:
    """The share of u in [0, 1) that credits s is P(s | a), ties and masks counted."""
    mask[arm] = True
    ranks = np.zeros((1, 5, 4))
    ranks[0, 2:] = indices
    ceilings = np.where([mask], np.inf, -np.inf)
    chances = []
    for row in indices:
        best = max(g for g, ok in zip(row, mask, strict=True) if ok)
        ties = [a for a in range(4) if mask[a] and row[a] == best]
        chances.append(1 / len(ties) if arm in ties else 0.0)
    law = np.array(chances) / sum(chances) if any(chances) else np.full(3, 1 / 3)
    steps = (np.arange(1200) + 0.5) / 1200
    drawn = [credited(ranks, 0, 2, arm, ceilings, 0, u) for u in steps]
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 1200, law, atol=2.5 / 1200)


@pytest.mark.parametrize("name", ["moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1"])
def test_the_largest_rewards_neither_overflow_nor_open_a_mask(name: str) -> None:
    policy = make(name, arms=3)
    for sign in (-1, 1):
        for _ in range(200):
            decision = policy.select(CONTEXT, [True, False, False])
            assert decision == (0, 1.0)
            policy.update(CONTEXT, 0, [sign * 1e100, sign * 1e100], [True, False, False])
    policy.load_state(policy.state())
    assert policy.state()["plays"].tolist() == [[400, 0, 0]]


def test_equal_index_vectors_stay_on_the_front_together() -> None:
    work = np.array([[9.0] * 4, [1.0, 1.0, 0.5, 2.0], [1.0, 1.0, 1.0, 0.0]])
    assert pareto.mark_front(work, 1, 3, 4) == 3
    assert work[0].tolist() == [1, 1, 0, 1]
    work[1:] = math.inf
    assert pareto.mark_front(work, 1, 3, 4) == 4


@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("arms", [1, 3, 4, 5, 8, 13])
def test_the_front_is_the_definitions(arms: int, objectives: int) -> None:
    random = np.random.default_rng(arms)
    for _ in range(100):  # whole numbers have many ties
        vectors = random.integers(0, 4, (objectives, arms)).astype(float)
        vectors[:, random.random(arms) < 0.2] = -math.inf
        work = np.vstack([np.full(arms, math.nan), vectors])
        size = pareto.mark_front(work, 1, 1 + objectives, arms)
        rivals, own = vectors[:, :, None], vectors[:, None, :]
        dominated = ((rivals >= own).all(0) & (rivals > own).any(0)).any(0)
        assert work[0].tolist() == (~dominated).astype(float).tolist()
        assert size == (~dominated).sum()


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


def cell(means: list[float], widths: list[float], second: list[float]) -> Cells:
    """Statistics of one cell, in which objective 2 has indices and nothing else."""
    stats = np.zeros((1, len(means), 2, PLAIN_FIELDS))
    stats[0, :, 0, MEAN], stats[0, :, 0, WIDTH] = means, widths
    return estimates(stats, np.array([[np.add(means, widths), second]]))


def shares_of(known: Cells, beta: float, margin: float) -> list[float]:
    ceilings = np.full((1, known.stats.shape[1]), np.inf)
    return [
        float(p) for p in lexicographic.shares_of_two(known, 0, ceilings, 0, *limits(beta, margin))
    ]


def floor_of(known: Cells, beta: float, margin: float) -> float:
    return lexicographic.candidate_floor(known, 0, 0, *limits(beta, margin))


def test_the_floor_is_equation_4() -> None:
    stats = cell([0.75, 0.5], [0.125, 0.0625], [0.0, 0.0])
    assert floor_of(stats, 1.0, 0.25) == 0.75 - 0.125 - 2 * 0.25
    # u = βv is confident, u > βv is not (line 9).
    assert floor_of(stats, 1.0, 0.125) == 0.75 - 0.125 - 2 * 0.125
    below = np.nextafter(0.125, 0)
    assert floor_of(stats, 1.0, below) == math.inf
    assert floor_of(stats, 0.5, 0.125) == math.inf


def test_an_index_that_just_reaches_the_floor_is_a_candidate() -> None:
    """floor = 0.75 − 0.125 − 2 · 0.125 = 0.375, and arm 1 has the better second objective."""
    reaching = cell([0.75, 0.25], [0.125, 0.125], [0.1, 0.9])
    assert shares_of(reaching, 1.0, 0.125) == [0.0, 1.0]
    short = cell([0.75, 0.25 - 1e-12], [0.125, 0.125], [0.1, 0.9])
    assert shares_of(short, 1.0, 0.125) == [1.0, 0.0]


def test_a_tie_of_a_sure_and_an_unsure_arm() -> None:
    """Arm 0 is sure and lets arm 2 in, which is best in objective 2; arm 1 is played itself."""
    stats = cell([0.75, 0.5, 0.5], [0.125, 0.375, 0.125], [0.1, 0.2, 0.9])
    assert shares_of(stats, 1.0, 0.125) == [0.0, 0.5, 0.5]


def test_a_weight_of_zero_needs_no_reward() -> None:
    """The instance of [1, 0] learns when the second reward is missing; [0, 1] does not."""
    policy = lexbandit.make_policy("s-ucb1", arms=1, dimension=1)
    for _ in range(90):
        policy.update([0.5], 0, [0.5, math.nan])
    counts = policy.state()["counts"][0, 0]
    assert counts[:2].tolist() == [90, 0]
    assert 15 < counts[2] < 45  # drawn a third of the time
    assert counts[3:].tolist() == [0, 0]


def test_parameters_reach_where_they_belong() -> None:
    policy = lexbandit.make_policy(
        "moc-mab", arms=3, dimension=2, horizon=10**6, L=2.0, alpha=0.5, beta=0.3, R=1.5, scale=0.1
    )
    assert isinstance(policy, LexicographicRule)
    m = policy.partition.cells_per_side  # type: ignore[attr-defined]
    assert m == 52  # the smallest m with m^3.5 >= 10^6
    assert policy.margin == pytest.approx(2.0 * 2**0.25 * m**-0.5)
    assert policy.beta == 0.3
    A = 1 + 2 * math.log(4 * 3 * m**2 * 1e9)
    assert width_of(policy)(7) == pytest.approx(0.1 * 1.5 * math.sqrt(2 * A / 7))
    for name in ("cd-ucb1", "cp-ucb1", "cs-ucb1"):
        grid = lexbandit.make_policy(name, arms=3, dimension=2, horizon=10**6, alpha=0.5)
        assert grid.partition.cells_per_side == m  # type: ignore[attr-defined]
    three = lexbandit.make_policy("cp-ucb1", arms=3, dimension=2, horizon=100, objectives=3)
    assert three.bound.width(2, 9) == pytest.approx(math.sqrt(math.log(9 * 9**0.25)))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["cd-ucb1", "cp-ucb1", "cs-ucb1", "moc-mab"])
def test_explained_widths_are_those_of_the_bound(name: str) -> None:
    """With the rounds of the cell in them, where the bound grows with these."""
    policy = make(name, arms=2, scale=1.0)
    for _ in range(5):
        policy.update(CONTEXT, 0, [0.5, 0.5])
    policy.update(CONTEXT, 1, [0.25, 0.5])
    for report, n in zip(policy.explain(CONTEXT).arms, (5, 1), strict=True):
        width = policy.bound.width(n, 6)  # type: ignore[attr-defined]
        assert report.width == pytest.approx((width, width))
        assert report.index[0] == pytest.approx(report.mean[0] + width)


def test_the_observations_still_needed_are_those_of_the_test() -> None:
    """What `explain` says of an unsure top arm: 2A/(βv)² observations, 5030 in Experiment 1."""
    policy = lexbandit.make_policy("moc-mab", arms=4, dimension=2, horizon=100_000)
    for arm in range(4):
        policy.update(CONTEXT, arm, [arm / 4, 0.0])
    assert "about 5030 observations" in policy.explain(CONTEXT).reason
