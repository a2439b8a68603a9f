"""Rules of the related literature on cells, from PF-LEX to Epoch-Greedy, and their twins."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.bounds import PriorFreeBound, SubGaussianBound
from lexbandit.errors import InvalidInput
from lexbandit.rounds import Rounds
from naive import Dice, run
from support import as_lists, assert_same_state, step
from twins.related_cells import (
    AnnealingPareto,
    EpochGreedy,
    InCells,
    LexElimIn,
    ParetoTs,
    PfLex,
    WeightedIndices,
)

ROUNDS = 1500


def rounds_of(D: int, *, arms: int, seed: int, n: int = ROUNDS) -> Rounds:
    """Continuous rewards in [0, 1] of D objectives; the first two arms tie in the first one."""
    random = np.random.default_rng(seed)
    contexts = random.random((n, 2))
    means = random.uniform(0.3, 0.7, size=(arms, D))
    means[1 % arms, 0] = means[0, 0]
    outcomes = means + 0.5 * (random.random((n, arms, D)) - 0.5)
    return Rounds(contexts, outcomes)


def arms_of(name: str, twin: Any, rounds: Rounds, m: int, seed: int, **own: Any) -> None:
    """The policy and the twin play the same arms."""
    policy = lexbandit.make_policy(
        name,
        arms=rounds.arms,
        dimension=2,
        objectives=rounds.objectives,
        horizon=ROUNDS,
        cells_per_side=m,
        seed=seed,
        **own,
    )
    np.testing.assert_array_equal(policy.replay(rounds), run(twin, *as_lists(rounds)))


SIZES = [(1, 3, 1), (2, 4, 3), (3, 6, 1), (4, 5, 2)]
every_size = pytest.mark.parametrize(("D", "arms", "m"), SIZES)
every_seed = pytest.mark.parametrize("seed", [0, 1, 2])


def in_cells(make: Callable[[Dice], Any], m: int, seed: int) -> InCells:
    dice = Dice(seed)
    return InCells(lambda: make(dice), m)


@every_size
@every_seed
@pytest.mark.parametrize(("epsilon", "scale"), [(0.1, 1.0), (0.3, 0.1), (0.02, 0.05)])
def test_pf_lex_plays_its_twins_arms(
    D: int, arms: int, m: int, seed: int, epsilon: float, scale: float
) -> None:
    own = {"epsilon": epsilon, "delta": 0.05, "scale": scale}
    twin = in_cells(lambda dice: PfLex(arms, D, dice, **own), m, seed)
    arms_of("pf-lex", twin, rounds_of(D, arms=arms, seed=seed), m, seed, **own)
    if scale == 0.1:  # the identity would say little if the later objectives never decided
        assert sum(instance.committed for instance in twin.instances.values()) > ROUNDS / 10


@every_size
@every_seed
@pytest.mark.parametrize(("lam", "scale"), [(0.0, 0.1), (1.0, 0.05), (0.5, 1.0)])
def test_lex_elim_plays_its_twins_arms(
    D: int, arms: int, m: int, seed: int, lam: float, scale: float
) -> None:
    own = {"lam": lam, "delta": 0.05, "scale": scale}
    twin = in_cells(lambda dice: LexElimIn(arms, D, dice, **own), m, seed)
    arms_of("lex-elim", twin, rounds_of(D, arms=arms, seed=seed), m, seed, **own)
    if scale < 1.0 and D > 1:  # the identity would say little if no arm were ever ruled out
        assert all(len(instance.active) < arms for instance in twin.instances.values())


def test_lex_elim_finds_the_optimal_arm_of_its_paper() -> None:
    """The ten arms of their experiment; one is optimal, and three objectives are needed to tell."""
    a = np.arange(1, 11) / 10
    means = np.stack(
        [
            1 - np.abs(a[:, None] - [0.3, 0.6, 0.9]).min(axis=1),
            1 - 2 * np.abs(a[:, None] - [0.5, 0.8]).min(axis=1),
            1 - 2 * np.abs(a - 0.5),
        ],
        axis=1,
    ).round(12)
    random = np.random.default_rng(0)
    n = 40_000
    outcomes = means + np.sqrt(0.1) * random.standard_normal((n, 10, 3))
    policy = lexbandit.make_policy(
        "lex-elim", arms=10, dimension=1, objectives=3, R=np.sqrt(0.1), delta=0.01, lam=1.0
    )
    arms = policy.replay(Rounds(np.full((n, 1), 0.5), outcomes))
    assert set(arms[-n // 4 :].tolist()) == {5}
    assert policy.explain([0.5]).reason == "Arm 5: the only arm that is not ruled out."


def test_lex_elim_goes_on_from_its_state_and_refuses_another_set() -> None:
    rounds = rounds_of(2, arms=4, seed=3)
    own = {"arms": 4, "dimension": 2, "scale": 0.1}
    policy = lexbandit.make_policy("lex-elim", **own)
    policy.replay(rounds[:800])
    state = policy.state()
    assert state["counts"][0, :, 2].any()
    loaded = lexbandit.make_policy("lex-elim", **own)
    loaded.load_state(state)
    np.testing.assert_array_equal(loaded.replay(rounds[800:]), policy.replay(rounds[800:]))
    state["counts"][0, 0, 2] = 2
    with pytest.raises(InvalidInput, match="which arms are out"):
        loaded.load_state(state)


@every_size
@every_seed
@pytest.mark.parametrize("name", ["cs-ucb1-shared", "s-ucb1-shared"])
def test_weighted_indices_play_their_twins_arms(
    D: int, arms: int, m: int, seed: int, name: str
) -> None:
    weights = np.random.default_rng(seed).random((D + 1, D)).tolist()
    own: dict[str, Any] = {"weights": weights, "scale": 0.2}
    cells = m if name.startswith("c") else 1
    twin = in_cells(lambda dice: WeightedIndices(arms, D, dice, **own), cells, seed)
    arms_of(name, twin, rounds_of(D, arms=arms, seed=seed), m, seed, **own)


def test_weighted_indices_learn_every_weight_vector_from_every_round() -> None:
    """Unlike cs-ucb1, whose instances keep statistics of their own."""
    policy = lexbandit.make_policy("s-ucb1-shared", arms=2, dimension=1, scale=0.001)
    for _ in range(20):
        policy.update([0.5], 0, [1.0, 0.0])
        policy.update([0.5], 1, [0.0, 1.0])
    # [1, 0] plays arm 0, [0, 1] arm 1, and [½, ½] finds both alike.
    shares = [report.propensity for report in policy.explain([0.5]).arms]
    np.testing.assert_allclose(shares, [0.5, 0.5])
    policy.update([0.5], 0, [1.0, 0.5])
    shares = [report.propensity for report in policy.explain([0.5]).arms]
    np.testing.assert_allclose(shares, [2 / 3, 1 / 3])


@every_size
@every_seed
def test_pareto_ts_plays_its_twins_arms(D: int, arms: int, m: int, seed: int) -> None:
    twin = in_cells(lambda dice: ParetoTs(arms, D, dice), m, seed)
    arms_of("pareto-ts", twin, rounds_of(D, arms=arms, seed=seed), m, seed)


@every_size
@every_seed
@pytest.mark.parametrize(("epsilon", "decay"), [(1.0, 0.99), (0.2, 0.999), (0.05, 0.9)])
def test_annealing_pareto_plays_its_twins_arms(
    D: int, arms: int, m: int, seed: int, epsilon: float, decay: float
) -> None:
    own = {"epsilon": epsilon, "decay": decay}
    twin = in_cells(lambda dice: AnnealingPareto(arms, D, dice, **own), m, seed)
    arms_of("annealing-pareto", twin, rounds_of(D, arms=arms, seed=seed), m, seed, **own)


def test_annealing_pareto_has_sets_of_several_sizes_in_the_comparison() -> None:
    twin = in_cells(lambda dice: AnnealingPareto(6, 3, dice, epsilon=1.0, decay=0.99), 1, 0)
    run(twin, *as_lists(rounds_of(3, arms=6, seed=0)))
    (instance,) = twin.instances.values()
    assert instance.sizes[0] == 6
    assert 1 < instance.sizes[-1] < 6
    assert len(set(instance.sizes)) >= 3


@every_size
@every_seed
def test_epoch_greedy_plays_its_twins_arms(D: int, arms: int, m: int, seed: int) -> None:
    twin = EpochGreedy(arms, m, Dice(seed))
    arms_of("epoch-greedy", twin, rounds_of(D, arms=arms, seed=seed), m, seed)
    assert twin.explorations < ROUNDS / 2


OWN_WRONG = [
    ("pf-lex", "epsilon", 0),
    ("pf-lex", "epsilon", -0.1),
    ("pf-lex", "epsilon", float("nan")),
    ("pf-lex", "epsilon", "small"),
    ("pf-lex", "delta", 0),
    ("pf-lex", "delta", 1.5),
    ("annealing-pareto", "epsilon", 0),
    ("annealing-pareto", "epsilon", float("inf")),
    ("annealing-pareto", "decay", 0),
    ("annealing-pareto", "decay", 1.01),
    ("annealing-pareto", "decay", True),
]


@pytest.mark.parametrize(("name", "parameter", "value"), OWN_WRONG)
def test_wrong_parameters_of_their_own_are_refused(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{parameter} must .* got {value!r}"):
        lexbandit.make_policy(name, arms=3, dimension=2, horizon=100, **{parameter: value})


def test_pf_lex_needs_its_parameters_or_the_horizon() -> None:
    with pytest.raises(InvalidInput, match="pf-lex needs delta, or horizon"):
        lexbandit.make_policy("pf-lex", arms=3, dimension=2, epsilon=0.1)
    with pytest.raises(InvalidInput, match="pf-lex needs epsilon, or horizon"):
        lexbandit.make_policy("pf-lex", arms=3, dimension=2, delta=0.1)
    lexbandit.make_policy("pf-lex", arms=3, dimension=2, delta=0.1, epsilon=0.1)
    by_horizon: Any = lexbandit.make_policy("pf-lex", arms=3, dimension=2, horizon=1000)
    assert by_horizon.epsilon == pytest.approx(0.1)
    assert by_horizon.bound.delta == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["pf-lex", "pareto-ts", "annealing-pareto"])
def test_without_contexts_unless_told_otherwise(name: str) -> None:
    policy: Any = lexbandit.make_policy(name, arms=3, dimension=2, horizon=1000)
    assert policy.partition.cells == 1
    policy = lexbandit.make_policy(name, arms=3, dimension=2, horizon=1000, cells_per_side=4)
    assert policy.partition.cells == 16


def test_epoch_greedy_is_on_the_grid_of_moc_mab() -> None:
    policy: Any = lexbandit.make_policy("epoch-greedy", arms=3, dimension=2, horizon=100_000)
    assert policy.partition.cells == 100


@pytest.mark.parametrize("bound", ["anytime", "sub-gaussian", "kl", "empirical-bernstein"])
def test_pf_lex_takes_other_bounds(bound: str) -> None:
    rounds = rounds_of(2, arms=4, seed=3)
    common: dict[str, Any] = {"arms": 4, "dimension": 2, "horizon": ROUNDS, "epsilon": 0.4}
    slowly, quickly = (lexbandit.make_policy("pf-lex", bound=bound, **common) for _ in range(2))
    np.testing.assert_array_equal(step(slowly, rounds), quickly.replay(rounds))
    assert_same_state(slowly, quickly)


def test_pf_lex_refuses_a_bound_that_grows() -> None:
    with pytest.raises(InvalidInput, match="does not grow with the rounds"):
        lexbandit.make_policy("pf-lex", arms=3, dimension=2, horizon=100, bound="ucb1")


def test_the_prior_free_bound_is_wider_than_the_sub_gaussian_one() -> None:
    common: dict[str, Any] = {"arms": 4, "objectives": 3, "cells": 10, "delta": 0.01}
    for N in (1, 10, 1000):
        level = 1 + 2 * math.log(4 * 3 * 10 * math.sqrt(1 + N) / 0.01)
        width = PriorFreeBound(**common, R=0.5, scale=0.3).width(N)
        assert width == pytest.approx(0.3 * 0.5 * math.sqrt((1 + N) / N**2 * level))
        assert PriorFreeBound(**common).width(N) > SubGaussianBound(R=1.0, **common).width(N)
    with pytest.raises(InvalidInput, match="R must be"):
        PriorFreeBound(**common, R=0)
