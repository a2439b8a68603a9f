from statistics import NormalDist

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
    away = np.abs(contexts[:, np.newaxis] - environment.clusters.centres).max(axis=2)
    assert (away.min(axis=1) < 0.06).all()
    shares = np.bincount(away.argmin(axis=1), minlength=clusters) / 8000
    np.testing.assert_allclose(shares, 1 / clusters, atol=0.03)
    if clusters == 1:
        np.testing.assert_allclose(contexts.std(axis=0), 0.01, rtol=0.05)


def test_contexts_beyond_a_side_are_reflected() -> None:
    """Without a cluster's other side: nothing comes in from the opposite side of the cube."""
    environment = make(clusters=1, spread=0.1, plan=2)
    contexts = environment.rounds(20_000, seed=0).contexts
    for x, centre in zip(contexts.T, environment.clusters.centres[0], strict=True):
        assert np.abs(x - centre).max() < 6 * 0.1
        if centre < 0.3:
            assert (x < 0.02).mean() > 0.01


def test_few_cells_of_a_grid_are_ever_visited() -> None:
    concentrated = np.floor(make(dimension=4).rounds(20_000, seed=1).contexts * 8)
    assert len(np.unique(concentrated, axis=0)) < 0.1 * 8**4


def test_a_wide_spread_stays_in_the_cube() -> None:
    contexts = make(spread=5.0).rounds(5000, seed=1).contexts
    assert contexts.min() >= 0
    assert contexts.max() <= 1
    assert abs(contexts.mean() - 0.5) < 0.02


@pytest.mark.parametrize("strays", [0.0, 0.2, 1.0])
def test_strays_come_from_anywhere_and_the_others_from_the_clusters(strays: float) -> None:
    environment = make(dimension=3, clusters=4, spread=0.001, strays=strays)
    contexts = environment.rounds(20_000, seed=2).contexts
    away = np.abs(contexts[:, np.newaxis] - environment.clusters.centres).max(axis=2)
    gathered = away.min(axis=1) < 0.01
    assert gathered.mean() == pytest.approx(1 - strays, abs=0.01)
    shares = np.bincount(away[gathered].argmin(axis=1), minlength=4) / 20_000
    np.testing.assert_allclose(shares, (1 - strays) / 4, atol=0.015)
    if strays > 0:
        # Each tenth of each side is reached as often as any other.
        tenths = [np.bincount((10 * x).astype(int), minlength=10) for x in contexts[~gathered].T]
        np.testing.assert_allclose(np.array(tenths) / (~gathered).sum(), 0.1, atol=0.025)


def test_strays_change_no_stream_without_them() -> None:
    """The clusters before there were strays: one normal number says which."""
    environment = make(plan=1)
    random = np.random.default_rng(np.random.SeedSequence([7]).spawn(2)[0])
    normal = random.standard_normal((50, 3))
    which = (normal[:, 2:] > [NormalDist().inv_cdf(1 / 3), NormalDist().inv_cdf(2 / 3)]).sum(axis=1)
    expected = environment.clusters.centres[which] + 0.03 * normal[:, :2]
    inside = ((expected > 0) & (expected < 1)).all(axis=1)
    assert inside.sum() > 40
    found = environment.rounds(50, seed=7).contexts
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-12)


def test_means_are_those_of_synthetic() -> None:
    points = np.random.default_rng(0).random((50, 3))
    expected = lexbandit.make_environment("synthetic").means(points[:, :2])
    np.testing.assert_array_equal(make(dimension=3).means(points), expected)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"dimension": 1}, "dimension"), ({"clusters": 0}, "clusters"), ({"spread": 0}, "spread"),
     ({"plan": -1}, "plan"), ({"strays": -0.1}, "strays"), ({"strays": 1.1}, "strays")],
)  # fmt: skip
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"{words} must be"):
        make(**parameters)
