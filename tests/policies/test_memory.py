"""Memory grows with the cells visited, and with nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.bounds import UCB1Bound
from lexbandit.errors import InvalidInput
from lexbandit.kernels.cells import PLAIN_FIELDS, WIDTH
from lexbandit.policies.cells.base import CellMemory, CellPolicy
from lexbandit.rounds import Rounds
from support import make, some_rounds


def size_of(memory: CellMemory) -> int:
    return sum(v.nbytes for v in (memory.keys, memory.table, memory.priors, *memory.cells))


def fresh() -> CellMemory:
    row = UCB1Bound(arms=2).coefficients()[np.newaxis]
    return CellMemory(
        arms=2, channels=1, fields=PLAIN_FIELDS, rows_for=lambda _: row, settings=np.empty(0)
    )


@given(st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 300), max_size=400))
def test_the_table_is_a_dictionary(keys: list[int]) -> None:
    memory = fresh()
    slots = memory.visit(np.array(keys, np.int64))
    expected: dict[int, int] = {}
    for key, slot in zip(keys, slots, strict=True):
        assert slot == expected.setdefault(key, len(expected) + 1)
    for key, slot in expected.items():
        assert memory.slot(key) == slot
    assert memory.used == len(expected) + 1
    assert memory.slot(301) == expected.get(301, 0)


def test_many_cells_of_a_huge_grid() -> None:
    """10^10 cells, of which a stream visits few."""
    n = 5000
    random = np.random.default_rng(0)
    rounds = Rounds(random.random((n, 10)), random.random((n, 3, 2)))
    policy = lexbandit.make_policy("moc-mab", arms=3, dimension=10, horizon=n, cells_per_side=10)
    assert isinstance(policy, CellPolicy)
    assert policy.partition.cells == 10**10
    policy.replay(rounds)
    assert policy.visited_cells == len(np.unique(policy.partition.assign(rounds.contexts)))
    assert size_of(policy._memory) < 8e6


@pytest.mark.compiled
def test_memory_is_flat_in_the_number_of_rounds() -> None:
    policy = make("moc-mab")
    assert isinstance(policy, CellPolicy)
    policy.replay(some_rounds(1000))
    before = size_of(policy._memory)
    for seed in range(5):
        policy.replay(some_rounds(50_000, seed=seed))
    assert size_of(policy._memory) == before


def test_growing_keeps_everything() -> None:
    """Statistics of the first cells survive many doublings, and new cells start empty."""
    policy = lexbandit.make_policy("cd-ucb1", arms=2, dimension=1, horizon=10, cells_per_side=5000)
    contexts = (np.arange(2000) + 0.5) / 5000
    for k, x in enumerate(contexts):
        policy.update([x], k % 2, [k, 0.0])
    state = policy.state()
    np.testing.assert_array_equal(state["cells"], np.arange(2000))
    np.testing.assert_array_equal(state["plays"].sum(1), 1)
    np.testing.assert_array_equal(state["sums"][:, :, 0].sum(1), np.arange(2000))
    assert isinstance(policy, CellPolicy)
    memory = policy._memory
    assert np.isinf(memory.cells.stats[memory.used :, ..., WIDTH]).all()
    assert np.isinf(memory.cells.indices[memory.used :]).all()


def test_rounds_edited_after_they_were_checked_are_noticed() -> None:
    policy, rounds = make("cd-ucb1"), some_rounds(10)
    rounds.contexts[3, 1] = 7.0
    with pytest.raises(InvalidInput, match=r"contexts\[3, 1\] is .*7\.0"):
        policy.replay(rounds)
    assert len(policy.state()["cells"]) == 0


@pytest.mark.compiled
@pytest.mark.parametrize("shift", [0, 20, 40])
def test_keys_that_differ_in_few_bits_do_not_collide(shift: int) -> None:
    """Cells of a grid with 2^k cells a side that differ in their first features only."""
    memory = fresh()
    memory.visit(np.arange(20_000, dtype=np.int64) << shift)
    place = np.flatnonzero(memory.table[:, 1])
    runs = np.split(place, np.flatnonzero(np.diff(place) > 1) + 1)
    assert max(map(len, runs)) < 100  # of 20,000 keys in 65,536 buckets


def test_the_cell_nobody_visited_is_never_written() -> None:
    policy = make("cs-ucb1")
    assert isinstance(policy, CellPolicy)
    policy.replay(some_rounds(500, binary=True))
    cells = policy._memory.cells
    assert not cells.plays[0].any()
    assert not cells.totals[0].any()
    assert np.isinf(cells.stats[0, ..., WIDTH]).all()
