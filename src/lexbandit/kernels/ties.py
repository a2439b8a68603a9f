"""Where rules that rank arms by an index find the best one, and break ties at random.

Arms are compared by index[slot, i, arm], their index in a channel i of a cell. `ceilings[row, arm]`
says which of them may be played: ∞ for an allowed arm, −∞ for another, and an index counts as no
higher than its ceiling (a mask of booleans costs eight times as much here: it makes branches). At
least one arm is allowed. A random number is drawn only if there is a tie to break.
"""

import math
from typing import cast

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import inlined, kernel, leaf
from lexbandit.kernels.random import RandomState, below, unit

# Typed on purpose: numba would compile a callee anew for each plain literal it is called with.
ONLY_ROW = cast("int", np.int64(0))
DOMINANT = cast("int", np.int64(0))
SECOND = cast("int", np.int64(1))


def ceilings_of(allowed: Mask) -> Array:
    """Return the ceilings that say what masks of allowed arms say."""
    return np.where(allowed, math.inf, -math.inf)


@leaf
def row_of(ceilings: Array, t: int) -> int:
    """Return the row that holds for round t: there is one for each round, or one for all."""
    return t if ceilings.shape[0] > 1 else 0


@leaf
def value_of(
    index: Array, slot: int, i: int, arm: int, floor: float, ceilings: Array, row: int
) -> float:
    """Return the arm's index in channel i, or −∞ if it may not be played.

    It may be played if it is allowed and its index in channel 0 is at least `floor`.
    """
    value = min(index[slot, i, arm], ceilings[row, arm])
    return value if index[slot, 0, arm] >= floor else -math.inf


@leaf
def top_of(
    index: Array, slot: int, i: int, floor: float, ceilings: Array, row: int
) -> tuple[float, int, int]:
    """Return the highest value, how many arms have it, and the first of them; no branches."""
    top = -math.inf
    ties = 0
    first = 0
    for arm in range(ceilings.shape[1]):
        value = value_of(index, slot, i, arm, floor, ceilings, row)
        ties = 1 if value > top else ties + (value == top)
        first = arm if value > top else first
        top = value if value > top else top
    return top, ties, first


@kernel
def nth_of(
    top: float, n: int, index: Array, slot: int, i: int, floor: float, ceilings: Array, row: int
) -> int:
    """Return the n-th arm, from 0, of value `top`."""
    arm = -1
    while n >= 0:
        arm += 1
        n -= value_of(index, slot, i, arm, floor, ceilings, row) == top
    return arm


@leaf
def best_arm(
    index: Array,
    slot: int,
    i: int,
    floor: float,
    ceilings: Array,
    row: int,
    random: RandomState,
) -> int:
    """Return an arm of the highest value in channel i, drawn uniformly if there are several."""
    top, ties, arm = top_of(index, slot, i, floor, ceilings, row)
    if ties > 1:
        return nth_of(top, below(random, ties), index, slot, i, floor, ceilings, row)
    return arm


@leaf
def share_among_best(
    index: Array,
    slot: int,
    i: int,
    floor: float,
    ceilings: Array,
    row: int,
    weight: float,
    shares: Array,
) -> None:
    """Add `weight`, split evenly among the arms `best_arm` may return, to `shares`."""
    top, ties, _ = top_of(index, slot, i, floor, ceilings, row)
    for arm in range(ceilings.shape[1]):
        if value_of(index, slot, i, arm, floor, ceilings, row) == top:
            shares[arm] += weight / ties


@inlined
def shares_of_best(index: Array, slot: int, i: int, ceilings: Array, row: int) -> Array:
    """Return the probability with which `best_arm` returns each arm, with no floor."""
    out = np.zeros(ceilings.shape[1])
    share_among_best(index, slot, i, -math.inf, ceilings, row, 1.0, out)
    return out


@leaf
def draw_marked(marks: Array, size: int, arms: int, random: RandomState) -> int:
    """Return one of the `size` arms with marks[0, arm] = 1, uniformly; the others have 0.

    A random number is drawn if size > 1. No branch depends on it: it could not be predicted.
    """
    skip = below(random, size) if size > 1 else 0
    arm = 0
    passed = 0
    for other in range(arms):
        passed += marks[0, other] > 0.0
        arm += passed <= skip
    return arm


@kernel
def draw_by(shares: Array, random: RandomState) -> int:
    """Draw an arm with these probabilities; never one of probability 0, whatever rounding does."""
    arm = 0
    rest = unit(random) - shares[0]
    while rest >= 0.0 and arm + 1 < shares.shape[0]:
        arm += 1
        rest -= shares[arm]
    while shares[arm] == 0.0:
        arm -= 1
    return arm
