"""The inverses that the pooled regression is computed from, and what follows from its sums."""

from typing import Any

import numpy as np
import pytest

from lexbandit.checks import Floats
from lexbandit.kernels import jit, pooled
from lexbandit.kernels.pooled import invert


def inverses_of(matrices: Floats) -> Floats:
    found = np.empty_like(matrices)
    for matrix, inverse in zip(matrices, found, strict=True):
        invert(matrix, np.empty_like(matrix), inverse)
    return found


def test_inverses_are_those_of_numpy_and_symmetric() -> None:
    roots = np.random.default_rng(0).normal(size=(5, 6, 6)) * np.logspace(-4, 4, 6)
    matrices = roots @ roots.swapaxes(-1, -2) + np.eye(6)
    found = inverses_of(matrices)
    np.testing.assert_allclose(found @ matrices, np.broadcast_to(np.eye(6), found.shape), atol=1e-4)
    assert (found == found.swapaxes(-1, -2)).all()


@pytest.mark.parametrize("below", [1e-16, 1e-10, 1e-4])
def test_a_matrix_that_rounding_made_indefinite_has_a_finite_inverse(below: float) -> None:
    matrix = np.ones((3, 3)) - below * np.diag([0.0, 0.0, 1.0])
    assert np.linalg.eigvalsh(matrix)[0] < 1e-15
    found = inverses_of(np.stack([matrix, np.eye(3)]))
    assert np.isfinite(found).all()
    assert (np.linalg.eigvalsh(found) > 0.0).all()


def test_what_is_not_finite_ends() -> None:
    assert np.isnan(inverses_of(np.full((2, 3, 3), np.nan))).all()


@pytest.mark.parametrize("blocks", [[0.0, 1.0, 1.0], [0.0, 5.0, 2.0], [1.0]])
def test_python_itself_computes_the_same_bits(blocks: list[float]) -> None:
    """Also where the blocks of features have numbers that are larger than there are features."""
    dice, size = np.random.default_rng(3), len(blocks)
    model = pooled.Model(
        tallies=np.zeros((3, 1, pooled.TALLIES)),
        vectors=np.zeros((3, 1, pooled.VECTORS, size)),
        matrices=np.zeros((3, 1, pooled.MATRICES, size, size)),
        shared=np.ones((1, pooled.SHARED, size)),
        common=np.zeros((1, size, size)),
        facts=np.full((1, pooled.FACTS), pooled.FIRST_NOISE),
        prior=np.array([np.ones(size), blocks, [float(block == 0.0) for block in blocks]]),
    )
    pooled.refresh(model)
    features, work = dice.random((40, size)), np.empty(size)
    for n, reward in enumerate(dice.random(40)):
        pooled.learn(model, n % 2, 0, features, n, reward, work)
    copy = pooled.Model(*(array.copy() for array in model))
    pooled.refresh(model)
    plain: Any = getattr(pooled.refresh_one, "py_func", pooled.refresh_one)
    jit._as_python(plain, {})(0, False, *copy)
    for mine, theirs in zip(model, copy, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.isfinite(model.shared).all()
    assert (model.shared[0, pooled.SCALE] != 1.0).all()
