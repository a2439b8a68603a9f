import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexbandit.errors import InvalidInput
from lexbandit.partitions import SingleCell, UniformGrid
from naive import cell_of


def test_float_multiplication_is_not_enough() -> None:
    assert math.floor(0.29 * 100) == 28  # the trap
    assert UniformGrid(1, 100).assign([[0.29]])[0] == 29


@pytest.mark.parametrize("m", [1, 2, 3, 7, 10, 16, 49, 100, 1000, 4097])
def test_every_boundary(m: int) -> None:
    """k/m lies in cell k, the double just below it in cell k−1; 0 in the first, 1 in the last."""
    grid = UniformGrid(1, m)
    edges = np.arange(m) / m
    np.testing.assert_array_equal(grid.assign(edges[:, np.newaxis]), np.arange(m))
    below = np.nextafter(edges[1:], 0.0)
    np.testing.assert_array_equal(grid.assign(below[:, np.newaxis]), np.arange(m - 1))
    np.testing.assert_array_equal(
        grid.assign([[0.0], [1.0], [np.nextafter(1, 0)]]), [0, m - 1, m - 1]
    )


@given(
    m=st.integers(1, 40),
    contexts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5),
)
def test_agrees_with_the_definition(m: int, contexts: list[tuple[float, float]]) -> None:
    keys = UniformGrid(2, m).assign(contexts)
    for key, context in zip(keys, contexts, strict=True):
        first, second = cell_of(context, m)
        assert key == first * m + second


def test_one_context_and_a_block_agree() -> None:
    grid = UniformGrid(3, 12)
    contexts = np.random.default_rng(0).random((200, 3))
    np.testing.assert_array_equal(
        [grid.locate(context) for context in contexts], grid.assign(contexts)
    )


def test_every_cell_has_its_own_key() -> None:
    grid = UniformGrid(3, 4)
    centres = (np.array(np.meshgrid(*[np.arange(4)] * 3)).T.reshape(-1, 3) + 0.5) / 4
    assert sorted(grid.assign(centres)) == list(range(64))


def test_single_cell_is_one_cell() -> None:
    cell = SingleCell(5)
    assert (cell.cells, cell.cells_per_side, cell.dimension) == (1, 1, 5)
    assert not cell.assign(np.random.default_rng(0).random((50, 5))).any()
    assert cell.locate(np.array([0, 0, 0, 0, 2.0])) == -1


def test_margin() -> None:
    assert UniformGrid(2, 10).margin(L=1, alpha=1) == pytest.approx(math.sqrt(2) / 10)
    assert SingleCell(1).margin(L=3, alpha=0.5) == 3.0


@pytest.mark.parametrize(
    ("dimension", "side", "words"),
    [
        (0, 3, "dimension must be a whole number of at least 1, got 0"),
        (2, 0, "cells_per_side must be a whole number of at least 1, got 0"),
        (2, 2.5, "cells_per_side must be a whole number of at least 1, got 2.5"),
        (20, 10, r"10\^20 cells is too fine"),
        (1, 2**53 + 1, r"cells_per_side can be at most 2\^53"),
    ],
)
def test_bad_grids(dimension: int, side: int, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        UniformGrid(dimension, side)


def test_bad_contexts() -> None:
    grid = UniformGrid(2, 3)
    with pytest.raises(InvalidInput, match=r"contexts\[1, 0\] is .*-0\.5"):
        grid.assign([[0.5, 0.5], [-0.5, 0.5]])
    with pytest.raises(InvalidInput, match=r"contexts must have shape \(any, 2\)"):
        grid.assign([[0.5]])
