"""The bound of Empirical Pareto UCB1."""

import math
from dataclasses import dataclass

from lexbandit.bounds.base import CentredBound
from lexbandit.bounds.registry import REGISTRY
from lexbandit.checks import whole


@REGISTRY.register("pareto-ucb1")
@dataclass(frozen=True, kw_only=True)
class ParetoUCB1Bound(CentredBound):
    """Empirical Pareto UCB1's width sqrt(2 ln(n (D·K)^¼) / N) (Drugan and Nowé, 2013).

    "Empirical": the unknown size of the Pareto front is replaced by the number of arms K.
    """

    objectives: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("objectives", self.objectives, least=1)

    def growth(self) -> tuple[float, float]:
        """Return 2 ln(n (D·K)^¼) = ½ ln(D·K) + 2 ln n."""
        return 0.5 * math.log(self.objectives * self.arms), 2.0

    def decay(self) -> tuple[float, float, float]:
        """Return 1 over N."""
        return 1.0, 0.0, 0.0
