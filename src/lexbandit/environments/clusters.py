"""Contexts that gather in a few small parts of the cube."""

import math
from statistics import NormalDist

import numpy as np

from lexbandit.checks import Floats, at_least_zero, positive, whole

# A normal number with this standard deviation, reflected into [0, 1], is uniform to the last digit.
_WIDE = 4.0


class Clusters:
    """Round clusters of standard deviation `spread`, reflected at the cube's sides.

    They are equally likely; their centres lie in [0.1, 0.9]^d and come from `random`. A share
    `strays` of the contexts belongs to none and is uniform on the cube.
    """

    def __init__(
        self,
        *,
        dimension: int,
        clusters: int,
        spread: float,
        strays: float,
        random: np.random.Generator,
    ) -> None:
        self.spread = positive("spread", spread)
        clusters = whole("clusters", clusters, least=1)
        self.centres = 0.1 + 0.8 * random.random((clusters, dimension))
        self.strays = at_least_zero("strays", strays, most=1.0)
        # A normal number above steps[k] and up to the next means cluster k; below all, a stray.
        gathered = 1.0 - self.strays
        self._steps = [_quantile(self.strays + gathered * k / clusters) for k in range(clusters)]

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """Draw contexts[n, d]."""
        # One draw for all, so that the generator is read round by round; the last number of a
        # round says which cluster.
        normal = random.standard_normal((n, self.centres.shape[1] + 1))
        cluster = np.searchsorted(self._steps, normal[:, -1]) - 1
        points = self.centres[cluster] + self.spread * normal[:, :-1]
        stray = cluster < 0
        points[stray] = _WIDE * normal[stray, :-1]
        return np.asarray(1.0 - np.abs(1.0 - np.mod(points, 2.0)))


def _quantile(share: float) -> float:
    """Return the number that a normal one is below with probability `share`."""
    if share in (0.0, 1.0):
        return -math.inf if share == 0.0 else math.inf
    return NormalDist().inv_cdf(share)
