"""What a ball learns from a play, when a smaller one is added, and the loop over many rounds."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.balls import (
    ARM,
    COUNT,
    MEAN,
    NEXT,
    PRE,
    RADIUS,
    REACH,
    SUM,
    WIDTH,
    Links,
    reach_of,
)
from lexbandit.kernels.balls_choosing import candidates, credited, draw
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState
from lexbandit.kernels.ties import row_of

# A width is FACTOR · sqrt(1/(OFFSET + N)) with N the observations; ∞ if OFFSET + N is 0.
FACTOR, OFFSET = 0, 1


@inlined
def width_of(count: float, bound: Array) -> float:
    """Return the width of a ball's mean after `count` observations."""
    if bound[OFFSET] + count == 0.0:
        return math.inf
    return float(bound[FACTOR] * math.sqrt(1.0 / (bound[OFFSET] + count)))


@kernel
def derive(stats: Array, sizes: Array, first: int, last: int, bound: Array) -> None:
    """Set MEAN, WIDTH and PRE = mean + radius + width from COUNT and SUM of some balls."""
    for ball in range(first, last):
        for i in range(stats.shape[1]):
            count = stats[ball, i, COUNT]
            mean = stats[ball, i, SUM] / count if count else 0.0
            width = width_of(count, bound)
            stats[ball, i, MEAN] = mean
            stats[ball, i, WIDTH] = width
            stats[ball, i, PRE] = mean + sizes[ball, RADIUS] + width


@kernel
def link(links: Links, heads: Keys, first: int, last: int) -> None:
    """Enter the balls first to last−1, whose arms are set, into the lists of their arms."""
    for ball in range(first, last):
        arm = links[ball, ARM]
        links[ball, NEXT] = heads[arm]
        heads[arm] = ball


@kernel
def learn(
    contexts: Array,
    t: int,
    arm: int,
    rewards: Array,
    row: int,
    ball: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    plays: Array,
    stats: Array,
    used: int,
    bound: Array,
    metric: Array,
    ranked: int,
) -> int:
    """Add rewards[t, row] of an arm to a ball; return the number of balls then. NaN: not observed.

    If the widths in all objectives that the rule ranks by are then at most the radius, a ball of
    half the radius is added at the point played. There must be room for it.
    """
    plays[ball] += 1.0
    for i in range(rewards.shape[2]):
        if not math.isnan(rewards[t, row, i]):
            stats[ball, i, COUNT] += 1.0
            stats[ball, i, SUM] += rewards[t, row, i]
    derive(stats, sizes, ball, ball + 1, bound)
    for i in range(ranked):
        if stats[ball, i, WIDTH] > sizes[ball, RADIUS]:
            return used
    sizes[used, RADIUS] = 0.5 * sizes[ball, RADIUS]
    sizes[used, REACH] = reach_of(sizes[used, RADIUS], metric)
    for j in range(contexts.shape[1]):
        centres[used, j] = contexts[t, j]
    links[used, ARM] = arm
    link(links, heads, used, used + 1)
    derive(stats, sizes, used, used + 1, bound)
    return used + 1


@kernel
def update(
    context: Array,
    arm: int,
    rewards: Array,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    plays: Array,
    stats: Array,
    used: int,
    bound: Array,
    metric: Array,
    ranked: int,
) -> int:
    """Learn rewards[1, 1, D] of an arm played in context[1, d]; return the number of balls then."""
    found = np.empty(used, np.int64)
    ball = credited(
        context, 0, arm, centres, sizes, links, heads, stats, used, metric, ranked, found
    )
    return learn(
        context, 0, arm, rewards, 0, ball, centres, sizes, links, heads, plays, stats, used,
        bound, metric, ranked,
    )  # fmt: skip


@kernel
def replay(
    contexts: Array,
    outcomes: Array,
    ceilings: Array,
    start: int,
    arms: Keys,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    plays: Array,
    stats: Array,
    used: int,
    bound: Array,
    metric: Array,
    ranked: int,
    random: RandomState,
    found: Keys,
    bare: Keys,
    least: Array,
    vectors: Array,
) -> tuple[int, int]:
    """Select, observe and update for each round from `start` on, as long as there is room.

    Writes the arms played; returns the number of rounds done and of balls then. `found`, `bare`,
    `least` and `vectors` are room to work in.
    """
    for t in range(start, contexts.shape[0]):
        if used == centres.shape[0]:
            return t, used
        size, uncovered = candidates(
            contexts, t, ceilings, row_of(ceilings, t), centres, sizes, links, heads, stats, used,
            metric, found, bare, least, vectors,
        )  # fmt: skip
        arm = draw(found, size, bare, uncovered, links, random)
        ball = found[0]
        if size > 1:  # a single candidate has the highest index in every objective
            ball = credited(
                contexts, t, arm, centres, sizes, links, heads, stats, used, metric, ranked, found
            )
        used = learn(
            contexts, t, arm, outcomes, arm, ball, centres, sizes, links, heads, plays, stats,
            used, bound, metric, ranked,
        )  # fmt: skip
        arms[t] = arm
    return contexts.shape[0], used
