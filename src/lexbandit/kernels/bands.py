"""The rule of bands: in each objective a posterior draw, and a band below the best that stays.

Of the allowed arms C, in each objective i but the last: draw z_a ~ N(m_ia, s_ia²) for every a in C,
let h be the arm of the highest draw, and keep h and the arms whose optimistic value is within the
band: C ← {h} ∪ {a in C : r_ia ≥ z_h − β_i}. In the last objective the highest draw is played.

`means`, `spreads` and `reaches` are m, s ≥ 0 and r, of shape [objectives, arms]; `bands` is β ≥ 0,
of which the last is not used. `ceilings[row]` says which arms are allowed, as in `ties`. Reaches
may be infinite; all else is finite and smaller than 10²⁸⁰ in size. A spread of at most 10⁻¹² of its
mean is taken for 0, since rounding would show in such draws. Equal draws share evenly.

The probability of every arm is exact. Given C, an arm a stays if z_h ≤ t_a = r_a + β. With the arms
in falling order of t, counted from 0, and S_j the first j of them, the next set is S_j ∪ {h} where
t_j < z_h ≤ t_{j−1}. So two masses tell its law: inside[j], that of an h in S_j, and outside[j, k],
that of h the k-th arm, k ≥ j. The latter is ∫ f_h Π_{b≠h} F_b over the interval, with f and F the
normal density and distribution function of an arm's draw; the former is what then remains of the
increase of Π F over the interval.
In the last objective, the distribution function of the largest draw, over all these sets, is
G = Σ_j Q_j (inside[j] + Σ_{k≥j} outside[j, k] F_k) with Q_j = F_0 ⋯ F_{j−1}, which is linear in the
F of each arm. The probability of arm a is ∫ f_a ∂G/∂F_a: one integral for all sets. With more than
two objectives, the sets that a level may leave are listed with their masses, each once, before the
next level is looked at.
"""

import math
from typing import NamedTuple, cast

import numpy as np

from lexbandit.kernels.arrays import Array, Keys, Mask
from lexbandit.kernels.jit import kernel, once, part
from lexbandit.kernels.random import GOLDEN, RandomState, below, mix, normal

# Typed, since numba compiles a function once more for a plain number in a call.
_ZERO = cast("int", np.int64(0))

# A normal variable is hardly ever farther out, in standard deviations: 10⁻¹¹.
_REACH = 6.7
# Masses below this are left out.
_NEGLIGIBLE = 1e-13
# A spread of at most this share of its mean is 0, and so is one below _LEAST.
_POINT = 1e-12
_LEAST = 1e-280

# The normal distribution function and its density at multiples of 1/64, from −8 to 8; beyond, the
# density is 0.
_PER_UNIT = 64
_EDGES = np.arange(-8 * _PER_UNIT, 8 * _PER_UNIT + 1) / _PER_UNIT
_SHARES = np.array([0.5 * math.erfc(-x * math.sqrt(0.5)) for x in _EDGES])
_DENSITIES = np.exp(-0.5 * _EDGES * _EDGES) / math.sqrt(2.0 * math.pi)
_DENSITIES[[0, -1]] = 0.0

# Gauss and Legendre's rules on [−1, 1] one after the other, and the widest panel of each: in units
# in which `rate_of` is 1, products of normal densities and distribution functions are off by about
# 10⁻¹¹, which was found by trying 1 to 100 equal arms.
_SIZES = np.array([4, 8, 12, 16, 20, 24])
_WIDEST = np.array([0.4, 2.2, 4.5, 6.9, 9.2, 11.5])
_STARTS = np.concatenate(([0], np.cumsum(_SIZES)))
_NODES = np.concatenate([np.polynomial.legendre.leggauss(size)[0] for size in _SIZES])
_FACTORS = np.concatenate([np.polynomial.legendre.leggauss(size)[1] for size in _SIZES])
# The step of the trapezoidal rule over the whole line, in the same units; also 10⁻¹¹.
_STEP = 0.83
# Its points are taken so many at a time.
_BLOCK = cast("int", np.int64(8))
# With more of them than this, panels that follow the spreads are fewer.
_MANY_STEPS = 150

# Rows of what the functions below work in.
MEMBER, ORDER, PLACE = 0, 1, 2
THRESHOLD, MEAN, SPREAD, INVERSE, SUM = 0, 1, 2, 3, 4
MASS, LEFT = 0, 1
SHARE, DENSITY, PRODUCT = 0, 1, 2
POINT, FACTOR, REST, SLOPE = 0, 1, 2, 3


class Workspace(NamedTuple):
    """Arrays to work in, for up to K arms and 24 points at once.

    `keys` [3, K]: the arms of the set; the same, highest threshold first; and of the arms that are
    integrated over, their places in that order.
    `lines` [5, K]: the thresholds in that order; and of the arms that are integrated over, means
    from an origin near them, spreads, 1/spreads (0 of 0) and integrals.
    `inside` [2, K + 1] and `outside` [2, K + 1, K]: the masses, and the same without arms that
    cannot win.
    `grids` [3, K + 1, 24]: at each point F and f of the arms, and F_0 ⋯ F_{j−1}.
    `points` [4, 24]: the points, factors of the rule, and two sums.
    """

    keys: Keys
    lines: Array
    inside: Array
    outside: Array
    grids: Array
    points: Array


@once
def workspace_for(arms: int) -> Workspace:
    """Return space for `arms` arms."""
    grids = np.empty((3, arms + 1, _SIZES[-1]))
    for p in range(_SIZES[-1]):
        grids[PRODUCT, 0, p] = 1.0
    return Workspace(
        np.empty((3, arms), np.int64),
        np.empty((5, arms)),
        np.empty((2, arms + 1)),
        np.empty((2, arms + 1, arms)),
        grids,
        np.empty((4, _SIZES[-1])),
    )


@part
def spread_of(mean: float, spread: float) -> float:
    """Return the spread that the draw has: 0 where rounding would show."""
    return spread if spread > _POINT * abs(mean) and spread > _LEAST else 0.0


@once
def decide(
    means: Array,
    spreads: Array,
    reaches: Array,
    bands: Array,
    ceilings: Array,
    row: int,
    random: RandomState,
    members: Keys,
    draws: Array,
) -> int:
    """Return the arm to play; `members` and `draws` are space for one number an arm.

    Each level takes two steps of the random state for each arm left, in order of arms, and one more
    if several have the highest draw; none if one arm is left.
    """
    size = 0
    for arm in range(means.shape[1]):
        if ceilings[row, arm] > 0.0:
            members[size] = arm
            size += 1
    last = means.shape[0] - 1
    for i in range(last + 1):
        if size == 1:
            break
        top = -math.inf
        winner = 0
        ties = 0
        for k in range(size):
            arm = members[k]
            z = means[i, arm] + spread_of(means[i, arm], spreads[i, arm]) * normal(random)
            draws[k] = z
            if z > top:
                top = z
                winner = k
                ties = 1
            elif z == top:
                ties += 1
        if ties > 1:
            skip = below(random, ties)
            while skip > 0:
                winner += 1
                skip -= draws[winner] == top
        if i == last:
            return int(members[winner])
        left = 0
        for k in range(size):
            arm = members[k]
            if k == winner or top <= reaches[i, arm] + bands[i]:
                members[left] = arm
                left += 1
        size = left
    return int(members[0])


@part
def normal_at(z: float) -> tuple[float, float]:
    """Return the standard normal density and distribution function, both off by at most 10⁻¹².

    From the nearest multiple g of 1/64, d = z − g: φ(z) = φ(g) exp(−d (g + d/2)), and by Taylor's
    series Φ(z) = Φ(g) + φ(g) (d − g d²/2 + (g² − 1) d³/6 − (g³ − 3g) d⁴/24). It takes a fraction of
    the time of exp and erfc.
    """
    z = z if z > -8.0 else -8.0
    z = z if z < 8.0 else 8.0
    nearest = math.floor(z * _PER_UNIT + 0.5)
    k = np.uint32(np.int32(nearest + 8.0 * _PER_UNIT))
    g = nearest * (1.0 / _PER_UNIT)
    d = z - g
    u = -d * (g + 0.5 * d)
    density = _DENSITIES[k]
    rise = 1.0 + d * (-0.5 * g + d * ((g * g - 1.0) * (1 / 6) - d * g * (g * g - 3.0) * (1 / 24)))
    return (
        density * (1.0 + u * (1.0 + u * (0.5 + u * (1 / 6 + u * (1 / 24))))),
        _SHARES[k] + density * d * rise,
    )


@part
def share_at(x: float, live: int, space: Workspace) -> float:
    """Return Π F(x) over the first `live` arms that are integrated over."""
    product = 1.0
    for k in range(live):
        _, share = normal_at((x - space.lines[MEAN, k]) * space.lines[INVERSE, k])
        product *= share
    return product


@part
def rate_of(start: float, stop: float, live: int, space: Workspace) -> float:
    """Return how fast products of the arms' f and F may change in [start, stop], 1 for one N(0, 1).

    n^0.35/σ for n arms of spread σ, as was found by trying; others count by the square of their
    inverse spreads, and only if they are within `_REACH` spreads of the interval. 0 if none is.
    """
    sharpest = 0.0
    for k in range(live):
        wide = _REACH * space.lines[SPREAD, k]
        begin = space.lines[MEAN, k] - wide
        if (begin < stop or begin <= start) and space.lines[MEAN, k] + wide > start:
            sharpest = max(sharpest, space.lines[INVERSE, k])
    if sharpest == 0.0:
        return 0.0
    count = 0.0
    for k in range(live):
        wide = _REACH * space.lines[SPREAD, k]
        begin = space.lines[MEAN, k] - wide
        if (begin < stop or begin <= start) and space.lines[MEAN, k] + wide > start:
            ratio = space.lines[INVERSE, k] / sharpest
            count += ratio * ratio
    return float(sharpest * count**0.35)


@part
def set_panel(start: float, width: float, rate: float, space: Workspace) -> int:
    """Set points and factors of the smallest rule that is fine enough, and return their number."""
    rule = 0
    while rule < _SIZES.shape[0] - 1 and _WIDEST[rule] < width * rate:
        rule += 1
    for p in range(_SIZES[rule]):
        space.points[POINT, p] = start + 0.5 * width * (1.0 + _NODES[_STARTS[rule] + p])
        space.points[FACTOR, p] = 0.5 * width * _FACTORS[_STARTS[rule] + p]
    return int(_SIZES[rule])


@part
def weigh(count: int, live: int, space: Workspace) -> None:
    """Set shares, densities and products at the first `count` points.

    An arm without spread has share 0 below its mean, else 1, and no density.
    """
    for k in range(live):
        mean, inverse = space.lines[MEAN, k], space.lines[INVERSE, k]
        if inverse > 0.0:
            for p in range(count):
                density, share = normal_at((space.points[POINT, p] - mean) * inverse)
                space.grids[DENSITY, k, p] = density
                space.grids[SHARE, k, p] = share
        else:
            for p in range(count):
                space.grids[DENSITY, k, p] = 0.0
                space.grids[SHARE, k, p] = 1.0 if space.points[POINT, p] >= mean else 0.0
        for p in range(count):
            space.grids[PRODUCT, k + 1, p] = space.grids[PRODUCT, k, p] * space.grids[SHARE, k, p]


@part
def integral(count: int, k: int, space: Workspace) -> float:
    """Return the sum of densities[k] · slopes · factors over `count` points, four at a time."""
    one = two = three = four = 0.0
    for p in range(0, count, 4):
        one += space.grids[DENSITY, k, p] * space.points[SLOPE, p] * space.points[FACTOR, p]
        two += (
            space.grids[DENSITY, k, p + 1]
            * space.points[SLOPE, p + 1]
            * space.points[FACTOR, p + 1]
        )
        three += (
            space.grids[DENSITY, k, p + 2]
            * space.points[SLOPE, p + 2]
            * space.points[FACTOR, p + 2]
        )
        four += (
            space.grids[DENSITY, k, p + 3]
            * space.points[SLOPE, p + 3]
            * space.points[FACTOR, p + 3]
        )
    return (one + two) + (three + four)


@part
def add_outside(count: int, j: int, live: int, space: Workspace) -> None:
    """Add the integrals of f_h Π_{b≠h} F_b to outside[j, h], for the arms h at places from j on."""
    for p in range(count):
        space.points[REST, p] = 1.0
    for k in range(live - 1, -1, -1):
        place = space.keys[PLACE, k]
        if place < j:
            break
        for p in range(count):
            space.points[SLOPE, p] = space.grids[PRODUCT, k, p] * space.points[REST, p]
            space.points[REST, p] *= space.grids[SHARE, k, p]
        space.outside[MASS, j, place] += integral(count, k, space) * space.lines[INVERSE, k]


@once
def sort_members(reaches: Array, band: float, i: int, size: int, space: Workspace) -> None:
    """Set the order of the members and their thresholds, highest first, and all masses to 0."""
    keys, lines = space.keys, space.lines
    space.inside[MASS, size] = 0.0
    for k in range(size):
        arm = keys[MEMBER, k]
        threshold = reaches[i, arm] + band
        place = k
        while place > 0 and lines[THRESHOLD, place - 1] < threshold:
            lines[THRESHOLD, place] = lines[THRESHOLD, place - 1]
            keys[ORDER, place] = keys[ORDER, place - 1]
            place -= 1
        lines[THRESHOLD, place] = threshold
        keys[ORDER, place] = arm
        space.inside[MASS, k] = 0.0
        for j in range(size):
            space.outside[MASS, k, j] = 0.0


@once
def gather(
    means: Array, spreads: Array, i: int, size: int, low: float, space: Workspace
) -> tuple[int, int]:
    """List the arms that have a spread and may get above `low`, with their means from there.

    Returns their number, and the number of arms without spread that are at `low`.
    """
    live = _ZERO
    points = 0
    for k in range(size):
        arm = space.keys[ORDER, k]
        spread = spread_of(means[i, arm], spreads[i, arm])
        if spread == 0.0:
            points += means[i, arm] == low
        elif means[i, arm] + _REACH * spread > low:
            space.lines[MEAN, live] = means[i, arm] - low
            space.lines[SPREAD, live] = spread
            space.lines[INVERSE, live] = 1.0 / spread
            space.keys[PLACE, live] = k
            live += 1
    return live, points


@once
def split_points(
    means: Array, spreads: Array, i: int, size: int, low: float, mass: float, space: Workspace
) -> None:
    """Set outside[j, k] = mass for the arms k without spread at `low` that do not stay there."""
    j = 0
    while j < size and space.lines[THRESHOLD, j] >= low:
        j += 1
    for k in range(j, size):
        arm = space.keys[ORDER, k]
        if means[i, arm] == low and spread_of(means[i, arm], spreads[i, arm]) == 0.0:
            space.outside[MASS, j, k] = mass


@part
def split(
    means: Array, spreads: Array, reaches: Array, band: float, i: int, size: int, space: Workspace
) -> None:
    """Set the order of the first `size` members, and the masses of the sets that level i leaves."""
    thresholds, inside, outside = space.lines[THRESHOLD], space.inside[MASS], space.outside[MASS]
    sort_members(reaches, band, i, size, space)
    low = -math.inf  # the largest draw is hardly ever below this
    high = -math.inf
    for k in range(size):
        arm = space.keys[MEMBER, k]
        wide = _REACH * spread_of(means[i, arm], spreads[i, arm])
        low = max(low, means[i, arm] - wide)
        high = max(high, means[i, arm] + wide)
    if size == 1 or thresholds[size - 1] >= high:
        inside[size] = 1.0
        return
    live, points = gather(means, spreads, i, size, low, space)
    above = 1.0
    for j in range(size):
        here = share_at(thresholds[j] - low, live, space) if thresholds[j] >= low else 0.0
        inside[j] = above - here
        above = here
    inside[size] = above
    if points > 0:
        mass = share_at(0.0, live, space) / points
        split_points(means, spreads, i, size, low, mass, space)
    end = 0.0  # where the last of the arms outside ends
    first = live
    for j in range(size - 1, -1, -1):
        if first > 0 and space.keys[PLACE, first - 1] == j:
            first -= 1
            end = max(end, space.lines[MEAN, first] + _REACH * space.lines[SPREAD, first])
        if inside[j] < _NEGLIGIBLE:
            continue
        x = max(thresholds[j] - low, 0.0)
        stop = min(thresholds[j - 1] - low, end) if j > 0 else end
        while x < stop:
            rate = rate_of(x, stop, live, space)
            following = min(stop, x + _WIDEST[-1] / rate)
            count = set_panel(x, following - x, rate, space)
            weigh(count, live, space)
            add_outside(count, j, live, space)
            x = following
        for k in range(j, size):
            inside[j] -= outside[j, k]
        inside[j] = max(inside[j], 0.0)


@part
def first_wins(means: Array, spreads: Array, i: int, one: int, other: int) -> float:
    """Return the probability that the one arm's draw at level i is above the other's."""
    gap = means[i, one] - means[i, other]
    spread = math.hypot(
        spread_of(means[i, one], spreads[i, one]), spread_of(means[i, other], spreads[i, other])
    )
    if spread == 0.0:
        return 0.5 if gap == 0.0 else (1.0 if gap > 0.0 else 0.0)
    return 0.5 * math.erfc(-gap / spread * math.sqrt(0.5))


@part
def add_winner(count: int, live: int, space: Workspace) -> float:
    """Add the integral of f_a ∂G/∂F_a to sums[a] for every arm, and return G at the last point.

    With T_a = c_{a+1} + F_{a+1} T_{a+1}, where c_j = inside[j] + Σ_{k≥j} outside[j, k] F_k, the
    slope ∂G/∂F_a is Q_a T_a + Σ_{j≤a} outside[j, a] Q_j. Sets of one or two arms are left out.
    """
    inside, outside, points = space.inside, space.outside, space.points
    for p in range(count):
        points[REST, p] = inside[LEFT, live]
    for a in range(live - 1, -1, -1):
        for p in range(count):
            points[SLOPE, p] = space.grids[PRODUCT, a, p] * points[REST, p]
            points[REST, p] *= space.grids[SHARE, a, p]
        for j in range(2, a + 1):
            if outside[LEFT, j, a] > 0.0:
                for p in range(count):
                    points[SLOPE, p] += outside[LEFT, j, a] * space.grids[PRODUCT, j, p]
        space.lines[SUM, a] += integral(count, a, space) * (
            space.lines[INVERSE, a] if space.lines[INVERSE, a] > 0.0 else 1.0
        )
        if a >= 2:
            for p in range(count):
                points[REST, p] += inside[LEFT, a]
            for k in range(a, live):
                if outside[LEFT, a, k] > 0.0:
                    for p in range(count):
                        points[REST, p] += outside[LEFT, a, k] * space.grids[SHARE, k, p]
    return float(points[REST, count - 1])


@once
def add_points(x: float, live: int, space: Workspace) -> None:
    """Add what the arms without spread at x, if any, win there.

    Equal draws share evenly, as if each had a uniform number τ to break the tie: F = τ, f = 1,
    integrated over τ from 0 to 1, on panels that halve towards 1 for the sake of many arms.
    """
    ties = 0
    for k in range(live):
        ties += space.lines[SPREAD, k] == 0.0 and space.lines[MEAN, k] == x
    if ties == 0:
        return
    start = 0.0
    while start < 1.0:
        width = 0.5 * (1.0 - start) if (1.0 - start) * ties > 1.0 else 1.0 - start
        count = set_panel(start, width, 4.0 / width, space)
        for k in range(live):
            _, share = normal_at((x - space.lines[MEAN, k]) * space.lines[INVERSE, k])
            if space.lines[SPREAD, k] == 0.0:
                share = 1.0 if x >= space.lines[MEAN, k] else 0.0
            tied = space.lines[SPREAD, k] == 0.0 and space.lines[MEAN, k] == x
            for p in range(count):
                space.grids[SHARE, k, p] = space.points[POINT, p] if tied else share
                space.grids[DENSITY, k, p] = 1.0 if tied else 0.0
                space.grids[PRODUCT, k + 1, p] = (
                    space.grids[PRODUCT, k, p] * space.grids[SHARE, k, p]
                )
        add_winner(count, live, space)
        start += width


@once
def sweep(start: float, stop: float, live: int, space: Workspace) -> None:
    """Integrate `add_winner` from start to stop on panels that follow the spreads."""
    x = start
    while True:
        add_points(x, live, space)
        if x >= stop:
            return
        # Arms that begin farther on shorten the panel to where they begin, unless the panel is
        # narrow for them too; an arm without spread ends it.
        following = stop
        rate = rate_of(x, x, live, space)
        if rate > 0.0:
            following = min(following, x + _WIDEST[-1] / rate)
        for k in range(live):
            begin = space.lines[MEAN, k] - _REACH * space.lines[SPREAD, k]
            if begin > x:
                fine = x + _WIDEST[-1] * space.lines[SPREAD, k] * live**-0.35
                following = min(
                    following, max(begin, fine) if space.lines[SPREAD, k] > 0.0 else begin
                )
        rate = rate_of(x, following, live, space)
        if rate > 0.0:
            count = set_panel(x, following - x, rate, space)
            weigh(count, live, space)
            add_winner(count, live, space)
        x = following


@once
def descend(start: float, step: float, live: int, space: Workspace) -> None:
    """Integrate `add_winner` downwards by the trapezoidal rule, until hardly any mass is left.

    Over a whole line it is off by about exp(−2π²/step²) for a normal density of spread 1, since the
    density's Fourier transform falls so fast.
    """
    x = start
    left = 1.0
    while left > _NEGLIGIBLE:
        for p in range(_BLOCK):
            space.points[POINT, p] = x - p * step
            space.points[FACTOR, p] = step
        weigh(_BLOCK, live, space)
        left = add_winner(_BLOCK, live, space)
        x -= _BLOCK * step


@once
def common_arms(size: int, space: Workspace) -> int:
    """Return how many arms, in order, are in every set of more than one arm; 0 if there is none."""
    for j in range(1, size + 1):
        mass = space.inside[MASS, j] if j > 1 else 0.0
        for k in range(j, size):
            mass += space.outside[MASS, j, k]
        if mass > _NEGLIGIBLE:
            return j
    return 0


@part
def drop_beaten(
    means: Array, spreads: Array, i: int, size: int, least: int, low: float, space: Workspace
) -> int:
    """List the arms that may get to `low`, and set the masses of the sets without the others.

    `low` is hardly ever missed by the largest draw of the first `least` arms. Returns the number of
    arms that are left; they have their places in PLACE, for a start.
    """
    inside, outside, lines = space.inside, space.outside, space.lines
    live = _ZERO
    for k in range(size):
        arm = space.keys[ORDER, k]
        lines[SUM, k] = -1.0
        if means[i, arm] + _REACH * spread_of(means[i, arm], spreads[i, arm]) >= low:
            lines[SUM, k] = live
            space.keys[PLACE, live] = arm
            live += 1
    for j in range(live + 1):
        inside[LEFT, j] = 0.0
        for k in range(live):
            outside[LEFT, j, k] = 0.0
    left = 0  # arms left of the first j
    for j in range(size + 1):
        if j >= least:
            inside[LEFT, left] += inside[MASS, j] if j > 1 else 0.0
            for k in range(j, size):
                place = int(lines[SUM, k])
                if place < 0:
                    inside[LEFT, left] += outside[MASS, j, k]
                elif place == left:
                    inside[LEFT, left + 1] += outside[MASS, j, k]
                else:
                    outside[LEFT, left, place] += outside[MASS, j, k]
        if j < size:
            left += lines[SUM, j] >= 0.0
    return live


@part
def settle_pairs(
    means: Array, spreads: Array, i: int, live: int, weight: float, space: Workspace, out: Array
) -> float:
    """Add what arms win in sets of one or two that are left; returns the mass of all other sets."""
    inside, outside, keys = space.inside, space.outside, space.keys
    first = keys[PLACE, 0]
    out[first] += weight * inside[LEFT, 1]
    if live == 1:
        return 0.0
    outside[LEFT, 1, 1] = inside[LEFT, 2]
    inside[LEFT, 2] = 0.0
    for k in range(1, live):
        if outside[LEFT, 1, k] > 0.0:
            chance = first_wins(means, spreads, i, first, keys[PLACE, k])
            out[first] += weight * outside[LEFT, 1, k] * chance
            out[keys[PLACE, k]] += weight * outside[LEFT, 1, k] * (1.0 - chance)
    mass = 0.0
    for j in range(2, live + 1):
        mass += inside[LEFT, j]
        for k in range(j, live):
            mass += outside[LEFT, j, k]
    return mass


@part
def finish(
    means: Array, spreads: Array, i: int, size: int, weight: float, space: Workspace, out: Array
) -> None:
    """Add to out[a] `weight` times the probability that arm a has the highest draw at level i.

    The sets are those of `split`: its order, and the masses.
    """
    keys, lines = space.keys, space.lines
    for k in range(size):
        out[keys[ORDER, k]] += weight * space.outside[MASS, 0, k]
    out[keys[ORDER, 0]] += weight * space.inside[MASS, 1]
    least = common_arms(size, space)
    if least == 0:
        return
    floor = -math.inf
    for k in range(least):
        arm = keys[ORDER, k]
        floor = max(floor, means[i, arm] - _REACH * spread_of(means[i, arm], spreads[i, arm]))
    live = drop_beaten(means, spreads, i, size, least, floor, space)
    mass = settle_pairs(means, spreads, i, live, weight, space, out)
    if mass < _NEGLIGIBLE:
        return
    low = -math.inf
    high = -math.inf
    points = False
    for k in range(live):
        arm = keys[PLACE, k]
        lines[SPREAD, k] = spread_of(means[i, arm], spreads[i, arm])
        low = max(low, means[i, arm] - _REACH * lines[SPREAD, k])
        high = max(high, means[i, arm] + _REACH * lines[SPREAD, k])
        points = points or lines[SPREAD, k] == 0.0
    for k in range(live):
        lines[MEAN, k] = means[i, keys[PLACE, k]] - low
        lines[INVERSE, k] = 1.0 / lines[SPREAD, k] if lines[SPREAD, k] > 0.0 else 0.0
        lines[SUM, k] = 0.0
    rate = rate_of(floor - low, high - low, live, space)
    if points or (high - floor) * rate > _MANY_STEPS * _STEP:
        sweep(floor - low, high - low, live, space)
    else:
        descend(high - low, _STEP / rate, live, space)
    total = 0.0
    for k in range(live):
        total += lines[SUM, k]
    for k in range(live):
        out[keys[PLACE, k]] += weight * mass * lines[SUM, k] / total


_NO_ROW = np.int64(-1)
# Sets that there is space for at first.
_FEW_SETS = cast("int", np.int64(16))


class Sets(NamedTuple):
    """Sets of arms with their masses, each set once: the first used[0] rows of `members`."""

    members: Mask
    masses: Array
    slots: Keys  # by hash, the row of the set, or −1
    used: Keys


@kernel
def sets_for(rows: int, arms: int) -> Sets:
    """Return space for `rows` sets, a power of two, with none in it."""
    return Sets(
        np.empty((rows, arms), np.bool_),
        np.empty(rows),
        np.full(2 * rows, _NO_ROW),
        np.zeros(1, np.int64),
    )


@part
def same(one: Mask, other: Mask) -> bool:
    """Return whether two sets are the same."""
    for arm in range(one.shape[0]):  # noqa: SIM110  numba has no generators
        if one[arm] != other[arm]:
            return False
    return True


@kernel
def slot_of(sets: Sets, members: Mask) -> int:
    """Return the slot where this set stands, or may be put."""
    code = GOLDEN
    for arm in range(members.shape[0]):
        if members[arm]:
            code ^= mix(GOLDEN * np.uint64(arm + 1))
    last = sets.slots.shape[0] - 1
    slot = np.int64(mix(code) & np.uint64(last))
    while sets.slots[slot] >= 0 and not same(sets.members[sets.slots[slot]], members):
        slot = (slot + 1) & last
    return int(slot)


@part
def put(sets: Sets, row: int, slot: int, members: Mask, mass: float) -> None:
    """Put a new set into this row and slot."""
    for arm in range(members.shape[0]):
        sets.members[row, arm] = members[arm]
    sets.masses[row] = mass
    sets.slots[slot] = row
    sets.used[0] = row + 1


@kernel
def with_set(sets: Sets, members: Mask, mass: float) -> Sets:
    """Add `mass` to that of the set; returns the sets, in a larger space if they need one."""
    if mass < _NEGLIGIBLE:
        return sets
    slot = slot_of(sets, members)
    row = sets.slots[slot]
    if row >= 0:
        sets.masses[row] += mass
        return sets
    row = sets.used[0]
    if row == sets.masses.shape[0]:
        larger = sets_for(2 * row, members.shape[0])
        for k in range(row):
            put(larger, k, slot_of(larger, sets.members[k]), sets.members[k], sets.masses[k])
        sets = larger
        slot = slot_of(sets, members)
    put(sets, row, slot, members, mass)
    return sets


@part
def list_members(members: Mask, space: Workspace) -> int:
    """List the arms of the set and return their number."""
    size = _ZERO
    for arm in range(members.shape[0]):
        if members[arm]:
            space.keys[MEMBER, size] = arm
            size += 1
    return size


@kernel
def next_sets(
    means: Array, spreads: Array, reaches: Array, band: float, i: int, sets: Sets, space: Workspace
) -> Sets:
    """Return the sets that level i may leave of these, with their masses."""
    following = sets_for(_FEW_SETS, means.shape[1])
    for row in range(sets.used[0]):
        mass = sets.masses[row]
        size = list_members(sets.members[row], space)
        split(means, spreads, reaches, band, i, size, space)
        members = np.zeros(means.shape[1], np.bool_)
        for j in range(size + 1):
            if j > 0:
                members[space.keys[ORDER, j - 1]] = True
                following = with_set(following, members, mass * space.inside[MASS, j])
            for k in range(j, size):
                members[space.keys[ORDER, k]] = True
                following = with_set(following, members, mass * space.outside[MASS, j, k])
                members[space.keys[ORDER, k]] = False
    return following


@kernel
def add_over_sets(
    means: Array,
    spreads: Array,
    reaches: Array,
    bands: Array,
    size: int,
    space: Workspace,
    out: Array,
) -> None:
    """Add to out[a] the probability of arm a in three objectives or more, given the members."""
    last = means.shape[0] - 1
    members = np.zeros(means.shape[1], np.bool_)
    for k in range(size):
        members[space.keys[MEMBER, k]] = True
    sets = with_set(sets_for(_FEW_SETS, means.shape[1]), members, 1.0)
    for i in range(last - 1):
        sets = next_sets(means, spreads, reaches, bands[i], i, sets, space)
    for k in range(sets.used[0]):
        size = list_members(sets.members[k], space)
        split(means, spreads, reaches, bands[last - 1], last - 1, size, space)
        finish(means, spreads, last, size, sets.masses[k], space, out)


@once
def begin(ceilings: Array, row: int, space: Workspace, out: Array) -> int:
    """List the allowed arms, set their probabilities to 0, and return how many they are."""
    size = _ZERO
    for arm in range(out.shape[0]):
        out[arm] = 0.0
        if ceilings[row, arm] > 0.0:
            space.keys[MEMBER, size] = arm
            size += 1
    return size


@once
def normalise(out: Array) -> None:
    """Divide the probabilities by their sum, which rounding moved."""
    total = 0.0
    for arm in range(out.shape[0]):
        total += out[arm]
    for arm in range(out.shape[0]):
        out[arm] /= total


@once
def chances_of_two(
    means: Array,
    spreads: Array,
    reaches: Array,
    bands: Array,
    ceilings: Array,
    row: int,
    out: Array,
) -> None:
    """Set out[a] to the probability that `decide` returns arm a, with one or two objectives.

    Off by about 10⁻¹¹, where spreads differ by a factor of up to 10⁶ or are 0. Time is spent on
    some hundred values of f and F of each arm.
    """
    last = means.shape[0] - 1
    space = workspace_for(means.shape[1])
    size = begin(ceilings, row, space, out)
    if last > 0:
        split(means, spreads, reaches, bands[0], _ZERO, size, space)
    else:
        sort_members(means, 0.0, _ZERO, size, space)
        space.inside[MASS, size] = 1.0
    finish(means, spreads, last, size, 1.0, space, out)
    normalise(out)


@kernel
def chances_of_many(
    means: Array,
    spreads: Array,
    reaches: Array,
    bands: Array,
    ceilings: Array,
    row: int,
    out: Array,
) -> None:
    """Do the same with three objectives or more.

    Time grows with the number of sets that may be left before the last two levels.
    """
    space = workspace_for(means.shape[1])
    size = begin(ceilings, row, space, out)
    add_over_sets(means, spreads, reaches, bands, size, space, out)
    normalise(out)
