"""Rewards that change with the time of the day: Section VI-A of the paper."""

import math

import numpy as np

from lexbandit.checks import Floats, positive, whole
from lexbandit.contexts import time_feature
from lexbandit.environments.base import Environment
from lexbandit.environments.registry import REGISTRY
from lexbandit.kernels.planting import weigh

_TURN = 2.0 * math.pi
_SWING = 0.3


@REGISTRY.register("periodic")
class Periodic(Environment):
    """Means that go round with a period; the time is the last feature; pairs of arms are tied.

    Rewards are Bernoulli, and their means go round once in a period of T_s rounds. The context is
    `features` of them, uniform, and then the time s = (t mod T_s)/T_s of the rounds t = 1, 2, ….
    Arms come in F pairs that have the same mean in objective 1, in the same floating-point number.
    Pair k = 0, …, F − 1 is at its best around s = k/F, and then its two arms swap in
    objective 2:

        μ¹ = 0.5 + 0.3 cos θ,   μ² = 0.5 ± 0.3 sin θ,   θ = 2π (s − k/F + f ⟨w, x⟩)

    with a unit vector w and f the `frequency`. An odd last arm is a pair by itself. Over a period
    every arm has the average 0.5 in both objectives at every x, so without the time there is
    nothing to learn. The means are continuous where a period joins the next.
    """

    objectives = 2

    def __init__(
        self,
        *,
        arms: int = 4,
        features: int = 1,
        period: int = 1000,
        frequency: float = 0.25,
        plan: int = 0,
    ) -> None:
        self.arms = whole("arms", arms, least=1)
        self.features = whole("features", features, least=1)
        self.dimension = self.features + 1
        self.period = whole("period", period, least=1)
        self.frequency = positive("frequency", frequency)
        random = np.random.default_rng(whole("plan", plan, least=0))
        direction = random.standard_normal(self.features)
        direction *= self.frequency / math.sqrt((direction**2).sum())
        self._rates = np.append(direction, 1.0)[:, np.newaxis]  # one turn a period

    @property
    def lipschitz(self) -> float:
        """A Lipschitz constant of all means in the d + 1 features: the L̂ of Assumption 2."""
        return _SWING * _TURN * math.sqrt(1.0 + self.frequency**2)

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        return self._contexts_after(0, n, random)

    def _contexts_after(self, done: int, n: int, random: np.random.Generator) -> Floats:
        contexts = np.empty((n, self.dimension))
        contexts[:, :-1] = random.random((n, self.features))
        contexts[:, -1] = time_feature(np.arange(done + 1, done + n + 1), self.period)
        return contexts

    def _means(self, contexts: Floats) -> Floats:
        cycles = weigh(contexts, self._rates)
        pairs = (self.arms + 1) // 2
        angles = _TURN * (cycles - np.arange(pairs) / pairs)
        arms = np.arange(self.arms)
        means = np.empty((len(contexts), self.arms, 2))
        means[..., 0] = (0.5 + _SWING * np.cos(angles))[:, arms // 2]
        means[..., 1] = 0.5 + np.where(arms % 2, -_SWING, _SWING) * np.sin(angles)[:, arms // 2]
        return means

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        return np.asarray(random.random(means.shape) < means, np.float64)
