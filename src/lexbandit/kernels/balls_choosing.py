"""Which ball is selected, and which arm of it: the ranks are the indices of `balls.index_of`."""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.balls import (
    ARM,
    PRE,
    RADIUS,
    ROOT,
    Links,
    covering,
    index_of,
    least_pre,
    relevant,
)
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.ties import ONLY_ROW


@kernel
def keep_highest(
    found: Keys,
    size: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
) -> int:
    """Keep, in place, the balls of the highest index in objective 1; return how many there are.

    An index is at most r(B) + pre(B), so most balls need not be looked into.
    """
    far = least_pre(stats, used, 0) + 1.0
    best = -math.inf
    kept = 0
    for j in range(size):
        ball = found[j]
        if sizes[ball, RADIUS] + min(far, stats[ball, 0, PRE]) < best:
            continue
        index = index_of(ball, 0, far, centres, sizes, links, heads, stats, metric)
        if index > best:
            best = index
            kept = 0
        if index == best:
            found[kept] = ball
            kept += 1
    return kept


@kernel
def keep_front(
    found: Keys,
    size: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
    vectors: Array,
) -> int:
    """Keep, in place, the balls whose index vectors no other dominates; return how many there are.

    Equal vectors stay together. `vectors[ball, objective]` is room to work in.
    """
    for i in range(vectors.shape[1]):
        far = least_pre(stats, used, i) + 1.0
        for j in range(size):
            vectors[j, i] = index_of(found[j], i, far, centres, sizes, links, heads, stats, metric)
    kept = 0
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
            found[kept] = found[j]
            kept += 1
    return kept


@kernel
def candidates(
    contexts: Array,
    t: int,
    ceilings: Array,
    row: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
    found: Keys,
    bare: Keys,
    least: Array,
    vectors: Array,
) -> tuple[int, int]:
    """Write the balls that may be selected to `found` and the arms left to the root to `bare`.

    Returns how many there are of each. By one objective they are the balls of the highest index,
    by several the ones that are not dominated: vectors.shape[1] says by how many.
    """
    size, uncovered = relevant(
        contexts, t, ceilings, row, centres, sizes, links, used, found, bare, least
    )
    if size == 1:
        return size, uncovered
    if vectors.shape[1] == 1:
        size = keep_highest(found, size, centres, sizes, links, heads, stats, used, metric)
    else:
        size = keep_front(found, size, centres, sizes, links, heads, stats, used, metric, vectors)
    return size, uncovered


@kernel
def draw(
    found: Keys, size: int, bare: Keys, uncovered: int, links: Links, random: RandomState
) -> int:
    """Return the arm of one of the balls, uniformly; of the root, one of its bare arms."""
    ball = found[below(random, size)] if size > 1 else found[0]
    if ball != ROOT:
        return int(links[ball, ARM])
    return int(bare[below(random, uncovered)] if uncovered > 1 else bare[0])


@kernel
def shares(
    context: Array,
    ceilings: Array,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
    ranked: int,
) -> Array:
    """Return the exact probability with which each arm is played in context[1, d]."""
    found = np.empty(used, np.int64)
    bare = np.empty(heads.shape[0], np.int64)
    vectors = np.empty((used, ranked))
    size, uncovered = candidates(
        context, 0, ceilings, ONLY_ROW, centres, sizes, links, heads, stats, used, metric,
        found, bare, np.empty(heads.shape[0]), vectors,
    )  # fmt: skip
    out = np.zeros(heads.shape[0])
    for j in range(size):
        if found[j] != ROOT:
            out[links[found[j], ARM]] += 1.0 / size
        else:
            for k in range(uncovered):
                out[bare[k]] += 1.0 / size / uncovered
    return out


@kernel
def select(
    context: Array,
    ceilings: Array,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
    ranked: int,
    random: RandomState,
) -> tuple[int, float]:
    """Return the arm to play in context[1, d] and the exact probability with which it is played."""
    found = np.empty(used, np.int64)
    bare = np.empty(heads.shape[0], np.int64)
    vectors = np.empty((used, ranked))
    size, uncovered = candidates(
        context, 0, ceilings, ONLY_ROW, centres, sizes, links, heads, stats, used, metric,
        found, bare, np.empty(heads.shape[0]), vectors,
    )  # fmt: skip
    before = random[0]
    arm = draw(found, size, bare, uncovered, links, random)
    if random[0] == before:  # nothing was drawn, so there was no other
        return arm, 1.0
    chances = shares(context, ceilings, centres, sizes, links, heads, stats, used, metric, ranked)
    return arm, chances[arm]


@kernel
def credited(
    contexts: Array,
    t: int,
    arm: int,
    centres: Array,
    sizes: Array,
    links: Links,
    heads: Keys,
    stats: Array,
    used: int,
    metric: Array,
    ranked: int,
    found: Keys,
) -> int:
    """Return the ball that learns from a play of `arm`: one with the point in its domain.

    Of several, the one of the highest index in objective 1, then 2 and so on as far as the rule
    ranks by them, then the oldest. By one objective that is the ball that was selected, up to ties.
    """
    size = covering(contexts, t, arm, centres, sizes, links, heads, found)
    if size == 0:
        return ROOT
    for i in range(ranked):
        if size == 1:
            break
        far = least_pre(stats, used, i) + 1.0
        best = -math.inf
        kept = 0
        for j in range(size):
            index = index_of(found[j], i, far, centres, sizes, links, heads, stats, metric)
            if index > best:
                best = index
                kept = 0
            if index == best:
                found[kept] = found[j]
                kept += 1
        size = kept
    return int(found[size - 1])  # the latest comes first
