"""Random Fourier features: a linear model that is nearly a Gaussian process."""

import math

import numpy as np

from lexbandit import checks
from lexbandit.features.base import FeatureMap
from lexbandit.features.registry import REGISTRY
from lexbandit.kernels import linear_features as kernel
from lexbandit.kernels.random import seeded


@REGISTRY.register("fourier")
class Fourier(FeatureMap):
    """Random Fourier features of the RBF kernel (Rahimi and Recht, 2007).

    φ_j(x) = √(2/F) cos(w_jᵀx + b_j), w_j ~ N(0, I/ℓ²), b_j uniform on [0, 2π): φ(x)ᵀφ(y) is an
    unbiased estimate of exp(−‖x − y‖²/(2ℓ²)), with an error of order 1/√F ("Random features for
    large-scale kernel machines", NIPS, Algorithm 1). The lengthscale ℓ is 0.5 · √(d/2) by default:
    0.5 for d = 2, and distances grow as √d.
    """

    kind = kernel.FOURIER

    def __init__(
        self, *, dimension: int, lengthscale: float | None = None, count: int = 64, seed: int = 0
    ) -> None:
        self.dimension = dimension
        length = 0.5 * math.sqrt(dimension / 2) if lengthscale is None else lengthscale
        self.lengthscale = checks.positive("lengthscale", length)
        self.count = checks.whole("count", count, least=1, most=5000)
        self.seed = checks.whole("seed", seed, least=0, most=2**53)
        self.table = np.empty((self.count, dimension + 1))
        kernel.draw_fourier(seeded(self.seed), 1.0 / self.lengthscale, self.table)

    @property
    def squared_norm(self) -> float:
        """2: each of F features is at most √(2/F)."""
        return 2.0

    def parameters(self) -> tuple[float, ...]:
        """Return the lengthscale and the seed."""
        return self.lengthscale, float(self.seed)
