"""LexThompson: posterior draws, learned noise, and a tolerance that binds. A chooser's default."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.features import features_for
from lexbandit.kernels import pooled_rules as kernel
from lexbandit.policies.making import REGISTRY
from lexbandit.policies.pooled_policy import Looks, PooledPolicy
from lexbandit.policies.wording import listed, objective

# How far above its estimate an arm has the benefit of the doubt at caution 1, in deviations of the
# posterior; and how much wider the draws of the last objective are than those of the others.
_BENEFIT = 1.15
_LAST = 1.15
# The band of an objective without a tolerance: this share of the noise, times t^(−1/3).
_FLOOR = 0.5


class LexThompsonRule(PooledPolicy):
    """Draw from the posterior, keep the arms within the tolerance of the best draw, level by level.

    With posterior mean m and deviation s of every arm in the context (`kernels.pooled`), and C the
    allowed arms: for each objective but the last, draw z_a ~ N(m_a, (exploration · s_a)²) for a in
    C, let h be the arm of the highest draw, and keep C ← {h} ∪ {a in C : m_a + κ s_a ≥ z_h − band},
    κ = 1.15/caution. The band is the objective's tolerance, or ½ σ t^(−1/3) if that is 0, which
    lets exact ties resolve. In the last objective the arm of the highest draw is played, with draws
    of deviation 1.15 · exploration · s.

    A derivation of this project. With one objective and exploration 1 it is linear Thompson
    sampling (Agrawal and Goyal, 2013, ICML); bands below a sampled best are those of CS-TS (Sinha
    et al., 2021, AISTATS), here with the benefit of the doubt instead of draws for those inside.
    """

    rule = kernel.LEX_THOMPSON

    def __init__(self, *, caution: float, exploration: float, **parameters: Any) -> None:
        self.caution = checks.positive("caution", caution)
        self.exploration = checks.positive("exploration", exploration)
        settings = np.zeros(kernel.SETTINGS)
        settings[kernel.BENEFIT] = _BENEFIT / self.caution
        settings[kernel.DRAWS] = self.exploration
        settings[kernel.LAST_DRAWS] = _LAST * self.exploration
        settings[kernel.FLOOR] = _FLOOR
        super().__init__(settings=settings, **parameters)

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        left = allowed.copy()
        levels, told = [], []
        for i in range(self.objectives - 1):
            means = np.where(left, looks.means[i], -np.inf)
            top = int(means.argmax())
            left &= looks.reaches[i] >= means[top] - looks.bands[i]
            left[top] = True
            levels.append(Level(top, tuple(np.flatnonzero(left).tolist())))
            told.append(
                f"The highest estimate in {objective(i)} is that of {listed([top])}. Within the "
                f"band of {looks.bands[i]:.4g}, with the benefit of the doubt: "
                f"{listed(np.flatnonzero(left).tolist())}."
            )
        likely = np.flatnonzero(shares > 0)
        order = likely[np.argsort(-shares[likely], kind="stable")]
        last = np.where(left, looks.means[-1], -np.inf)
        levels.append(Level(int(last.argmax()), tuple(np.flatnonzero(left).tolist())))
        told.append(
            f"The draws favour {listed([int(order[0])])}, with probability {shares[order[0]]:.3g}."
        )
        return left | (shares > 0), tuple(levels), " ".join(told)


@REGISTRY.register("lex-thompson")
def lex_thompson(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    features: Any = "mixed",
    layout: Any = (),
    caution: float = 1.0,
    exploration: float = 0.6,
    tolerance: Any = 0.0,
    seed: int = 0,
) -> LexThompsonRule:
    """LexThompson: posterior draws with learned noise, and tolerances that bind; the default."""
    if features == "mixed":
        features = {"name": "mixed", "layout": layout}
    return LexThompsonRule(
        arms=arms,
        objectives=objectives,
        features=features_for(features, dimension=dimension),
        caution=caution,
        exploration=exploration,
        tolerance=tolerance,
        seed=seed,
    )
