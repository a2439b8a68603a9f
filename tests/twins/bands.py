"""The rule of bands and its probabilities, written from the rule: every set and every winner."""

import itertools
import math

import numpy as np

from naive import Dice

Matrix = list[list[float]]

NODES, FACTORS = np.polynomial.legendre.leggauss(20)
erfc = np.vectorize(math.erfc, otypes=[float])


def normal(dice: Dice) -> float:
    """A draw from N(0, 1) by Box and Muller."""
    u = (dice.below(2**53) + 1) * 2.0**-53
    v = dice.below(2**53) * 2.0**-53
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


class Bands:
    """Means, spreads, reaches and bands by objective, and the arms that are allowed."""

    def __init__(
        self, m: Matrix, s: Matrix, reach: Matrix, band: list[float], allowed: list[int]
    ) -> None:
        self.m, self.reach, self.band, self.allowed = m, reach, band, allowed
        self.D, self.K = len(m), len(m[0])
        self.s = [
            [0.0 if s[i][a] <= 1e-12 * abs(m[i][a]) else s[i][a] for a in range(self.K)]
            for i in range(self.D)
        ]
        self.known: dict[tuple[int, frozenset[int]], list[float]] = {}

    def stay(self, i: int, C: frozenset[int], h: int, z_h: float) -> frozenset[int]:
        """The arms left after level i."""
        return frozenset({h} | {a for a in C if z_h <= self.reach[i][a] + self.band[i]})

    def decide(self, dice: Dice) -> int:
        C = frozenset(self.allowed)
        for i in range(self.D):
            if len(C) == 1:
                break
            z = {a: self.m[i][a] + self.s[i][a] * normal(dice) for a in sorted(C)}
            best = [a for a in z if z[a] == max(z.values())]
            h = best[dice.below(len(best))] if len(best) > 1 else best[0]
            C = self.stay(i, C, h, z[h]) if i < self.D - 1 else frozenset({h})
        return min(C)

    def below(self, i: int, arms: list[int], z: np.ndarray, origin: float) -> np.ndarray:
        """P(no draw of these arms is above origin + z)."""
        product = np.ones(z.shape)
        for a in arms:
            shifted = z - (self.m[i][a] - origin)
            if self.s[i][a] == 0:
                product *= shifted >= 0
            else:
                product *= 0.5 * erfc(-shifted / self.s[i][a] * math.sqrt(0.5))
        return product

    def winners(self, i: int, C: frozenset[int]) -> list[tuple[int, float, float]]:
        """Triples of a winner h, a value of z_h, and a mass: where z_h stands for an interval.

        No threshold is inside of an interval.
        """
        found = []
        origin = max(self.m[i][a] for a in C)
        points = {self.m[i][a] for a in C if self.s[i][a] == 0}
        for v in points:
            tied = [a for a in C if self.s[i][a] == 0 and self.m[i][a] == v]
            others = [a for a in C if a not in tied]
            mass = self.below(i, others, np.array([v - origin]), origin)[0]
            found += [(a, v, mass / len(tied)) for a in tied]
        smooth = [a for a in C if self.s[i][a] > 0]
        cuts = {self.reach[i][a] + self.band[i] - origin for a in C} | {v - origin for v in points}
        for a in smooth:
            cuts |= {self.m[i][a] - origin + k * self.s[i][a] for k in range(-9, 10)}
        ends = sorted(cut for cut in cuts if math.isfinite(cut))
        for h in smooth:
            mean, spread = self.m[i][h] - origin, self.s[i][h]
            near = [
                (start, stop)
                for start, stop in itertools.pairwise(ends)
                if abs(start + stop - 2 * mean) < 18 * spread
            ]
            if not near:
                continue
            starts, stops = (np.array(side)[:, None] for side in zip(*near, strict=True))
            z = starts + 0.5 * (stops - starts) * (1 + NODES)
            density = np.exp(-0.5 * ((z - mean) / spread) ** 2) / math.sqrt(2 * math.pi)
            f = density * self.below(i, [b for b in C if b != h], z, origin)
            masses = ((stops - starts) / spread / 2 * FACTORS * f).sum(axis=1).tolist()
            found += [
                (h, origin + 0.5 * (start + stop), mass)
                for (start, stop), mass in zip(near, masses, strict=True)
            ]
        return found

    def given(self, i: int, C: frozenset[int]) -> list[float]:
        """The probability of every arm to be played, with the arms C left before level i."""
        if (i, C) in self.known:
            return self.known[i, C]
        chances = [0.0] * self.K
        if len(C) == 1:
            chances[min(C)] = 1.0
            return chances
        for h, z_h, mass in self.winners(i, C):
            if mass < 1e-16:
                continue
            if i == self.D - 1:
                chances[h] += mass
            else:
                later = self.given(i + 1, self.stay(i, C, h, z_h))
                chances = [p + mass * q for p, q in zip(chances, later, strict=True)]
        self.known[i, C] = chances
        return chances

    def chances(self) -> list[float]:
        return self.given(0, frozenset(self.allowed))
