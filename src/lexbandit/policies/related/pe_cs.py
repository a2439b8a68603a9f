"""PE-CS: pairwise elimination for cost subsidy."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import rivals as kernel
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.linear.pooled import Looks, PooledPolicy
from lexbandit.policies.registry import register


class PairwiseElimination(PooledPolicy):
    """Find the best arm by elimination, then the cheapest that is as good, one pair at a time.

    Juneja, Joe-Wong and Yağan (2025), "Pairwise elimination with instance-dependent guarantees for
    bandits with cost subsidy", ICLR. First Improved UCB (Auer and Ortner, 2010): in round r all
    arms still in are played up to ⌈2 ln(T 4^(−r)) 4^r⌉ times, and those whose mean plus 2^(−r)/2 is
    below another's mean less 2^(−r)/2 are out. When one arm h is left, cheaper arms are compared
    with it in order of cost, by rounds of the same kind: an arm that is surely at least (1 − α)
    times as good as h is played from then on, one that surely is not is out, and h is played if all
    are.

    Adapted: means and deviations are those of a pooled regression at the context
    (`kernels.pooled`), so all of this is done for each context; a round is over when the deviation
    says so, which for σ = ½ and no contexts is after the paper's number of plays
    (`kernels.rivals.radius_by_rounds`); no phase is remembered: the rounds completed are read off
    the deviations and the present means are compared at every decision, so an arm that was out may
    come back, and of the arms that a phase plays the one of the largest deviation is next.
    (1 − α) times the best becomes the best less the tolerance; costs are known in the paper and the
    estimates of the last objective here. More than two objectives are filtered one after the other.
    Nothing but ties is random.
    """

    _rule = kernel.LOOPS

    def __init__(
        self, *, horizon: int, scale: float = 1.0, tolerance: Any = 0.0, **pooled: Any
    ) -> None:
        self.horizon = checks.whole("horizon", horizon, least=1)
        self.scale = checks.positive("scale", scale)
        settings = kernel.settings_of(kernel.PE_CS, scale=self.scale, horizon=self.horizon)
        super().__init__(settings=settings, tolerance=tolerance, **pooled)

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        played = likely(shares)
        best = np.where(allowed, 2.0 * looks.means[0] - looks.reaches[0], -np.inf).max()
        contenders = np.flatnonzero(allowed & (looks.reaches[0] >= best)).tolist()
        return (
            shares > 0.0,
            (),
            f"Possibly the best in {objective(0)}, by the rounds completed: {listed(contenders)}. "
            f"To be played: {listed(played)}{drawn(played)}.",
        )


register(
    "pe-cs",
    PairwiseElimination,
    "PE-CS: pairwise elimination (Juneja, Joe-Wong and Yağan, 2025), on a pooled regression.",
    features=mixed_features,
)
