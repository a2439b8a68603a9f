"""The one place where the best arm is found and ties are broken, uniformly at random.

Arms are compared by their kept INDEX in a channel i of a cell. Which of them may be played is told
by `ceilings[row, arm]`: ∞ for an allowed arm, −∞ for another, and an index counts as no higher than
its ceiling (a mask of booleans costs eight times as much here: it makes branches). At least one arm
is allowed. A random number is drawn only if there is a tie to break.
"""

import math
from typing import cast

import numpy as np

from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import INDEX, Array, Mask

ONLY_ROW = cast("int", np.int64(0))  # typed, as DOMINANT is


def ceilings_of(allowed: Mask) -> Array:
    """Return the ceilings that say what masks of allowed arms say."""
    return np.where(allowed, math.inf, -math.inf)


@inlined
def row_of(ceilings: Array, t: int) -> int:
    """Return the row that holds for round t: there is one for each round, or one for all."""
    return t if ceilings.shape[0] > 1 else 0


@inlined
def value_of(
    stats: Array, slot: int, i: int, arm: int, floor: float, ceilings: Array, row: int
) -> float:
    """Return the arm's index in channel i, or −∞ if it may not be played.

    It may be played if it is allowed and its index in channel 0 is at least `floor`.
    """
    index = min(stats[slot, i, INDEX, arm], ceilings[row, arm])
    return index if stats[slot, 0, INDEX, arm] >= floor else -math.inf


@inlined
def top_of(
    stats: Array, slot: int, i: int, floor: float, ceilings: Array, row: int
) -> tuple[float, int, int]:
    """Return the highest value, how many arms have it, and the sum of their numbers.

    Two passes without branches are faster than one with them. If one arm has the highest value,
    the sum is that arm.
    """
    top = -math.inf
    for arm in range(ceilings.shape[1]):
        value = value_of(stats, slot, i, arm, floor, ceilings, row)
        top = value if value > top else top
    ties = 0
    total = 0
    for arm in range(ceilings.shape[1]):
        hit = value_of(stats, slot, i, arm, floor, ceilings, row) == top
        ties += hit
        total += hit * arm
    return top, ties, total


@kernel
def nth_of(
    top: float, n: int, stats: Array, slot: int, i: int, floor: float, ceilings: Array, row: int
) -> int:
    """Return the n-th arm, from 0, of value `top`."""
    arm = -1
    while n >= 0:
        arm += 1
        n -= value_of(stats, slot, i, arm, floor, ceilings, row) == top
    return arm


@inlined
def best_arm(
    stats: Array,
    slot: int,
    i: int,
    floor: float,
    ceilings: Array,
    row: int,
    random: RandomState,
) -> int:
    """Return an arm of the highest value in channel i, drawn uniformly if there are several."""
    top, ties, arm = top_of(stats, slot, i, floor, ceilings, row)
    if ties > 1:
        return nth_of(top, below(random, ties), stats, slot, i, floor, ceilings, row)
    return arm


@kernel
def share_among_best(
    stats: Array,
    slot: int,
    i: int,
    floor: float,
    ceilings: Array,
    row: int,
    weight: float,
    shares: Array,
) -> None:
    """Add `weight`, split evenly among the arms `best_arm` may return, to `shares`."""
    top, ties, _ = top_of(stats, slot, i, floor, ceilings, row)
    for arm in range(ceilings.shape[1]):
        if value_of(stats, slot, i, arm, floor, ceilings, row) == top:
            shares[arm] += weight / ties
