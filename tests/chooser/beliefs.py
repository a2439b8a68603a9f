"""A policy for tests that knows the deviations of its means: Gaussian beliefs, softmax choices.

A context is one number that is 0 or 1, so φ = (1 − x, x) and the beliefs of the two are apart. An
arm is chosen with a probability ∝ exp(β_t · Σ_i m_i), β_t = 2 sqrt(t): exact, and soon very small
for arms that look bad.
"""

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import PolicyDecision, PolicyExplanation
from lexbandit.policies import Policy


class Beliefs(Policy):
    """Beliefs N(m, s²) about every arm's mean in both contexts: prior N(½, ¼²), known noise."""

    def __init__(self, *, arms: int, noise: tuple[float, ...], seed: int = 0) -> None:
        super().__init__(arms=arms, dimension=1, objectives=len(noise))
        self.noise = noise
        self._dice = random.Random(seed)
        self._told = np.zeros((2, arms, len(noise), 2))  # context, arm, objective: count and sum
        self._rounds = 0

    @property
    def knows_deviations(self) -> bool:
        return True

    @property
    def model_features(self) -> int:
        return 2

    def _believed(self, x: int, arm: int, i: int) -> tuple[float, float]:
        ridge = self.noise[i] ** 2 / 0.25**2
        count, total = self._told[x, arm, i].tolist()
        return (total + ridge * 0.5) / (count + ridge), self.noise[i] / math.sqrt(count + ridge)

    def _expect_checked(self, point: Floats, arm: int) -> tuple[Floats, Floats]:
        x = round(float(point[0]))
        means = [self._believed(x, arm, i)[0] for i in range(self.objectives)]
        return np.array([1.0 - x, float(x)]), np.array(means)

    def _predict_averages(self, averages: Floats) -> tuple[Floats, Floats]:
        means, deviations = np.zeros((2, self.arms, self.objectives))
        for arm in range(self.arms):
            for i in range(self.objectives):
                both = [self._believed(x, arm, i) for x in (0, 1)]
                shares = averages[arm, i].tolist()
                means[arm, i] = sum(f * m for f, (m, _) in zip(shares, both, strict=True))
                deviations[arm, i] = math.hypot(
                    *(f * s for f, (_, s) in zip(shares, both, strict=True))
                )
        return means, deviations

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        means = np.array([self._expect_checked(point, arm)[1].sum() for arm in range(self.arms)])
        if allowed is not None:
            means = np.where(allowed, means, -np.inf)
        odds = np.exp(2.0 * math.sqrt(self._rounds) * (means - means.max()))
        return np.asarray(odds / odds.sum())

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        chances = self._propensities_checked(np.asarray(context), allowed).tolist()
        arm = self._dice.choices(range(self.arms), chances)[0]
        return PolicyDecision(arm, chances[arm])

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        self._rounds += 1
        self.amend(context, arm, rewards, allowed)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        for i, reward in enumerate(rewards):
            if not math.isnan(reward):
                self._told[round(float(context[0])), arm, i] += (1.0, reward)

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        return {"told": self._told.copy(), "rounds": np.array([self._rounds])}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._told, self._rounds = state["told"].copy(), int(state["rounds"][0])

    def merge(self, state: Mapping[str, Any]) -> None:
        self._told += state["told"]
        self._rounds += int(state["rounds"][0])

    def add_arm(self, prior: Any = None) -> int:
        self._told = np.concatenate([self._told, np.zeros((2, 1, self.objectives, 2))], axis=1)
        self._set_arms(self.arms + 1)
        return self.arms - 1
