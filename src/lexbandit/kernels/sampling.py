"""Draws from the gamma and beta distributions, by published methods.

Nothing is kept between draws but the random state. A gamma, and so a beta, takes as many steps of
the generator as it needs: it rejects and draws again.
"""

import math

from lexbandit.kernels.jit import kernel
from lexbandit.kernels.random import UNIT, RandomState, normal, unit


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
