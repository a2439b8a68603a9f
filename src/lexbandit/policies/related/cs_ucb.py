"""CS-UCB: upper confidence bounds with cost subsidy."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import rivals as kernel
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.linear.pooled import Looks, PooledPolicy
from lexbandit.policies.registry import register


class CostSubsidyUcb(PooledPolicy):
    """Keep the arms whose upper bounds are within the tolerance of the highest, level by level.

    Sinha, Sankararaman, Kazerouni and Avadhanula (2021), "Multi-armed bandits with cost subsidy",
    AISTATS: with U_a = min(1, mean_a + sqrt(2 ln T/N_a)), play the cheapest of the arms with
    U_a ≥ (1 − α) max U.

    Adapted: U_a = m_a + scale · sqrt(2 ln t) s_a with the posterior mean m and deviation s of a
    pooled regression on features of the context (`kernels.pooled`), so the noise is learned, no
    horizon is needed, and nothing is cut off at 1; (1 − α) max U becomes max U − tolerance; the
    paper's costs are known, here the last objective is learned and the highest upper bound, a lower
    bound of a cost, is played, with a filter for every objective before it if there are more than
    two. Nothing but ties is random.
    """

    _rule = kernel.LOOPS

    def __init__(self, *, scale: float = 1.0, tolerance: Any = 0.0, **pooled: Any) -> None:
        self.scale = checks.positive("scale", scale)
        settings = kernel.settings_of(kernel.CS_UCB, scale=self.scale)
        super().__init__(settings=settings, tolerance=tolerance, **pooled)

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        left, levels, sentences = allowed.copy(), [], []
        for i in range(self.objectives):
            indices = np.where(left, looks.reaches[i], -np.inf)
            top = int(indices.argmax())
            if i < self.objectives - 1:
                left &= looks.reaches[i] >= indices[top] - looks.bands[i]
                sentences.append(
                    f"The index of {listed(np.flatnonzero(left).tolist())} in {objective(i)} is "
                    f"within the tolerance of the highest, {indices[top]:.4g}."
                )
            levels.append(Level(top, tuple(np.flatnonzero(left).tolist())))
        played = likely(shares)
        sentences.append(
            f"{listed(played)}: highest index in {objective(self.objectives - 1)}{drawn(played)}."
        )
        return left, tuple(levels), " ".join(sentences)


register(
    "cs-ucb",
    CostSubsidyUcb,
    "CS-UCB: candidates by upper bounds (Sinha et al., 2021), on a pooled regression.",
    features=mixed_features,
)
