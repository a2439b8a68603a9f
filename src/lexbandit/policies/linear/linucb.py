"""LinUCB on the dominant objective."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.features import FeatureMap, features_for
from lexbandit.kernels import linear
from lexbandit.kernels import linear_dominant as kernel
from lexbandit.kernels.statistics import DOMINANT, Estimates
from lexbandit.kernels.ties import shares_of_best
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.registry import REGISTRY


class LinUCBRule(LinearPolicy):
    """The highest φᵀθ_a + α sqrt(φᵀA_a⁻¹φ) in the dominant objective, A_a = I + Σφφᵀ.

    Li, Chu, Langford and Schapire (2010), "A contextual-bandit approach to personalized news
    article recommendation", WWW, Algorithm 1 (disjoint linear models), with α = 1 + sqrt(ln(2/δ)/2)
    as below equation (4), times `scale`. Two deviations: the context is the same for all arms, and
    an arm never observed has an infinite width, so that it is tried whatever the scale and the
    size of the rewards; at scale 1 and rewards in [0, 1] it is tried first anyway. Rewards in other
    objectives are recorded, for `explain`, and never decide.
    """

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        delta: float,
        scale: float,
        ridge: float,
        seed: int,
    ) -> None:
        super().__init__(
            arms=arms, objectives=objectives, features=features, ridge=ridge, seed=seed
        )
        self.delta = checks.probability("delta", delta)
        self.scale = checks.positive("scale", scale)

    @property
    def multiplier(self) -> float:
        """The paper's α: what sqrt(φᵀA⁻¹φ) is multiplied by."""
        return self.scale * (1.0 + math.sqrt(math.log(2.0 / self.delta) / 2.0))

    def _look(self, features: Floats, ceilings: Floats) -> Estimates:
        memory = self._memory
        return linear.look(
            features,
            self.multiplier,
            1.0,
            1,
            0,
            self.arms,
            memory.inverses,
            memory.weights,
            memory.counts,
        )

    def _select(self, point: Floats, ceilings: Floats) -> tuple[int, float]:
        memory = self._memory
        return kernel.select(
            self._kind,
            point,
            self._table,
            ceilings,
            self.multiplier,
            memory.inverses,
            memory.weights,
            memory.counts,
            self._random,
        )

    def _select_many(
        self, features: Floats, ceilings: Floats, arms: Integers, propensities: Floats
    ) -> None:
        memory = self._memory
        kernel.select_many(
            features,
            ceilings,
            self.multiplier,
            memory.inverses,
            memory.weights,
            memory.counts,
            self._random,
            arms,
            propensities,
        )

    def _replay(
        self, start: int, features: Floats, outcomes: Floats, ceilings: Floats, arms: Integers
    ) -> int:
        memory = self._memory
        return kernel.replay(
            start,
            features,
            outcomes,
            ceilings,
            self._plays,
            self._clock,
            self.multiplier,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
            self._random,
            arms,
        )

    def _shares(self, features: Floats, ceilings: Floats, known: Estimates) -> Floats:
        return shares_of_best(known.indices, 0, DOMINANT, ceilings, 0)

    def _reason(
        self, features: Floats, ceilings: Floats, known: Estimates, shares: Floats
    ) -> tuple[Booleans, str]:
        chosen = likely(shares)
        reason = f"{listed(chosen)}: highest index in {objective(0)}{drawn(chosen)}."
        return np.asarray(shares > 0), reason


@REGISTRY.register("linucb")
def linucb(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    features: Any = "raw",
    delta: float | None = None,
    scale: float = 1.0,
    ridge: float = 1.0,
    seed: int = 0,
) -> LinUCBRule:
    """LinUCB on the dominant objective, disjoint models (Li et al., 2010)."""
    return LinUCBRule(
        arms=arms,
        objectives=objectives,
        features=features_for(features, dimension=dimension),
        delta=0.05 if delta is None else delta,
        scale=scale,
        ridge=ridge,
        seed=seed,
    )
