"""CS-TS: Thompson sampling with cost subsidy."""

from typing import Any

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import rivals as kernel
from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.linear.pooled import Looks, PooledPolicy
from lexbandit.policies.registry import register


class CostSubsidyThompson(PooledPolicy):
    """Draw from the posterior, keep the arms whose draws are within the tolerance of the highest.

    Sinha, Sankararaman, Kazerouni and Avadhanula (2021), "Multi-armed bandits with cost subsidy",
    AISTATS: draw z_a from every arm's posterior of the reward, and play the cheapest of the arms
    with z_a ≥ (1 − α) max z.

    Adapted: the posterior is N(m_a, (draw_width · s_a)²) of a pooled regression on features of the
    context (`kernels.pooled`), where the paper has Beta or normal posteriors without contexts;
    (1 − α) max z becomes max z − tolerance; the paper's costs are known, here the last objective is
    learned and its highest draw is played, with draws for every objective, in order, if there are
    more than two. The paper's first round over all arms is left out, since the posterior is proper.

    The probability of an arm has no closed form: it is NaN in `select` and `explain`, and 0 for an
    arm that is not allowed.
    """

    _rule = kernel.LOOPS

    def __init__(self, *, draw_width: float = 1.0, tolerance: Any = 0.0, **pooled: Any) -> None:
        self.draw_width = checks.positive("draw_width", draw_width)
        settings = kernel.settings_of(kernel.CS_TS, draw_width=self.draw_width)
        super().__init__(settings=settings, tolerance=tolerance, **pooled)

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        return (
            allowed,
            (),
            "Posterior draws of every objective, in order: the arms whose draws are within the "
            "tolerance of the highest stay, and of the last objective the highest draw is played.",
        )


register(
    "cs-ts",
    CostSubsidyThompson,
    "CS-TS: candidates by posterior draws (Sinha et al., 2021), on a pooled regression.",
    features=mixed_features,
)
