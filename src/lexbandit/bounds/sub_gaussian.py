"""The tight sub-Gaussian width, for a horizon or for any time."""

from dataclasses import dataclass

from lexbandit.bounds.base import CentredBound, UniformBound
from lexbandit.bounds.registry import REGISTRY
from lexbandit.checks import positive


@REGISTRY.register("sub-gaussian")
@dataclass(frozen=True, kw_only=True)
class SubGaussianBound(UniformBound, CentredBound):
    """The tight width for R-sub-Gaussian noise, ½ for rewards in [0, 1]; confidence 1 − δ.

    The width is R · sqrt((1 + N)/N² · 2 ln(D K m^d sqrt(1 + N)/δ)), times `scale`. The
    self-normalised inequality of Abbasi-Yadkori, Pál and Szepesvári (2011, Theorem 1) in one
    dimension holds for all N at once and on both sides together. So |mean − μ(x)| ≤ u + v in every
    cell, arm and objective, at any time, with probability at least 1 − δ. It is the paper's Lemma 1
    without what is lost there: (1 + N)/N² instead of 2/N, no second union bound over the two
    sandwiching processes, and R = ½ for rewards in [0, 1] (Hoeffding's lemma) instead of 1.
    """

    R: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("R", self.R)

    def decay(self) -> tuple[float, float, float]:
        """Return R² (2 ln(D K m^d/δ) + ln(1 + N)) · (1 + 1/N) over N."""
        return 2.0 * self.R**2 * self.log_intervals, self.R**2, 1.0


@REGISTRY.register("anytime")
def anytime(
    *,
    arms: int,
    objectives: int = 2,
    cells: int = 1,
    delta: float = 0.05,
    R: float = 0.5,
    scale: float = 1.0,
) -> SubGaussianBound:
    """The tight sub-Gaussian width with a fixed δ: valid at any time, with no horizon."""
    return SubGaussianBound(
        arms=arms, objectives=objectives, cells=cells, delta=delta, R=R, scale=scale
    )
