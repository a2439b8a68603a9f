"""LexMOC, its eliminating version and the tree, written from docs/theory.md, with no numpy."""

import math
from collections.abc import Callable

from naive import Dice, Vector, quick_cell_of

Width = Callable[[int, int], float]  # of the number of observations and the level of the cell


class Cell:
    """Counts and means of one cell."""

    def __init__(self, K: int, D: int, v: float, level: int = 0) -> None:
        self.N = [0] * K
        self.mean = [[0.0] * K for _ in range(D)]
        self.v = v
        self.level = level

    def learn(self, arm: int, rewards: Vector) -> None:
        n = self.N[arm]
        for i, reward in enumerate(rewards):
            self.mean[i][arm] = (self.mean[i][arm] * n + reward) / (n + 1)
        self.N[arm] = n + 1


class OnGrid:
    """Cells of a grid; `width` is the bound."""

    def __init__(self, K: int, D: int, d: int, m: int, width: Width, *, L: float = 1.0) -> None:
        self.K, self.D, self.d, self.m, self.width, self.L = K, D, d, m, width, L
        self.cells: dict[tuple[int, ...], Cell] = {}

    def cell(self, context: Vector) -> Cell:
        p = quick_cell_of(context, self.m)
        if p not in self.cells:
            self.cells[p] = Cell(self.K, self.D, self.L * math.sqrt(self.d) / self.m)
        return self.cells[p]

    def learned(self, context: Vector) -> None:
        """A grid does not change."""


class OnTree:
    """Leaves of a tree of cubes, as nested dictionaries of halves."""

    def __init__(self, K: int, D: int, d: int, width: Width, *, L: float = 1.0) -> None:
        self.K, self.D, self.d, self.width, self.L = K, D, d, width, L
        self.nodes: dict[tuple[tuple[int, ...], ...], Cell] = {}

    def path(self, context: Vector) -> tuple[tuple[int, ...], ...]:
        """The halves taken from the root on, until a node that is not full."""
        path: tuple[tuple[int, ...], ...] = ()
        low, edge = [0.0] * self.d, 1.0
        while path in self.nodes and sum(self.nodes[path].N) >= 2 ** (3 * len(path)):
            edge /= 2
            half = tuple(int(x >= least + edge) for x, least in zip(context, low, strict=True))
            low = [least + h * edge for least, h in zip(low, half, strict=True)]
            path = (*path, half)
        return path

    def cell(self, context: Vector) -> Cell:
        path = self.path(context)
        if path not in self.nodes:
            v = self.L * math.sqrt(self.d) * 2.0 ** -len(path)
            self.nodes[path] = Cell(self.K, self.D, v, len(path))
        return self.nodes[path]


class LexMoc:
    """Section "more than two objectives": level by level, with λ and tolerances."""

    def __init__(
        self,
        partition: OnGrid | OnTree,
        *,
        beta: float = 1.0,
        lam: float = 0.0,
        tolerance: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.partition, self.beta, self.lam, self.tolerance = partition, beta, lam, tolerance
        self.dice = Dice(seed)

    def interval(self, cell: Cell, i: int, a: int) -> tuple[float, float, float]:
        u = self.partition.width(cell.N[a], cell.level)
        return cell.mean[i][a] - u, u, cell.mean[i][a] + u

    def select(self, context: Vector) -> int:
        cell = self.partition.cell(context)
        v, D = cell.v, self.partition.D
        candidates = list(range(self.partition.K))
        tops: list[int] = []
        for i in range(D):
            U = {a: self.interval(cell, i, a)[2] for a in candidates}
            h = self.dice.one_of([a for a in candidates if U[a] == max(U.values())])
            low = self.interval(cell, i, h)[0]
            u = max(self.interval(cell, j, h)[1] for j in range(i + 1))
            if i == D - 1 or u > self.beta * v:
                return h
            e = 0.0
            for j, top in enumerate(tops):
                reach = self.interval(cell, j, top)[2] - self.interval(cell, j, h)[0] + 2 * v
                e = max(e, self.lam * reach)
            floor = low - max(2 * v, self.tolerance) - e
            candidates = [a for a in candidates if U[a] >= floor]
            tops.append(h)
        raise AssertionError("the last level always plays")

    def update(self, context: Vector, arm: int, rewards: Vector) -> None:
        self.partition.cell(context).learn(arm, rewards)


class StagedLex(LexMoc):
    """The eliminating version: remove by every objective until nothing changes."""

    def survivors(self, cell: Cell) -> list[int]:
        v, D = cell.v, self.partition.D
        arms = list(range(self.partition.K))
        if any(cell.N[a] == 0 for a in arms):
            return arms
        while True:
            start = arms
            tops: list[float] = []
            for i in range(D):
                lows = {}
                for b in arms:
                    e = 0.0
                    for j in range(i):
                        e = max(e, self.lam * (tops[j] - self.interval(cell, j, b)[0] + 2 * v))
                    lows[b] = self.interval(cell, i, b)[0] - e
                tops.append(max(self.interval(cell, i, b)[2] for b in arms))
                floor = max(lows.values()) - max(2 * v, self.tolerance)
                arms = [a for a in arms if self.interval(cell, i, a)[2] >= floor]
            if arms == start:
                return arms

    def select(self, context: Vector) -> int:
        cell = self.partition.cell(context)
        arms = self.survivors(cell)
        widths = {a: self.interval(cell, 0, a)[1] for a in arms}
        value = widths
        if max(widths.values()) <= cell.v:
            last = self.partition.D - 1
            value = {a: self.interval(cell, last, a)[2] for a in arms}
        return self.dice.one_of([a for a in arms if value[a] == max(value.values())])


def probabilities(
    U: list[list[float]],
    L: list[list[float]],
    width: list[list[float]],
    threshold: float,
    allowances: list[float],
    blur: float,
    lam: float,
    candidates: list[int],
    tops: tuple[int, ...] = (),
) -> dict[int, float]:
    """How probable each arm is under LexMOC, by following every tied top arm."""
    i = len(tops)
    best = max(U[i][a] for a in candidates)
    tied = [a for a in candidates if U[i][a] == best]
    shares: dict[int, float] = {}
    for h in tied:
        if i == len(U) - 1 or max(width[j][h] for j in range(i + 1)) > threshold:
            shares[h] = shares.get(h, 0.0) + 1 / len(tied)
            continue
        e = max([0.0, *[lam * (U[j][top] - L[j][h] + blur) for j, top in enumerate(tops)]])
        left = [a for a in candidates if U[i][a] >= L[i][h] - allowances[i] - e]
        below = probabilities(U, L, width, threshold, allowances, blur, lam, left, (*tops, h))
        for a, p in below.items():
            shares[a] = shares.get(a, 0.0) + p / len(tied)
    return shares
