"""The bound of PF-LEX."""

from dataclasses import dataclass

from lexbandit.bounds.registry import REGISTRY
from lexbandit.bounds.sub_gaussian import SubGaussianBound


@REGISTRY.register("prior-free")
@dataclass(frozen=True, kw_only=True)
class PriorFreeBound(SubGaussianBound):
    """PF-LEX's width, valid at any time with probability 1 − δ (Hüyük and Tekin, 2021).

    The width is R · sqrt((1 + N)/N² · (1 + 2 ln(D K m^d sqrt(1 + N)/δ))), times `scale`. With R = 1
    and one cell it is that of PF-LEX, for 1-sub-Gaussian rewards. It is that of `SubGaussianBound`
    with a 1 added under the root, so it holds a fortiori: for all N, arms, objectives and cells at
    once.
    """

    R: float = 1.0

    def decay(self) -> tuple[float, float, float]:
        """Return R² (1 + 2 ln(D K m^d/δ) + ln(1 + N)) · (1 + 1/N) over N."""
        return self.R**2 * (1.0 + 2.0 * self.log_intervals), self.R**2, 1.0
