"""LexThompson: LexLinUCB's levels, with a draw from the posterior where an arm is chosen."""

import math
from typing import Any

from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.features import features_for
from lexbandit.kernels import linear_thompson as kernel
from lexbandit.kernels.statistics import WIDTH
from lexbandit.policies.lex_linucb import LexLinearRule
from lexbandit.policies.making import REGISTRY
from lexbandit.policies.wording import drawn, likely, listed, objective


class LexThompsonRule(LexLinearRule):
    """Candidates by confidence, as LexLinUCB has them; among them the highest posterior draw.

    Levels, widths and τ_t are LexLinUCB's. The level that decides is the first whose top arm has
    a width above τ_t, or the last one. Each candidate a of that level i draws
    s_a ~ N(φᵀθ^i_a, w_a²), independently, and the highest draw is played. So while a level is not
    known well enough, every arm still open at it is played as often as it may be the best; an arm
    never observed in objective i comes first. Of arms tied at the top of a level all must be known
    well enough, and the lowest floor of theirs holds: nothing but the draws is random.

    The draws are those of linear Thompson sampling (Agrawal and Goyal, 2013, "Thompson sampling for
    contextual bandits with linear payoffs", ICML), whose deviation also grows with sqrt(ln t);
    levels are a derivation of this project. The probability of an arm is
    ∫ (1/w_a) φ((s − m_a)/w_a) Π_{b≠a} Φ((s − m_b)/w_b) ds, computed to about 10⁻¹⁰.
    """

    _replay_by = staticmethod(kernel.replay)

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

    def _shares(self, features: Floats, ceilings: Floats, stats: Floats) -> Floats:
        return kernel.shares(stats, ceilings, self.tau, self.tolerances, self.lam)

    def _reason(
        self, features: Floats, ceilings: Floats, stats: Floats, shares: Floats
    ) -> tuple[Booleans, str]:
        level, left = kernel.candidates(stats, ceilings, self.tau, self.tolerances, self.lam)
        where = f"in {objective(level)}"
        unseen = [arm for arm in likely(shares) if stats[0, level, WIDTH, arm] == math.inf]
        if unseen:
            return left, f"{listed(unseen)}: not observed yet {where}{drawn(unseen)}."
        told = self._told(self._levels(ceilings, stats))
        arms = [int(arm) for arm in left.nonzero()[0]]
        if len(arms) == 1:
            return left, f"{told} To be played: {listed(arms)}, the only one left."
        if level < self.objectives - 1:
            told += (
                f" No arm at the top {where} is known to within τ = {self.tau:.4g} yet, so "
                f"{objective(level + 1)} is not considered."
            )
        reason = f"{told} To be played: the highest posterior draw {where} among {listed(arms)}."
        return left, reason.strip()


@REGISTRY.register("lex-thompson")
def lex_thompson(
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
) -> LexThompsonRule:
    """LexThompson: LexLinUCB with posterior draws among the candidates; anytime."""
    return LexThompsonRule(
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
