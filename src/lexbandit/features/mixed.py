"""Numbers, categories and vectors with their interactions: what a chooser's contexts are."""

from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.features.base import FeatureMap
from lexbandit.features.registry import REGISTRY
from lexbandit.kernels import linear_features as kernel

# Interactions and higher degrees are added block by block while there are at most this many
# features, those of vectors not counted.
MOST_FEATURES = 48

# How much the weights of interactions and of degree 2 vary against those of single features; the
# next two degrees have a half of that each time.
_MIXED_VARIANCE = 0.06

# A product is a list of (coordinate, degree), INDICATOR for x itself; it has so many at most.
_FACTORS = 4
_INDICATOR = kernel.MIXED_FACTORS - 1

Product = list[tuple[int, int]]


@REGISTRY.register("mixed")
class Mixed(FeatureMap):
    """Numbers, categories and vectors with interactions; all are numbers without a layout.

    φ(x) = a constant, indicators of categories, polynomials of numbers, and interactions. `layout`
    says what the coordinates are, as pairs of a kind and a size: ("number", n) are n numbers,
    ("category", n) the n indicators of one category, ("vector", n) n numbers that enter linearly,
    such as an embedding. Always there: the constant, the indicators, P_1 of every number, P_1 of
    every coordinate of a vector. Then, as blocks while they fit into 48 features: products of two
    numbers, of a category and a number, of two categories, of three and of four numbers. P_k is the
    Legendre polynomial of 2x − 1.
    """

    has_constant = True
    kind = kernel.MIXED

    def __init__(self, *, dimension: int, layout: Any = ()) -> None:
        self.dimension = dimension
        self.layout = checks.layout(layout, dimension) or (("number", dimension),)
        blocks = self._blocks()
        products = [product for block, _ in blocks for product in block]
        self.count = len(products)
        self.table = np.zeros((self.count, _FACTORS))
        for f, product in enumerate(products):
            for k, (coordinate, degree) in enumerate(product):
                self.table[f, k] = coordinate * kernel.MIXED_FACTORS + degree
        self._variances = np.array([v for block, v in blocks for _ in block])
        self._numbers = np.array([n for n, (block, _) in enumerate(blocks) for _ in block])

    def _blocks(self) -> list[tuple[list[Product], float]]:
        """Return blocks of products, each with the relative variance of its weights."""
        numbers: list[int] = []
        categories: list[list[int]] = []
        vectors: list[list[int]] = []
        at = 0
        for kind, size in self.layout:
            coordinates = list(range(at, at + size))
            at += size
            if kind == "number":
                numbers += coordinates
            else:
                (categories if kind == "category" else vectors).append(coordinates)
        single: list[list[Product]] = [[[]]]
        single += [[[(j, _INDICATOR)] for j in coordinates] for coordinates in categories]
        single += [[[(j, 1)] for j in numbers]] if numbers else []
        blocks = [(block, 1.0) for block in single]
        used = sum(len(block) for block in single)
        for block, variance in _interactions(numbers, categories):
            if block and used + len(block) <= MOST_FEATURES:
                blocks.append((block, variance))
                used += len(block)
        for coordinates in vectors:
            # A uniform vector's share of the variance is as large as that of one number.
            blocks.append(([[(j, 1)] for j in coordinates], 1.0 / len(coordinates)))
        return blocks

    def prior(self) -> Floats:
        """Return the relative variances, the blocks and the constant."""
        return np.array([self._variances, self._numbers, self.constant])

    def expectations(self) -> tuple[Floats, Floats]:
        """Return E[φ] and E[φφᵀ] for uniform numbers and equally likely values of categories.

        All are independent. E[P_j P_k] is 1/(2k + 1) for j = k, else 0; two indicators of one
        category are never 1 together. A category of one indicator is a flag, true in half of the
        contexts.
        """
        degrees = np.zeros((self.count, self.dimension))
        for column in self.table.T:
            coordinates = (column // kernel.MIXED_FACTORS).astype(np.int64)
            degrees[np.arange(self.count), coordinates] += column % kernel.MIXED_FACTORS
        second = np.ones((self.count, self.count))
        at = 0
        for kind, size in self.layout:
            part = degrees[:, at : at + size]
            at += size
            same = (part[:, None] == part[None]).all(axis=2)
            if kind == "category":
                share = 1.0 / size if size > 1 else 0.5
                without = (part == 0.0).all(axis=1)
                one = without[:, None] ^ without[None]
                second *= np.where(same & without, 1.0, np.where(same | one, share, 0.0))
            else:
                second *= same * np.prod(1.0 / (2.0 * part + 1.0), axis=1)
        return second[0].copy(), second

    def unlike(self) -> Booleans:
        """Return which features are indicators of categories or coordinates of vectors."""
        kinds = [kind for kind, size in self.layout for _ in range(size)]
        found = np.zeros(self.count, np.bool_)
        for f, factors in enumerate(self.table.astype(np.int64)):
            pairs = [divmod(int(factor), kernel.MIXED_FACTORS) for factor in factors]
            of = {kinds[coordinate] for coordinate, degree in pairs if degree}
            found[f] = of in ({"category"}, {"vector"})
        return found

    def left_out(self) -> Floats:
        """Return what the rest of the function is expected to vary by, for each learned variance.

        Higher degrees are expected to vary by half as much in all as the highest one among the
        features does; interactions of categories with higher degrees by twice as much as those with
        the first, since these have all degrees to stand for; and interactions of three categories
        by as much as those of two. A kind of interaction that did not fit, and the higher degrees
        of a vector, are expected to vary by as much less than single features as `prior` has it.
        With these factors intervals hold the truth where functions are smooth; see docs/theory.md.
        """
        kinds = [kind for kind, size in self.layout for _ in range(size)]
        categories, degrees, vectors = np.zeros((3, self.count), np.int64)
        for column in self.table.T.astype(np.int64):
            for f, place in enumerate(column):
                coordinate, degree = divmod(int(place), kernel.MIXED_FACTORS)
                if degree and kinds[coordinate] == "category":
                    categories[f] += 1
                elif degree:
                    (vectors if kinds[coordinate] == "vector" else degrees)[f] += degree
        counts = [sum(kind == name for kind, _ in self.layout) for name in ("number", "category")]
        weights = _MIXED_VARIANCE * (vectors > 0)
        if counts[0]:
            highest = degrees[categories == 0].max()
            weights += 0.5 * ((categories == 0) & (degrees == highest))
        if all(counts):
            mixed = (categories == 1) & (degrees == 1)
            weights += 2.0 * mixed if mixed.any() else _MIXED_VARIANCE * (degrees == 1)
        if counts[1] > 1:
            pairs = categories == 2
            if not pairs.any():
                weights += _MIXED_VARIANCE * (categories == 1)
            elif counts[1] > 2:
                weights += pairs
        return np.asarray(weights * np.diagonal(self.expectations()[1]))

    def parameters(self) -> tuple[float, ...]:
        """Return the layout as numbers."""
        kinds = ("number", "category", "vector")
        return tuple(float(x) for kind, size in self.layout for x in (kinds.index(kind), size))


def _interactions(
    numbers: list[int], categories: list[list[int]]
) -> list[tuple[list[Product], float]]:
    """Return blocks of products of several coordinates, the most useful first."""

    def powers(degree: int) -> list[Product]:
        chosen = combinations_with_replacement(numbers, degree)
        return [
            [(j, coordinates.count(j)) for j in sorted(set(coordinates))] for coordinates in chosen
        ]

    indicators = [j for coordinates in categories for j in coordinates]
    with_number: list[Product] = [[(c, _INDICATOR), (j, 1)] for c in indicators for j in numbers]
    pairs: list[Product] = [
        [(a, _INDICATOR), (b, _INDICATOR)]
        for one, other in combinations(categories, 2)
        for a in one
        for b in other
    ]
    return [
        (powers(2), _MIXED_VARIANCE),
        (with_number, _MIXED_VARIANCE),
        (pairs, _MIXED_VARIANCE),
        (powers(3), _MIXED_VARIANCE / 2),
        (powers(4), _MIXED_VARIANCE / 4),
    ]
