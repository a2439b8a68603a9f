"""LinUCB on the dominant objective."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.linear import LinearWork, Models, estimate, linear_rule
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import DOMINANT, ONLY_ROW, best_arm, shares_of_best
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.linear.features import any_features
from lexbandit.policies.registry import register


@leaf
def look(
    models: Models, features: Array, t: int, _ceilings: Array, _row: int, work: LinearWork
) -> None:
    """Estimate with widths of settings[0] = α times sqrt(φᵀA⁻¹φ)."""
    stages = models.counts.shape[0] // models.plays.shape[0]  # 1
    estimate(models, features, t, models.settings[0], 1.0, stages, ONLY_ROW, work)


@leaf
def pick(_models: Models, ceilings: Array, row: int, random: RandomState, work: LinearWork) -> int:
    """Return an arm of the highest index in the dominant objective."""
    return best_arm(work.indices, 0, DOMINANT, -math.inf, ceilings, row, random)


@kernel
def shares(_models: Models, ceilings: Array, row: int, work: LinearWork) -> Array:
    """Return the exact probability with which `pick` returns each arm."""
    return shares_of_best(work.indices, 0, DOMINANT, ceilings, row)


class LinUCBRule(LinearPolicy):
    """The highest φᵀθ_a + α sqrt(φᵀA_a⁻¹φ) in the dominant objective, A_a = I + Σφφᵀ.

    Li, Chu, Langford and Schapire (2010), "A contextual-bandit approach to personalized news
    article recommendation", WWW, Algorithm 1 (disjoint linear models), with α = 1 + sqrt(ln(2/δ)/2)
    as below equation (4), times `scale`. Two deviations: the context is the same for all arms, and
    an arm never observed has an infinite width, so that it is tried whatever the scale and the
    size of the rewards; at scale 1 and rewards in [0, 1] it is tried first anyway. Rewards in other
    objectives are recorded, for `explain`, and never decide. The twin is in tests/twins/linear.py.
    """

    _rule = linear_rule(look=look, pick=pick, shares=shares)

    def __init__(
        self,
        *,
        delta: float | None = None,
        scale: float = 1.0,
        ridge: float = 1.0,
        **linear: Any,
    ) -> None:
        self.delta = checks.probability("delta", 0.05 if delta is None else delta)
        self.scale = checks.positive("scale", scale)
        super().__init__(ridge=ridge, settings=[self.multiplier], ranked=1, **linear)

    @property
    def multiplier(self) -> float:
        """The paper's α: what sqrt(φᵀA⁻¹φ) is multiplied by."""
        return self.scale * (1.0 + math.sqrt(math.log(2.0 / self.delta) / 2.0))

    def _reason(
        self, features: Floats, ceilings: Floats, work: LinearWork, shares: Floats
    ) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: highest index in {objective(0)}{drawn(chosen)}."
        return np.asarray(shares > 0), reason


register(
    "linucb",
    LinUCBRule,
    "LinUCB on the dominant objective, disjoint models (Li et al., 2010).",
    features=any_features("raw"),
)
