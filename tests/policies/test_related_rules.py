"""What is special about PF-LEX, Pareto Thompson sampling, Annealing Pareto and Epoch-Greedy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.kernels import random as draws
from lexbandit.kernels.cells import MEAN, WIDTH
from lexbandit.kernels.random import normal, seeded
from lexbandit.policies.related.epoch_greedy import greedy_rounds
from lexbandit.rounds import Rounds
from support import assert_same_state, make, some_rounds

CONTEXT = np.array([0.4, 0.7])


def linked_closure(intervals: list[tuple[float, float]], top: int) -> set[int]:
    """The arms chained to `top`, by repeating "linked to one that is in" until nothing changes."""
    reached = {top}
    while True:
        more = {
            b
            for b, (low, high) in enumerate(intervals)
            if any(high >= intervals[a][0] and low <= intervals[a][1] for a in reached)
        }
        if more == reached:
            return reached
        reached = more


cells = st.integers(0, 20).map(lambda k: k / 10)
levels = st.lists(st.lists(st.tuples(cells, cells), min_size=5, max_size=5), min_size=3, max_size=3)


@given(levels=levels, mask=st.lists(st.booleans(), min_size=5, max_size=5).filter(any))
def test_chains_are_the_closure_of_overlaps(
    levels: list[list[tuple[float, float]]], mask: list[bool]
) -> None:
    """Also with ties, widths of 0, and chains over arms that an earlier objective left out."""
    policy: Any = make("pf-lex", arms=5, objectives=3)
    known = policy._memory.cells
    for i, level in enumerate(levels):
        for arm, (mean, width) in enumerate(level):
            known.stats[1, arm, i, MEAN], known.stats[1, arm, i, WIDTH] = mean, width
            known.indices[1, i, arm] = mean + width
    left = [a for a in range(5) if mask[a]]
    for i, level in enumerate(levels):
        intervals = [
            (mean - width, mean + width) if mask[a] else (math.nan, math.nan)
            for a, (mean, width) in enumerate(level)
        ]
        top = max(left, key=lambda a: intervals[a][1])
        left = [a for a in left if a in linked_closure(intervals, top)]
        ceilings = np.where(mask, math.inf, -math.inf)[np.newaxis]
        assert np.flatnonzero(policy.left_after(1, ceilings, i + 1)).tolist() == left


def test_pf_lex_ends_at_the_lexicographic_optimum() -> None:
    """Arms 0 and 1 tie in objective 1, arm 1 is better in 2; arms 2 and 3 are worse in 1."""
    random = np.random.default_rng(0)
    means = np.array([[0.6, 0.2], [0.6, 0.4], [0.4, 0.9], [0.1, 0.9]])
    outcomes = (random.random((20_000, 4, 2)) < means).astype(float)
    rounds = Rounds(np.full((20_000, 2), 0.5), outcomes)
    policy = lexbandit.make_policy("pf-lex", arms=4, dimension=2, epsilon=0.15, delta=0.1)
    late = policy.replay(rounds)[-2000:]
    assert (late == 1).mean() > 0.99
    reason = policy.explain(CONTEXT).reason
    assert reason.startswith("Arms 0 and 1 may be best in objective 1, by chained intervals, all")
    assert "To be played: arm 1, the highest index in objective 2" in reason


@pytest.mark.compiled
def test_draws_have_their_distributions() -> None:
    """Moments within 5 standard errors and quantiles within 5/sqrt(n) of numpy's, 200,000 draws."""
    n, random, reference = 200_000, seeded(7), np.random.default_rng(7)
    samples = {
        "normal": (
            np.array([normal(random) for _ in range(n)]),
            reference.standard_normal(n),
        )
    }
    for shape in (1.0, 1.5, 30.0):
        samples[f"gamma {shape}"] = (
            np.array([draws.gamma(random, shape) for _ in range(n)]),
            reference.standard_gamma(shape, n),
        )
    for a, b in ((1.0, 1.0), (1.0, 9.5), (700.0, 300.0)):
        samples[f"beta {a} {b}"] = (
            np.array([draws.beta(random, a, b) for _ in range(n)]),
            reference.beta(a, b, n),
        )
    for name, (ours, theirs) in samples.items():
        error = 5 * ours.std() * math.sqrt(2 / n)
        assert abs(ours.mean() - theirs.mean()) < error, name
        for p in (0.001, 0.05, 0.5, 0.95, 0.999):
            share = (ours <= np.quantile(theirs, p)).mean()
            assert abs(share - p) < 5 * math.sqrt(2 * p * (1 - p) / n), (name, p)


def untouched(policy: Any, act: Any) -> str:
    before = policy.state()
    with pytest.raises(InvalidInput) as caught:
        act()
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name])
    return str(caught.value)


def test_pareto_ts_refuses_rewards_outside_the_unit_interval() -> None:
    policy: Any = make("pareto-ts")
    policy.replay(some_rounds(50))
    for rewards, words in [([0.5, 1.1], "rewards[1] is"), ([-0.1, 0.5], "rewards[0] is")]:
        message = untouched(policy, lambda r=rewards: policy.update(CONTEXT, 0, r))
        assert words in message
        assert "rewards lie in [0, 1]" in message
    good = some_rounds(5)
    outcomes = good.outcomes.copy()
    outcomes[3, 2, 1] = 2.0
    message = untouched(policy, lambda: policy.replay(Rounds(good.contexts, outcomes)))
    assert "outcomes[3, 2, 1] is" in message
    state = policy.state()
    state["sums"] = state["sums"] + 2.0 * (state["counts"] > 0)
    assert "state['sums']" in untouched(policy, lambda: policy.load_state(state))
    policy.update(CONTEXT, 0, [math.nan, 1.0])


def test_pareto_ts_has_no_propensities() -> None:
    policy = make("pareto-ts")
    assert math.isnan(policy.select(CONTEXT).propensity)
    reports = policy.explain(CONTEXT, [True, False, True, True]).arms
    assert math.isnan(reports[0].propensity)
    assert reports[1].propensity == 0.0


def test_pareto_ts_samples_the_posterior() -> None:
    """Two arms, one objective: P(arm 0) is P(X > Y) for X ~ Beta(4, 2) and Y ~ Beta(2, 3).

    20,000 draws against a million of numpy's, within 5 standard errors.
    """
    policy = lexbandit.make_policy("pareto-ts", arms=2, dimension=1, objectives=1, seed=5)
    for arm, rewards in [(0, [1.0, 1.0, 1.0, 0.0]), (1, [0.25, 0.75, 0.0])]:
        for reward in rewards:
            policy.update([0.5], arm, [reward])
    reference = np.random.default_rng(1)
    exact = (reference.beta(4, 2, 10**6) > reference.beta(2, 3, 10**6)).mean()
    share = np.mean([policy.select([0.5]).arm == 0 for _ in range(20_000)])
    assert abs(share - exact) < 5 * math.sqrt(exact * (1 - exact) / 20_000)


def test_the_annealing_set_is_changed_by_update_alone() -> None:
    policy: Any = make("annealing-pareto", cells_per_side=1, epsilon=0.05, decay=0.9)
    policy.replay(some_rounds(200))
    before = policy.state()["counts"][:, :, 2].copy()
    assert 0 < before.sum() < 4
    for _ in range(20):
        policy.select(CONTEXT, [False, True, False, True])
    np.testing.assert_array_equal(policy.state()["counts"][:, :, 2], before)
    policy.add_arm()
    np.testing.assert_array_equal(policy.state()["counts"][0, :, 2], [*before[0], 0])


def test_a_mask_does_not_change_the_annealing_set() -> None:
    free, masked = (make("annealing-pareto", cells_per_side=1, epsilon=0.1) for _ in range(2))
    rounds = some_rounds(300)
    for t in range(300):
        arm = t % 4
        free.update(rounds.contexts[t], arm, rounds.outcomes[t, arm])
        masked.update(rounds.contexts[t], arm, rounds.outcomes[t, arm], np.arange(4) == arm)
    assert_same_state(free, masked)


def test_an_unobserved_objective_keeps_an_arm_in_the_annealing_set() -> None:
    policy = make("annealing-pareto", cells_per_side=1, epsilon=0.01, decay=0.5)
    for _ in range(10):
        policy.update(CONTEXT, 0, [0.9, 0.9])
        policy.update(CONTEXT, 1, [0.1, math.nan])
        policy.update(CONTEXT, 2, [0.5, 0.5])
        policy.update(CONTEXT, 3, [0.4, 0.4])
    assert policy.explain(CONTEXT).likely == (0, 1)
    policy.update(CONTEXT, 1, [0.1, 0.1])
    assert policy.explain(CONTEXT).likely == (0,)


def test_a_wrong_annealing_set_is_refused() -> None:
    policy: Any = make("annealing-pareto", epsilon=0.05, decay=0.9)
    policy.replay(some_rounds(400))
    state = policy.state()
    state["counts"][:, :, 2] = np.minimum(state["plays"], 2)
    assert "state['counts'][" in untouched(policy, lambda: policy.load_state(state))
    state = policy.state()
    state["sums"][:, :, 2] = state["counts"][:, :, 2] * 0.5
    assert "state['sums'][" in untouched(policy, lambda: policy.load_state(state))


def test_epochs_grow_as_the_square_root() -> None:
    assert [greedy_rounds(n, 4) for n in (0, 1, 2, 8, 9, 100, 10_000)] == [
        0,
        0,
        0,
        0,
        1,
        2,
        16,
    ]
    assert greedy_rounds(2, 1) == 1


def test_greedy_rounds_use_exploration_data_only() -> None:
    policy: Any = make("epoch-greedy", cells_per_side=1)
    explored = np.zeros((4, 2))
    rounds = some_rounds(2000)
    explorations = left = 0
    for t in range(2000):
        decision = policy.select(rounds.contexts[t])
        reward = rounds.outcomes[t, decision.arm]
        if left == 0:
            assert decision.propensity == 0.25
            explorations += 1
            left = greedy_rounds(explorations, 4)
            explored[decision.arm] += 1, reward[0]
        else:
            left -= 1
            known = explored[:, 0] > 0
            means = np.where(known, explored[:, 1] / np.maximum(explored[:, 0], 1), -np.inf)
            assert decision.arm == means.argmax()
            assert decision.propensity == 1.0
        policy.update(rounds.contexts[t], decision.arm, reward)
    state = policy.state()
    assert state["epochs"].tolist() == [explorations, left]
    np.testing.assert_array_equal(state["counts"][0, :, 2], explored[:, 0])
    assert explorations < 1000


def test_greedy_rounds_in_an_unexplored_cell_are_uniform() -> None:
    policy: Any = make("epoch-greedy")
    t = 0
    while policy.state()["epochs"][1] == 0:
        policy.update([0.1, 0.1], t % 4, [0.5, 0.5])
        t += 1
    explanation = policy.explain([0.9, 0.9])
    assert [report.propensity for report in explanation.arms] == [0.25] * 4
    assert "nothing explored here" in explanation.reason
    assert "A greedy round (1 left): arms 0, 1, 2 and 3" in policy.explain([0.1, 0.1]).reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.update(epochs=np.array([10**6, 0])), "state['epochs'] is [1000000, 0]"),
        (lambda s: s.update(epochs=np.array([-1, 0])), "state['epochs'] is [-1, 0]"),
        (lambda s: s.update(epochs=s["epochs"] + [0, 50]), "greedy rounds follow the last"),
        (lambda s: s.update(epochs=np.array([1, 0])), "observations of exploration rounds"),
        (lambda s: s.update(epochs=np.zeros(3, np.int64)), "shape"),
        (lambda s: s.update(epochs=np.zeros(2)), "int64"),
        (lambda s: s.pop("epochs"), "no array 'epochs'"),
    ],
)
def test_wrong_epochs_are_refused(change: Any, words: str) -> None:
    policy: Any = make("epoch-greedy")
    policy.replay(some_rounds(100))
    state = policy.state()
    change(state)
    assert words in untouched(policy, lambda: policy.load_state(state))
