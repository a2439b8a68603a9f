"""The one place where the best arm is found and ties are broken, uniformly at random.

An index is mean + growth · width: equation (3) of the paper, where growth is 1. A random number is
drawn only if there is a tie to break.
"""

import math

from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import MEAN, WIDTH, Array, Mask


@kernel
def index_of(channel: Array, arm: int, growth: float) -> float:
    """Return the arm's index in one channel; ∞ while nothing was observed."""
    return channel[MEAN, arm] + growth * channel[WIDTH, arm]


@kernel
def qualifies(guard: Array, arm: int, growth: float, floor: float, allowed: Mask) -> bool:
    """Tell whether the arm may be played: allowed, and its index in `guard` is at least `floor`.

    `guard` is the channel of the objective above; with floor −∞ every allowed arm qualifies.
    """
    return allowed[arm] and index_of(guard, arm, growth) >= floor


@kernel
def top_of(
    channel: Array, growth: float, guard: Array, floor: float, allowed: Mask
) -> tuple[float, int, int]:
    """Return the highest index among qualifying arms, how many have it, and the first of them."""
    top = -math.inf
    first = -1
    ties = 0
    for arm in range(allowed.shape[0]):
        if qualifies(guard, arm, growth, floor, allowed):
            index = index_of(channel, arm, growth)
            if index > top:
                top = index
                first = arm
                ties = 1
            elif index == top:
                ties += 1
    return top, ties, first


@kernel
def best_arm(
    channel: Array,
    growth: float,
    guard: Array,
    floor: float,
    allowed: Mask,
    random: RandomState,
) -> int:
    """Return a qualifying arm of the highest index in `channel`, drawn uniformly if several."""
    top, ties, first = top_of(channel, growth, guard, floor, allowed)
    if ties == 1:
        return first
    skip = below(random, ties)
    arm = first
    while True:
        if index_of(channel, arm, growth) == top and qualifies(guard, arm, growth, floor, allowed):
            if skip == 0:
                return arm
            skip -= 1
        arm += 1


@kernel
def share_among_best(
    channel: Array,
    growth: float,
    guard: Array,
    floor: float,
    allowed: Mask,
    weight: float,
    shares: Array,
) -> None:
    """Add `weight`, split evenly among the arms `best_arm` may return, to `shares`."""
    top, ties, first = top_of(channel, growth, guard, floor, allowed)
    for arm in range(first, allowed.shape[0]):
        if index_of(channel, arm, growth) == top and qualifies(guard, arm, growth, floor, allowed):
            shares[arm] += weight / ties
