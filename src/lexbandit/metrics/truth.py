"""What a block of means says of every arm: worked out once, used for every policy."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of


class Truth:
    """The means[n, K, D] of a block of rounds, the optimum and the Pareto gaps.

    means    float[n, K, D]
    optimal  float[n, D]     the means μ_* of a lexicographically optimal arm
    gaps     float[n, K]     the Pareto suboptimality gap Δ_a of every arm (Definition 2)

    With `allowed` (bool[n, K]) only the allowed arms enter the optimum and the front.
    """

    def __init__(self, means: Any, allowed: Any = None) -> None:
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

    def __len__(self) -> int:
        return len(self.means)


def pareto_gaps(means: Any) -> Floats:
    """Return float[n, K], the Pareto suboptimality gaps: max(0, max_b min_i (μ^i_b − μ^i_a))."""
    return Truth(means).gaps
