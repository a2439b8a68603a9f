"""The uncertainty level of the paper, for means that are Hölder continuous in the context."""

from dataclasses import dataclass

from lexbandit.bounds.base import CentredBound
from lexbandit.bounds.registry import REGISTRY
from lexbandit.checks import positive, whole
from lexbandit.smoothness import uncertainty_constant


@REGISTRY.register("holder")
@dataclass(frozen=True, kw_only=True)
class HolderBound(CentredBound):
    """The paper's width sqrt(2A/N), valid with probability 1 − 1/T (Tekin and Turğay, 2018).

    The width is u = scale · R · sqrt(2 A_{m,T} / N), below equation (3). A_{m,T} = 1 + 2 ln(4 K m^d
    T^1.5) for two objectives, 1 + 2 ln(2 D K m^d T^1.5) in general, with m^d the number of `cells`,
    T the `horizon` and R the sub-Gaussian constant of the noise (1 for rewards in [0, 1], footnote
    1). Then |mean − μ(x)| ≤ u + v for all rounds, arms, cells and objectives at once with
    probability at least 1 − 1/T at scale 1 (Lemma 1 and equation 8).
    """

    objectives: int = 2
    cells: int = 1
    horizon: int
    R: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("objectives", self.objectives, least=1)
        whole("cells", self.cells, least=1)
        whole("horizon", self.horizon, least=1)
        positive("R", self.R)

    @property
    def A(self) -> float:
        """The constant A_{m,T}."""
        return uncertainty_constant(
            arms=self.arms, objectives=self.objectives, cells=self.cells, horizon=self.horizon
        )

    def decay(self) -> tuple[float, float, float]:
        """Return R² · 2A over N."""
        return self.R**2 * 2.0 * self.A, 0.0, 0.0
