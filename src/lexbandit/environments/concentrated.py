"""Experiment 1's means with contexts in a few small clusters: most of the cube is never seen."""

import numpy as np

from lexbandit.checks import Floats, whole
from lexbandit.environments.clusters import Clusters
from lexbandit.environments.registry import REGISTRY
from lexbandit.environments.synthetic import Synthetic


@REGISTRY.register("concentrated")
class Concentrated(Synthetic):
    """The means of `synthetic`, with contexts in a few small clusters; any dimension from 2.

    The means depend on the first two features; further ones, if any, change nothing. Contexts come
    in `Clusters`, whose centres depend on `plan`.
    """

    def __init__(
        self,
        *,
        dimension: int = 2,
        clusters: int = 3,
        spread: float = 0.03,
        strays: float = 0.0,
        plan: int = 0,
    ) -> None:
        self.dimension = whole("dimension", dimension, least=2)
        self.clusters = Clusters(
            dimension=self.dimension,
            clusters=clusters,
            spread=spread,
            strays=strays,
            random=np.random.default_rng(whole("plan", plan, least=0)),
        )

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        return self.clusters.draw(n, random)

    def _means(self, contexts: Floats) -> Floats:
        return super()._means(contexts[:, :2])
