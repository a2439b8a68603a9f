"""UCB1's bound."""

from dataclasses import dataclass

from lexbandit.bounds.base import CentredBound
from lexbandit.bounds.registry import REGISTRY


@dataclass(frozen=True, kw_only=True)
class UCB1Bound(CentredBound):
    """The width sqrt(2 ln n / N) of UCB1 (Auer, Cesa-Bianchi and Fischer, 2002), times `scale`."""

    def growth(self) -> tuple[float, float]:
        """Return 2 ln n."""
        return 0.0, 2.0

    def decay(self) -> tuple[float, float, float]:
        """Return 1 over N."""
        return 1.0, 0.0, 0.0


@REGISTRY.register("ucb1")
def ucb1(*, arms: int, scale: float = 1.0) -> UCB1Bound:
    """UCB1's width sqrt(2 ln n / N) (Auer, Cesa-Bianchi and Fischer, 2002)."""
    return UCB1Bound(arms=arms, scale=scale)
