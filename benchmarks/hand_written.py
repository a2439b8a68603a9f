"""The strictest baselines: what a good engineer would write by hand, in Python and in numba."""

import math

import numba
import numpy as np

from lexbandit.checks import Floats, Integers
from naive import Dice, Vector, quick_cell_of


class HandWritten:
    """MOC-MAB as one would write it in Python for speed: nothing computed twice."""

    def __init__(
        self,
        K: int,
        T: int,
        d: int,
        m: int,
        *,
        L: float = 1.0,
        alpha: float = 1.0,
        beta: float = 1.0,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.K, self.m, self.beta, self.scale = K, m, beta, scale
        self.A = 1 + 2 * math.log(4 * K * m**d * T**1.5)
        self.v = L * d ** (alpha / 2) * m ** (-alpha)
        self.N: dict[tuple[int, ...], list[int]] = {}
        self.mean: dict[tuple[int, ...], list[list[float]]] = {}
        self.dice = Dice(seed)

    def select(self, context: Vector) -> int:
        p = quick_cell_of(context, self.m)
        if p not in self.N:
            self.N[p] = [0] * self.K
            self.mean[p] = [[0.0] * self.K, [0.0] * self.K]
        N, (mean1, mean2) = self.N[p], self.mean[p]
        twice_A, scale = 2 * self.A, self.scale
        u = [scale * math.sqrt(twice_A / n) if n else math.inf for n in N]
        g1 = [mean + width for mean, width in zip(mean1, u, strict=True)]
        best = max(g1)
        top = self.dice.one_of([a for a, g in enumerate(g1) if g == best])
        if u[top] > self.beta * self.v:
            return top
        floor = mean1[top] - u[top] - 2 * self.v
        g2 = [mean2[a] + u[a] if g1[a] >= floor else -math.inf for a in range(self.K)]
        best = max(g2)
        return self.dice.one_of([a for a, g in enumerate(g2) if g == best])

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        p = quick_cell_of(context, self.m)
        n = self.N[p][arm]
        for mean, reward in zip(self.mean[p], rewards, strict=True):
            mean[arm] = (mean[arm] * n + reward) / (n + 1)
        self.N[p][arm] = n + 1


@numba.njit(nogil=True, error_model="numpy")
def best(values: Floats) -> int:
    """Return an arm of the highest value, drawn uniformly if there are several."""
    top, arm, ties = values[0], 0, 1
    for a in range(1, values.shape[0]):
        if values[a] > top:
            top, arm, ties = values[a], a, 1
        elif values[a] == top:
            ties += 1
            if np.random.randint(ties) == 0:  # noqa: NPY002  numba knows no Generator argument here
                arm = a
    return arm


@numba.njit(nogil=True, error_model="numpy")
def cell_of(contexts: Floats, t: int, m: int) -> int:
    """Return the cell of a context in the grid of m^d cells."""
    cell = 0
    for j in range(contexts.shape[1]):
        cell = cell * m + min(int(contexts[t, j] * m), m - 1)
    return cell


@numba.njit(nogil=True, error_model="numpy")
def moc_mab(
    contexts: Floats, outcomes: Floats, m: int, A: float, v: float, scale: float, arms: Integers
) -> None:
    """Play MOC-MAB with two objectives from the start; writes the arms."""
    K, cells = outcomes.shape[1], m ** contexts.shape[1]
    N, u = np.zeros((cells, K)), np.full((cells, K), math.inf)
    mean1, mean2, g = np.zeros((cells, K)), np.zeros((cells, K)), np.empty(K)
    for t in range(contexts.shape[0]):
        p = cell_of(contexts, t, m)
        for a in range(K):
            g[a] = mean1[p, a] + u[p, a]
        arm = best(g)
        if u[p, arm] <= v:
            floor = mean1[p, arm] - u[p, arm] - 2 * v
            for a in range(K):
                g[a] = mean2[p, a] + u[p, a] if g[a] >= floor else -math.inf
            arm = best(g)
        N[p, arm] += 1
        mean1[p, arm] += (outcomes[t, arm, 0] - mean1[p, arm]) / N[p, arm]
        mean2[p, arm] += (outcomes[t, arm, 1] - mean2[p, arm]) / N[p, arm]
        u[p, arm] = scale * math.sqrt(2 * A / N[p, arm])
        arms[t] = arm


@numba.njit(nogil=True, error_model="numpy")
def cd_ucb1(contexts: Floats, outcomes: Floats, m: int, scale: float, arms: Integers) -> None:
    """Play UCB1 on the first objective in every cell from the start; writes the arms."""
    K, cells = outcomes.shape[1], m ** contexts.shape[1]
    N, rounds = np.zeros((cells, K)), np.zeros(cells)
    mean, width, g = np.zeros((cells, K)), np.full((cells, K), math.inf), np.empty(K)
    for t in range(contexts.shape[0]):
        p = cell_of(contexts, t, m)
        factor = scale * math.sqrt(2 * math.log(max(rounds[p], 2.0)))
        for a in range(K):
            g[a] = mean[p, a] + factor * width[p, a]
        arm = best(g)
        N[p, arm] += 1
        rounds[p] += 1
        mean[p, arm] += (outcomes[t, arm, 0] - mean[p, arm]) / N[p, arm]
        width[p, arm] = 1 / math.sqrt(N[p, arm])
        arms[t] = arm


@numba.njit(nogil=True, error_model="numpy")
def cp_ucb1(contexts: Floats, outcomes: Floats, m: int, scale: float, arms: Integers) -> None:
    """Play Empirical Pareto UCB1 with two objectives in every cell; writes the arms."""
    K, cells = outcomes.shape[1], m ** contexts.shape[1]
    N, rounds = np.zeros((cells, K)), np.zeros(cells)
    mean, width = np.zeros((2, cells, K)), np.full((cells, K), math.inf)
    g1, g2, front = np.empty(K), np.empty(K), np.empty(K, np.int64)
    constant = 0.25 * math.log(2 * K)
    for t in range(contexts.shape[0]):
        p = cell_of(contexts, t, m)
        factor = scale * math.sqrt(2 * (math.log(max(rounds[p], 1.0)) + constant))
        for a in range(K):
            g1[a] = mean[0, p, a] + factor * width[p, a]
            g2[a] = mean[1, p, a] + factor * width[p, a]
        size = 0
        for a in range(K):
            alone = True
            for b in range(K):
                if g1[b] >= g1[a] and g2[b] >= g2[a] and (g1[b] > g1[a] or g2[b] > g2[a]):
                    alone = False
                    break
            if alone:
                front[size] = a
                size += 1
        arm = front[np.random.randint(size)]  # noqa: NPY002
        N[p, arm] += 1
        rounds[p] += 1
        for i in range(2):
            mean[i, p, arm] += (outcomes[t, arm, i] - mean[i, p, arm]) / N[p, arm]
        width[p, arm] = 1 / math.sqrt(N[p, arm])
        arms[t] = arm


@numba.njit(nogil=True, error_model="numpy")
def cs_ucb1(contexts: Floats, outcomes: Floats, m: int, scale: float, arms: Integers) -> None:
    """Play Scalarized UCB1 with the weights (1, 0), (½, ½), (0, 1) in every cell."""
    K, cells = outcomes.shape[1], m ** contexts.shape[1]
    N, rounds = np.zeros((3, cells, K)), np.zeros((3, cells))
    mean, width, g = np.zeros((3, cells, K)), np.full((3, cells, K), math.inf), np.empty(K)
    for t in range(contexts.shape[0]):
        p, s = cell_of(contexts, t, m), np.random.randint(3)  # noqa: NPY002
        factor = scale * math.sqrt(2 * math.log(max(rounds[s, p], 2.0)))
        for a in range(K):
            g[a] = mean[s, p, a] + factor * width[s, p, a]
        arm = best(g)
        reward = 0.5 * ((2 - s) * outcomes[t, arm, 0] + s * outcomes[t, arm, 1])
        N[s, p, arm] += 1
        rounds[s, p] += 1
        mean[s, p, arm] += (reward - mean[s, p, arm]) / N[s, p, arm]
        width[s, p, arm] = 1 / math.sqrt(N[s, p, arm])
        arms[t] = arm
