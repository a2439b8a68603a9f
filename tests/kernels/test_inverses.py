"""The inverses that the pooled regression is computed from."""

import numpy as np
import pytest

from lexbandit.checks import Floats
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
