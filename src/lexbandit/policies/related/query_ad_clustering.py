"""Query-Ad-Clustering."""

import math
from dataclasses import dataclass
from typing import ClassVar

from lexbandit import checks
from lexbandit.bounds import CentredBound
from lexbandit.partitions import UniformGrid
from lexbandit.policies.base import Policy
from lexbandit.policies.cells.dominant_ucb1 import DominantRule
from lexbandit.policies.registry import register
from lexbandit.policies.wrappers.phases import PhasedPolicy


@dataclass(frozen=True, kw_only=True)
class PhaseBound(CentredBound):
    """The width sqrt(4i / (1 + N)) in phase i (Lu, Pál and Pál, 2010), times `scale`."""

    phase: int
    offset: ClassVar[float] = 1.0

    def decay(self) -> tuple[float, float, float]:
        """Return 4i over 1 + N."""
        return 4.0 * self.phase, 0.0, 0.0


def phase_cells(*, phase: int, dimension: int, L: float, alpha: float) -> int:
    """Return m_i = ⌈√d · L^(1/α) · 2^(i/(d+2α))⌉, in floating point, rounding errors forgiven.

    Then a cell of the grid has L(√d/m)^α ≤ 2^(−i/(d/α+2)): its diameter by the distance
    L‖x − x'‖^α, under which [0,1]^d has covering dimension d/α. At L = α = 1 this is 2^(−i/(d+2)).
    """
    finest = math.pow(2.0, phase / (dimension + 2.0 * alpha))
    cells = math.sqrt(dimension) * math.pow(L, 1.0 / alpha) * finest
    return math.ceil(cells * (1.0 - 1e-12))  # √2 · 2^(2/4) is 2, and 2.0000000000000004 in floats


class QueryAdClustering(PhasedPolicy):
    """In phase i, of 2^i rounds: the highest mean¹ + sqrt(4i / (1 + N)) in the context's cell.

    Lu, Pál and Pál (2010): at the start of a phase everything is forgotten, and
    contexts ("queries") are clustered anew at diameter 2^(−i/(d+2)): here, in the cells of a grid.
    Arms ("ads") have no distance, so each is a cluster of its own. Phases count from 0. The
    dominant objective decides; others are recorded, for `explain`.
    """

    def __init__(
        self,
        *,
        arms: int,
        dimension: int,
        objectives: int,
        L: float = 1.0,
        alpha: float = 1.0,
        scale: float = 1.0,
        seed: int,
    ) -> None:
        self._smoothness = checks.positive("L", L), checks.positive("alpha", alpha, most=1.0)
        self._scale = scale
        super().__init__(arms=arms, dimension=dimension, objectives=objectives, seed=seed)

    def _length(self, phase: int) -> int:
        return int(2**phase)

    def _make(self, phase: int, seed: int) -> Policy:
        L, alpha = self._smoothness
        side = phase_cells(phase=phase, dimension=self.dimension, L=L, alpha=alpha)
        return DominantRule(
            arms=self.arms,
            objectives=self.objectives,
            partition=UniformGrid(self.dimension, side),
            bound=PhaseBound(arms=self.arms, phase=phase, scale=self._scale),
            seed=seed,
        )


register(
    "query-ad-clustering",
    QueryAdClustering,
    "Query-Ad-Clustering on the dominant objective: a finer grid in each phase (Lu et al.).",
)
