"""A small seeded generator, splitmix64 (Steele, Lea and Flood, 2014), and draws by it.

The state is `uint64[2]`: a counter that each draw advances, and the seed, for draws by position.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.jit import kernel, leaf

RandomState = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S11 = np.uint64(11)
UNIT = 2.0**-53
# Sets draws by position apart from the draws of the counter, whatever the seed.
_POSITION = np.uint64(0xD1B54A32D192ED03)


def seeded(seed: int) -> RandomState:
    """Return the state that starts from `seed`."""
    random = np.empty(2, np.uint64)
    random[:] = int(seed) & 0xFFFF_FFFF_FFFF_FFFF
    return random


@leaf
def mix(z: np.uint64) -> np.uint64:
    """Scramble 64 bits: neighbouring numbers in, unrelated numbers out."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@leaf
def unit(random: RandomState) -> float:
    """Draw from [0, 1) uniformly; advances `random` by one step."""
    random[0] = random[0] + GOLDEN
    return np.float64(mix(random[0]) >> _S11) * UNIT


@leaf
def below(random: RandomState, n: int) -> int:
    """Draw a whole number from 0 to n−1 uniformly; advances `random` by one step."""
    return int(unit(random) * n)


@kernel
def now_and_then(random: RandomState, share: float, n: int) -> int:
    """Draw a whole number from 0 to n−1 with probability `share`, else return −1.

    Advances `random` by two steps where one is drawn, else by one.
    """
    return int(unit(random) * n) if unit(random) < share else -1


@kernel
def now_and_then_many(
    random: RandomState, share: float, counts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> None:
    """Fill drawn[n] as `now_and_then` with counts[n], one after the other."""
    for row in range(len(counts)):
        drawn[row] = now_and_then(random, share, counts[row])


@leaf
def normal(random: RandomState) -> float:
    """Draw from the standard normal law; advances `random` by two steps, always.

    Box and Muller (1958): sqrt(−2 ln u) cos(2πv) with u in (0, 1]; at most 8.6 in size.
    """
    u = unit(random) + UNIT
    v = unit(random)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@leaf
def unit_at(random: RandomState, place: int, count: int) -> float:
    """Draw from [0, 1) by position (seed, place, count); changes nothing.

    The same position always gives the same draw, so it can be part of an `update` that must
    depend on nothing but the state and its arguments.
    """
    z = mix((random[1] ^ _POSITION) + GOLDEN * np.uint64(place))
    return np.float64(mix(z + GOLDEN * np.uint64(count)) >> _S11) * UNIT


@kernel
def gamma(random: RandomState, shape: float) -> float:
    """Draw from Gamma(`shape`, 1) for a shape of at least 1 (Marsaglia and Tsang, 2000).

    With d = shape − 1/3, c = 1/sqrt(9d), x normal and u uniform: v = (1 + c·x)³ is taken if v > 0
    and ln u < x²/2 + d − d·v + d·ln v, and d·v returned. Their squeeze u < 1 − 0.0331 x⁴ spares
    most of the logarithms.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(random)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        u = unit(random) + UNIT
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return float(d * v)
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return float(d * v)


@kernel
def beta(random: RandomState, a: float, b: float) -> float:
    """Draw from Beta(`a`, `b`), a and b at least 1: X/(X + Y) of gammas of these shapes."""
    x = gamma(random, a)
    y = gamma(random, b)
    return x / (x + y)
