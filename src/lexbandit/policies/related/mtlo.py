"""MTLO: lexicographic bandits on linear means, by stages of finer and finer widths."""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import widest_of
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.linear import LinearWork, Models, estimate, linear_rule
from lexbandit.kernels.ties import ONLY_ROW
from lexbandit.policies.base import Prior
from lexbandit.policies.explain import drawn, likely, listed, one_of
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.linear.features import any_features
from lexbandit.policies.registry import register

# The settings: R·sqrt(K F), the norm U, D/δ, λ, the finest width 1/√T, and the scale of widths.
NOISE, NORM, INTERVALS, LAM, FINEST, SCALE = 0, 1, 2, 3, 4, 5


@leaf
def gamma_at(models: Models) -> float:
    """Return γ_t = scale · (R sqrt(K F ln(2 D t/δ)) + U) of the coming round t."""
    settings = models.settings
    level = math.log(2.0 * settings[INTERVALS] * (models.clock[0] + 1.0))
    return float(settings[SCALE] * (settings[NOISE] * math.sqrt(level) + settings[NORM]))


@kernel
def filter_arms(work: LinearWork, width: float, lam: float) -> None:
    """Rule out arms whose index is too far below the highest, objective by objective.

    In objective i the allowance is (2 + 4λ + … + 4λ^(i−1)) · `width`. work.ranking[0, 0, arm] is
    −∞ for an arm that is out.
    """
    allowance, power = 2.0 * width, 1.0
    for i in range(work.indices.shape[1]):
        if i > 0:
            power *= lam
            allowance += 4.0 * power * width
        top = -math.inf
        for arm in range(work.indices.shape[2]):
            if work.ranking[0, 0, arm] > -math.inf:
                top = max(top, work.indices[0, i, arm])
        for arm in range(work.indices.shape[2]):
            if work.indices[0, i, arm] < top - allowance:
                work.ranking[0, 0, arm] = -math.inf


@kernel
def walk(
    models: Models, features: Array, t: int, ceilings: Array, row: int, work: LinearWork
) -> tuple[int, bool]:
    """Walk the stages; return the last, from 1, and whether it explores.

    work.ranking[0, 0, arm] is what the arm to play has the most of, −∞ for an arm that will not be
    played: the same for all arms that are left at the end, else the width.
    """
    stages = models.counts.shape[0] // models.plays.shape[0]  # 1
    estimate(models, features, t, gamma_at(models), 1.0, stages, ONLY_ROW, work)
    arms, objectives = ceilings.shape[1], work.stats.shape[2]
    finest, lam = models.settings[FINEST], models.settings[LAM]
    for arm in range(arms):
        work.ranking[0, 0, arm] = ceilings[row, arm]
    stage = 1
    while True:
        widest = 0.0
        for arm in range(arms):
            if work.ranking[0, 0, arm] > -math.inf:
                widest = max(widest, widest_of(work, ONLY_ROW, arm, objectives))
        if widest <= finest:
            filter_arms(work, finest, lam)
            return stage, False
        limit = 2.0**-stage
        if widest > limit:
            for arm in range(arms):
                if work.ranking[0, 0, arm] > -math.inf:
                    work.ranking[0, 0, arm] = widest_of(work, ONLY_ROW, arm, objectives)
            return stage, True
        filter_arms(work, limit, lam)
        stage += 1


@leaf
def look(
    models: Models, features: Array, t: int, ceilings: Array, row: int, work: LinearWork
) -> None:
    """Walk the stages."""
    walk(models, features, t, ceilings, row, work)


class MtloRule(LinearPolicy):
    """Explore the widest arm; rule out what is worse, objective by objective, as widths shrink.

    Xue et al. (2025), "Multiple trade-offs: an improved approach for lexicographic linear bandits",
    AAAI: MTLO. With w_a = γ_t sqrt(φᵀA_a⁻¹φ), γ_t = R sqrt(d ln(2 D t/δ)) + U, all arms left at
    first and s = 1:

        all w_a ≤ 1/√T:    filter with W = 1/√T and play one of the arms left, uniformly
        some w_a > 2^(−s): play such an arm
        otherwise:         filter with W = 2^(−s), s + 1

    The filter keeps, for i = 1 to D, the arms with φᵀθ^i_a + w_a ≥ the highest of those left less
    (2 + 4λ + … + 4λ^(i−1)) W. Its regret in objective i is at most
    4 (1 + λ + … + λ^(i−1)) (√T + 10 γ_T ln T sqrt(dT)): Õ(d √T), with λ of the trade-offs known.

    The paper has one θ for arms that differ in their features; here each arm has its own, which is
    the paper's setting with the context put into the arm's own block, so d = K F. U bounds the norm
    of all θ together (`norm`). The proof needs ‖φ‖ ≤ 1: features are divided by a bound c on their
    norm, which is the same as a `ridge` of c² with the features as they are, the default. Where the
    paper leaves open which wide arm is played, it is the widest. An arm never observed has an
    infinite width; with rewards missing, w_a is the largest of the objectives. The twin is in
    tests/twins/linear.py.
    """

    _rule = linear_rule(look=look)

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        horizon: int,
        lam: float = 1.0,
        R: float | None = None,
        norm: float = 1.0,
        delta: float | None = None,
        scale: float = 1.0,
        ridge: float | None = None,
        **linear: Any,
    ) -> None:
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.lam = checks.at_least_zero("lam", lam)
        self.R = checks.positive("R", 0.5 if R is None else R)
        self.norm = checks.positive("norm", norm)
        self.delta = checks.probability("delta", 0.05 if delta is None else delta)
        self.scale = checks.positive("scale", scale)
        noise = self.R * math.sqrt(arms * linear["features"].count)
        finest = 1.0 / math.sqrt(self.horizon)
        super().__init__(
            arms=arms,
            objectives=objectives,
            ridge=linear["features"].squared_norm if ridge is None else ridge,
            settings=[noise, self.norm, objectives / self.delta, self.lam, finest, self.scale],
            ranked=objectives,
            **linear,
        )

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number. All widths grow with the number of arms."""
        number = super().add_arm(prior)
        noise = self.R * math.sqrt(self.arms * self.features.count)
        self._memory.models.settings[NOISE] = noise
        return number

    def _reason(
        self, features: Floats, ceilings: Floats, work: LinearWork, shares: Floats
    ) -> tuple[Booleans, str]:
        stage, explores = walk(self._memory.models, features, 0, ceilings, 0, work)
        chosen = likely(shares)
        if explores:
            why = f"the widest at stage {stage}, where a width of {2.0**-stage:.4g} is asked for"
            reason = f"{listed(chosen)}: {why}{drawn(chosen)}."
        else:
            left = "as good as any in every objective, to within what the widths 1/√T tell"
            reason = f"{listed(chosen)}: {left}{one_of(chosen)}."
        return np.asarray(work.ranking[0, 0] > -math.inf), reason


register(
    "mtlo",
    MtloRule,
    "MTLO: lexicographic on linear means, by stages of finer widths (Xue et al., 2025).",
    features=any_features("raw"),
)
