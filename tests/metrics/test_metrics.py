import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lexbandit import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of
from lexbandit.metrics import (
    Tally,
    Truth,
    pareto_gaps,
    pareto_regret,
    regret,
    tolerance_regret,
    total,
)
from naive import front, optimal_arms, pareto_gap, tolerance_loss

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
    whole = Tally.of(Truth(means, tolerances=0.1), arms, checkpoints)
    parts = Tally(checkpoints, objectives=3)
    parts.add(Truth(means[:cut], tolerances=0.1), arms[:cut])
    parts.add(Truth(means[cut:], tolerances=0.1), arms[cut:])
    for name in ("regret", "pareto_regret", "reward", "tolerance_regret"):
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


# Tolerances on the same levels as the means, so that arms lie exactly on a band's edge.
banded = tables.flatmap(
    lambda table: st.tuples(
        st.just(table), st.lists(levels, min_size=table.shape[1], max_size=table.shape[1])
    )
)


def losses(table: np.ndarray, tolerances: list[float]) -> np.ndarray:
    """Return float[K, D]: the tolerance regret of each arm in one round."""
    return np.array(
        [tolerance_regret(table[np.newaxis], [a], tolerances) for a in range(len(table))]
    )


@given(banded)
def test_tolerance_regret_is_that_of_the_twin(case: tuple[np.ndarray, list[float]]) -> None:
    table, tolerances = case
    rows = [tuple(row) for row in table.tolist()]
    expected = [tolerance_loss(rows, arm, tolerances) for arm in range(len(rows))]
    np.testing.assert_allclose(losses(table, tolerances), expected, atol=1e-11)


def test_tolerance_regret_adds_over_rounds() -> None:
    means, arms = rounds()
    expected = np.zeros(3)
    for t, arm in enumerate(arms):
        expected += tolerance_loss([tuple(row) for row in means[t].tolist()], arm, [0.2, 0.1, 0.0])
    np.testing.assert_allclose(tolerance_regret(means, arms, [0.2, 0.1, 0.0]), expected)
    by_truth = Truth(means, tolerances=[0.2, 0.1, 0.5])  # the last one has no effect
    np.testing.assert_array_equal(
        tolerance_regret(by_truth, arms, None, [200])[0],
        tolerance_regret(means, arms, [0.2, 0.1, 0.0]),
    )


@given(banded)
def test_some_arm_has_no_tolerance_regret(case: tuple[np.ndarray, list[float]]) -> None:
    """The best in the last objective of the arms inside all bands, exactly none."""
    table, tolerances = case
    regrets = losses(table, tolerances)
    assert (regrets >= 0).all()
    inside = (regrets[:, :-1] == 0).all(axis=1)
    assert inside.any()
    best = table[inside, -1].max()
    assert (regrets[inside & (table[:, -1] == best)] == 0).all()


@given(banded, st.sampled_from([0.0, 0.1, 0.25, 0.7]))
def test_more_tolerance_is_never_more_loss_in_the_first(
    case: tuple[np.ndarray, list[float]], more: float
) -> None:
    """Nor is it ever less missed in the second: more arms compete there."""
    table, tolerances = case
    wider = [tolerances[0] + more, *tolerances[1:]]
    before, after = losses(table, tolerances), losses(table, wider)
    if table.shape[1] > 1:
        assert (after[:, 0] <= before[:, 0]).all()
    if table.shape[1] == 2:
        assert (after[:, 1] >= before[:, 1]).all()


@given(tables)
def test_without_tolerance_it_is_the_positive_part_of_each_arm_s_regret(table: np.ndarray) -> None:
    best = Truth(table[np.newaxis]).optimal[0]
    np.testing.assert_allclose(
        losses(table, [0.0] * table.shape[1]), np.maximum(0, best - table), atol=1e-11
    )


@given(tables)
def test_tolerance_of_everything_leaves_the_last_objective(table: np.ndarray) -> None:
    regrets = losses(table, [1.0] * table.shape[1])
    assert (regrets[:, :-1] == 0).all()
    np.testing.assert_array_equal(regrets[:, -1], table[:, -1].max() - table[:, -1])


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e15])
def test_rounding_does_not_put_an_arm_outside_of_its_band(scale: float) -> None:
    """0.3 − 0.1 is below 0.2 by rounding; an arm that is outside by more than that is outside."""
    means = scale * np.array([[[0.3, 0.0], [0.2, 1.0], [0.2 - 1e-9, 2.0]]])
    for arm, expected in enumerate(([0, 1], [0, 0], [1e-9, 0])):
        regrets = tolerance_regret(means, [arm], [scale * 0.1, 0])
        np.testing.assert_allclose(regrets, scale * np.array(expected), rtol=1e-2)


@given(arrays(float, (6, 4, 2), elements=levels), arrays(bool, (6, 4)))
def test_only_allowed_arms_enter_the_bands(means: np.ndarray, allowed: np.ndarray) -> None:
    allowed[:, 0] |= ~allowed.any(axis=1)
    played = allowed.argmax(axis=1)
    truth = Truth(means, allowed, tolerances=[0.25, 0])
    expected = np.zeros(2)
    for t in range(6):
        rows = [tuple(means[t, arm].tolist()) for arm in np.flatnonzero(allowed[t])]
        expected += tolerance_loss(rows, 0, [0.25, 0])
    np.testing.assert_allclose(tolerance_regret(truth, played, None), expected, atol=1e-11)


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
        (lambda m, a: tolerance_regret(m, a, [0.1, 0]), "one for each of 3 objectives, got 2"),
        (lambda m, a: tolerance_regret(m, a, -1), "tolerance must be .* at least 0"),
        (lambda m, a: tolerance_regret(Truth(m), a, 0.1), "give tolerances to the Truth"),
    ],
)
def test_bad_input(act: type, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        act(*rounds())


def test_rounds_that_were_not_observed_are_discarded_from_that_regret() -> None:
    """The paper's footnote: users who give no rating do not count in that objective."""
    means, arms = rounds()
    observed = np.random.default_rng(5).random((200, 3)) < 0.6
    tally, whole = Tally([120, 200], objectives=3), Tally([120, 200], objectives=3)
    truth = Truth(means, tolerances=0.1)
    tally.add(truth, arms, observed)
    whole.add(truth, arms)
    gaps = truth.optimal - means[range(200), arms]
    lost = np.maximum(0.0, truth.floors - means[range(200), arms])
    for row, t in enumerate((120, 200)):
        np.testing.assert_allclose(tally.regret[row], (gaps * observed)[:t].sum(axis=0))
        np.testing.assert_allclose(tally.tolerance_regret[row], (lost * observed)[:t].sum(axis=0))
    np.testing.assert_array_equal(tally.pareto_regret, whole.pareto_regret)
    np.testing.assert_array_equal(tally.reward, whole.reward)
    with pytest.raises(InvalidInput, match=r"observed must be booleans of shape \(200, 3\)"):
        Tally([200], objectives=3).add(truth, arms, observed[:, :2])
