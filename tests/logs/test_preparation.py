"""Principal components from sums: against a plain computation on all rows at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.logs.preparation import Moments, Scaler, principal_axes, scaler_of_unique


def rows_of(seed: int, n: int = 500) -> Floats:
    random = np.random.default_rng(seed)
    return random.random((n, 5)) ** 3 @ random.standard_normal((5, 5)) + 100.0


def plain_contexts(rows: Floats) -> Floats:
    """Return what the textbook says: singular vectors of the centred rows, then min-max."""
    centred = rows - rows.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    components = centred @ axes
    least, greatest = components.min(axis=0), components.max(axis=0)
    return np.asarray((components - least) / (greatest - least))


def scaler_by_blocks(rows: Floats, sizes: list[int]) -> Scaler:
    blocks = np.split(rows, np.cumsum(sizes))
    moments = Moments()
    for block in blocks:
        moments.add(block)
    scaler = Scaler.of(moments)
    for block in blocks:
        scaler.widen(block)
    return scaler


@given(st.integers(0, 2**32), st.lists(st.integers(0, 90), max_size=5))
@settings(max_examples=50, deadline=None)
def test_contexts_are_the_textbook_ones_however_the_rows_arrive(
    seed: int, sizes: list[int]
) -> None:
    rows = rows_of(seed)
    contexts = scaler_by_blocks(rows, sizes).contexts(rows)
    np.testing.assert_allclose(contexts, plain_contexts(rows), atol=1e-7)
    assert contexts.min() == 0.0
    assert contexts.max() == 1.0


def test_moments_are_those_of_all_rows() -> None:
    rows = rows_of(1)
    moments = Moments()
    for block in np.array_split(rows, 7):
        moments.add(block)
    assert moments.count == 500
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(rows.T, bias=True), rtol=1e-9)


def test_the_sign_of_an_axis_is_fixed() -> None:
    rows = rows_of(2)
    moments, mirrored = Moments(), Moments()
    moments.add(rows)
    mirrored.add(2 * rows.mean(axis=0) - rows)  # the same covariance, every deviation reversed
    axes = principal_axes(moments)
    assert (axes[np.abs(axes).argmax(axis=0), [0, 1]] > 0).all()
    np.testing.assert_allclose(principal_axes(mirrored), axes, atol=1e-9)


def test_each_different_row_counts_once() -> None:
    rows = rows_of(3, n=40)
    repeated = np.repeat(rows, np.random.default_rng(0).integers(1, 50, size=40), axis=0)
    np.testing.assert_allclose(
        scaler_of_unique(repeated).contexts(rows), scaler_of_unique(rows).contexts(rows), atol=1e-12
    )


def test_a_component_that_never_varies_is_a_half() -> None:
    one = np.array([[0.2, 0.2, 0.2, 0.2, 0.2]])
    assert scaler_of_unique(one).contexts(one).tolist() == [[0.5, 0.5]]
    two = np.vstack([one, one + np.array([0.1, 0.0, 0.0, 0.0, 0.0])])
    assert scaler_of_unique(two).contexts(two).tolist() == [[0.0, 0.5], [1.0, 0.5]]


def test_no_rows_have_no_mean() -> None:
    with pytest.raises(InvalidInput, match="no rows"):
        _ = Moments().mean
