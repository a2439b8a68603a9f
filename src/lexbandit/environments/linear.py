"""`planted` with means that are linear in the context: for many features, where no grid helps."""

from collections.abc import Sequence

import numpy as np

from lexbandit.checks import whole
from lexbandit.environments.planted import Planted, checked_assumption, planted_levels
from lexbandit.environments.registry import REGISTRY
from lexbandit.environments.waves import Ramps


@REGISTRY.register("linear")
def linear(
    *,
    arms: int = 4,
    objectives: int = 2,
    dimension: int = 5,
    ties: int | Sequence[int] | None = None,
    assumption: float = 1.0,
    plan: int = 0,
) -> Planted:
    """Means linear in the context, exact ties at every level; also for d = 50; Bernoulli rewards.

    As `planted`, with ⟨w, 2x − 1⟩ for each cosine: every mean is linear, and reads few features.
    """
    arms = whole("arms", arms, least=1)
    objectives = whole("objectives", objectives, least=1)
    dimension = whole("dimension", dimension, least=1)
    random = np.random.default_rng(whole("plan", plan, least=0))
    levels = planted_levels(arms=arms, objectives=objectives, ties=ties, random=random)
    return Planted(
        dimension=dimension,
        objectives=objectives,
        levels=levels,
        assumption=checked_assumption(assumption, finite=True),
        waves=Ramps(count=objectives - 1 + arms, dimension=dimension, random=random),
    )
