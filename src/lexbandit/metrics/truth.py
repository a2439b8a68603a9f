"""What a block of means says of every arm: worked out once, used for every policy."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of


class Truth:
    """The means[n, K, D] of a block of rounds, the optimum, the Pareto gaps and the bands.

    means    float[n, K, D]
    optimal  float[n, D]     the means μ_* of a lexicographically optimal arm
    gaps     float[n, K]     the Pareto suboptimality gap Δ_a of every arm (Definition 2)
    floors   float[n, D]     the least mean inside the band of each objective but the last, then the
                             best last mean of the arms inside all bands

    With `allowed` (bool[n, K]) only the allowed arms enter the optimum, the front and the bands.

    `tolerances` say how much less of each objective is as good: one number for all, or a list with
    one an objective; none is 0 for all. The last one has no effect. An arm is inside the band of an
    objective if its mean is at least the best one, of the arms inside all earlier bands, minus the
    tolerance. A relative slack of 1e-12 keeps rounding from deciding this.
    """

    def __init__(self, means: Any, allowed: Any = None, tolerances: Any = None) -> None:
        self.means = checks.floats("means", means, (None, None, None))
        if 0 in self.means.shape[1:]:
            raise InvalidInput(
                f"means need at least one arm and one objective, got {self.means.shape}."
            )
        wrong = ~np.isfinite(self.means)
        checks.refuse_first("means", self.means, wrong, "means must be finite")
        mask = np.ones((1, self.means.shape[1]), np.bool_)
        self.allowed: Booleans | None = None
        if allowed is not None:
            mask = self.allowed = checks.allowed_arms(allowed, self.means.shape[:2])
        ceilings = ceilings_of(mask)
        self.optimal: Floats = optimality.optimal_means(self.means, ceilings)
        self.gaps: Floats = optimality.pareto_gaps(self.means, ceilings)
        self.tolerances = checks.tolerances(
            0.0 if tolerances is None else tolerances, self.means.shape[2]
        )
        self.floors: Floats = optimality.band_floors(self.means, ceilings, self.tolerances)

    def __len__(self) -> int:
        return len(self.means)


def pareto_gaps(means: Any) -> Floats:
    """Return float[n, K], the Pareto suboptimality gaps: max(0, max_b min_i (μ^i_b − μ^i_a))."""
    return Truth(means).gaps
