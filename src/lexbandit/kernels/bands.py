"""The rule of bands: in each objective a posterior draw, and a band below the best that stays.

Of the allowed arms C, in each objective i but the last: draw z_a ~ N(m_ia, s_ia²) for every a in C,
let h be the arm of the highest draw, and keep h and the arms whose optimistic value is within the
band: C ← {h} ∪ {a in C : r_ia ≥ z_h − β_i}. In the last objective the highest draw is played.

`sight` has tables [D, K] of means m, spreads s ≥ 0 and reaches r; `bands` is β ≥ 0, of which the
last is not used. `ceilings[row]` says which arms are allowed, as in `ties`. Reaches may be
infinite; all else is finite and smaller than 10²⁸⁰ in size. A spread of at most 10⁻¹² of its mean
is taken for 0, since rounding would show in such draws. Equal draws share evenly.

The probability of every arm is exact. Given C, an arm a stays if z_h ≤ t_a = r_a + β. With the arms
in falling order of t, counted from 0, and S_j the first j of them, the next set is S_j ∪ {h} where
t_j < z_h ≤ t_{j−1}. masses[j, h] is the probability of that: ∫ f_h Π_{b≠h} F_b over the interval,
with f and F the normal density and distribution function of an arm's draw. Those of an h in S_j
are added up in masses[j, 0].
In the last objective, the distribution function of the largest draw, over all these sets, is
G = Σ_j Q_j (masses[j, 0] + Σ_{k≥j} masses[j, k] F_k) with Q_j = F_0 ⋯ F_{j−1}, which is linear in
the F of each arm. The probability of arm a is ∫ f_a ∂G/∂F_a: one integral for all sets. With
G = Π F it is that of the first objective, so one function, `sweep`, does both. With more than two
objectives, each set that a level may leave is gone through.
"""

import math
from typing import NamedTuple, cast

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import leaf, once
from lexbandit.kernels.random import RandomState, below, normal

# The tables of what a rule sees.
MEANS, DEVIATIONS, SPREADS, REACHES = 0, 1, 2, 3

# A normal variable is hardly ever farther out, in standard deviations: 10⁻¹¹.
_REACH = 6.7
# Masses below this are left out.
_NEGLIGIBLE = 1e-13
# A spread of at most this share of its mean is 0, and so is one below _LEAST.
_POINT = 1e-12
_LEAST = 1e-280
# One over a spread of 0.
_STEEP = 1e290

# The normal distribution function and its density at multiples of 1/64, from −8 to 8; beyond, the
# density is 0.
_PER_UNIT = 64
_EDGES = np.arange(-8 * _PER_UNIT, 8 * _PER_UNIT + 1) / _PER_UNIT
_SHARES = np.array([0.5 * math.erfc(-x * math.sqrt(0.5)) for x in _EDGES])
_DENSITIES = np.exp(-0.5 * _EDGES * _EDGES) / math.sqrt(2.0 * math.pi)
_DENSITIES[[0, -1]] = 0.0

# Gauss and Legendre's rules on [0, 1], one a row, with the widest panel of each: in units in which
# the sharpest of n arms has the spread n^0.35, products of normal densities and distribution
# functions are off by about 10⁻¹¹, which was found by trying 1 to 100 equal arms.
_SIZES = np.array([4, 8, 12, 16, 20, 24])
_WIDEST = np.array([0.4, 2.2, 4.5, 6.9, 9.2, 11.5])
_MOST = cast("int", np.int64(24))
_NODES, _FACTORS = np.zeros((2, len(_SIZES), _MOST))
for _rule, _size in enumerate(_SIZES):
    _found = np.polynomial.legendre.leggauss(_size)
    _NODES[_rule, :_size], _FACTORS[_rule, :_size] = 0.5 + 0.5 * _found[0], 0.5 * _found[1]

# How many arrays of numbers by arms, and by arms and points, are worked in. Typed, since numba
# compiles a function once more for a plain number in a call.
_LINES, _GRIDS = cast("int", np.int64(7)), cast("int", np.int64(7))


class Draws(NamedTuple):
    """The draws of the arms at one level: thresholds t_a, means, spreads and their inverses [K]."""

    thresholds: Array
    means: Array
    spreads: Array
    inverses: Array


class Quadrature(NamedTuple):
    """A stretch of a quadrature: points and their factors [P], and for every arm there [K, P].

    shares are F_a, densities f_a times the factors, products Q_a; rest and slopes [P] are space.
    """

    points: Array
    factors: Array
    shares: Array
    densities: Array
    products: Array
    rest: Array
    slopes: Array


@once
def spread_of(mean: float, spread: float) -> float:
    """Return the spread that the draw has: 0 where rounding would show."""
    return spread if spread > _POINT * abs(mean) and spread > _LEAST else 0.0


@leaf
def decide(
    _settings: Array,
    sight: Array,
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
    for arm in range(sight.shape[2]):
        if ceilings[row, arm] > 0.0:
            members[size] = arm
            size += 1
    last = sight.shape[1] - 1
    for i in range(last + 1):
        if size == 1:
            break
        top = -math.inf
        winner = 0
        ties = 0
        for k in range(size):
            mean, spread = sight[MEANS, i, members[k]], sight[SPREADS, i, members[k]]
            spread = spread_of(mean, spread)
            z = mean + spread * normal(random)
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
        left = 0
        for k in range(size):
            arm = members[k]
            if k == winner or (i < last and top <= sight[REACHES, i, arm] + bands[i]):
                members[left] = arm
                left += 1
        size = left
    return int(members[0])


@once
def normal_at(z: float) -> tuple[float, float]:
    """Return the standard normal density and distribution function, both off by at most 10⁻¹².

    From the nearest multiple g of 1/64, d = z − g: φ(z) = φ(g) exp(−d (g + d/2)), and by Taylor's
    series Φ(z) = Φ(g) + φ(g) (d − g d²/2 + (g² − 1) d³/6 − (g³ − 3g) d⁴/24). It takes a fraction of
    the time of exp and erfc.
    """
    z = z if z > -8.0 else -8.0
    z = z if z < 8.0 else 8.0
    nearest = np.floor(z * _PER_UNIT + 0.5)  # math.floor makes an integer of it: no vectors
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


@leaf
def sort_arms(sight: Array, band: float, i: int, members: Keys, size: int, draws: Draws) -> None:
    """Put members in order of their thresholds, highest first; in the last objective all stay."""
    thresholds = draws.thresholds
    for k in range(size):
        arm = members[k]
        threshold = sight[REACHES, i, arm] + band if i < sight.shape[1] - 1 else math.inf
        place = k
        while place > 0 and thresholds[place - 1] < threshold:
            thresholds[place] = thresholds[place - 1]
            members[place] = members[place - 1]
            place -= 1
        thresholds[place] = threshold
        members[place] = arm


@leaf
def list_arms(sight: Array, i: int, members: Keys, size: int, draws: Draws) -> tuple[float, float]:
    """Set means, from an origin, spreads and their inverses of the members at level i.

    Returns the origin, which the largest draw of all is hardly ever below, and the highest end.
    """
    _, means, spreads, inverses = draws
    low = -math.inf
    high = -math.inf
    for k in range(size):
        mean = sight[MEANS, i, members[k]]
        spread = sight[SPREADS, i, members[k]]
        spread = spread_of(mean, spread)
        means[k] = mean
        spreads[k] = spread
        low = max(low, mean - _REACH * spread)
        high = max(high, mean + _REACH * spread)
    for k in range(size):
        mean = means[k] - low
        spread = spreads[k]
        if mean + 0.01 * spread == mean:
            spread = 0.0
        means[k] = mean
        spreads[k] = spread
        inverses[k] = 1.0 / spread if spread > 0.0 else _STEEP
    return low, high


@once
def count_above(thresholds: Array, size: int, value: float) -> int:
    """Return how many thresholds are at least `value`; they fall."""
    count = 0
    while count < size and thresholds[count] >= value:
        count += 1
    return count


@leaf
def keep(floor: float, cuts: int, members: Keys, size: int, draws: Draws, ranks: Keys) -> int:
    """Keep the members that may get to `floor`, and the first `cuts` of them.

    Returns how many they are; ranks[k] is where the k-th has gone, −1 if it was dropped.
    """
    thresholds, means, spreads, inverses = draws
    n = 0
    for k in range(size):
        ranks[k] = -1
        if k < cuts or means[k] + _REACH * spreads[k] >= floor:
            ranks[k] = n
            members[n] = members[k]
            thresholds[n] = thresholds[k]
            means[n] = means[k]
            spreads[n] = spreads[k]
            inverses[n] = inverses[k]
            n += 1
    return n


@leaf
def set_panel(
    x: float, stop: float, size: int, draws: Draws, panel: Quadrature
) -> tuple[float, int]:
    """Set points and factors of a panel from x on; returns its end, and how many they are.

    It ends where an arm is too sharp for it, or begins to be, and at an arm without spread.
    """
    _, means, spreads, inverses = draws
    crowd = size**-0.35
    for k in range(size):
        wide = _REACH * spreads[k]
        if means[k] + wide > x:
            stop = min(stop, max(means[k] - wide, x + _WIDEST[-1] * crowd * spreads[k]))
    sharpest = 0.0
    for k in range(size):
        wide = _REACH * spreads[k]
        if means[k] - wide < stop and means[k] + wide > x:
            sharpest = max(sharpest, inverses[k])
    rule = 0
    while rule < len(_SIZES) - 1 and _WIDEST[rule] * crowd < (stop - x) * sharpest:
        rule += 1
    for p in range(_SIZES[rule]):
        panel.points[p] = x + (stop - x) * _NODES[rule, p]
        panel.factors[p] = (stop - x) * _FACTORS[rule, p]
    return stop, _SIZES[rule]


@leaf
def weigh(tied: bool, count: int, size: int, draws: Draws, panel: Quadrature) -> None:
    """Set shares, products and densities, times factors, of the arms at the first `count` points.

    With `tied` all points are one, and the arms without spread there have equal draws. They share
    evenly, as if each had a uniform number τ to break the tie: F = τ and f = 1.
    """
    points, factors, shares, densities, products, _, _ = panel
    for k in range(size):
        mean, inverse = draws.means[k], draws.inverses[k]
        for p in range(count):
            z = (points[p] - mean) * inverse
            density, share = normal_at(z)
            densities[k, p] = density * inverse * factors[p]
            shares[k, p] = share
        if tied and inverse == _STEEP and points[0] == mean:
            for p in range(count):
                densities[k, p] = _FACTORS[-1, p]
                shares[k, p] = _NODES[-1, p]
        for p in range(count):
            products[k + 1, p] = products[k, p] * shares[k, p]


@leaf
def add(
    count: int, size: int, sets: Array, first: int, panel: Quadrature, sums: Array, j: int
) -> None:
    """Add the integral of f_a ∂G/∂F_a over these points to sums[j, a] for every arm.

    G is that of the masses `sets`, of which only the rows `first` to `size` are not 0. With
    T_a = c_{a+1} + F_{a+1} T_{a+1}, where c_j = sets[j, 0] + Σ_{k≥j} sets[j, k] F_k, the slope
    ∂G/∂F_a is Q_a T_a + Σ_{j≤a} sets[j, a] Q_j.
    """
    _, _, shares, densities, products, rest, slopes = panel
    for p in range(count):
        rest[p] = sets[size, 0]
    for a in range(size - 1, -1, -1):
        for p in range(count):
            slopes[p] = products[a, p] * rest[p]
            rest[p] *= shares[a, p]
        for r in range(first, a + 1):
            mass = sets[r, a]
            if mass > 0.0:
                for p in range(count):
                    slopes[p] += mass * products[r, p]
        total = 0.0
        for p in range(count):
            total += densities[a, p] * slopes[p]
        sums[j, a] += total
        for k in range(a if a >= first else size, size):
            mass = sets[a, k]
            if mass > 0.0:
                for p in range(count):
                    rest[p] += mass * shares[k, p]
        if a >= first:
            mass = sets[a, 0]
            for p in range(count):
                rest[p] += mass


@leaf
def sweep(
    start: float,
    stop: float,
    size: int,
    cuts: int,
    sets: Array,
    first: int,
    draws: Draws,
    panel: Quadrature,
    sums: Array,
) -> None:
    """Set sums[j, a] to ∫ f_a ∂G/∂F_a from start to stop, where j of the arms stay.

    Those have the first j of `cuts` thresholds, which fall. See `add` for G.
    """
    thresholds, means, _, inverses = draws
    for j in range(cuts + 1):
        for a in range(size):
            sums[j, a] = 0.0
    j = cuts
    x = start
    ended = True  # a panel ended at x: arms without spread may be there
    while ended or x < stop:
        tied = False
        for k in range(size if ended else 0):
            tied |= inverses[k] == _STEEP and means[k] == x
        while j > 0 and (thresholds[j - 1] < x or (thresholds[j - 1] == x and not tied)):
            j -= 1
        end, count = x, _SIZES[-1]
        ended = not tied and x < stop
        if ended:
            end = min(stop, thresholds[j - 1]) if j > 0 else stop
            end, count = set_panel(x, end, size, draws, panel)
        else:
            for p in range(count):
                panel.points[p] = x
                panel.factors[p] = 0.0
        if tied or ended:
            weigh(tied, count, size, draws, panel)
            add(count, size, sets, first, panel, sums, j)
        x = end


@once
def begin_masses(masses: Array, sets: Array, n: int, thresholds: Array, low: float) -> None:
    """Let all n arms stay, and count thresholds from `low`."""
    for k in range(n):
        thresholds[k] -= low
        masses[n, k] = 0.0
    masses[n, 0] = 1.0
    sets[n, 0] = 1.0


@once
def fold_masses(masses: Array, n: int) -> None:
    """Add up the masses of winners that stay anyway."""
    for j in range(1, n + 1):
        for k in range(1, j):
            masses[j, 0] += masses[j, k]
            masses[j, k] = 0.0


@once
def settle_alone(
    masses: Array,
    always: int,
    size: int,
    weight: float,
    members: Keys,
    draws: Draws,
    out: Array,
) -> float:
    """Add the winners that are left alone; returns what the largest draw of other sets gets to."""
    for k in range(size if always == 0 else 0):
        out[members[k]] += weight * masses[0, k]
    floor = -math.inf
    for k in range(max(always, 1)):
        floor = max(floor, draws.means[k] - _REACH * draws.spreads[k])
    return floor


@leaf
def gather(masses: Array, n: int, always: int, ranks: Keys, size: int, sets: Array) -> float:
    """Set the masses of the sets of `size` arms that are left of n; returns their sum.

    Rows before `always` have none. Arms are at ranks[k] now, −1 if they are dropped.
    """
    for r in range(size + 1):
        for k in range(size):
            sets[r, k] = 0.0
    whole = 0.0
    r = 0
    for j in range(1, n + 1):
        r += ranks[j - 1] >= 0
        for k in range(n if j >= always else 0):
            mass = masses[j, k]
            if mass > _NEGLIGIBLE:
                whole += mass
                place = ranks[k] if k >= j else -1
                if place == r:  # it is the next in order
                    sets[r + 1, 0] += mass
                else:
                    sets[r, max(place, 0)] += mass
    return whole


@once
def award(whole: float, weight: float, n: int, members: Keys, masses: Array, out: Array) -> None:
    """Add to out[a] the share of arm a in masses[0], times weight and mass of all sets."""
    total = 0.0
    for k in range(n):
        total += masses[0, k]
    for k in range(n):
        out[members[k]] += weight * whole * masses[0, k] / total


@once
def begin(ceilings: Array, row: int, keys: Keys, weights: Array, out: Array) -> int:
    """List the allowed arms, set all probabilities to 0, and return how many arms are allowed."""
    size = 0
    for arm in range(out.shape[0]):
        out[arm] = 0.0
        if ceilings[row, arm] > 0.0:
            keys[0, size] = arm
            size += 1
    weights[0] = 1.0
    return size


@leaf
def next_set(
    depth: int, keys: Keys, tables: Array, sizes: Array, positions: Array, weights: Array
) -> tuple[int, int]:
    """List the next set that has a mass, at this depth or one before it, a depth farther on.

    Returns where, −1 if there is none, and its size.
    """
    size = 0
    while depth >= 0 and size == 0:
        n, place = int(sizes[depth]), int(positions[depth])
        while place < (n + 1) * n and tables[depth, place // n, place % n] < _NEGLIGIBLE:
            place += 1
        positions[depth] = place + 1
        if place < (n + 1) * n:
            weights[depth + 1] = weights[depth] * tables[depth, place // n, place % n]
            for k in range(n):
                if k < place // n or k == place % n:
                    keys[depth + 1, size] = keys[depth, k]
                    size += 1
        depth += 1 if size > 0 else -1
    return depth, size


@once
def normalise(out: Array) -> None:
    """Divide the probabilities by their sum, which rounding moved."""
    total = 0.0
    for arm in range(out.shape[0]):
        total += out[arm]
    for arm in range(out.shape[0]):
        out[arm] /= total


@once
def chances(
    _settings: Array, sight: Array, bands: Array, ceilings: Array, row: int, out: Array
) -> None:
    """Set out[a] to the probability that `decide` returns arm a.

    Off by about 10⁻¹¹, where spreads differ by a factor of up to 10⁶ or are 0. Time is spent on
    some hundred values of f and F of each arm for every set that may be left before the last two
    levels: one, with two objectives.
    """
    last, arms = sight.shape[1] - 1, sight.shape[2]
    depths = max(last, 1)
    keys, numbers = (
        np.empty((depths + 2, arms), np.int64),
        np.empty((_LINES, max(arms, depths + 1))),
    )
    tables, grid = np.empty((depths + 1, arms + 1, arms)), np.empty((_GRIDS, arms + 1, _MOST))
    draws = Draws(numbers[0], numbers[1], numbers[2], numbers[3])
    sizes, positions, weights = numbers[4], numbers[5], numbers[6]
    panel = Quadrature(grid[3, 0], grid[4, 0], grid[0], grid[1], grid[2], grid[5, 0], grid[6, 0])
    ranks, sets = keys[depths + 1], tables[depths]
    for p in range(_MOST):
        panel.products[0, p] = 1.0
    size = begin(ceilings, row, keys, weights, out)
    depth = always = 0
    finishing = False  # at the last level, given the sets that the level before it leaves
    while depth >= 0:
        members, masses, weight = keys[depth], tables[depth], weights[depth]
        i = last if finishing else depth
        sort_arms(sight, bands[i], i, members, 0 if finishing else size, draws)
        low, high = list_arms(sight, i, members, size, draws)
        floor, cuts = 0.0, 0
        if finishing:
            floor = settle_alone(masses, always, size, weight, members, draws, out)
        else:
            cuts = count_above(draws.thresholds, size, low)
        n = keep(floor, cuts, members, size, draws, ranks)
        first, cuts, whole = 1, 0, 1.0
        if finishing:
            whole = gather(masses, size, always, ranks, n, sets)
        else:
            always = count_above(draws.thresholds, n, high)
            always = always if n > 1 else 1
            begin_masses(masses, sets, n, draws.thresholds, low)
            first, cuts = n + 1, n
        if whole > 0.0 and (finishing or always < n):
            sweep(floor, high - low, n, cuts, sets, first, draws, panel, masses)
            if finishing:
                award(whole, weight, n, members, masses, out)
            else:
                fold_masses(masses, n)
        size = n
        if finishing:
            depth -= 1
        else:
            sizes[depth], positions[depth] = n, always * n
        finishing = not finishing and depth == depths - 1
        if not finishing:
            depth, size = next_set(depth, keys, tables, sizes, positions, weights)
    normalise(out)
