"""Experiment 1's means with contexts in a few small clusters: most of the cube is never seen."""

from statistics import NormalDist

import numpy as np

from lexbandit.checks import Floats, positive, whole
from lexbandit.environments.making import REGISTRY
from lexbandit.environments.synthetic import Synthetic


class Concentrated(Synthetic):
    """Contexts from round clusters of standard deviation `spread`, reflected at the cube's sides.

    The means are those of `synthetic` in the first two features; further features, if any, change
    nothing. Clusters are equally likely; their centres lie in [0.1, 0.9]^d and depend on `plan`.
    """

    def __init__(self, *, dimension: int, clusters: int, spread: float, plan: int) -> None:
        self.dimension = whole("dimension", dimension, least=2)
        self.spread = positive("spread", spread)
        clusters = whole("clusters", clusters, least=1)
        random = np.random.default_rng(whole("plan", plan, least=0))
        self.centres = 0.1 + 0.8 * random.random((clusters, self.dimension))
        self._steps = [NormalDist().inv_cdf(k / clusters) for k in range(1, clusters)]

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        # One draw for all, so that the generator is read round by round; the last number of a
        # round says which cluster.
        normal = random.standard_normal((n, self.dimension + 1))
        cluster = np.searchsorted(self._steps, normal[:, -1])
        points = self.centres[cluster] + self.spread * normal[:, :-1]
        return np.asarray(1.0 - np.abs(1.0 - np.mod(points, 2.0)))

    def _means(self, contexts: Floats) -> Floats:
        return super()._means(contexts[:, :2])


@REGISTRY.register("concentrated")
def concentrated(
    *, dimension: int = 2, clusters: int = 3, spread: float = 0.03, plan: int = 0
) -> Concentrated:
    """The means of `synthetic`, with contexts in a few small clusters; any dimension from 2."""
    return Concentrated(dimension=dimension, clusters=clusters, spread=spread, plan=plan)
