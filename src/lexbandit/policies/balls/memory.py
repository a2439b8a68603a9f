"""The memory of a policy on balls: arrays that grow as balls are added."""

import numpy as np

from lexbandit.checks import Floats, Integers
from lexbandit.kernels import balls as kernel
from lexbandit.kernels.balls_learning import derive, link

_FIRST_BALLS = 64


class BallMemory:
    """The arrays of `kernels.balls`; ball 0 is the root, the others follow in order of addition.

    `bound` is (factor, offset) of the widths, `metric` is (L, α).
    """

    def __init__(
        self, *, arms: int, dimension: int, objectives: int, bound: Floats, metric: Floats
    ) -> None:
        self.bound = bound
        self.metric = metric
        self.used = 1
        self.heads: Integers = np.zeros(arms, np.int64)
        self.centres: Floats = np.zeros((_FIRST_BALLS, dimension))
        self.sizes: Floats = np.zeros((_FIRST_BALLS, 2))
        self.links: Integers = np.zeros((_FIRST_BALLS, 2), np.int64)
        self.plays: Floats = np.zeros(_FIRST_BALLS)
        self.stats: Floats = np.zeros((_FIRST_BALLS, objectives, kernel.FIELDS))
        self.sizes[0] = 1.0, np.inf
        self.links[0, kernel.ARM] = -1
        derive(self.stats, self.sizes, 0, 1, bound)

    @property
    def full(self) -> bool:
        """Whether there is no room for another ball."""
        return self.used == len(self.plays)

    def grow(self) -> None:
        """Double the room for balls."""
        for name in ("centres", "sizes", "links", "plays", "stats"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def add_arm(self) -> None:
        """Make room for one more arm, which the root alone covers."""
        self.heads = np.append(self.heads, 0)

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of what is known of the balls."""
        used = slice(0, self.used)
        return {
            "centres": self.centres[used].copy(),
            "radii": self.sizes[used, kernel.RADIUS].copy(),
            "owners": self.links[used, kernel.ARM].copy(),
            "plays": self.plays[used].astype(np.int64),
            "counts": self.stats[used, :, kernel.COUNT].astype(np.int64),
            "sums": self.stats[used, :, kernel.SUM].copy(),
        }

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        balls = len(contents["plays"])
        fresh = BallMemory(
            arms=len(self.heads),
            dimension=self.centres.shape[1],
            objectives=self.stats.shape[1],
            bound=self.bound,
            metric=self.metric,
        )
        while len(fresh.plays) < balls:
            fresh.grow()
        fresh.used = balls
        fresh.centres[:balls] = contents["centres"]
        fresh.sizes[1:balls, kernel.RADIUS] = contents["radii"][1:]
        for ball in range(1, balls):
            radius = fresh.sizes[ball, kernel.RADIUS]
            fresh.sizes[ball, kernel.REACH] = kernel.reach_of(radius, self.metric)
        fresh.links[:balls, kernel.ARM] = contents["owners"]
        link(fresh.links, fresh.heads, 1, balls)
        fresh.plays[:balls] = contents["plays"]
        fresh.stats[:balls, :, kernel.COUNT] = contents["counts"]
        fresh.stats[:balls, :, kernel.SUM] = contents["sums"]
        derive(fresh.stats, fresh.sizes, 0, balls, self.bound)
        self.__dict__.update(fresh.__dict__)
