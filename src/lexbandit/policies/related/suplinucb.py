"""SupLinUCB on the dominant objective."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.features import FeatureMap, features_for
from lexbandit.kernels import linear
from lexbandit.kernels import linear_stages as kernel
from lexbandit.kernels.linear_features import GIVEN
from lexbandit.kernels.statistics import DOMINANT, Estimates
from lexbandit.kernels.ties import shares_of_best
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.registry import REGISTRY


class SupLinUCBRule(LinearPolicy):
    """LinUCB in S = ⌈ln T⌉ stages, each with data of its own, on the dominant objective.

    Chu, Li, Reyzin and Schapire (2011), "Contextual bandits with linear payoff functions", AISTATS:
    SupLinUCB with BaseLinUCB. From stage s = 1 on, with all arms left at first and the stage's own
    regressions, w_a = α sqrt(φᵀA_a⁻¹φ), α = sqrt(½ ln(2TK/δ)) times `scale`:

        all w_a ≤ 1/√T:   play the highest φᵀθ_a + w_a, store nothing
        all w_a ≤ 2^(−s): keep the arms with φᵀθ_a + w_a ≥ the highest − 2^(1−s), go to stage s + 1
        otherwise:        play an arm with w_a > 2^(−s), store the round in stage s

    Where the paper leaves open which wide arm is played, it is the widest. The paper has one θ for
    contexts that differ by arm; here the context is the same for all arms and each has its own θ,
    which is the paper's setting with the context put into the arm's own block.

    `update` is told no stage. A round is stored in the first stage at which its arm is wide,
    w_a > 2^(−s), and nowhere if w_a ≤ 1/√T comes first. At scale 1 that is the stage that chose it;
    at small scales an arm may be narrow at a stage where a rival is not, and is then stored
    elsewhere or nowhere. It depends on widths alone and on no reward, which is what the proof needs
    of a stage's data.
    """

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        horizon: int,
        delta: float,
        scale: float,
        ridge: float,
        seed: int,
    ) -> None:
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.delta = checks.probability("delta", delta)
        self.scale = checks.positive("scale", scale)
        super().__init__(
            arms=arms,
            objectives=objectives,
            features=features,
            ridge=ridge,
            seed=seed,
            stages=max(1, math.ceil(math.log(self.horizon))),
        )
        self._finest = 1.0 / math.sqrt(self.horizon)

    @property
    def multiplier(self) -> float:
        """The paper's α: what sqrt(φᵀA⁻¹φ) is multiplied by; it grows with the number of arms."""
        return self.scale * math.sqrt(0.5 * math.log(2.0 * self.horizon * self.arms / self.delta))

    def _walk(self, features: Floats, ceilings: Floats) -> tuple[int, bool, Floats]:
        memory = self._memory
        return kernel.walk(
            features,
            ceilings,
            self.multiplier,
            self._finest,
            self.stages,
            memory.inverses,
            memory.weights,
            memory.counts,
        )

    def _look(self, features: Floats, ceilings: Floats) -> Estimates:
        memory = self._memory
        stage, _, _ = self._walk(features, ceilings)
        return linear.look(
            features,
            self.multiplier,
            1.0,
            self.stages,
            stage,
            self.arms,
            memory.inverses,
            memory.weights,
            memory.counts,
        )

    def _update(self, kind: int, point: Floats, arm: int, rewards: Floats) -> int:
        """Record a play in the model of the stage it belongs to."""
        memory = self._memory
        if kind != GIVEN:
            checks.in_unit_cube("context", point)
            point = self.features.of_checked(point[np.newaxis])[0]
        features = point[np.newaxis]
        row = kernel.home(
            features,
            arm,
            self.multiplier,
            self._finest,
            self.stages,
            memory.inverses,
            memory.counts,
        )
        return linear.update(
            GIVEN,
            point,
            self._table,
            arm,
            row,
            rewards,
            self._plays,
            self._clock,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
        )

    def _update_many(self, features: Floats, arms: Integers, rewards: Floats) -> None:
        # Which model learns from a round depends on the rounds before.
        for t, arm in enumerate(arms.tolist()):
            if self._update(GIVEN, features[t], arm, rewards[t]) == linear.PARTIAL:
                self._memory.split()
                self._update(GIVEN, features[t], arm, rewards[t])

    def _select(self, point: Floats, ceilings: Floats) -> tuple[int, float]:
        return self._select_as(self._kind, point, ceilings)

    def _select_as(self, kind: int, point: Floats, ceilings: Floats) -> tuple[int, float]:
        memory = self._memory
        return kernel.select(
            kind,
            point,
            self._table,
            ceilings,
            self.multiplier,
            self._finest,
            self.stages,
            memory.inverses,
            memory.weights,
            memory.counts,
            self._random,
        )

    def _select_many(
        self, features: Floats, ceilings: Floats, arms: Integers, propensities: Floats
    ) -> None:
        for t in range(len(features)):
            mine = ceilings if len(ceilings) == 1 else ceilings[t : t + 1]
            arms[t], propensities[t] = self._select_as(GIVEN, features[t], mine)

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
            self._finest,
            self.stages,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
            self._random,
            arms,
        )

    def _shares(self, features: Floats, ceilings: Floats, known: Estimates) -> Floats:
        _, _, ranking = self._walk(features, ceilings)
        return shares_of_best(ranking, 0, DOMINANT, ceilings, 0)

    def _reason(
        self, features: Floats, ceilings: Floats, known: Estimates, shares: Floats
    ) -> tuple[Booleans, str]:
        stage, explores, ranking = self._walk(features, ceilings)
        chosen = likely(shares)
        where = f"stage {stage + 1} of {self.stages}"
        if explores:
            limit = 2.0 ** -(stage + 1)
            why = f"the widest at {where}, where a width of {limit:.4g} is asked for{drawn(chosen)}"
        else:
            why = (
                f"highest index in {objective(0)} at {where}, all widths there being at most "
                f"1/√T{drawn(chosen)}"
            )
        return np.asarray(ranking[0, 0] > -math.inf), f"{listed(chosen)}: {why}."


@REGISTRY.register("suplinucb")
def suplinucb(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    features: Any = "raw",
    delta: float | None = None,
    scale: float = 1.0,
    ridge: float = 1.0,
    seed: int = 0,
) -> SupLinUCBRule:
    """SupLinUCB on the dominant objective, in stages (Chu et al., 2011)."""
    return SupLinUCBRule(
        arms=arms,
        objectives=objectives,
        features=features_for(features, dimension=dimension),
        horizon=horizon,
        delta=0.05 if delta is None else delta,
        scale=scale,
        ridge=ridge,
        seed=seed,
    )
