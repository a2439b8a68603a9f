"""The three quantities that follow from (L, α)-Hölder means (Assumption 1): m, v and A_{m,T}."""

import math
from fractions import Fraction

from lexbandit.checks import positive, whole
from lexbandit.errors import InvalidInput

# α is read as a fraction with at most this denominator, so that 1/3 is a third.
_FINEST_ALPHA = 10_000
_LEAST_ALPHA = 1e-3


def cells_per_side_for(*, horizon: int, alpha: float, dimension: int, smoothings: int = 3) -> int:
    """Return m = ⌈T^(1/(3α+d))⌉ of Theorem 2: the smallest integer m with m^(3α+d) ≥ T.

    With `smoothings` s other than 3 it is the smallest m with m^(sα+d) ≥ T; 2 is right where every
    arm is measured to within v and no further, as the staged rule does.

    Whole numbers only: 100000 ** (1/5) is 10.000000000000002 and its ceiling 11, yet 10⁵ = 100000.
    With α = p/q the condition is m^(sp+qd) ≥ T^q.
    """
    horizon = whole("horizon", horizon, least=1)
    dimension = whole("dimension", dimension, least=1)
    smoothings = whole("smoothings", smoothings, least=1)
    if positive("alpha", alpha, most=1.0) < _LEAST_ALPHA:
        raise InvalidInput(f"alpha must be at least {_LEAST_ALPHA} to choose m by, got {alpha!r}.")
    smoothness = Fraction(alpha).limit_denominator(_FINEST_ALPHA)
    power = smoothings * smoothness.numerator + smoothness.denominator * dimension
    target = horizon**smoothness.denominator
    enough = 1
    while enough**power < target:
        enough *= 2
    short = enough // 2  # short^power < target ≤ enough^power, halved until they are neighbours
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (middle, enough) if middle**power < target else (short, middle)
    return enough


def margin_of(*, L: float, alpha: float, dimension: int, cells_per_side: int) -> float:
    """Return v = L d^(α/2) m^(−α), below equation (3): the most a mean can vary in a cell."""
    smoothness = positive("alpha", alpha, most=1.0)
    across = math.sqrt(dimension) / cells_per_side
    return float(positive("L", L) * across**smoothness)


def uncertainty_constant(*, arms: int, objectives: int, cells: int, horizon: int) -> float:
    """Return A_{m,T} = 1 + 2 ln(2 D K m^d T^1.5), below equation (3); there D = 2."""
    return 1.0 + 2.0 * (math.log(2 * objectives * arms * cells) + 1.5 * math.log(horizon))
