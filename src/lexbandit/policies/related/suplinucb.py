"""SupLinUCB on the dominant objective.

The model of an arm at stage s = 0, …, S − 1 is row arm·S + s. In the paper stages count from 1, so
that its 2^(−s) is 2^(−(s+1)) here.
"""

import math
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import WIDTH
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.kernels.linear import LinearWork, Models, estimate, linear_rule, spread
from lexbandit.kernels.ties import DOMINANT
from lexbandit.policies.base import Prior
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.base import LinearPolicy
from lexbandit.policies.linear.features import any_features
from lexbandit.policies.registry import register

# The settings: α + 1, and the width 1/√T from which on nothing is explored.
FACTOR, FINEST = 0, 1


@kernel
def walk(
    models: Models, features: Array, t: int, ceilings: Array, row: int, work: LinearWork
) -> tuple[int, bool]:
    """Walk the stages (Chu et al., 2011, Algorithm 2); return the last and whether it explores.

    work.ranking[0, 0, arm] is what the arm to play has the most of, −∞ for an arm that will not be
    played: the index if all widths are at most 1/√T, else the width if it exceeds 2^(−s). The
    estimates in `work` are those of the last stage.
    """
    ranking, arms = work.ranking, ceilings.shape[1]
    stages = models.counts.shape[0] // models.plays.shape[0]
    for arm in range(arms):
        ranking[0, 0, arm] = ceilings[row, arm]
    stage = 0
    while True:
        estimate(models, features, t, models.settings[FACTOR], 1.0, stages, stage, work)
        widest = 0.0
        top = -math.inf
        for arm in range(arms):
            if ranking[0, 0, arm] > -math.inf:
                widest = max(widest, work.stats[0, arm, 0, WIDTH])
                top = max(top, work.indices[0, 0, arm])
        explores = widest > models.settings[FINEST]
        limit = 2.0 ** -(stage + 1.0)
        if explores and widest <= limit:
            for arm in range(arms):
                if work.indices[0, 0, arm] < top - 2.0 * limit:
                    ranking[0, 0, arm] = -math.inf
            stage += 1
            continue
        for arm in range(arms):
            if ranking[0, 0, arm] > -math.inf:
                value = work.indices[0, 0, arm]
                if explores:
                    value = work.stats[0, arm, 0, WIDTH]
                    value = value if value > limit else -math.inf
                ranking[0, 0, arm] = value
        return stage, explores


@leaf
def look(
    models: Models, features: Array, t: int, ceilings: Array, row: int, work: LinearWork
) -> None:
    """Walk the stages."""
    walk(models, features, t, ceilings, row, work)


@leaf
def model_for(models: Models, features: Array, t: int, arm: int, work: LinearWork) -> int:
    """Return the model that stores a round of `arm`: its first stage with a width above 2^(−s).

    −1, for none, if a width of at most 1/√T comes first. For the arm that `walk` explores this is
    the stage that chose it, unless the arm was already finer than that at a stage where a rival was
    not, which happens at small scales only.
    """
    stages = models.counts.shape[0] // models.plays.shape[0]
    for stage in range(stages):
        row = arm * stages + stage
        if models.counts[row, 0] == 0.0:
            return int(row)
        width = models.settings[FACTOR]
        width *= spread(models.inverses, row, DOMINANT, features, t, work.vector)
        if width <= models.settings[FINEST]:
            return -1
        if width > 2.0 ** -(stage + 1.0):
            return int(row)
    return -1


class SupLinUCBRule(LinearPolicy):
    """LinUCB in S = ⌈ln T⌉ stages, each with data of its own, on the dominant objective.

    Chu, Li, Reyzin and Schapire (2011), "Contextual bandits with linear payoff functions", AISTATS:
    SupLinUCB with BaseLinUCB. From stage s = 1 on, with all arms left at first and the stage's own
    regressions, w_a = (α + 1) sqrt(φᵀA_a⁻¹φ), α = sqrt(½ ln(2TK/δ)), times `scale`:

        all w_a ≤ 1/√T:   play the highest φᵀθ_a + w_a, store nothing
        all w_a ≤ 2^(−s): keep the arms with φᵀθ_a + w_a ≥ the highest − 2^(1−s), go to stage s + 1
        otherwise:        play an arm with w_a > 2^(−s), store the round in stage s

    The factor is that of their Lemma 1; their algorithm is printed with α alone. The lemma needs
    ‖φ‖ ≤ 1: features are divided by a bound c on their norm, which is the same as a `ridge` of c²
    with the features as they are, the default.

    Where the paper leaves open which wide arm is played, it is the widest. The paper has one θ for
    contexts that differ by arm; here the context is the same for all arms and each has its own θ,
    which is the paper's setting with the context put into the arm's own block.

    `update` is given no stage. A round is stored in the first stage at which its arm is wide,
    w_a > 2^(−s), and nowhere if w_a ≤ 1/√T comes first. At scale 1 that is the stage that chose it;
    at small scales an arm may be narrow at a stage where a rival is not, and is then stored
    elsewhere or nowhere. It depends on widths alone and on no reward, which is what the proof needs
    of a stage's data. The twin is in tests/twins/linear.py.
    """

    _rule = linear_rule(look=look, model_for=model_for)

    def __init__(
        self,
        *,
        arms: int,
        horizon: int,
        delta: float | None = None,
        scale: float = 1.0,
        ridge: float | None = None,
        **linear: Any,
    ) -> None:
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.delta = checks.probability("delta", 0.05 if delta is None else delta)
        self.scale = checks.positive("scale", scale)
        self.arms = arms
        super().__init__(
            arms=arms,
            ridge=linear["features"].squared_norm if ridge is None else ridge,
            settings=[self.multiplier, 1.0 / math.sqrt(self.horizon)],
            ranked=1,
            stages=max(1, math.ceil(math.log(self.horizon))),
            **linear,
        )

    @property
    def multiplier(self) -> float:
        """α + 1: what sqrt(φᵀA⁻¹φ) is multiplied by; it grows with the number of arms."""
        intervals = 2.0 * self.horizon * self.arms / self.delta
        return self.scale * (1.0 + math.sqrt(0.5 * math.log(intervals)))

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number. All widths grow with the number of arms."""
        number = super().add_arm(prior)
        self._memory.models.settings[FACTOR] = self.multiplier
        return number

    def _reason(
        self, features: Floats, ceilings: Floats, work: LinearWork, shares: Floats
    ) -> tuple[Booleans, str]:
        stage, explores = walk(self._memory.models, features, 0, ceilings, 0, work)
        ranking = work.ranking
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


register(
    "suplinucb",
    SupLinUCBRule,
    "SupLinUCB on the dominant objective, in stages (Chu et al., 2011).",
    features=any_features("raw"),
)
