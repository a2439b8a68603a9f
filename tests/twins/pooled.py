"""A plain twin of the pooled regression and of the rule of bands, written from their formulas.

Nothing here imports lexbandit. Posteriors of arms are solved anew from their sums after every
reward. What depends on when it was computed is kept: the noise, the penalties, the centre and θ_0
of the last refresh, and residual sums that grow by e²/(1 + h) in between.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from naive import Dice
from twins.related_cells import normal

Array = Any


class Constants(NamedTuple):
    """The numbers that the model leaves open."""

    first_noise: float
    pseudo_rewards: float
    fading: float
    pooled_noise: float
    pooled_share: float
    even_share: float
    common_width: float
    rounding: float
    least_noise: float
    least_penalty: float
    least_scale: float
    learn_from: float
    constant_weights: float
    constant_scale: float
    block_weights: float
    block_scale: float
    steps: int
    steps_anew: int
    growth: float
    most_apart: float
    surprise: float
    unlike: float


class Prior(NamedTuple):
    """What is expected of the weights, one number a feature."""

    variance: Array
    block: Array
    constant: Array


@dataclass
class Arm:
    """What was seen of one arm in one objective, its prior included."""

    gram: Array
    moment: Array
    count: float = 0.0
    total: float = 0.0
    square: float = 0.0
    residual: float = 0.0
    weight: float = 0.0
    mean: float = 0.0
    inverse: Array = None
    own: Array = None
    errors: Array = 0.0
    expected: Array = 0.0  # E[φ], where it has a prior

    def add(self, phi: Array, second: Array, reward: float, times: float = 1.0) -> None:
        """Add `times` rewards at features of mean `phi` and mean square `second`."""
        self.gram = self.gram + times * second
        self.moment = self.moment + times * reward * phi
        self.count += times
        self.total += times * reward
        self.square += times * reward**2

    def solve(self, penalties: Array) -> None:
        """B = (Λ + G)⁻¹ and Bb."""
        self.inverse = np.linalg.inv(np.diag(penalties) + self.gram)
        self.own = self.inverse @ self.moment


class Objective:
    """The regressions of all arms in one objective."""

    def __init__(self, K: int, prior: Prior, constants: Constants) -> None:
        self.prior, self.constants = prior, constants
        self.size = len(prior.variance)
        self.arms: list[Arm] = []
        self.seen, self.other = 0, 0
        self.noise, self.due = constants.first_noise, 0.0
        self.scales = self.penalties = np.ones(self.size)
        for _ in range(K):
            self.add_arm()
        self.refresh()

    def add_arm(self) -> Arm:
        arm = Arm(np.zeros((self.size, self.size)), np.zeros(self.size))
        arm.solve(self.penalties)
        self.arms.append(arm)
        return arm

    # What follows from the sums, the penalties and the centre.

    def solve_common(self) -> None:
        """C_0 and θ_0, with m_0 e the centre on the constant feature."""
        penalty = np.diag(self.penalties)
        width = self.constants.common_width
        precision = penalty / width
        weighted = penalty @ (self.centre * self.prior.constant) / width
        for arm in self.arms:
            precision = precision + penalty - penalty @ arm.inverse @ penalty
            weighted = weighted + penalty @ arm.own
        self.common_covariance = np.linalg.inv(precision)
        self.common = self.common_covariance @ weighted

    def weights(self, arm: Arm) -> Array:
        """The posterior mean of θ: B(b + Λθ_0)."""
        return arm.own + arm.inverse @ (self.penalties * self.common)

    def unlike(self, arm: Arm, phi: Array, among: Array) -> float:
        """Σ u_f² c_f (9/x_f − 1)⁺ over some features, with c = σ²/Λ: an arm unlike the others."""
        u, c = self.penalties * (arm.inverse @ phi), self.noise / self.penalties
        more = np.maximum(self.constants.unlike / self.scales - 1, 0.0)
        return float((u**2 * c * more)[among].sum())

    def loosened(self, arm: Arm, phi: Array, among: Array) -> tuple[float, float]:
        """φᵀB(b + Λθ_0) and φᵀBφ + uᵀC_0u, u = ΛBφ, with Λ lower: some scales are 9 or more."""
        lowered = self.penalties * np.minimum(self.scales / self.constants.unlike, 1.0)
        lowered = np.maximum(lowered, self.constants.least_penalty * self.seen)
        penalties = np.where(among, lowered, self.penalties)
        inverse = np.linalg.inv(np.diag(penalties) + arm.gram)
        u = penalties * (inverse @ phi)
        mean = phi @ inverse @ (arm.moment + penalties * self.common)
        return float(mean), float(phi @ inverse @ phi + u @ self.common_covariance @ u)

    def noisier(self, arm: Arm, phi: Array) -> float:
        """A regression of e²/q on the features, around 1 and at least 1; q is the mean of e²."""
        if arm.count == arm.weight:
            return 1.0
        sums = arm.gram @ self.prior.constant - arm.weight * arm.expected
        q = float(arm.errors @ self.prior.constant) / float(sums @ self.prior.constant)
        return max(1.0 + float(phi @ arm.inverse @ (arm.errors / q - sums)), 1.0)

    def estimate(self, arm: Arm, phi: Array, *, fully: bool = False) -> tuple[float, float]:
        """Mean and deviation at φ; fully with what is not known of θ_0."""
        leverage = phi @ arm.inverse @ phi
        mean = float(phi @ self.weights(arm))
        if fully:
            u = self.penalties * (arm.inverse @ phi)
            leverage += u @ self.common_covariance @ u
        return mean, math.sqrt(self.variance_of(arm, mean, leverage) * leverage)

    def variance_of(self, arm: Arm, mean: float, leverage: float) -> float:
        """σ_a²: of a binary reward from its chance, else from residuals, drawn to all arms'."""
        if self.seen > 0 and self.other == 0:
            pull = self.constants.pooled_share * leverage
            even = self.constants.even_share * leverage
            share = min(max(mean, 0.0), 1.0) + pull * self.centre + even / 2
            share /= 1 + pull + even
            return share * (1 - share)
        few = self.constants.pooled_noise
        return (few * self.noise + arm.residual) / (few + arm.count - arm.weight)

    # Learning.

    def learn(self, arm: Arm, phi: Array, reward: float) -> None:
        leverage = phi @ arm.inverse @ phi
        error = reward - float(phi @ self.weights(arm))
        arm.add(phi, np.outer(phi, phi), reward)
        arm.solve(self.penalties)
        arm.residual += error**2 / (1 + leverage)
        arm.errors = arm.errors + error**2 / (1 + leverage) * phi
        self.seen += 1
        if error**2 / (1 + leverage) > self.constants.surprise * self.noise:
            self.due = self.seen + (self.due - self.seen) // 2
        self.other += reward not in (0.0, 1.0)
        if self.seen >= self.due:
            self.refresh()

    def refresh(self, *, anew: bool = False) -> None:
        """Steps of scales, posteriors and noise; `anew` they begin from the sums alone."""
        c = self.constants
        total = sum(arm.total - arm.weight * arm.mean for arm in self.arms)
        square = sum(arm.square - arm.weight * arm.mean**2 for arm in self.arms)
        pseudo = c.pseudo_rewards
        self.centre = (pseudo * 0.5 + total) / (pseudo + self.seen)
        centred = max(square - total**2 / max(self.seen, 1), 0.0)
        S = math.sqrt((pseudo * c.first_noise + centred) / (pseudo + self.seen))
        V = max(min(0.2, 0.8 * S), 0.4 * S) ** 2
        if anew:
            self.scales, self.noise = np.ones(self.size), c.first_noise
        for step in range(c.steps_anew if anew else c.steps):
            if self.seen >= c.learn_from and (step > 0 or not anew):
                self.learn_scales(V)
            before = max(self.noise, c.least_noise * V)
            self.penalties = before / (V * self.prior.variance * self.scales)
            self.penalties = np.maximum(self.penalties, c.least_penalty * self.seen)
            for arm in self.arms:
                arm.solve(self.penalties)
            self.solve_common()
            for arm in self.arms:
                arm.residual = self.unexplained(arm)
            fading = c.first_noise * min(1.0, c.fading / max(self.seen, 1))
            rest = sum(arm.residual for arm in self.arms)
            self.noise = max(
                (pseudo * fading + rest) / (pseudo + self.seen),
                c.rounding * square / max(self.seen, 1),
                c.least_noise * V,
            )
        self.due = self.seen + min(math.floor(c.growth * self.seen) + 1, c.most_apart)

    def learn_scales(self, V: float) -> None:
        """x of each block: Σ(θ_a − θ_0)²/(V v_f) over Σ(1 − Λ_f B_a,ff), with pseudo weights."""
        played = [arm for arm in self.arms if arm.count > 0]
        squares = sum(
            ((self.weights(arm) - self.common) ** 2 for arm in played), np.zeros(self.size)
        ) / (V * self.prior.variance)
        known = sum(
            (1 - self.penalties * np.diag(arm.inverse) for arm in played), np.zeros(self.size)
        )
        c, scales = self.constants, np.empty(self.size)
        for block in set(self.prior.block):
            inside = self.prior.block == block
            weights, size = c.block_weights, c.block_scale
            if self.prior.constant[inside].any():
                weights, size = c.constant_weights, c.constant_scale
            found = (weights * size + squares[inside].sum()) / (weights + known[inside].sum())
            scales[inside] = max(found, c.least_scale)
        self.scales = scales

    def unexplained(self, arm: Arm) -> float:
        """Q = Σr'² − b'ᵀBb' with r' = r − φᵀθ_0, and of it the share that is not the prior's."""
        if arm.count == 0:
            return 0.0
        t = self.common
        moment = arm.moment - arm.gram @ t
        squares = arm.square - 2 * t @ arm.moment + t @ arm.gram @ t
        whole = max(float(squares - moment @ arm.inverse @ moment), 0.0)
        return whole * (arm.count - arm.weight) / arm.count


class LexThompson:
    """In each objective a draw, and the arms within the band of the highest one go on."""

    def __init__(
        self,
        K: int,
        D: int,
        phi: Callable[[Any], Array],
        prior: Prior,
        constants: Constants,
        *,
        benefit: float,
        binary: float,
        simple: float,
        few: float,
        draws: float,
        floor: float,
        steady: float,
        ties: float,
        tolerances: Any,
        seed: int = 0,
    ) -> None:
        self.K, self.D, self.phi = K, D, phi
        self.objectives = [Objective(K, prior, constants) for _ in range(D)]
        self.benefit, self.draws, self.floor, self.steady = benefit, draws, floor, steady
        self.ties = ties
        self.binary, self.simple, self.few, self.tolerances = binary, simple, few, tolerances
        self.rounds = 0
        self.dice = Dice(seed)

    def exact(self, i: int) -> bool:
        return i < self.D - 1 and self.tolerances[i] == 0

    def wider(self, i: int) -> list[float]:
        """w = sqrt(1 + ln⁺(N/(K(n + 1)))) of every arm."""
        objective = self.objectives[i]
        ratios = [objective.seen / (self.K * (arm.count + 1)) for arm in objective.arms]
        return [math.sqrt(1 + math.log(max(ratio, 1.0))) for ratio in ratios]

    def binary_variance(self, i: int) -> float | None:
        """v = p(1 − p) if all rewards of the objective were 0 or 1."""
        objective = self.objectives[i]
        if objective.seen == 0 or objective.other > 0:
            return None
        return objective.centre * (1 - objective.centre)

    def known(self, i: int, phi: Array) -> list[tuple[float, float]]:
        """Means and deviations of draws: s · sqrt(1 + few/(n + 1)), times ties · w if exact."""
        objective, v = self.objectives[i], self.binary_variance(i)
        worth = 1.0 if v is None else 4 * v
        found = []
        for arm, wider in zip(objective.arms, self.wider(i), strict=True):
            m, s = objective.estimate(arm, phi)
            if i < self.D - 1:
                s *= math.sqrt(1 + self.few / (worth * arm.count + 1))
            found.append((m, self.draws * s * (self.ties * wider if self.exact(i) else 1.0)))
        return found

    def reaches(self, i: int, phi: Array) -> list[float]:
        """m + κws with κ = benefit · ln(3 + N)^1.25, and steady without a tolerance.

        Times binary · √v for rewards of 0 or 1, and sqrt(1 + simple/F) if there is a tolerance.
        """
        objective, v = self.objectives[i], self.binary_variance(i)
        kappa = self.benefit * math.log(objective.seen + 3) ** 1.25
        if self.exact(i):
            kappa = self.steady
        if v is not None:
            kappa *= self.binary * math.sqrt(v)
            kappa *= 1.0 if self.exact(i) else math.sqrt(1 + self.simple / len(phi))
        found = []
        for arm, wider in zip(objective.arms, self.wider(i), strict=True):
            m, s = objective.estimate(arm, phi)
            found.append(m + kappa * wider * s)
        return found

    def select(self, context: Any, allowed: Any = None) -> int:
        phi = self.phi(context)
        left = [a for a in range(self.K) if allowed is None or allowed[a]]
        for i, objective in enumerate(self.objectives):
            if len(left) == 1:
                break
            known = self.known(i, phi)
            z = {a: known[a][0] + known[a][1] * normal(self.dice) for a in left}
            h = self.dice.one_of([a for a in left if z[a] == max(z.values())])
            if i == self.D - 1:
                return h
            band = self.tolerances[i]
            if self.exact(i):
                band = self.floor * math.sqrt(objective.noise) * (self.rounds + 1) ** (-1 / 3)
            reach = self.reaches(i, phi)
            left = [a for a in left if a == h or reach[a] >= z[h] - band]
        return left[0]

    def update(self, context: Any, arm: int, rewards: Any) -> None:
        self.rounds += 1
        phi = self.phi(context)
        for objective, reward in zip(self.objectives, rewards, strict=True):
            if not math.isnan(reward):
                objective.learn(objective.arms[arm], phi, reward)

    def predict(self, context: Any) -> tuple[Array, Array]:
        """Means and deviations, [K, D] each, with what is not known of θ_0."""
        phi = self.phi(context)
        found = np.array(
            [
                [
                    objective.estimate(objective.arms[a], phi, fully=True)
                    for objective in self.objectives
                ]
                for a in range(self.K)
            ]
        )
        return found[..., 0], found[..., 1]

    def add_arm(self, means: Any, weight: float, first: Array, second: Array) -> None:
        """Add an arm with a prior: `weight` rewards of `means` at φ of these two moments."""
        self.K += 1
        for objective, mean in zip(self.objectives, means, strict=True):
            arm = objective.add_arm()
            arm.weight, arm.mean = weight, mean if weight else 0.0
            arm.expected = first
            arm.add(first, second, mean, weight)
            if weight:
                objective.refresh()

    def merge(self, other: "LexThompson") -> None:
        """Add what another one saw; neither has priors."""
        self.rounds += other.rounds
        for mine, theirs in zip(self.objectives, other.objectives, strict=True):
            mine.seen += theirs.seen
            mine.other += theirs.other
            for arm, more in zip(mine.arms, theirs.arms, strict=True):
                arm.gram = arm.gram + more.gram
                arm.moment = arm.moment + more.moment
                arm.count += more.count
                arm.total += more.total
                arm.square += more.square
            mine.refresh(anew=True)
