"""Posterior sampling of a weighted sum: the trade-off that people write by hand."""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.errors import InvalidInput
from lexbandit.kernels import rivals as kernel
from lexbandit.policies.explain import listed, objective
from lexbandit.policies.linear.features import mixed_features
from lexbandit.policies.linear.pooled import Looks, PooledPolicy
from lexbandit.policies.registry import register


class WeightedThompson(PooledPolicy):
    """Draw every arm's weighted sum of objectives from the posterior, and play the highest.

    With posterior mean m and deviation s of every arm and objective in the context
    (`kernels.pooled`): z_a ~ N(Σ_i w_i m_ia, draw_width² Σ_i (w_i s_ia)²), play argmax z. Linear
    Thompson sampling (Agrawal and Goyal, 2013, ICML) of the sum, with the noise learned and
    deviations not inflated by their factor sqrt(p ln t).
    """

    _rule = kernel.LOOPS

    def __init__(
        self, *, objectives: int, price: Any = 1.0, draw_width: float = 1.0, **pooled: Any
    ) -> None:
        self.weights = weights_of(price, objectives)
        self.draw_width = checks.positive("draw_width", draw_width)
        settings = kernel.settings_of(kernel.WEIGHTED, draw_width=self.draw_width)
        super().__init__(
            objectives=objectives,
            tolerance=0.0,
            settings=np.concatenate([settings, self.weights]),
            **pooled,
        )

    def _reason(
        self, looks: Looks, allowed: Booleans, shares: Floats
    ) -> tuple[Booleans, tuple[Level, ...], str]:
        top = int(shares.argmax())
        parts = [
            objective(i) if w == 1.0 else f"{w:.4g} times {objective(i)}"
            for i, w in enumerate(self.weights)
            if w > 0.0
        ]
        return (
            shares > 0.0,
            (),
            f"The highest posterior draw of {' plus '.join(parts)} is played. The draws favour "
            f"{listed([top])}, with probability {shares[top]:.3g}.",
        )


def weights_of(price: Any, objectives: int) -> Floats:
    """Return the weights of the objectives: 1, and the prices of all but the first."""
    others = objectives - 1
    if np.ndim(price) == 0:
        return np.array([1.0] + [checks.at_least_zero("price", price)] * others)
    given = list(price)
    if len(given) != others:
        raise InvalidInput(
            f"price must be one number, or one for each of the {others} objectives after the "
            f"first, got {len(given)}: {price!r}."
        )
    return np.array(
        [1.0] + [checks.at_least_zero(f"price[{i}]", each) for i, each in enumerate(given)]
    )


register(
    "sum-thompson",
    WeightedThompson,
    """Thompson sampling of a weighted sum, with a price for the objectives after the first.

    The sum is reward_1 + price · reward_2, for more objectives with one price for all or a list.
    """,
    features=mixed_features,
)
