"""LexThompson: posterior draws, learned noise, and a tolerance that binds. A chooser's default."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import bands
from lexbandit.kernels import pooled_rules as kernel
from lexbandit.policies.explain import listed, objective
from lexbandit.policies.linear import credible
from lexbandit.policies.linear.pooled import Looks, PooledPolicy, pooled_features
from lexbandit.policies.registry import REGISTRY

# How far above its estimate an arm has the benefit of the doubt at caution 1, in deviations of the
# posterior: BENEFIT · ln(3 + N)^1.25 for N rewards, times BINARY · sqrt(v(1 + SIMPLE/F)) for
# rewards of 0 or 1 with variance v. F is the number of features.
BENEFIT = 0.107
BINARY = 1.3
SIMPLE = 3.0
# Draws of an arm with n rewards are wider by sqrt(1 + FEW/(n + 1)).
FEW = 16.0
# For objectives without a tolerance: the band is this share of the noise, times t^(−1/3), and the
# benefit of the doubt at caution 1, in place of BENEFIT · ln(3 + N)^1.25; draws are wider by EXACT.
FLOOR = 0.7
STEADY = 1.0
EXACT = 1.25
_RULE = kernel.pooled_rule(prepare=kernel.prepare_draws, choose=bands.decide, chances=bands.chances)
# With more arms than these an outlook has probabilities by draws.
_MANY = 16


class LexThompsonRule(PooledPolicy):
    """Draw from the posterior, keep the arms within the tolerance of the best draw, level by level.

    With posterior mean m and deviation s of every arm in the context (`kernels.pooled`), and C the
    allowed arms: for each objective but the last, draw z_a ~ N(m_a, (draw_width · u_a s_a)²) for a
    in C, let h be the arm of the highest draw, and keep C ← {h} ∪ {a in C : m_a + κ w_a s_a ≥ z_h −
    band}. In the last objective the arm of the highest draw, with u_a = 1, is played. In the round
    t, for an arm with n_a of the N rewards of K arms,

        κ = 0.107 ln(3 + N)^1.25/caution, w_a² = 1 + ln⁺(N/(K(n_a + 1))), u_a² = 1 + 16/(n_a + 1).

    Draws are wide for arms that were hardly tried, so that the best is found; the benefit of the
    doubt κw grows, and more for arms that were neglected, so that one left out by bad luck is tried
    again. Where all rewards were 0 or 1, with variance v = p(1 − p) at the mean p of them, κ is
    multiplied by 1.3 sqrt(v(1 + 3/F)), where the model has F features, and u_a² = 1 + 16/(4vn_a +
    1): rare successes say little, and where there is little to learn the doubt costs little.

    κ grows with the objective's own rewards, so all arms are tried while these are late and others
    come at once. The band is the objective's tolerance. If that is 0, it is 0.7 σ t^(−1/3), which
    lets exact ties resolve, κ is 1/caution (times 1.3 √v if rewards were 0 or 1), and draws are
    wider by 1.25 w_a too.

    A derivation of this project. With one objective and draw_width 1 it is linear Thompson
    sampling (Agrawal and Goyal, 2013, ICML); bands below a sampled best are those of CS-TS (Sinha
    et al., 2021, AISTATS), here with the benefit of the doubt instead of draws for those inside.
    """

    _rule = _RULE

    def __init__(self, *, caution: float, draw_width: float, **parameters: Any) -> None:
        self.caution = checks.positive("caution", caution)
        self.draw_width = checks.positive("draw_width", draw_width)
        settings = np.zeros(kernel.SETTINGS)
        settings[kernel.BENEFIT] = BENEFIT / self.caution
        settings[kernel.BINARY] = BINARY
        settings[kernel.SIMPLE] = SIMPLE
        settings[kernel.FEW] = FEW
        settings[kernel.DRAWS] = self.draw_width
        settings[kernel.FLOOR] = FLOOR
        settings[kernel.STEADY] = STEADY / self.caution
        settings[kernel.EXACT] = EXACT
        super().__init__(settings=settings, **parameters)

    def _bands(self, looks: Looks) -> Floats:
        return looks.bands

    def _about(self, looks: Looks, ceilings: Floats) -> Floats:
        """Return the probability of every arm, by 256 draws where arms are many.

        With 1,000 arms the exact probabilities can take half a second.
        """
        objectives, arms = looks.means.shape
        if arms <= _MANY:
            return self._shares(looks, ceilings)
        rows = np.arange(credible.DRAWS)
        left = np.broadcast_to(ceilings[0] > 0, (credible.DRAWS, arms))
        for i, normal in enumerate(credible.normal_draws(objectives, arms)):
            drawn = np.where(left, looks.means[i] + looks.spreads[i] * normal, -np.inf)
            top = drawn.argmax(axis=1)
            left = left & (looks.reaches[i] >= drawn[rows, top, np.newaxis] - looks.bands[i])
            left[rows, top] = True
        return np.bincount(top, minlength=arms) / credible.DRAWS

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        left = allowed.copy()
        levels, sentences = [], []
        for i in range(self.objectives - 1):
            means = np.where(left, looks.means[i], -np.inf)
            top = int(means.argmax())
            left &= looks.reaches[i] >= means[top] - looks.bands[i]
            left[top] = True
            levels.append(Level(top, tuple(np.flatnonzero(left).tolist())))
            sentences.append(
                f"The highest estimate in {objective(i)} is that of {listed([top])}. Within the "
                f"band of {looks.bands[i]:.4g}, with the benefit of the doubt: "
                f"{listed(np.flatnonzero(left).tolist())}."
            )
        likely = np.flatnonzero(shares > 0)
        order = likely[np.argsort(-shares[likely], kind="stable")]
        last = np.where(left, looks.means[-1], -np.inf)
        levels.append(Level(int(last.argmax()), tuple(np.flatnonzero(left).tolist())))
        sentences.append(
            f"The draws favour {listed([int(order[0])])}, with probability {shares[order[0]]:.3g}."
        )
        return left | (shares > 0), tuple(levels), " ".join(sentences)


@REGISTRY.register("lex-thompson")
def lex_thompson(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    features: Any = "mixed",
    layout: Any = (),
    caution: float = 1.0,
    draw_width: float = 0.4,
    tolerance: Any = 0.0,
    seed: int = 0,
) -> LexThompsonRule:
    """LexThompson: posterior draws with learned noise, and tolerances that bind; the default."""
    return LexThompsonRule(
        arms=arms,
        objectives=objectives,
        features=pooled_features(features, layout=layout, dimension=dimension),
        caution=caution,
        draw_width=draw_width,
        tolerance=tolerance,
        seed=seed,
    )
