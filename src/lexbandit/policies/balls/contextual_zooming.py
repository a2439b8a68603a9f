"""Contextual Zooming."""

import math
from typing import Any

from lexbandit.policies.balls.base import BallPolicy
from lexbandit.policies.explain import objective
from lexbandit.policies.registry import register


class ContextualZoomingRule(BallPolicy):
    """The relevant ball of the highest index in objective 1 (Slivkins, 2014, Algorithm 1).

    With r(B) the radius of a ball, n(B) its observations and T the horizon:

        conf(B) = scale · 4 sqrt(ln T / (1 + n(B)))
        pre(B) = mean(B) + r(B) + conf(B)
        index(B) = r(B) + min over all balls B' of (pre(B') + distance of B and B')

    and a ball of half the radius is added when conf(B) ≤ r(B). The paper plays "any" arm in the
    ball's domain: here one drawn uniformly. Its first ball has an arbitrary centre: here a point of
    its own, at distance 1 from all others, so that no arm is preferred. Other objectives are
    recorded, for `explain`, and never decide. The twin is in tests/twins/zooming.py.
    """

    _why = f"highest index in {objective(0)} among the relevant balls"

    def __init__(
        self,
        *,
        dimension: int,
        horizon: int,
        L: float = 1.0,
        alpha: float = 1.0,
        scale: float = 1.0,
        **balls: Any,
    ) -> None:
        super().__init__(
            dimension=dimension,
            ranked=1,
            factor=scale * 4.0 * math.sqrt(math.log(horizon)),
            offset=1.0,
            L=L,
            alpha=alpha,
            **balls,
        )


register(
    "contextual-zooming",
    ContextualZoomingRule,
    "Contextual Zooming on the dominant objective: balls that shrink where it plays (Slivkins).",
)
