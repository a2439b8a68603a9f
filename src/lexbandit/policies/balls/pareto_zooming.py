"""Pareto Contextual Zooming."""

import math
from typing import Any

from lexbandit.policies.balls.base import BallPolicy
from lexbandit.policies.registry import register


class ParetoZoomingRule(BallPolicy):
    """A relevant ball that no other dominates (Turğay, Öner and Tekin, 2018: PCZ).

    With r(B) the radius of a ball, N(B) its observations, D objectives and T the horizon:

        u(B) = scale · sqrt(2A / N(B)),      A = 1 + 2 ln(2√2 D T^1.5 / δ), δ = 1/T by default
        pre^i(B) = mean^i(B) + u(B) + r(B)
        index^i(B) = r(B) + min over all balls B' of (pre^i(B') + distance of B and B')

    One is drawn uniformly from the relevant balls whose index vectors no other relevant ball
    dominates, and a ball of half the radius is added when u(B) ≤ r(B), after the update. With
    rewards missing, N and u are per objective and the largest u is meant. Of several balls of the
    arm that was played, `update` credits the one of the highest index, where the paper credits the
    one that was drawn: they have the same radius, and its analysis charges a play by the radius.
    The twin is in tests/twins/zooming.py.
    """

    _why = "no other relevant ball has a better index vector"

    def __init__(
        self,
        *,
        dimension: int,
        objectives: int,
        horizon: int,
        L: float = 1.0,
        alpha: float = 1.0,
        delta: float | None = None,
        scale: float = 1.0,
        **balls: Any,
    ) -> None:
        failure = 1.0 / horizon if delta is None else delta
        A = 1.0 + 2.0 * (
            math.log(2.0 * math.sqrt(2.0) * objectives / failure) + 1.5 * math.log(horizon)
        )
        super().__init__(
            dimension=dimension,
            objectives=objectives,
            ranked=objectives,
            factor=scale * math.sqrt(2.0 * A),
            offset=0.0,
            L=L,
            alpha=alpha,
            **balls,
        )


register(
    "pareto-zooming",
    ParetoZoomingRule,
    "Pareto Contextual Zooming: shrinking balls, a fair pick from the Pareto front (PCZ).",
)
