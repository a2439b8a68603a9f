"""Draws from the normal, gamma and beta distributions, by published methods.

Nothing is kept between draws but the random state. A gamma, and so a beta, takes as many steps of
the generator as it needs: it rejects and draws again. `unit` and `normal` are inlined:
that makes it almost twice as fast.
"""

import math

import numpy as np

from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import GOLDEN, RandomState, mix

_S11 = np.uint64(11)
_UNIT = 2.0**-53


@inlined
def unit(random: RandomState) -> float:
    """Draw from [0, 1) uniformly; advances `random` by one step."""
    random[0] = random[0] + GOLDEN
    return np.float64(mix(random[0]) >> _S11) * _UNIT


@inlined
def normal(random: RandomState) -> float:
    """Draw from N(0, 1); advances `random` by two steps.

    Box and Muller (1958): sqrt(−2 ln u) cos(2πv) with u in (0, 1].
    """
    u = unit(random) + _UNIT
    v = unit(random)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


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
        u = unit(random) + _UNIT
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
