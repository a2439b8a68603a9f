"""LexLinUCB: lexicographic by levels, on features of the context instead of cells."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.features import FeatureMap, features_for
from lexbandit.kernels import lexicographic, linear
from lexbandit.kernels import linear_lexicographic as kernel
from lexbandit.kernels.statistics import WIDTH, Estimates
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.levels import Levels, levels_of, told
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.registry import REGISTRY


class LexLinearRule(LinearPolicy):
    """The best arm among those as good above, by ridge regressions on features.

    At φ = φ(x) in round t, with θ and A of each arm's regression,

        w_a = γ_t sqrt(φᵀA_a⁻¹φ),    γ_t = scale · exploration · sqrt(2 ln(1 + t))
        U^i_a = φᵀθ^i_a + w_a,       L^i_a = φᵀθ^i_a − w_a
        τ_t = max(threshold · t^(−power), the least tolerance of an objective before the last)

    The top arm h_i of level i has the highest U^i among the candidates, all arms at first. If its
    width exceeds τ_t, or at the last level, it is played. Otherwise the candidates with
    U^i_a ≥ L^i_h − tolerance_i − e_i go on, where e_i is what λ adds beyond two objectives; see
    `kernels.lexicographic`, with a margin of 0. No horizon is needed: t counts updates. An arm
    observed fewer than `start` times in an objective has an infinite width there.

    At powers below ½ τ_t falls more slowly than a width, so every level is reached; and it falls,
    so a top arm is measured again and again: otherwise only its rival would be, and a tie would
    never resolve. Known to within its tolerance, an arm is known well enough.

    A derivation of this project, in the way of LinUCB (Li et al., 2010) and MOC-MAB (Tekin and
    Turğay, 2018). `exploration` = 0.1 is chosen for speed of learning and has no coverage: its
    intervals are narrower than the noise, so an arm that was unlucky early may never be tried again
    (docs/policies/lex-linucb.md). The theory's width (Abbasi-Yadkori et al., 2011, Theorem 2) is
    more than ten times as wide.
    """

    # A sibling with the same levels and settings brings its own two.
    _replay_by = staticmethod(kernel.replay)

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        features: FeatureMap,
        ridge: float,
        exploration: float,
        threshold: float,
        power: float,
        tolerance: Any,
        lam: float,
        seed: int,
        scale: float = 1.0,
        start: int = 1,
    ) -> None:
        super().__init__(
            arms=arms, objectives=objectives, features=features, ridge=ridge, seed=seed
        )
        self.exploration = checks.positive("exploration", exploration)
        self.scale = checks.positive("scale", scale)
        self.threshold = checks.positive("threshold", threshold)
        self.power = checks.positive("power", power, most=0.5)
        self.lam = checks.at_least_zero("lam", lam)
        self.start = checks.whole("start", start, least=1)
        self.tolerances = checks.tolerances(tolerance, objectives)
        self._settings = np.array(
            [self.scale * self.exploration, self.threshold, self.power, self.lam, self.start]
        )

    @property
    def tau(self) -> float:
        """τ_t of the coming round: the width from which an arm counts as known."""
        return float(kernel.threshold_at(self._clock, self._settings, self.tolerances))

    def _look(self, features: Floats, ceilings: Floats) -> Estimates:
        memory = self._memory
        gamma = kernel.gamma_at(self._clock, self._settings)
        return linear.look(
            features,
            gamma,
            float(self.start),
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
            self._clock,
            self._settings,
            self.tolerances,
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
            self._clock,
            self._settings,
            self.tolerances,
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
        return self._replay_by(
            start,
            features,
            outcomes,
            ceilings,
            self._plays,
            self._clock,
            self._settings,
            self.tolerances,
            memory.grams,
            memory.inverses,
            memory.moments,
            memory.weights,
            memory.counts,
            self._random,
            arms,
        )

    def _shares(self, features: Floats, ceilings: Floats, known: Estimates) -> Floats:
        return lexicographic.shares(known, 0, ceilings, 0, self.tau, self.tolerances, 0.0, self.lam)

    def _levels(self, ceilings: Floats, known: Estimates) -> Levels:
        return levels_of(known, 0, ceilings, self.tau, self.tolerances, 0.0, self.lam)

    def _reason(
        self, features: Floats, ceilings: Floats, known: Estimates, shares: Floats
    ) -> tuple[Booleans, str]:
        levels = self._levels(ceilings, known)
        chosen = likely(shares)
        if levels.unsure:
            return levels.candidates, self._unsure(known, levels, chosen)
        if self.objectives == 1:
            return levels.candidates, f"{listed(chosen)}: highest index{drawn(chosen)}."
        last = f"the highest index among them in {objective(self.objectives - 1)}{drawn(chosen)}"
        return levels.candidates, f"{self._told(levels)} To be played: {listed(chosen)}, {last}."

    def _told(self, levels: Levels) -> str:
        """Return what happened at the levels that are known well enough."""
        less = ["the tolerance"] * self.objectives
        return told(levels, known=f"τ = {self.tau:.4g}", less=less, lam=self.lam)

    def _unsure(self, known: Estimates, levels: Levels, chosen: list[int]) -> str:
        """Return the reason while a level's top arm has a width above τ."""
        level = len(levels.tops) - 1
        width = known.stats[0, levels.tops[-1], level, WIDTH]
        where = f" in {objective(level)}"
        if width == math.inf:
            return f"{listed(chosen)}: not observed yet{where if level else ''}{drawn(chosen)}."
        return (
            f"{listed(chosen)}: highest index{where}{drawn(chosen)}, but its width {width:.4g} "
            f"exceeds τ = {self.tau:.4g}, so it is played to learn about it and "
            f"{objective(level + 1)} is not considered yet."
        )


@REGISTRY.register("lex-linucb")
def lex_linucb(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    features: Any = "legendre",
    ridge: float = 0.1,
    exploration: float = 0.1,
    threshold: float = 2.5,
    power: float = 1 / 3,
    start: int = 20,
    tolerance: Any = 0.0,
    lam: float = 0.0,
    scale: float = 1.0,
    seed: int = 0,
) -> LexLinearRule:
    """LexLinUCB: objectives in order on a ridge regression of features per arm; anytime."""
    return LexLinearRule(
        arms=arms,
        objectives=objectives,
        features=features_for(features, dimension=dimension),
        ridge=ridge,
        exploration=exploration,
        threshold=threshold,
        power=power,
        start=start,
        tolerance=tolerance,
        lam=lam,
        scale=scale,
        seed=seed,
    )
