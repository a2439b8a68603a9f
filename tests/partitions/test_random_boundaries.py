"""A context on a boundary is assigned to one of its cells at random: the paper's footnote."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.partitions import RandomBoundaryGrid
from lexbandit.policies import Policy
from lexbandit.rounds import Rounds
from support import assert_same_state, some_rounds, step

M = 4


def closed_cells(context: list[float], m: int) -> list[int]:
    """The plain twin: every cell whose closed box holds the context."""
    return [
        sum(k * m ** (len(cell) - 1 - j) for j, k in enumerate(cell))
        for cell in product(range(m), repeat=len(context))
        if all(k / m <= x <= (k + 1) / m for x, k in zip(context, cell, strict=True))
    ]


def on_lattice(n: int, seed: int = 0) -> Rounds:
    """Rounds whose contexts are corners of cells."""
    rounds = some_rounds(n, seed=seed, binary=True)
    contexts = np.random.default_rng(seed).integers(M + 1, size=(n, 2)) / M
    return Rounds(contexts, rounds.outcomes)


def make(name: str = "moc-mab", boundary: str = "random", **own: Any) -> Policy:
    values = {"cells_per_side": M, "scale": 0.1, "seed": 7, **own}
    return lexbandit.make_policy(
        name, arms=4, dimension=2, horizon=1000, boundary=boundary, **values
    )


@pytest.mark.parametrize("m", [1, 3, 10, 49])
def test_the_cells_that_touch_a_context_are_those_whose_boxes_hold_it(m: int) -> None:
    random = np.random.default_rng(m)
    grid = RandomBoundaryGrid(2, m)
    contexts = [*random.random((20, 2)), *(random.integers(m + 1, size=(20, 2)) / m)]
    for context in contexts:
        assert grid.touching(context) == closed_cells(context.tolist(), m)


def test_each_cell_has_its_share() -> None:
    """Corners of four cells: chi-square of 4,000 arrivals; 21.1 is its 1 − 10⁻⁴ quantile at 3."""
    grid = RandomBoundaryGrid(2, M, seed=3)
    keys = grid.enter_all(np.full((4000, 2), 0.5))
    counts = np.array([(keys == key).sum() for key in closed_cells([0.5, 0.5], M)])
    assert counts.sum() == 4000
    assert ((counts - 1000) ** 2 / 1000).sum() < 21.1
    other = RandomBoundaryGrid(2, M, seed=4).enter_all(np.full((4000, 2), 0.5))
    assert 0.1 < (keys == other).mean() < 0.4


@pytest.mark.parametrize("name", ["moc-mab", "staged-lex", "cd-ucb1", "cs-ucb1"])
def test_one_at_a_time_and_replay_are_identical(name: str) -> None:
    rounds = on_lattice(300)
    slowly, quickly = make(name), make(name)
    np.testing.assert_array_equal(step(slowly, rounds), quickly.replay(rounds))
    assert_same_state(slowly, quickly)
    assert (quickly.replay(rounds) != make(name, seed=8).replay(rounds)).any()


def test_a_policy_goes_on_from_its_state_by_the_seed_that_it_had() -> None:
    rounds = on_lattice(400)
    policy, loaded = make(), make(seed=99)
    policy.replay(rounds[:200])
    loaded.load_state(policy.state())
    np.testing.assert_array_equal(loaded.replay(rounds[200:]), policy.replay(rounds[200:]))
    assert_same_state(loaded, policy)


def test_propensities_are_those_of_the_cell_that_was_drawn() -> None:
    policy = make("cs-ucb1")
    policy.replay(on_lattice(200))
    for context in ([0.25, 0.5], [0.5, 0.5]):
        shares = np.array([report.propensity for report in policy.explain(context).arms])
        decisions = [policy.select(context) for _ in range(2000)]
        assert all(propensity == shares[arm] for arm, propensity in decisions)
        counts = np.bincount([arm for arm, _ in decisions], minlength=4)
        np.testing.assert_allclose(counts / 2000, shares, atol=0.05)


def test_off_the_boundaries_it_is_the_half_open_grid() -> None:
    rounds = some_rounds(300, binary=True)
    half_open = make(boundary="half-open")
    np.testing.assert_array_equal(make().replay(rounds), half_open.replay(rounds))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown boundary rule 'randm'; did you mean 'random'"):
        make(boundary="randm")
    with pytest.raises(InvalidInput, match=r"one number of cells for all sides, got \[2, 3\]"):
        make(cells_per_side=[2, 3])
    with pytest.raises(InvalidInput):
        make(boundary="half-open").load_state(make().state())
    with pytest.raises(InvalidInput):
        make().select([0.5, 1.5])
    policy = make()
    assert not policy.learns_in_parts
    with pytest.raises(InvalidInput):
        policy.amend([0.5, 0.5], 0, [1.0, 0.0])
    with pytest.raises(InvalidInput):
        policy.merge(policy.state())
