"""Seeded smooth functions of the context that planted environments are made of."""

import math
from typing import Protocol

import numpy as np

from lexbandit.checks import Floats
from lexbandit.kernels.planting import weigh

# A linear wave reads at most this many features: with more, means over many of them would all be
# near their middle.
_FEATURES_READ = 3


class Waves(Protocol):
    """Several functions of the context with values in [−1, 1]."""

    slope: float
    """No wave is steeper: |w(x) − w(y)| ≤ slope · ‖x − y‖."""

    def __call__(self, contexts: Floats) -> Floats:
        """Return waves[n, count] at contexts[n, d]."""


class Cosines:
    """cos(2π f ⟨w, x⟩ + φ) with unit vectors w, f the `frequency`: smooth, or rough if f is large.

    With `valleys` the phases are such that each wave is −1 at some point well inside the cube.
    """

    def __init__(
        self,
        *,
        count: int,
        dimension: int,
        frequency: float,
        random: np.random.Generator,
        valleys: slice = slice(0),
    ) -> None:
        directions = random.standard_normal((dimension, count))
        directions /= np.sqrt((directions**2).sum(0))
        self.slope = 2.0 * math.pi * frequency
        self._directions = self.slope * directions
        self._phases = 2.0 * math.pi * random.random(count)
        self.centres = 0.25 + 0.5 * random.random((dimension, count))
        sunk = math.pi - (self._directions * self.centres).sum(0)
        self._phases[valleys] = sunk[valleys]

    def __call__(self, contexts: Floats) -> Floats:
        """Return the cosines."""
        return np.cos(weigh(contexts, self._directions) + self._phases)


class Ramps:
    """⟨w, 2x − 1⟩ with Σ|w| = 1: linear in the context; each reads at most three features."""

    def __init__(self, *, count: int, dimension: int, random: np.random.Generator) -> None:
        read = min(_FEATURES_READ, dimension)
        weights = np.zeros((dimension, count))
        for wave in range(count):
            features = random.permutation(dimension)[:read]
            weights[features, wave] = random.choice([-1.0, 1.0], read) * (0.5 + random.random(read))
        weights /= np.abs(weights).sum(0)
        self.slope = float(2.0 * np.sqrt((weights**2).sum(0)).max())
        self._weights = weights

    def __call__(self, contexts: Floats) -> Floats:
        """Return the ramps."""
        return np.asarray(np.clip(weigh(2.0 * contexts - 1.0, self._weights), -1.0, 1.0))
