"""Mixed features: numbers, categories and vectors with their interactions."""

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lexbandit
from lexbandit.errors import InvalidInput
from lexbandit.features import make_features
from lexbandit.features.mixed import MOST_FEATURES, Mixed


def mixed(*layout: tuple[str, int]) -> Mixed:
    features = make_features("mixed", dimension=sum(size for _, size in layout), layout=layout)
    assert isinstance(features, Mixed)
    return features


def legendre(degree: int, x: float) -> float:
    return float(np.polynomial.legendre.Legendre.basis(degree)(2 * x - 1))


def test_arms_may_be_unlike_in_categories_and_vectors() -> None:
    features = mixed(("number", 1), ("category", 2), ("category", 3), ("vector", 2))
    values = features.apply([0.3, 0, 1, 0, 0, 1, 0.2, 0.9])
    found = values[features.unlike()]
    assert features.unlike().sum() == 2 + 3 + 2 * 3 + 2
    # Of the categories the two values and the pair of them; P_1 of the vector's coordinates.
    assert sorted(found) == pytest.approx([-0.6] + [0.0] * 8 + [0.8] + [1.0] * 3)
    assert not mixed(("number", 2)).unlike().any()
    assert not make_features("legendre", dimension=2).unlike().any()


def test_two_numbers_by_hand() -> None:
    """All products up to degree 4, block by block: 1 + 2 + 3 + 4 + 5 features."""
    features = mixed(("number", 2))
    x, y = 0.3, 0.9
    p, q = ([legendre(k, each) for k in range(5)] for each in (x, y))
    expected = [
        1.0,
        p[1], q[1],
        p[2], p[1] * q[1], q[2],
        p[3], p[2] * q[1], p[1] * q[2], q[3],
        p[4], p[3] * q[1], p[2] * q[2], p[1] * q[3], q[4],
    ]  # fmt: skip
    np.testing.assert_allclose(features.apply([x, y]), expected, atol=1e-14)
    variances, blocks, constant = features.prior()
    np.testing.assert_array_equal(blocks, np.repeat(np.arange(5), [1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(constant, [1] + 14 * [0])
    # Higher degrees vary less: each half of the one before, from degree 2 on.
    by_block = variances[[0, 1, 3, 6, 10]]
    assert by_block[0] == by_block[1] == 1.0
    assert by_block[2] < 1.0
    np.testing.assert_allclose(by_block[3:], by_block[2] / [2, 4])


def test_a_number_and_two_categories_by_hand() -> None:
    """Constant, indicators, number, its powers, category × number, category × category."""
    features = mixed(("category", 2), ("number", 1), ("category", 3))
    x = 0.8
    p = [legendre(k, x) for k in range(5)]
    expected = [
        1.0,
        0, 1,
        0, 0, 1,
        p[1],
        p[2],
        0, p[1], 0, 0, p[1],
        0, 0, 0, 0, 0, 1,
        p[3],
        p[4],
    ]  # fmt: skip
    np.testing.assert_allclose(features.apply([0, 1, x, 0, 0, 1]), expected, atol=1e-14)
    assert features.count == len(expected)
    _, blocks, _ = features.prior()
    sizes = [1, 2, 3, 1, 1, 5, 6, 1, 1]
    np.testing.assert_array_equal(blocks, np.repeat(np.arange(len(sizes)), sizes))


def test_a_category_never_seen_leaves_the_constant_and_the_numbers() -> None:
    """All its indicators are 0, and so are its interactions."""
    features = mixed(("category", 3), ("number", 2), ("category", 2))
    numbers = mixed(("number", 2))
    found = features.apply([0, 0, 0, 0.2, 0.7, 0, 0])
    expected = np.sort(numbers.apply([0.2, 0.7]))
    kept = np.sort(found[found != 0.0])
    assert len(kept) <= len(expected)
    for value in kept:
        assert np.isclose(expected, value, atol=1e-14).any()
    assert found[0] == 1.0


@given(
    layout=st.lists(
        st.tuples(st.sampled_from(["number", "category", "vector"]), st.integers(1, 12)),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 9),
)
def test_there_are_at_most_48_features_besides_what_is_always_there(
    layout: list[tuple[str, int]], seed: int
) -> None:
    """A block enters whole or not at all, and none that fits is left out."""
    features = mixed(*layout)
    vectors = sum(size for kind, size in layout if kind == "vector")
    singles = 1 + sum(size for kind, size in layout if kind != "vector")
    assert features.count - vectors <= max(MOST_FEATURES, singles)
    assert features.count >= singles + vectors
    numbers = sum(size for kind, size in layout if kind == "number")
    squares = math.comb(numbers + 1, 2)
    if numbers and singles + squares <= MOST_FEATURES:
        assert features.count >= singles + squares + vectors
    variances, blocks, constant = features.prior()
    assert (variances > 0).all()
    assert (np.diff(blocks) >= 0).all()
    assert set(blocks) == set(range(int(blocks[-1]) + 1))
    assert constant.sum() == 1
    contexts = np.random.default_rng(seed).random((5, features.dimension))
    every = features.apply_all(contexts)
    np.testing.assert_array_equal(every @ constant, 1.0)
    assert (np.abs(every) <= 1 + 1e-12).all()


@pytest.mark.parametrize("size", [1, 8, 128])
def test_vectors_enter_linearly_and_whole(size: int) -> None:
    """No products, however many numbers they have; together they vary as much as one number."""
    features = mixed(("number", 1), ("vector", size))
    alone = mixed(("number", 1))
    assert features.count == alone.count + size
    context = np.random.default_rng(0).random(1 + size)
    found = features.apply(context)
    np.testing.assert_array_equal(found[: alone.count], alone.apply(context[:1]))
    np.testing.assert_allclose(found[alone.count :], 2 * context[1:] - 1, atol=1e-15)
    variances, blocks, _ = features.prior()
    assert variances[alone.count :].sum() == pytest.approx(1.0)
    assert len(set(blocks[alone.count :])) == 1


def test_without_a_layout_all_coordinates_are_numbers() -> None:
    given, meant = make_features("mixed", dimension=3), mixed(("number", 3))
    np.testing.assert_array_equal(given.signature(), meant.signature())
    np.testing.assert_array_equal(given.apply([0.1, 0.5, 0.9]), meant.apply([0.1, 0.5, 0.9]))


def test_three_numbers_have_their_degrees_as_far_as_they_fit() -> None:
    """1 + 3 + 6 + 10 + 15 = 35 features fit; of four numbers 1 + 4 + 10 + 20 = 35, not 35 more."""
    for numbers, most in ((1, 4), (2, 4), (3, 4), (4, 3), (8, 2)):
        expected = sum(
            len(list(combinations_with_replacement(range(numbers), degree)))
            for degree in range(most + 1)
        )
        assert mixed(("number", numbers)).count == expected


def test_layouts_have_signatures_of_their_own() -> None:
    layouts: list[Any] = [
        [("number", 4)],
        [("category", 4)],
        [("vector", 4)],
        [("number", 2), ("category", 2)],
        [("category", 2), ("number", 2)],
        [("category", 2), ("category", 2)],
    ]
    seen = {tuple(mixed(*layout).signature()) for layout in layouts}
    assert len(seen) == len(layouts)


@pytest.mark.parametrize(
    "layout",
    [
        [("number", 2)],
        [("number", 1), ("category", 3)],
        [("category", 2), ("category", 3), ("vector", 3)],
        [("category", 1), ("number", 2)],
    ],
)
def test_expectations_are_those_of_sampling(layout: list[tuple[str, int]]) -> None:
    """Numbers uniform, values of categories alike likely, a flag true or false: 50,000 draws."""
    random = np.random.default_rng(3)
    n = 50_000
    parts = []
    for kind, size in layout:
        if kind == "category":
            drawn = random.integers(max(size, 2), size=n)
            parts.append(np.eye(max(size, 2))[drawn][:, :size])
        else:
            parts.append(random.random((n, size)))
    features = mixed(*layout)
    found = features.apply_all(np.hstack(parts))
    first, second = features.expectations()
    np.testing.assert_allclose(first, found.mean(axis=0), atol=0.012)
    np.testing.assert_allclose(second, found.T @ found / n, atol=0.012)
    np.testing.assert_array_equal(second, second.T)
    again, _ = mixed(*layout).expectations()
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ([("number", 3)], r"sizes add up to the 2 coordinates .* got \[\('number', 3\)\]"),
        ([("number", 1)], "sizes add up to the 2 coordinates"),
        ([("colour", 2)], r"layout\[0\] must be a pair of a kind \(number, category, vector\)"),
        ([("number", 1), ("category",)], r"layout\[1\] must be a pair"),
        ([("number", 1), "category"], r"layout\[1\] must be a pair"),
        ([("number", 0), ("vector", 2)], r"layout\[0\]\[1\] must be a whole number of at least 1"),
        ([("number", 2.5)], r"layout\[0\]\[1\] must be a whole number"),
        ([("number", -2)], r"layout\[0\]\[1\] must be a whole number"),
        ([(2, "number")], r"layout\[0\] must be a pair"),
        ("number", "layout must be a list"),
        (3, "layout must be a list"),
        (None, "layout must be a list"),
        ([None], r"layout\[0\] must be a pair"),
        ([([], 2)], r"layout\[0\] must be a pair"),
    ],
)
def test_bad_layouts_are_refused(layout: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make_features("mixed", dimension=2, layout=layout)
    with pytest.raises(InvalidInput, match=words):
        lexbandit.make_policy("lex-thompson", arms=2, dimension=2, layout=layout)


def test_contexts_outside_are_refused() -> None:
    features = mixed(("number", 1), ("category", 2))
    for context in ([1.2, 0, 1], [0.5, 0, math.nan], [0.5, -0.1, 1]):
        with pytest.raises(InvalidInput, match="context"):
            features.apply(context)
    with pytest.raises(InvalidInput, match="context"):
        features.apply([0.5, 0.0])
