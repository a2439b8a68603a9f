"""Plain twins of the zooming algorithms, written from their definitions, with no numpy.

Similarity: one arm at min(1, L·|x − x'|^alpha), two arms at 1. The first ball covers everything and
its centre is at 1 from every other. Balls are looked at in order of their numbers, the first ball
last, so that draws can be compared one by one.
"""

import math
from collections.abc import Sequence

from naive import Dice, Vector, front


class Ball:
    def __init__(self, number: int, centre: Vector, arm: int | None, radius: float, D: int) -> None:
        self.number, self.centre, self.arm, self.radius = number, centre, arm, radius
        self.n = [0] * D
        self.total = [0.0] * D

    def mean(self, i: int) -> float:
        return self.total[i] / self.n[i] if self.n[i] else 0.0


class Zooming:
    """What the two algorithms share; `ranked` objectives decide."""

    def __init__(
        self, K: int, *, D: int = 2, ranked: int, L: float = 1.0, alpha: float = 1.0, seed: int = 0
    ) -> None:
        self.K, self.D, self.ranked, self.L, self.alpha = K, D, ranked, L, alpha
        self.balls = [Ball(0, (), None, 1.0, D)]
        self.drawn = self.balls[0]
        self.dice = Dice(seed)

    def width(self, ball: Ball, i: int) -> float:
        raise NotImplementedError

    def distance(self, x: Vector, arm: int | None, y: Vector, other: int | None) -> float:
        if arm is None or arm != other:
            return 1.0
        return min(1.0, self.L * math.pow(math.dist(x, y), self.alpha))

    def apart(self, one: Ball, other: Ball) -> float:
        if one is other:
            return 0.0
        return self.distance(one.centre, one.arm, other.centre, other.arm)

    def domain_of(self, context: Vector, arm: int) -> list[Ball]:
        """The balls in whose domain (context, arm) lies: no smaller ball covers it."""
        covers = [
            ball
            for ball in self.balls
            if self.distance(ball.centre, ball.arm, context, arm) <= ball.radius
        ]
        least = min(ball.radius for ball in covers)
        return [ball for ball in covers if ball.radius == least]

    def pre_index(self, ball: Ball, i: int) -> float:
        return ball.mean(i) + ball.radius + self.width(ball, i)

    def indices(self, balls: list[Ball], i: int) -> list[float]:
        pre = [(self.pre_index(other, i), other) for other in self.balls]
        return [
            ball.radius + min(value + self.apart(ball, other) for value, other in pre)
            for ball in balls
        ]

    def vectors(self, balls: list[Ball]) -> list[tuple[float, ...]]:
        columns = [self.indices(balls, i) for i in range(self.ranked)]
        return list(zip(*columns, strict=True))

    def select(self, context: Vector) -> int:
        domains = [self.domain_of(context, arm) for arm in range(self.K)]
        inside = [ball for domain in domains for ball in domain]
        relevant = [ball for ball in [*self.balls[1:], self.balls[0]] if ball in inside]
        self.drawn = relevant[self.dice.one_of(front(self.vectors(relevant)))]
        return self.dice.one_of([arm for arm in range(self.K) if self.drawn in domains[arm]])

    def credited(self, context: Vector, arm: int) -> Ball:
        """The highest index in the domain, the first objective first; the oldest of equals."""
        domain = sorted(self.domain_of(context, arm), key=lambda ball: ball.number)
        vectors = self.vectors(domain)
        return domain[vectors.index(max(vectors))]

    def update(self, context: Vector, arm: int, rewards: Sequence[float]) -> None:
        ball = self.credited(context, arm)
        for i, reward in enumerate(rewards):
            if not math.isnan(reward):
                ball.n[i] += 1
                ball.total[i] += reward
        if all(self.width(ball, i) <= ball.radius for i in range(self.ranked)):
            half = ball.radius / 2
            self.balls.append(Ball(len(self.balls), tuple(context), arm, half, self.D))


class ContextualZooming(Zooming):
    """Slivkins (2014): conf = 4 sqrt(ln T / (1 + n)), the dominant objective."""

    def __init__(
        self, K: int, T: int, *, scale: float = 1.0, L: float = 1.0, alpha: float = 1.0, seed: int
    ) -> None:
        super().__init__(K, ranked=1, L=L, alpha=alpha, seed=seed)
        self.T, self.scale = T, scale

    def width(self, ball: Ball, i: int) -> float:
        return self.scale * 4 * math.sqrt(math.log(self.T) / (1 + ball.n[i]))


class ParetoZooming(Zooming):
    """Turgay, Oner and Tekin (2018): u = sqrt(2A/N), the Pareto front of the index vectors."""

    def __init__(
        self,
        K: int,
        T: int,
        *,
        delta: float,
        scale: float = 1.0,
        L: float = 1.0,
        alpha: float = 1.0,
        seed: int,
    ) -> None:
        super().__init__(K, ranked=2, L=L, alpha=alpha, seed=seed)
        self.A = 1 + 2 * math.log(2 * math.sqrt(2) * 2 * T**1.5 / delta)
        self.scale = scale

    def width(self, ball: Ball, i: int) -> float:
        return self.scale * math.sqrt(2 * self.A / ball.n[i]) if ball.n[i] else math.inf


class RememberingParetoZooming(ParetoZooming):
    """The same to the letter: the ball drawn is remembered and credited."""

    def credited(self, context: Vector, arm: int) -> Ball:
        return self.drawn
