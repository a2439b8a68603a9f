"""Balls in the space of (context, arm): which of them cover a point, and what they promise there.

    centres[ball, feature]          where the ball lies
    sizes[ball, (RADIUS, REACH)]    its radius; the squared distance of contexts that it reaches
    links[ball, (ARM, NEXT)]        its arm; the ball of the same arm that came before it, or 0
    heads[arm]                      the arm's latest ball, or 0
    stats[ball, objective, field]   COUNT, SUM, MEAN, WIDTH and PRE, the pre-index
    metric = (L, α)                 of the distance

The distance of two points is min(1, L‖x − x'‖^α) for one arm and 1 for two arms. Ball 0, the root,
has radius 1 and covers every point; it is no arm's, and its centre is at distance 1 from all
others. Every other ball has a radius of at most ½, so it covers points of its own arm only.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel

RADIUS, REACH = 0, 1
ARM, NEXT = 0, 1
COUNT, SUM, MEAN, WIDTH, PRE = 0, 1, 2, 3, 4
FIELDS = 5
ROOT = 0

Links = NDArray[np.int64]


@inlined
def squared(ones: Array, one: int, others: Array, other: int) -> float:
    """Return ‖x − x'‖² of two rows."""
    total = 0.0
    for j in range(ones.shape[1]):
        gap = ones[one, j] - others[other, j]
        total += gap * gap
    return total


@inlined
def distance(square: float, metric: Array) -> float:
    """Return min(1, L‖x − x'‖^α)."""
    if metric[1] == 1.0:
        return float(min(1.0, metric[0] * math.sqrt(square)))
    return float(min(1.0, metric[0] * square ** (0.5 * metric[1])))


@kernel
def reach_of(radius: float, metric: Array) -> float:
    """Return the largest ‖x − x'‖² at distance `radius`, below 1."""
    return float((radius / metric[0]) ** (2.0 / metric[1]))


@kernel
def covering(
    contexts: Array,
    t: int,
    arm: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    found: Keys,
) -> int:
    """Write the arm's smallest balls around a context to `found`; return how many there are.

    They are the balls, other than the root, that have the point (context, arm) in their domain:
    domains leave out what smaller balls cover (Slivkins, 2014). The latest comes first.
    """
    count = 0
    least = math.inf
    ball = heads[arm]
    while ball != ROOT:
        if squared(centres, ball, contexts, t) <= sizes[ball, REACH]:
            radius = sizes[ball, RADIUS]
            if radius < least:
                least = radius
                count = 0
            if radius == least:
                found[count] = ball
                count += 1
        ball = links[ball, NEXT]
    return count


@kernel
def relevant(
    contexts: Array,
    t: int,
    ceilings: Array,
    row: int,
    centres: Array,
    sizes: Array,
    links: Links,
    used: int,
    found: Keys,
    bare: Keys,
    least: Array,
) -> tuple[int, int]:
    """Write the balls in whose domain an allowed arm lies to `found`, by number, the root last.

    The allowed arms that no ball but the root covers are written to `bare`. Returns the number of
    balls and the number of bare arms. `least[arm]` is room to work in.
    """
    hits = 0
    for ball in range(1, used):
        if squared(centres, ball, contexts, t) <= sizes[ball, REACH]:
            found[hits] = ball
            hits += 1
    for arm in range(least.shape[0]):
        least[arm] = math.inf
    for j in range(hits):
        arm = links[found[j], ARM]
        least[arm] = min(least[arm], sizes[found[j], RADIUS])
    balls = 0
    for j in range(hits):
        arm = links[found[j], ARM]
        if sizes[found[j], RADIUS] == least[arm] and ceilings[row, arm] > 0.0:
            found[balls] = found[j]
            balls += 1
    uncovered = 0
    for arm in range(least.shape[0]):
        if least[arm] == math.inf and ceilings[row, arm] > 0.0:
            bare[uncovered] = arm
            uncovered += 1
    if uncovered > 0:
        found[balls] = ROOT
        balls += 1
    return balls, uncovered


@inlined
def least_pre(stats: Array, used: int, i: int) -> float:
    """Return the least pre-index of all balls in objective i."""
    least = math.inf
    for ball in range(used):
        least = min(least, stats[ball, i, PRE])
    return least


@kernel
def index_of(
    ball: int,
    i: int,
    far: float,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    metric: Array,
) -> float:
    """Return r(B) + min over balls B' of (pre(B') + distance of B and B'), the index (Slivkins).

    `far` is the least pre-index of all balls plus 1, the distance to the root and to other arms; no
    ball is farther, so balls of this arm may enter it too.
    """
    least = min(far, stats[ball, i, PRE])
    if ball != ROOT:
        other = heads[links[ball, ARM]]
        while other != ROOT:
            pre = stats[other, i, PRE]
            if pre < least:
                least = min(least, pre + distance(squared(centres, ball, centres, other), metric))
            other = links[other, NEXT]
    return float(sizes[ball, RADIUS] + least)
