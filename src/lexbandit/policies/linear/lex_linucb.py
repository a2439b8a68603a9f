"""LexLinUCB: lexicographic by levels, on features of the context instead of cells."""

import math
from typing import Any

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels import lexicographic
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.lexicographic import Limits
from lexbandit.kernels.linear import LinearWork, Models, estimate, linear_rule
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import ONLY_ROW
from lexbandit.policies.explain import likely
from lexbandit.policies.levels import Levels, levels_of, reason_of
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.linear.features import any_features
from lexbandit.policies.registry import register

# The settings are the tolerances, one an objective; then these.
WIDTH_FACTOR, THRESHOLD, POWER, LAM, START = 0, 1, 2, 3, 4


@leaf
def threshold_at(models: Models) -> float:
    """Return τ_t = c · t^(−p) of the coming round t, or the least tolerance if that is more.

    The last objective's tolerance does not count: nothing comes after it.
    """
    settings, objectives = models.settings, models.counts.shape[1]
    least = math.inf if objectives > 1 else 0.0
    for i in range(objectives - 1):
        least = min(least, settings[i])
    falling = (models.clock[0] + 1.0) ** -settings[objectives + POWER]
    return float(max(settings[objectives + THRESHOLD] * falling, least))


@leaf
def limits_at(models: Models) -> Limits:
    """Return what the rule goes by in the coming round: τ_t, no blur, and λ."""
    return Limits(threshold_at(models), 0.0, models.settings[models.counts.shape[1] + LAM])


@leaf
def look(
    models: Models, features: Array, t: int, _ceilings: Array, _row: int, work: LinearWork
) -> None:
    """Estimate with γ_t = width_factor · sqrt(2 ln(1 + t)) of the coming round t."""
    objectives = models.counts.shape[1]
    gamma = models.settings[objectives + WIDTH_FACTOR]
    gamma *= math.sqrt(2.0 * math.log(models.clock[0] + 2.0))
    stages = models.counts.shape[0] // models.plays.shape[0]  # 1
    start = models.settings[objectives + START]
    estimate(models, features, t, gamma, start, stages, ONLY_ROW, work)


@leaf
def pick(models: Models, ceilings: Array, row: int, random: RandomState, work: LinearWork) -> int:
    """Return the arm to play with one or two objectives."""
    return lexicographic.choose_of_two(
        work, 0, ceilings, row, models.settings, limits_at(models), random
    )


@kernel
def shares(models: Models, ceilings: Array, row: int, work: LinearWork) -> Array:
    """Return the exact probability with which `pick` returns each arm."""
    return lexicographic.shares_of_two(work, 0, ceilings, row, models.settings, limits_at(models))


@kernel
def pick_of_many(
    models: Models, ceilings: Array, row: int, random: RandomState, work: LinearWork
) -> int:
    """Return the arm to play with more than two objectives."""
    return lexicographic.choose_of_many(
        work, 0, ceilings, row, models.settings, limits_at(models), random
    )


@kernel
def shares_of_many(models: Models, ceilings: Array, row: int, work: LinearWork) -> Array:
    """Return the exact probability with which `pick_of_many` returns each arm."""
    return lexicographic.shares_of_many(work, 0, ceilings, row, models.settings, limits_at(models))


class LexLinearRule(LinearPolicy):
    """The best arm among those as good above, by ridge regressions on features.

    At φ = φ(x) in round t, with θ and A of each arm's regression,

        w_a = γ_t sqrt(φᵀA_a⁻¹φ),    γ_t = scale · width_factor · sqrt(2 ln(1 + t))
        U^i_a = φᵀθ^i_a + w_a,       L^i_a = φᵀθ^i_a − w_a
        τ_t = max(threshold · t^(−power), the least tolerance of an objective before the last)

    The top arm h_i of level i has the highest U^i among the candidates, all arms at first. If its
    width in an objective up to i exceeds τ_t, or at the last level, it is played. Otherwise the
    candidates with U^i_a ≥ L^i_h − tolerance_i − e_i go on, where e_i is what λ adds beyond two
    objectives; see `kernels.lexicographic`, with a margin of 0. No horizon is needed: t counts
    updates. An arm observed fewer than `start` times in an objective has an infinite width there.

    At powers below ½ τ_t falls more slowly than a width, so every level is reached; and it falls,
    so a top arm is measured again and again: otherwise only its rival would be, and a tie would
    never resolve. Known to within its tolerance, an arm is known well enough.

    A derivation of this project, in the way of LinUCB (Li et al., 2010) and MOC-MAB (Tekin and
    Turğay, 2018). `width_factor` = 0.1 is chosen for speed of learning and has no coverage: its
    intervals are narrower than the noise, so an arm that was unlucky early may never be tried again
    (docs/policies/lex-linucb.md). The theory's width (Abbasi-Yadkori et al., 2011, Theorem 2) is
    more than ten times as wide. The twin is in tests/twins/linear.py.
    """

    _rule = linear_rule(look=look, pick=pick, shares=shares)
    _rule_of_many = linear_rule(look=look, pick=pick_of_many, shares=shares_of_many)

    def __init__(
        self,
        *,
        objectives: int,
        ridge: float = 0.1,
        width_factor: float = 0.1,
        threshold: float = 2.5,
        power: float = 1 / 3,
        start: int = 20,
        tolerance: Any = 0.0,
        lam: float = 0.0,
        scale: float = 1.0,
        **linear: Any,
    ) -> None:
        self.width_factor = checks.positive("width_factor", width_factor)
        self.scale = checks.positive("scale", scale)
        self.threshold = checks.positive("threshold", threshold)
        self.power = checks.positive("power", power, most=0.5)
        self.lam = checks.at_least_zero("lam", lam)
        self.start = checks.whole("start", start, least=1)
        self.tolerances = checks.tolerances(tolerance, objectives)
        width = self.scale * self.width_factor
        own = [width, self.threshold, self.power, self.lam, self.start]
        super().__init__(
            objectives=objectives,
            ridge=ridge,
            settings=[*self.tolerances, *own],
            ranked=objectives,
            **linear,
        )
        if objectives > 2:
            self._rule = self._rule_of_many

    @property
    def tau(self) -> float:
        """τ_t of the coming round: the width from which an arm counts as known."""
        return float(threshold_at(self._memory.models))

    def _levels(self, ceilings: Floats, work: LinearWork) -> Levels:
        return levels_of(work, 0, ceilings, self.tolerances, Limits(self.tau, 0.0, self.lam))

    def _reason(
        self, features: Floats, ceilings: Floats, known: LinearWork, shares: Floats
    ) -> tuple[Booleans, str]:
        levels = self._levels(ceilings, known)
        return levels.candidates, reason_of(
            known,
            0,
            levels,
            likely(shares),
            limit=self.tau,
            limit_name="τ",
            less=["the tolerance"] * self.objectives,
            lam=self.lam,
        )


register(
    "lex-linucb",
    LexLinearRule,
    "LexLinUCB: objectives in order on a ridge regression of features per arm; anytime.",
    features=any_features("legendre"),
)
