"""The rivals of the literature against their plain twins, and what their papers say of them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.kernels import pooled, rivals
from lexbandit.policies.linear.pooled import PooledPolicy
from lexbandit.rounds import Rounds
from naive import MASK
from twins.rivals import (
    NormalDice,
    PublishedPeCs,
    cs_etc_arms,
    cs_ts_arm,
    cs_ucb_arms,
    half_width,
    pe_cs_arms,
    plays_of_round,
    weighted_arm,
)

NAMES = ["thompson", "sum-thompson", "cs-ts", "cs-ucb", "cs-etc", "pe-cs"]
TOLERANCES = [0.05, 0.03, 0.0]
DRAW_WIDTH = {"thompson": 0.7, "sum-thompson": 1.3, "cs-ts": 0.8}
SCALE = {"cs-ucb": 0.5, "cs-etc": 0.3, "pe-cs": 0.4}
HORIZON = 300


def made(name: str, *, objectives: int, seed: int, **others: Any) -> PooledPolicy:
    """Return a rival with settings that are not the defaults."""
    own: dict[str, Any] = {"scale": SCALE.get(name, 1.0), "horizon": HORIZON}
    if name in DRAW_WIDTH:
        own["draw_width"] = DRAW_WIDTH[name]
    if name == "sum-thompson":
        own["price"] = [0.4, 0.2][: objectives - 1]
    policy = lexbandit.make_policy(
        name,
        arms=4,
        dimension=2,
        objectives=objectives,
        features="raw",
        tolerance=TOLERANCES[:objectives],
        seed=seed,
        **{**own, **others},
    )
    assert isinstance(policy, PooledPolicy)
    return policy


def worlds(n: int, *, objectives: int, seed: int) -> Rounds:
    """Rounds with some noise and masks; the first two arms are close in the first objective."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, 2))
    base = np.array([[0.7, 0.5, 0.3], [0.68, 0.6, 0.5], [0.5, 0.9, 0.4], [0.69, 0.55, 0.6]])
    means = base[None, :, :objectives] + 0.1 * contexts[:, :1, None]
    outcomes = means + 0.08 * random.standard_normal(means.shape)
    allowed = random.random((n, 4)) < 0.8
    allowed[:, 0] |= ~allowed.any(axis=1)
    return Rounds(contexts, outcomes, means, allowed)


def arm_of_twin(policy: PooledPolicy, name: str, context: Any, allowed: list[int]) -> int:
    """Return the twin's arm, by the policy's posterior and a copy of its random state."""
    state = policy.state()
    _, looks = policy._see(context)
    means, deviations = looks.means.tolist(), looks.deviations.tolist()
    dice = NormalDice(int(state["random"][1]) & MASK)
    dice.counter = int(state["random"][0])
    if name in DRAW_WIDTH:
        drawn = [[DRAW_WIDTH[name] * s for s in row] for row in deviations]
        if name == "cs-ts":
            return cs_ts_arm(means, drawn, TOLERANCES, allowed, dice)
        prices = [0.4, 0.2] if name == "sum-thompson" else [0.0, 0.0]
        return weighted_arm(means, drawn, [1.0, *prices[: len(means) - 1]], allowed, dice)
    if name == "cs-ucb":
        t = int(state["rounds"][0]) + 1
        tied = cs_ucb_arms(means, deviations, TOLERANCES, allowed, t=t, scale=SCALE[name])
    elif name == "cs-etc":
        plays = state["plays"].tolist()
        tied = cs_etc_arms(
            means, deviations, TOLERANCES, allowed, T=HORIZON, scale=SCALE[name], plays=plays
        )
    else:
        sigmas = np.sqrt(state["facts"][:, pooled.NOISE]).tolist()
        tied = pe_cs_arms(
            means, deviations, TOLERANCES, allowed, T=HORIZON, scale=SCALE[name], sigmas=sigmas
        )
    return dice.one_of(tied)


@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_arms_are_those_of_the_twin(name: str, objectives: int) -> None:
    rounds = worlds(HORIZON, objectives=objectives, seed=objectives)
    policy = made(name, objectives=objectives, seed=5)
    assert rounds.allowed is not None
    for t in range(len(rounds)):
        mask = rounds.allowed[t]
        expected = arm_of_twin(policy, name, rounds.contexts[t], np.flatnonzero(mask).tolist())
        arm, propensity = policy.select(rounds.contexts[t], mask)
        assert arm == expected, t
        assert math.isnan(propensity) == (name == "cs-ts")
        policy.update(rounds.contexts[t], arm, rounds.outcomes[t, arm], mask)


def test_the_comparison_gets_to_every_branch_of_pe_cs() -> None:
    """In the rounds above, arms are accepted, explored and compared with the best."""
    rounds = worlds(HORIZON, objectives=2, seed=2)
    policy = made("pe-cs", objectives=2, seed=5)
    kinds = set()
    for t in range(len(rounds)):
        _, looks = policy._see(rounds.contexts[t])
        floor = (2 * looks.means[0] - looks.reaches[0]).max()
        contenders = np.flatnonzero(looks.reaches[0] >= floor)
        arm = policy.select(rounds.contexts[t]).arm
        kinds.add((len(contenders) > 1, bool(arm == contenders[0])))
        policy.update(rounds.contexts[t], arm, rounds.outcomes[t, arm])
    assert {(True, True), (True, False), (False, True), (False, False)} <= kinds


def test_thompson_is_the_sum_at_price_0() -> None:
    rounds = worlds(200, objectives=2, seed=0)
    one = made("thompson", objectives=2, seed=1, draw_width=1.0)
    other = made("sum-thompson", objectives=2, seed=1, draw_width=1.0, price=0.0)
    np.testing.assert_array_equal(one.replay(rounds), other.replay(rounds))


def test_the_probability_of_a_weighted_sum_has_the_closed_form_of_two_arms() -> None:
    policy = made("sum-thompson", objectives=2, seed=3)
    policy.replay(worlds(60, objectives=2, seed=3))
    _, looks = policy._see([0.3, 0.6])
    weights = np.array([1.0, 0.4])
    first, second = (weights @ looks.means)[[1, 3]]
    spread = math.sqrt(((weights[:, None] * looks.spreads[:, [1, 3]]) ** 2).sum())
    shares = policy.propensities([0.3, 0.6], [False, True, False, True])
    assert shares[1] == pytest.approx(0.5 * math.erfc((second - first) / spread / math.sqrt(2)))
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


def test_cs_etc_explores_every_arm_equally_often_first() -> None:
    rounds = worlds(HORIZON, objectives=2, seed=4)
    rounds = Rounds(rounds.contexts, rounds.outcomes, rounds.means)
    tau = math.ceil((HORIZON / 4) ** (2 / 3))
    arms = made("cs-etc", objectives=2, seed=0).replay(rounds)
    np.testing.assert_array_equal(np.bincount(arms[: 4 * tau], minlength=4), tau)
    assert len(set(arms[4 * tau :].tolist())) < 4


@pytest.mark.parametrize("T", [100, 10_000, 1_000_000])
def test_rounds_of_pe_cs_are_over_after_the_papers_number_of_plays(T: int) -> None:
    """For rewards in [0, 1] without contexts: σ = ½ and s = ½/sqrt(n)."""
    last = math.floor(math.log2(T / math.e) / 2)
    for r in range(last + 1):
        n = plays_of_round(r, T)
        now = rivals.radius_by_rounds(0.5 / math.sqrt(n), 0.5, 1.0, T)
        before = rivals.radius_by_rounds(0.5 / math.sqrt(n - 1), 0.5, 1.0, T)
        assert now == (0.0 if r == last else 2.0**-r / 2)
        assert before == (math.inf if r == 0 else 2.0 ** -(r - 1) / 2)


@given(
    deviation=st.floats(0, 10), sigma=st.floats(1e-6, 10), T=st.integers(1, 10**9),
    scale=st.floats(0.01, 3),
)  # fmt: skip
def test_the_half_width_is_that_of_the_twin(
    deviation: float, sigma: float, T: int, scale: float
) -> None:
    found = rivals.radius_by_rounds(deviation, sigma, scale, float(T))
    assert found == half_width(deviation, sigma, T=T, scale=scale)


def test_pe_cs_settles_on_the_arm_of_the_published_algorithm() -> None:
    """Known costs, no contexts, Bernoulli rewards: the arm of the last quarter, in 4 runs."""
    T, tolerance = 8000, 0.3
    chances = [0.2, 0.75, 0.9]  # cheapest first; the second is within the tolerance
    costs = [0.9, 0.6, 0.2]
    for seed in range(4):
        random = np.random.default_rng(seed)
        outcomes = np.stack(
            [(random.random((T, 3)) < chances).astype(float), np.tile(costs, (T, 1))], axis=-1
        )
        rounds = Rounds(np.full((T, 1), 0.5), outcomes)
        twin, played = PublishedPeCs(3, T, tolerance), []
        for t in range(T):
            arm = twin.select()
            played.append(arm)
            twin.update(arm, outcomes[t, arm, 0])
        policy = lexbandit.make_policy(
            "pe-cs", arms=3, dimension=1, features="raw", horizon=T, tolerance=[tolerance, 0.0]
        )
        ours = policy.replay(rounds)
        assert set(played[-T // 4 :]) == {1}
        assert set(ours[-T // 4 :].tolist()) == {1}


numbers = st.floats(-1, 1)


@settings(max_examples=200)
@given(data=st.data(), rule=st.sampled_from([rivals.CS_UCB, rivals.CS_ETC, rivals.PE_CS]))
def test_rules_with_bounds_play_an_allowed_arm_and_do_not_know_arms_by_number(
    data: st.DataObject, rule: int
) -> None:
    arms, objectives = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    grid = st.lists(st.lists(numbers, min_size=arms, max_size=arms), min_size=objectives,
                    max_size=objectives)  # fmt: skip
    means = np.array(data.draw(grid))
    deviations = np.abs(np.array(data.draw(grid)))
    radii = np.abs(np.array(data.draw(grid)))
    radii[radii > 0.9] = math.inf if rule != rivals.CS_UCB else 1.0
    if rule == rivals.CS_ETC:
        radii[:, np.isinf(radii).any(axis=0)] = math.inf
    bands = np.abs(np.array(data.draw(st.lists(numbers, min_size=objectives, max_size=objectives))))
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=arms, max_size=arms)))
    allowed[data.draw(st.integers(0, arms - 1))] = True
    order = np.array(data.draw(st.permutations(range(arms))))

    def marked(columns: np.ndarray) -> np.ndarray:
        marks = np.empty(arms)
        ceilings = np.where(allowed[columns], math.inf, -math.inf)[None]
        m, s, u = (np.ascontiguousarray(x[:, columns]) for x in (means, deviations, means + radii))
        count = rivals.mark(rule, m, s, u, bands, ceilings, 0, marks)
        assert count == marks.sum()
        return marks

    marks = marked(np.arange(arms))
    assert marks.sum() >= 1
    assert not marks[~allowed].any()
    np.testing.assert_array_equal(marked(order), marks[order])


@pytest.mark.parametrize("price", [-1.0, "x", math.nan, [0.1, 0.2], [-0.1], math.inf])
def test_a_wrong_price_is_refused(price: Any) -> None:
    with pytest.raises(InvalidInput, match=r"price.* must be .* got"):
        lexbandit.make_policy("sum-thompson", arms=2, dimension=1, price=price)


@pytest.mark.parametrize("name", ["thompson", "sum-thompson", "cs-ts"])
def test_a_wrong_exploration_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"draw_width must be .* got 0"):
        lexbandit.make_policy(name, arms=2, dimension=1, draw_width=0)
