"""UCB1's bound."""

from dataclasses import dataclass

from lexbandit.bounds.base import CentredBound
from lexbandit.bounds.registry import REGISTRY


@REGISTRY.register("ucb1")
@dataclass(frozen=True, kw_only=True)
class UCB1Bound(CentredBound):
    """UCB1's width sqrt(2 ln n / N) (Auer, Cesa-Bianchi and Fischer, 2002)."""

    def growth(self) -> tuple[float, float]:
        """Return 2 ln n."""
        return 0.0, 2.0

    def decay(self) -> tuple[float, float, float]:
        """Return 1 over N."""
        return 1.0, 0.0, 0.0
