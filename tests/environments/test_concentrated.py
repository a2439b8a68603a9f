import numpy as np
import pytest

import lexbandit
from lexbandit.environments.concentrated import Concentrated
from lexbandit.errors import InvalidInput


def make(**parameters: object) -> Concentrated:
    environment = lexbandit.make_environment("concentrated", **parameters)
    assert isinstance(environment, Concentrated)
    return environment


@pytest.mark.parametrize(("dimension", "clusters"), [(2, 1), (2, 3), (5, 4)])
def test_contexts_lie_near_the_centres_equally_often(dimension: int, clusters: int) -> None:
    environment = make(dimension=dimension, clusters=clusters, spread=0.01, plan=2)
    contexts = environment.rounds(8000, seed=0).contexts
    away = np.abs(contexts[:, np.newaxis] - environment.centres).max(axis=2)
    assert (away.min(axis=1) < 0.06).all()
    shares = np.bincount(away.argmin(axis=1), minlength=clusters) / 8000
    np.testing.assert_allclose(shares, 1 / clusters, atol=0.03)
    if clusters == 1:
        np.testing.assert_allclose(contexts.std(axis=0), 0.01, rtol=0.05)


def test_few_cells_of_a_grid_are_ever_visited() -> None:
    concentrated = np.floor(make(dimension=4).rounds(20_000, seed=1).contexts * 8)
    assert len(np.unique(concentrated, axis=0)) < 0.1 * 8**4


def test_a_wide_spread_stays_in_the_cube() -> None:
    contexts = make(spread=5.0).rounds(5000, seed=1).contexts
    assert contexts.min() >= 0
    assert contexts.max() <= 1
    assert abs(contexts.mean() - 0.5) < 0.02


def test_means_are_those_of_synthetic() -> None:
    points = np.random.default_rng(0).random((50, 3))
    expected = lexbandit.make_environment("synthetic").means(points[:, :2])
    np.testing.assert_array_equal(make(dimension=3).means(points), expected)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"dimension": 1}, "dimension"), ({"clusters": 0}, "clusters"), ({"spread": 0}, "spread"),
     ({"plan": -1}, "plan")],
)  # fmt: skip
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"{words} must be"):
        make(**parameters)
