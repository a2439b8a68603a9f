"""Products of Legendre polynomials: smooth means, no lengthscale to choose."""

import math
from itertools import combinations_with_replacement

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.features.base import FeatureMap
from lexbandit.features.registry import REGISTRY
from lexbandit.kernels import linear_features as kernel

HIGHEST_DEGREE = 4
MOST_FEATURES = 70
# More would take gigabytes for the matrices of a few arms.
_LIMIT = 5000


def feature_count(dimension: int, degree: int) -> int:
    """Return the number of products of total degree at most `degree`: C(d + degree, degree)."""
    return math.comb(dimension + degree, degree)


def default_degree(dimension: int) -> int:
    """Return the largest degree of at most 4 with at most 70 features, and at least 1.

    4 up to d = 4 (5, 15, 35, 70 features), 3 for d = 5 (56), 2 up to d = 10 (66), then 1 (d + 1).
    """
    fitting = [
        degree
        for degree in range(1, HIGHEST_DEGREE + 1)
        if feature_count(dimension, degree) <= MOST_FEATURES
    ]
    return max(fitting, default=1)


@REGISTRY.register("legendre")
class Legendre(FeatureMap):
    """Legendre polynomials, all products up to a total degree (4 for few context features).

    φ(x) = all products Π_j P_{k_j}(2x_j − 1) of total degree Σ k_j ≤ `degree`; P_k is the Legendre
    polynomial, P_k(1) = 1: the features lie in [−1, 1] and are orthogonal for contexts uniform on
    [0,1]^d, so that the Gram matrix of a ridge regression is well conditioned. Those of higher
    degree are smaller on average, 1/√(2k + 1) each, and a ridge holds them back.
    """

    has_constant = True
    kind = kernel.LEGENDRE

    def __init__(self, *, dimension: int, degree: int | None = None) -> None:
        self.dimension = dimension
        chosen = default_degree(dimension) if degree is None else degree
        self.degree = checks.whole("degree", chosen, least=1)
        self.count = feature_count(dimension, self.degree)
        if self.count > _LIMIT:
            raise InvalidInput(
                f"degree must give at most {_LIMIT} features, got {self.degree}, which gives "
                f"{self.count} for {dimension} context features."
            )
        self.table = self._products()

    def _products(self) -> Floats:
        """Return float[F, degree]: the positions of a product's factors in a list of polynomials.

        The list has the polynomials of degree 0 to `degree` of x_1, then of x_2, and so on; place
        0 is the constant 1.
        """
        rows = []
        for total in range(self.degree + 1):
            for chosen in combinations_with_replacement(range(self.dimension), total):
                positions = [j * (self.degree + 1) + chosen.count(j) for j in sorted(set(chosen))]
                rows.append(positions + [0] * (self.degree - len(positions)))
        return np.array(rows, np.float64)

    def expectations(self) -> tuple[Floats, Floats]:
        """Return E[φ], which is (1, 0, …, 0), and E[φφᵀ], diagonal: Π_j 1/(2k_j + 1)."""
        degrees = self.table % (self.degree + 1)
        mean = np.zeros(self.count)
        mean[0] = 1.0
        return mean, np.diag(1.0 / (2.0 * degrees + 1.0).prod(axis=1))

    def parameters(self) -> tuple[float, ...]:
        """Return the degree."""
        return (float(self.degree),)
