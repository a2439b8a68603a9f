"""Plain twins of CS-TS, CS-UCB, CS-ETC, PE-CS and Thompson sampling of a weighted sum.

Written from the papers' definitions, with no numpy and nothing of lexbandit. Each is given the
posterior: means[i][a] and deviations[i][a] of objective i and arm a in one context.
"""

import math
from collections.abc import Iterable

from naive import MASK, Dice, Vector, mix

Matrix = list[list[float]]


class NormalDice(Dice):
    """Dice with normal draws by Box and Muller, two steps each, that go on from a state."""

    def unit(self) -> float:
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & MASK
        return (mix(self.counter) >> 11) * 2.0**-53

    def normal(self) -> float:
        u = self.unit() + 2.0**-53
        v = self.unit()
        return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def argmax(values: dict[int, float]) -> list[int]:
    return [a for a in values if values[a] == max(values.values())]


def weighted_arm(
    means: Matrix, deviations: Matrix, weights: Vector, allowed: Iterable[int], dice: NormalDice
) -> int:
    """Thompson sampling of Σ_i w_i reward_i; the objectives' posteriors are independent."""
    draws = {}
    for a in allowed:
        mean = sum(w * m[a] for w, m in zip(weights, means, strict=True))
        variance = sum((w * s[a]) ** 2 for w, s in zip(weights, deviations, strict=True))
        draws[a] = mean + math.sqrt(variance) * dice.normal()
    return dice.one_of(argmax(draws))


def cs_ts_arm(
    means: Matrix, deviations: Matrix, tolerances: Vector, allowed: Iterable[int], dice: NormalDice
) -> int:
    """CS-TS of Sinha et al. (2021), with a tolerance that is a difference and drawn costs."""
    feasible = list(allowed)
    for i in range(len(means)):
        if len(feasible) == 1:
            return feasible[0]
        draws = {a: means[i][a] + deviations[i][a] * dice.normal() for a in feasible}
        if i == len(means) - 1:
            return dice.one_of(argmax(draws))
        feasible = [a for a in feasible if draws[a] >= max(draws.values()) - tolerances[i]]
    raise AssertionError("the last objective decides")


def cs_ucb_arms(
    means: Matrix,
    deviations: Matrix,
    tolerances: Vector,
    allowed: Iterable[int],
    *,
    t: int,
    scale: float,
) -> list[int]:
    """CS-UCB of Sinha et al. (2021): the arms tied for being played in round t, from 1 on."""

    def ucb(i: int, a: int) -> float:
        return means[i][a] + scale * math.sqrt(2 * math.log(t)) * deviations[i][a]

    feasible = list(allowed)
    for i in range(len(means) - 1):
        best = max(ucb(i, a) for a in feasible)
        feasible = [a for a in feasible if ucb(i, a) >= best - tolerances[i]]
    return argmax({a: ucb(len(means) - 1, a) for a in feasible})


def cs_etc_arms(
    means: Matrix,
    deviations: Matrix,
    tolerances: Vector,
    allowed: Iterable[int],
    *,
    T: int,
    scale: float,
    plays: Vector,
) -> list[int]:
    """CS-ETC of Sinha et al. (2021): the arms tied for being played."""
    feasible = list(allowed)
    tau = math.ceil((T / len(plays)) ** (2 / 3))
    unexplored = [a for a in feasible if plays[a] < tau]
    if unexplored:
        return unexplored

    def beta(i: int, a: int) -> float:
        return scale * math.sqrt(2 * math.log(T)) * deviations[i][a]

    for i in range(len(means) - 1):
        best = max(means[i][a] - beta(i, a) for a in feasible)
        feasible = [a for a in feasible if means[i][a] + beta(i, a) >= best - tolerances[i]]
    last = len(means) - 1
    return argmax({a: means[last][a] + beta(last, a) for a in feasible})


def plays_of_round(r: int, T: int) -> int:
    """Improved UCB's n_r for rewards in [0, 1], with gaps of 2^(−r)."""
    return math.ceil(2 * math.log(T * 4.0**-r) / 4.0**-r)


def half_width(deviation: float, sigma: float, *, T: int, scale: float) -> float:
    """β of the last round that is over; ∞ before the first, 0 after the last.

    For σ = ½ the half-width of a round is that of Improved UCB, sqrt(ln(T 4^(−r))/(2 n_r)), which
    is 2^(−r)/2.
    """
    last = max(0, math.floor(math.log2(T / math.e) / 2))
    over = [
        r
        for r in range(last + 1)
        if scale * math.sqrt(2 * max(0.0, math.log(T) - r * math.log(4))) * deviation
        <= sigma * 2.0**-r
    ]
    if len(over) == last + 1:
        return 0.0
    return sigma * 2.0 ** -max(over) if over else math.inf


def pe_cs_arms(
    means: Matrix,
    deviations: Matrix,
    tolerances: Vector,
    allowed: Iterable[int],
    *,
    T: int,
    scale: float,
    sigmas: Vector,
) -> list[int]:
    """PE-CS of Juneja et al. (2025) without a memory of phases: the arms tied for being played."""
    arms = list(allowed)
    last = len(means) - 1
    for i in range(max(1, last)):
        mu, s = means[i], deviations[i]
        beta = {a: half_width(s[a], sigmas[i], T=T, scale=scale) for a in arms}

        def least_known(
            some: Iterable[int], s: Vector = s, beta: dict[int, float] = beta
        ) -> list[int]:
            return argmax({a: s[a] for a in some if beta[a] > 0})

        active = [a for a in arms if mu[a] + beta[a] >= max(mu[b] - beta[b] for b in arms)]
        if len(active) > 1 and any(beta[a] > 0 for a in active):
            return least_known(active)
        if last == 0:
            return active
        ell = max(active, key=lambda a: (mu[a], means[last][a]))
        inside = {
            a for a in arms
            if a == ell or mu[a] - beta[a] >= mu[ell] + beta[ell] - tolerances[i]
        }  # fmt: skip
        outside = {a for a in arms if mu[a] + beta[a] < mu[ell] - beta[ell] - tolerances[i]}
        unsure = set(arms) - inside - outside
        if i < last - 1:
            if unsure:
                return least_known(sorted(unsure | {ell}))
            arms = [a for a in arms if a in inside]
            continue
        for cost in sorted({-means[last][a] for a in arms}):
            episode = [a for a in arms if -means[last][a] == cost]
            if any(a in inside for a in episode):
                return [a for a in episode if a in inside]
            if any(a in unsure for a in episode):
                return least_known(sorted((set(episode) & unsure) | {ell}))
    raise AssertionError("the best arm is as good as itself")


class PublishedPeCs:
    """PE-CS as published: one reward in [0, 1], known costs, a memory of phases, no contexts.

    `tolerance` is a difference, where the paper has a share of the best. Arms are in order of cost.
    """

    def __init__(self, K: int, T: int, tolerance: float) -> None:
        self.T, self.tolerance = T, tolerance
        self.N, self.total = [0] * K, [0.0] * K
        self.active, self.rounds = list(range(K)), [0] * K
        self.episode: int | None = 0
        self.accepted = -1

    def mean(self, a: int) -> float:
        return self.total[a] / self.N[a]

    def select(self) -> int:
        while len(self.active) > 1:
            r = max(self.rounds)
            waiting = [a for a in self.active if self.N[a] < plays_of_round(r, self.T)]
            if waiting:
                return waiting[0]
            beta = 2.0**-r / 2
            best = max(self.mean(a) - beta for a in self.active)
            self.active = [a for a in self.active if self.mean(a) + beta > best]
            if len(self.active) > 1:
                for a in self.active:
                    self.rounds[a] += 1
        ell = self.active[0]
        while self.episode not in (None, ell):
            assert self.episode is not None
            j = self.episode
            own, other = self.rounds[j], self.rounds[ell]
            for a, r in ((j, own), (ell, other)):
                if self.N[a] < plays_of_round(r, self.T):
                    return a
            mine, theirs = 2.0**-own / 2, 2.0**-other / 2
            if self.mean(j) - mine > self.mean(ell) + theirs - self.tolerance:
                self.accepted, self.episode = j, None
            elif self.mean(j) + mine < self.mean(ell) - theirs - self.tolerance:
                self.episode = j + 1
            else:
                self.rounds[j] += 1
                self.rounds[ell] = max(self.rounds[ell], self.rounds[j])
        return ell if self.episode is not None else self.accepted

    def update(self, a: int, reward: float) -> None:
        self.N[a] += 1
        self.total[a] += reward
