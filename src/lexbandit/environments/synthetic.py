"""Experiment 1 of the paper: Gaussian bumps, two arms tied in the dominant objective."""

import numpy as np

from lexbandit.checks import Floats
from lexbandit.environments.base import Environment
from lexbandit.environments.registry import REGISTRY

# exp(−‖x − c‖² / (2 · 0.3)): a Gaussian of covariance 0.3 I, normalised to a maximum of 1.
_TWICE_VARIANCE = 0.6


@REGISTRY.register("synthetic")
class Synthetic(Environment):
    """Experiment 1: Gaussian bumps, two arms tied in the dominant objective, Bernoulli rewards.

    Four arms on [0,1]², contexts uniform (Section VII-A). Arms 0 and 1 have the same mean in the
    dominant objective, in the same floating-point number.
    """

    arms = 4
    objectives = 2
    dimension = 2

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        return random.random((n, 2))

    def _means(self, contexts: Floats) -> Floats:
        x, y = contexts[:, 0], contexts[:, 1]
        left = np.exp(-((x - 0.3) ** 2 + (y - 0.5) ** 2) / _TWICE_VARIANCE)
        right = np.exp(-((x - 0.7) ** 2 + (y - 0.5) ** 2) / _TWICE_VARIANCE)
        upper = np.exp(-((x - 0.3) ** 2 + (y - 0.7) ** 2) / _TWICE_VARIANCE)
        lower = np.exp(-((x - 0.3) ** 2 + (y - 0.3) ** 2) / _TWICE_VARIANCE)
        means = np.empty((len(contexts), 4, 2))
        means[:, 0, 0] = means[:, 1, 0] = left
        means[:, 2, 0] = right
        means[:, 3, 0] = 0.0
        means[:, 0, 1] = upper
        means[:, 1, 1] = lower
        means[:, 2, 1] = means[:, 3, 1] = right
        return means

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        return np.asarray(random.random(means.shape) < means, np.float64)
