"""Balls in the space of (context, arm): which cover a point, what they promise, and the loops.

    centres[ball, feature]          where the ball lies
    sizes[ball, (RADIUS, REACH)]    its radius; the squared distance of contexts that it reaches
    links[ball, (ARM, NEXT)]        its arm; the ball of the same arm that came before it, or 0
    heads[arm]                      the arm's latest ball, or 0
    plays[ball]                     rounds that the ball learned from
    stats[ball, objective, field]   COUNT, SUM, MEAN, WIDTH and PRE, the pre-index
    metric = (L, α)                 of the distance
    bound = (FACTOR, OFFSET)        a width is FACTOR · sqrt(1/(OFFSET + N)) with N observations

The distance of two points is min(1, L‖x − x'‖^α) for one arm and 1 for two arms. Ball 0, the root,
has radius 1 and covers every point; it is no arm's, and its centre is at distance 1 from all
others. Every other ball has a radius of at most ½, so it covers points of its own arm only. The
first `used` balls are there; the arrays have space for more.

A rule ranks balls by the indices of the first `ranked` objectives: by one it selects a ball of the
highest index, by several one that no other dominates.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.ties import ONLY_ROW, row_of

RADIUS, REACH = 0, 1
ARM, NEXT = 0, 1
COUNT, SUM, MEAN, WIDTH, PRE = 0, 1, 2, 3, 4
FIELDS = 5
FACTOR, OFFSET = 0, 1
ROOT = 0

Links = NDArray[np.int64]


class Balls(NamedTuple):
    """The arrays of all balls, as described above."""

    centres: Array
    sizes: Array
    links: Links
    heads: Keys
    plays: Array
    stats: Array
    metric: Array
    bound: Array


class BallWork(NamedTuple):
    """Space to work in: the balls found, the arms left to the root, and numbers of both."""

    found: Keys
    bare: Keys
    least: Array
    vectors: Array


@inlined
def new_work(balls: Balls, ranked: int) -> BallWork:
    """Return space for as many balls as the arrays can hold."""
    size, arms = balls.plays.shape[0], balls.heads.shape[0]
    return BallWork(
        np.empty(size, np.int64),
        np.empty(arms, np.int64),
        np.empty(arms),
        np.empty((size, ranked)),
    )


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
def covering(balls: Balls, contexts: Array, t: int, arm: int, found: Keys) -> int:
    """Write the arm's smallest balls around a context to `found`; return how many there are.

    They are the balls, other than the root, that have the point (context, arm) in their domain:
    domains leave out what smaller balls cover (Slivkins, 2014). The latest comes first.
    """
    centres, sizes = balls.centres, balls.sizes
    count = 0
    least = math.inf
    ball = balls.heads[arm]
    while ball != ROOT:
        if squared(centres, ball, contexts, t) <= sizes[ball, REACH]:
            radius = sizes[ball, RADIUS]
            if radius < least:
                least = radius
                count = 0
            if radius == least:
                found[count] = ball
                count += 1
        ball = balls.links[ball, NEXT]
    return count


@kernel
def relevant(
    balls: Balls, used: int, contexts: Array, t: int, ceilings: Array, row: int, work: BallWork
) -> tuple[int, int]:
    """Write the balls in whose domain an allowed arm lies to work.found, the root last.

    The allowed arms that no ball but the root covers are written to work.bare. Returns the number
    of balls and the number of bare arms.
    """
    centres, sizes, links = balls.centres, balls.sizes, balls.links
    found, bare, least = work.found, work.bare, work.least
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
    size = 0
    for j in range(hits):
        arm = links[found[j], ARM]
        if sizes[found[j], RADIUS] == least[arm] and ceilings[row, arm] > 0.0:
            found[size] = found[j]
            size += 1
    uncovered = 0
    for arm in range(least.shape[0]):
        if least[arm] == math.inf and ceilings[row, arm] > 0.0:
            bare[uncovered] = arm
            uncovered += 1
    if uncovered > 0:
        found[size] = ROOT
        size += 1
    return size, uncovered


@inlined
def least_pre(stats: Array, used: int, i: int) -> float:
    """Return the least pre-index of all balls in objective i."""
    least = math.inf
    for ball in range(used):
        least = min(least, stats[ball, i, PRE])
    return least


@kernel
def index_of(balls: Balls, ball: int, i: int, far: float) -> float:
    """Return r(B) + min over balls B' of (pre(B') + distance of B and B'), the index (Slivkins).

    `far` is the least pre-index of all balls plus 1, the distance to the root and to other arms; no
    ball is farther, so balls of this arm may enter it too.
    """
    stats, centres = balls.stats, balls.centres
    least = min(far, stats[ball, i, PRE])
    if ball != ROOT:
        other = balls.heads[balls.links[ball, ARM]]
        while other != ROOT:
            pre = stats[other, i, PRE]
            if pre < least:
                gap = distance(squared(centres, ball, centres, other), balls.metric)
                least = min(least, pre + gap)
            other = balls.links[other, NEXT]
    return float(balls.sizes[ball, RADIUS] + least)


@kernel
def keep_highest(balls: Balls, used: int, i: int, found: Keys, size: int) -> int:
    """Keep, in place, the balls of the highest index in objective i; return how many there are.

    An index is at most r(B) + pre(B), so most balls need not be looked into.
    """
    far = least_pre(balls.stats, used, i) + 1.0
    best = -math.inf
    left = 0
    for j in range(size):
        ball = found[j]
        if balls.sizes[ball, RADIUS] + min(far, balls.stats[ball, i, PRE]) < best:
            continue
        index = index_of(balls, ball, i, far)
        if index > best:
            best = index
            left = 0
        if index == best:
            found[left] = ball
            left += 1
    return left


@kernel
def keep_front(balls: Balls, used: int, found: Keys, size: int, vectors: Array) -> int:
    """Keep, in place, the balls whose index vectors no other dominates; return how many there are.

    Equal vectors stay together. vectors[ball, objective] is space to work in.
    """
    for i in range(vectors.shape[1]):
        far = least_pre(balls.stats, used, i) + 1.0
        for j in range(size):
            vectors[j, i] = index_of(balls, found[j], i, far)
    left = 0
    for j in range(size):
        dominated = False
        for k in range(size):
            at_least = True
            better = False
            for i in range(vectors.shape[1]):
                at_least &= vectors[k, i] >= vectors[j, i]
                better |= vectors[k, i] > vectors[j, i]
            dominated |= at_least & better
        if not dominated:
            found[left] = found[j]
            left += 1
    return left


@kernel
def candidates(
    balls: Balls, used: int, contexts: Array, t: int, ceilings: Array, row: int, work: BallWork
) -> tuple[int, int]:
    """Write the balls that may be selected to work.found and the root's arms to work.bare.

    Returns how many there are of each.
    """
    size, uncovered = relevant(balls, used, contexts, t, ceilings, row, work)
    if size > 1:
        if work.vectors.shape[1] == 1:
            size = keep_highest(balls, used, ONLY_ROW, work.found, size)
        else:
            size = keep_front(balls, used, work.found, size, work.vectors)
    return size, uncovered


@kernel
def draw(balls: Balls, size: int, uncovered: int, random: RandomState, work: BallWork) -> int:
    """Return the arm of one of the candidates, uniformly; of the root, one of its bare arms."""
    ball = work.found[below(random, size)] if size > 1 else work.found[0]
    if ball != ROOT:
        return int(balls.links[ball, ARM])
    return int(work.bare[below(random, uncovered)] if uncovered > 1 else work.bare[0])


@kernel
def shares_of(balls: Balls, size: int, uncovered: int, work: BallWork) -> Array:
    """Return the exact probability with which `draw` returns each arm."""
    out = np.zeros(balls.heads.shape[0])
    for j in range(size):
        if work.found[j] != ROOT:
            out[balls.links[work.found[j], ARM]] += 1.0 / size
        else:
            for k in range(uncovered):
                out[work.bare[k]] += 1.0 / size / uncovered
    return out


@kernel
def shares(balls: Balls, used: int, ranked: int, context: Array, ceilings: Array) -> Array:
    """Return the exact probability with which each arm is played in context[1, d]."""
    work = new_work(balls, ranked)
    size, uncovered = candidates(balls, used, context, ONLY_ROW, ceilings, ONLY_ROW, work)
    return shares_of(balls, size, uncovered, work)


@kernel
def credited(
    balls: Balls, used: int, ranked: int, contexts: Array, t: int, arm: int, found: Keys
) -> int:
    """Return the ball that learns from a play of `arm`: one with the point in its domain.

    Of several, the one of the highest index in objective 1, then 2 and so on as far as the rule
    ranks by them, then the oldest. By one objective that is the ball that was selected, up to ties.
    """
    size = covering(balls, contexts, t, arm, found)
    if size == 0:
        return ROOT
    for i in range(ranked):
        if size > 1:
            size = keep_highest(balls, used, i, found, size)
    return int(found[size - 1])  # the latest comes first


@inlined
def width_of(count: float, bound: Array) -> float:
    """Return the width of a ball's mean after `count` observations; ∞ if OFFSET + N is 0."""
    if bound[OFFSET] + count == 0.0:
        return math.inf
    return float(bound[FACTOR] * math.sqrt(1.0 / (bound[OFFSET] + count)))


@kernel
def derive(balls: Balls, first: int, last: int) -> None:
    """Set MEAN, WIDTH and PRE = mean + radius + width from COUNT and SUM of some balls."""
    stats = balls.stats
    for ball in range(first, last):
        for i in range(stats.shape[1]):
            count = stats[ball, i, COUNT]
            mean = stats[ball, i, SUM] / count if count else 0.0
            width = width_of(count, balls.bound)
            stats[ball, i, MEAN] = mean
            stats[ball, i, WIDTH] = width
            stats[ball, i, PRE] = mean + balls.sizes[ball, RADIUS] + width


@kernel
def link(balls: Balls, first: int, last: int) -> None:
    """Enter the balls first to last−1, whose arms are set, into the lists of their arms."""
    for ball in range(first, last):
        arm = balls.links[ball, ARM]
        balls.links[ball, NEXT] = balls.heads[arm]
        balls.heads[arm] = ball


@kernel
def learn(
    balls: Balls,
    used: int,
    ranked: int,
    contexts: Array,
    t: int,
    arm: int,
    outcomes: Array,
    r: int,
    ball: int,
) -> int:
    """Add outcomes[t, r] of an arm to a ball; return the number of balls then. NaN: not observed.

    If the widths in all objectives that the rule ranks by are then at most the radius, a ball of
    half the radius is added at the point played. The arrays must have space for it.
    """
    stats, sizes = balls.stats, balls.sizes
    balls.plays[ball] += 1.0
    for i in range(outcomes.shape[2]):
        if not math.isnan(outcomes[t, r, i]):
            stats[ball, i, COUNT] += 1.0
            stats[ball, i, SUM] += outcomes[t, r, i]
    derive(balls, ball, ball + 1)
    for i in range(ranked):
        if stats[ball, i, WIDTH] > sizes[ball, RADIUS]:
            return used
    sizes[used, RADIUS] = 0.5 * sizes[ball, RADIUS]
    sizes[used, REACH] = reach_of(sizes[used, RADIUS], balls.metric)
    for j in range(contexts.shape[1]):
        balls.centres[used, j] = contexts[t, j]
    balls.links[used, ARM] = arm
    link(balls, used, used + 1)
    derive(balls, used, used + 1)
    return used + 1


@kernel
def select(
    balls: Balls, used: int, ranked: int, context: Array, ceilings: Array, random: RandomState
) -> tuple[int, float]:
    """Return the arm to play in context[1, d] and the exact probability with which it is played."""
    work = new_work(balls, ranked)
    size, uncovered = candidates(balls, used, context, ONLY_ROW, ceilings, ONLY_ROW, work)
    before = random[0]
    arm = draw(balls, size, uncovered, random, work)
    if random[0] == before:  # nothing was drawn, so there was no other
        return arm, 1.0
    return arm, shares_of(balls, size, uncovered, work)[arm]


@kernel
def update(balls: Balls, used: int, ranked: int, context: Array, arm: int, rewards: Array) -> int:
    """Learn rewards[1, 1, D] of an arm played in context[1, d]; return the number of balls then."""
    found = np.empty(used, np.int64)
    ball = credited(balls, used, ranked, context, ONLY_ROW, arm, found)
    return learn(balls, used, ranked, context, ONLY_ROW, arm, rewards, ONLY_ROW, ball)


@kernel
def replay(
    balls: Balls,
    used: int,
    ranked: int,
    contexts: Array,
    outcomes: Array,
    ceilings: Array,
    start: int,
    random: RandomState,
    arms: Keys,
) -> tuple[int, int]:
    """Select, observe and update for each round from `start` on, as long as there is space.

    Writes the arms played; returns the number of rounds done and of balls then.
    """
    work = new_work(balls, ranked)
    for t in range(start, contexts.shape[0]):
        if used == balls.plays.shape[0]:
            return t, used
        row = row_of(ceilings, t)
        size, uncovered = candidates(balls, used, contexts, t, ceilings, row, work)
        arm = draw(balls, size, uncovered, random, work)
        ball = work.found[0]
        if size > 1:  # a single candidate has the highest index in every objective
            ball = credited(balls, used, ranked, contexts, t, arm, work.found)
        used = learn(balls, used, ranked, contexts, t, arm, outcomes, arm, ball)
        arms[t] = arm
    return contexts.shape[0], used
