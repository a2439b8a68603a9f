"""CS-ETC: explore, then commit, with cost subsidy."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import rivals as kernel
from lexbandit.policies.explain import drawn, likely, listed, objective, one_of
from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.linear.pooled import Looks, PooledPolicy
from lexbandit.policies.registry import register


class CostSubsidyExploreThenCommit(PooledPolicy):
    """Play every arm equally often at first, then the cheapest that confidence bounds allow.

    Sinha, Sankararaman, Kazerouni and Avadhanula (2021), "Multi-armed bandits with cost subsidy",
    AISTATS: play every arm (T/K)^(2/3) times. Then, with U, L = mean ± sqrt(2 ln T/N), play in each
    round the cheapest of the arms with U_a ≥ (1 − α) max L, and go on learning.

    Adapted: U, L = m ± scale · sqrt(2 ln T) s with the posterior mean m and deviation s of a pooled
    regression on features of the context (`kernels.pooled`), so the noise is learned, and nothing
    is cut off at 0 and 1; arms are explored in random order, each ⌈(T/K)^(2/3)⌉ times over all
    contexts; (1 − α) max L becomes max L − tolerance; the paper's costs are known, here the last
    objective is learned and the highest upper bound, a lower bound of a cost, is played, with a
    filter for every objective before it if there are more than two. Nothing else is random.
    """

    _rule = kernel.LOOPS

    def __init__(
        self, *, horizon: int, scale: float = 1.0, tolerance: Any = 0.0, **pooled: Any
    ) -> None:
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.scale = checks.positive("scale", scale)
        settings = kernel.settings_of(kernel.CS_ETC, scale=self.scale, horizon=self.horizon)
        super().__init__(settings=settings, tolerance=tolerance, **pooled)

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        played = likely(shares)
        if np.isinf(looks.reaches[0, played[0]]):
            return shares > 0.0, (), f"To be explored first: {listed(played)}{one_of(played)}."
        left, levels, sentences = allowed.copy(), [], []
        for i in range(self.objectives):
            lowest = np.where(left, 2.0 * looks.means[i] - looks.reaches[i], -np.inf)
            top = int(lowest.argmax())
            if i < self.objectives - 1:
                left &= looks.reaches[i] >= lowest[top] - looks.bands[i]
                sentences.append(
                    f"The highest lower bound in {objective(i)} is that of {listed([top])}. Upper "
                    f"bounds within the tolerance of it: {listed(np.flatnonzero(left).tolist())}."
                )
            levels.append(Level(top, tuple(np.flatnonzero(left).tolist())))
        sentences.append(
            f"{listed(played)}: highest index in {objective(self.objectives - 1)}{drawn(played)}."
        )
        return left, tuple(levels), " ".join(sentences)


register(
    "cs-etc",
    CostSubsidyExploreThenCommit,
    "CS-ETC: explore, then commit by bounds (Sinha et al., 2021), on a pooled regression.",
    features=mixed_features,
)
