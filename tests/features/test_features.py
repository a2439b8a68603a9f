"""Feature maps: their values, their counts, and what they refuse."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput, UnknownName
from lexbandit.features import REGISTRY, FeatureMap, features_for, make_features
from lexbandit.features.legendre import default_degree, feature_count
from twins.linear import legendre as plain_legendre

every_map = pytest.mark.parametrize("name", REGISTRY.names())


@every_map
@pytest.mark.parametrize("dimension", [1, 2, 5, 50])
def test_one_context_and_many_are_identical(name: str, dimension: int) -> None:
    features = make_features(name, dimension=dimension)
    contexts = np.random.default_rng(0).random((30, dimension))
    every = features.apply_all(contexts)
    assert every.shape == (30, features.count)
    assert np.isfinite(every).all()
    for context, row in zip(contexts, every, strict=True):
        np.testing.assert_array_equal(features.apply(context), row)
    assert features.name == name
    assert REGISTRY.describe(name).endswith((".", ")."))
    assert str(features.count) in repr(features)


@every_map
def test_signatures_tell_maps_apart(name: str) -> None:
    same = make_features(name, dimension=2)
    np.testing.assert_array_equal(same.signature(), make_features(name, dimension=2).signature())
    others = [make_features(other, dimension=2) for other in REGISTRY.names() if other != name]
    others.append(make_features(name, dimension=3))
    if name == "fourier":
        others += [make_features(name, dimension=2, seed=1)]
        others += [make_features(name, dimension=2, lengthscale=0.4)]
    if name == "legendre":
        others += [make_features(name, dimension=2, degree=3)]
    for other in others:
        assert not np.array_equal(same.signature(), other.signature())


def test_raw() -> None:
    np.testing.assert_array_equal(
        make_features("raw", dimension=3).apply([0.1, 0.2, 0.3]), [1.0, 0.1, 0.2, 0.3]
    )


@given(x=st.floats(0, 1), y=st.floats(0, 1), degree=st.integers(1, 4))
def test_legendre_is_the_products_of_polynomials(x: float, y: float, degree: int) -> None:
    ours = make_features("legendre", dimension=2, degree=degree).apply([x, y])
    np.testing.assert_allclose(np.sort(ours), np.sort(plain_legendre([x, y], degree)), atol=1e-13)
    assert (np.abs(ours) <= 1 + 1e-12).all()


def test_legendre_is_orthogonal_on_the_cube() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x, w = (nodes + 1) / 2, weights / 2
    contexts = np.array([[a, b] for a in x for b in x])
    phi = make_features("legendre", dimension=2).apply_all(contexts)
    gram = phi.T @ (np.outer(w, w).ravel()[:, np.newaxis] * phi)
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-14)
    assert gram[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("dimension", "degree", "count"),
    [
        (1, 4, 5),
        (2, 4, 15),
        (3, 4, 35),
        (4, 4, 70),
        (5, 3, 56),
        (10, 2, 66),
        (11, 1, 12),
        (50, 1, 51),
    ],
)
def test_the_default_degree_keeps_the_count_sane(dimension: int, degree: int, count: int) -> None:
    assert default_degree(dimension) == degree
    assert make_features("legendre", dimension=dimension).count == count
    assert feature_count(dimension, degree) == count


def test_fourier_approximates_the_kernel() -> None:
    """Products of features against exp(−‖x−y‖²/(2ℓ²)), to within 5/√F."""
    random = np.random.default_rng(3)
    features = make_features("fourier", dimension=3, lengthscale=0.6, count=4000, seed=1)
    one, other = random.random((2, 50, 3))
    products = (features.apply_all(one) * features.apply_all(other)).sum(axis=1)
    kernel = np.exp(-((one - other) ** 2).sum(axis=1) / (2 * 0.6**2))
    assert np.abs(products - kernel).max() < 5 / math.sqrt(4000)
    assert make_features("fourier", dimension=8).signature()[3] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("legendre", {"degree": 0}, "degree must be a whole number of at least 1"),
        ("legendre", {"degree": 2.5}, "degree must be"),
        ("legendre", {"degree": 200}, "degree must give at most 5000 features"),
        ("fourier", {"count": 0}, "count must be"),
        ("fourier", {"count": -3}, "count must be"),
        ("fourier", {"lengthscale": 0}, "lengthscale must be"),
        ("fourier", {"lengthscale": math.nan}, "lengthscale must be"),
        ("fourier", {"seed": -1}, "seed must be"),
        ("raw", {"dimension": 0}, "dimension must be"),
    ],
)
def test_wrong_parameters_are_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make_features(name, **{"dimension": 2, **parameters})


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown feature map 'legendr'; did you mean 'legendre'"):
        make_features("legendr", dimension=2)
    with pytest.raises(UnknownName, match="did you mean 'degree'"):
        make_features("legendre", dimension=2, degre=3)


@every_map
def test_wrong_contexts_are_refused(name: str) -> None:
    features = make_features(name, dimension=2)
    for context in ([0.5], [0.5, 1.5], [math.nan, 0.5], "x"):
        with pytest.raises(InvalidInput, match="context"):
            features.apply(context)
    with pytest.raises(InvalidInput, match="contexts"):
        features.apply_all([[0.5, 0.5, 0.5]])


def test_what_a_policy_takes_for_features() -> None:
    own = make_features("raw", dimension=2)
    assert features_for(own, dimension=2) is own
    assert features_for("raw", dimension=7).count == 8
    assert features_for({"name": "fourier", "count": 20}, dimension=2).count == 20
    with pytest.raises(InvalidInput, match=r"contexts of 2 numbers.*have 3"):
        features_for(own, dimension=3)
    with pytest.raises(InvalidInput, match=r"contexts of 2 numbers.*have 3"):
        features_for({"name": "raw", "dimension": 2}, dimension=3)
    with pytest.raises(InvalidInput, match="needs a 'name'"):
        features_for({"count": 20}, dimension=2)
    for wrong in (3, None, ["raw"]):
        with pytest.raises(InvalidInput, match="features must be a name"):
            features_for(wrong, dimension=2)


def test_a_map_of_ones_own() -> None:
    """A policy takes any FeatureMap."""

    class Bump(FeatureMap):
        dimension, count = 2, 1

        def of_checked(self, contexts: np.ndarray) -> np.ndarray:
            return np.asarray(np.exp(-((contexts - 0.5) ** 2).sum(axis=1, keepdims=True)))

        def parameters(self) -> tuple[float, ...]:
            return ()

    policy = lexbandit.make_policy("lex-linucb", arms=2, dimension=2, features=Bump())
    policy.update([0.5, 0.5], 0, [1.0, 0.0])
    assert policy.explain([0.5, 0.5]).arms[0].mean[0] == pytest.approx(1 / 1.1)
