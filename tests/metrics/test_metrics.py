import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lexbandit import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of
from lexbandit.metrics import Tally, Truth, pareto_gaps, pareto_regret, regret, total
from naive import front, optimal_arms, pareto_gap

levels = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
tables = st.integers(1, 5).flatmap(
    lambda K: st.integers(1, 4).flatmap(lambda D: arrays(float, (K, D), elements=levels))
)


@given(tables)
def test_the_gap_is_that_of_the_definition(table: np.ndarray) -> None:
    """Closed form against bisection on Definition 2; ties are common among these means."""
    gaps = pareto_gaps(table[np.newaxis])[0]
    rows = [tuple(row) for row in table.tolist()]
    for arm, gap in enumerate(gaps):
        assert gap == pytest.approx(pareto_gap(rows, arm), abs=1e-9)


@given(tables)
def test_the_optimum_is_that_of_the_definition(table: np.ndarray) -> None:
    truth = Truth(table[np.newaxis])
    best = optimal_arms([tuple(row) for row in table.tolist()])
    np.testing.assert_array_equal(truth.optimal[0], table[best[0]])
    assert truth.gaps[0, best].max() == 0  # Remark 1: on the front, so no gap
    # Theorem 3's proof: the gap is at most the regret in the dominant objective.
    assert (truth.gaps[0] <= truth.optimal[0, 0] - table[:, 0]).all()


def rounds(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.random((n, 4, 3)), random.integers(4, size=n)


def test_regret_is_equation_1() -> None:
    means, arms = rounds()
    expected = np.zeros(3)
    for t, arm in enumerate(arms):
        best = optimal_arms([tuple(row) for row in means[t].tolist()])[0]
        expected += means[t, best] - means[t, arm]
    np.testing.assert_allclose(regret(means, arms), expected)
    assert (expected < 0).any()  # components may be negative, and here one is
    np.testing.assert_allclose(total(means, arms), means[range(200), arms].sum(0))


@given(cut=st.integers(0, 200), marks=st.sets(st.integers(1, 200), min_size=1, max_size=6))
def test_block_by_block_is_the_same_as_at_once(cut: int, marks: set[int]) -> None:
    means, arms = rounds()
    checkpoints = sorted(marks)
    whole = Tally.of(Truth(means), arms, checkpoints)
    parts = Tally(checkpoints, objectives=3)
    parts.add(Truth(means[:cut]), arms[:cut])
    parts.add(Truth(means[cut:]), arms[cut:])
    for name in ("regret", "pareto_regret", "reward"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    for row, t in enumerate(checkpoints):
        np.testing.assert_allclose(whole.regret[row], regret(means[:t], arms[:t]))
        np.testing.assert_allclose(whole.pareto_regret[row], pareto_regret(means[:t], arms[:t]))


def test_checkpoints_not_reached_are_nan() -> None:
    means, arms = rounds(10)
    tally = Tally([5, 50], objectives=3)
    tally.add(Truth(means), arms)
    assert np.isfinite(tally.regret[0]).all()
    assert np.isnan(tally.regret[1]).all()


@given(arrays(float, (6, 4, 2), elements=levels), arrays(bool, (6, 4)))
def test_only_allowed_arms_enter_optimum_and_gaps(means: np.ndarray, allowed: np.ndarray) -> None:
    """As if the other arms were not there, in every round by its own mask."""
    allowed[:, 0] |= ~allowed.any(axis=1)
    truth = Truth(means, allowed)
    marks = optimality.optimal_arms(means, ceilings_of(allowed))
    fronts = optimality.pareto_front(means, ceilings_of(allowed))
    for t in range(6):
        arms = np.flatnonzero(allowed[t]).tolist()
        rows = [tuple(means[t, arm].tolist()) for arm in arms]
        best = optimal_arms(rows)
        assert tuple(truth.optimal[t]) == rows[best[0]]
        assert np.flatnonzero(marks[t]).tolist() == [arms[b] for b in best]
        assert np.flatnonzero(fronts[t]).tolist() == [arms[b] for b in front(rows)]
        for place, arm in enumerate(arms):
            assert truth.gaps[t, arm] == pytest.approx(pareto_gap(rows, place), abs=1e-9)
    assert (truth.gaps >= 0).all()


def test_rewards_of_a_tally_are_those_of_the_arms_played() -> None:
    means, arms = rounds()
    tally = Tally([1, 7, 200], objectives=3)
    tally.add(Truth(means), arms)
    for row, t in enumerate((1, 7, 200)):
        np.testing.assert_allclose(tally.reward[row], means[range(t), arms[:t]].sum(0))


def test_allowed_arms_only_enter_the_optimum() -> None:
    means = np.array([[[0.9, 0.1], [0.5, 0.5], [0.4, 0.9]]])
    allowed = np.array([[False, True, True]])
    truth = Truth(means, allowed)
    np.testing.assert_array_equal(truth.optimal, [[0.5, 0.5]])
    np.testing.assert_array_equal(truth.gaps[0, 1:], [0, 0])


def test_unobserved_outcomes_add_nothing_to_totals() -> None:
    outcomes = np.array([[[1.0, math.nan]], [[2.0, 3.0]]])
    np.testing.assert_array_equal(total(outcomes, [0, 0]), [3.0, 3.0])
    np.testing.assert_array_equal(total(outcomes, [0, 0], [1, 2]), [[1.0, 0.0], [3.0, 3.0]])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda m, a: regret(m[0], a), "means must have shape"),
        (lambda m, a: regret(m * math.nan, a), r"means\[0, 0, 0\] is .*nan"),
        (lambda m, a: regret(m, a[:5]), r"arms must be whole numbers of shape \(200,\)"),
        (lambda m, a: regret(m, a * 1.0), "arms must be whole numbers"),
        (lambda m, a: regret(m, a + 1), "arms go from 0 to 3"),
        (
            lambda m, a: regret(m, a, [0, 5]),
            "a checkpoint must be .* at least 1, got 0",
        ),
        (lambda m, a: regret(m, a, [5, 5]), "checkpoints must increase"),
        (lambda m, a: regret(m, a, 7), "checkpoints must be a list"),
        (lambda m, a: regret(m, a, [201]), "checkpoint 201 lies beyond the 200 rounds"),
        (lambda m, a: Tally([1], objectives=2).add(Truth(m), a), "the tally 2"),
        (lambda m, a: Tally([1], objectives=3).add(m, a), "add takes a Truth"),
        (lambda m, a: regret(m, a, np.array([2, 1], np.uint64)), "checkpoints must increase"),
        (lambda m, a: regret(m, a, [2**63]), "a checkpoint must be"),
        (lambda m, a: regret(m[:, :0], a), "means need at least one arm"),
        (lambda m, a: regret(Truth(m, np.zeros((200, 4), bool)), a), r"allowed\[0\] allows no arm"),
        (lambda m, a: regret(Truth(m, np.eye(4, dtype=bool)[a - 1]), a), "only allowed arms"),
    ],
)
def test_bad_input(act: type, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        act(*rounds())
