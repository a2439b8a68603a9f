"""Rules of the literature on bandits with cost subsidy, on the posterior of a pooled regression.

Every rule sees, in one context, posterior means m and deviations s of shape [objectives, arms], the
larger the better; `widths`, one number an objective; and which arms are allowed, as in `ties`.

    WEIGHTED  draw z_a ~ N(Σ_i w_i m_ia, Σ_i (w_i s_ia)²), w = `widths`; play the highest
    CS_TS     CS-TS of Sinha et al. (2021, AISTATS): draw z_a ~ N(m_ia, s_ia²) and keep
              z_a ≥ max z − β_i; in the last objective play the highest draw
    CS_UCB    CS-UCB, ibid.: keep U_a ≥ max U − β_i, U = m + c sqrt(2 ln t) s; in the last
              objective play the highest U
    CS_ETC    CS-ETC, ibid.: play every arm ⌈(T/K)^(2/3)⌉ times, then keep U_a ≥ max L − β_i with
              U, L = m ± c sqrt(2 ln T) s; in the last objective play the highest U
    PE_CS     PE-CS of Juneja, Joe-Wong and Yağan (2025, ICLR): find the best arm by elimination,
              then compare cheaper arms with it one by one; see `eliminate`

The bands β = `widths` are tolerances. In both papers an arm is as good as the best if its mean is
at least (1 − α) times the best, costs are known and there is one reward. Here a tolerance is a
difference, the cost is the last objective, learned like the others, and more objectives are
filtered one after the other. An upper bound of the last objective is a lower bound of a cost.

`reaches` are the upper bounds U. Ties are broken uniformly at random.
"""

import math

import numpy as np

from lexbandit.kernels import normal_chances
from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.bands import DEVIATIONS, MEANS, REACHES, SPREADS
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.pooled import NOISE, Model
from lexbandit.kernels.pooled_rules import pooled_rule
from lexbandit.kernels.random import RandomState, below, normal

# From CS_UCB on, rules decide by bounds.
WEIGHTED, CS_TS, CS_UCB, CS_ETC, PE_CS = 1, 2, 3, 4, 5

# The settings of a rule, in one array: which it is, a factor of the draws' deviations, a factor of
# the bounds' widths, T, and then the weights of the objectives.
RULE, DRAW_WIDTH, SCALE, HORIZON, WEIGHTS = 0, 1, 2, 3, 4

# The verdicts of PE-CS on an arm that is compared with the best.
_WORSE, _AS_GOOD, _OPEN = 0.0, 1.0, 2.0


def settings_of(
    rule: int, *, draw_width: float = 0.0, scale: float = 0.0, horizon: float = 0.0
) -> Array:
    """Return the settings of a rule, without weights."""
    return np.array([rule, draw_width, scale, horizon], np.float64)


@kernel
def radius_of(
    rule: int,
    deviation: float,
    noise: float,
    plays: float,
    arms: int,
    t: float,
    scale: float,
    horizon: float,
) -> float:
    """Return the half-width U − m of an arm for the rules with bounds; ∞ before it is known at all.

    `noise` is the deviation of a reward, `plays` of the arm, t counts rounds from 1.
    """
    if rule == CS_UCB:
        return scale * math.sqrt(2.0 * math.log(t)) * deviation
    if rule == CS_ETC:
        if plays < math.ceil((horizon / arms) ** (2.0 / 3.0)):
            return math.inf
        return scale * math.sqrt(2.0 * math.log(horizon)) * deviation
    return radius_by_rounds(deviation, noise, scale, horizon)


@kernel
def radius_by_rounds(deviation: float, noise: float, scale: float, horizon: float) -> float:
    """Return the half-width of PE-CS: σ 2^(−r) after the last round r that the arm has completed.

    Round r of Improved UCB (Auer and Ortner, 2010), which PE-CS plays, is over after
    2 ln(T 4^(−r)) 4^r plays, when the half-width sqrt(2 ln(T 4^(−r))) σ/sqrt(n) is σ 2^(−r); σ = ½
    for rewards in [0, 1]. Here the deviation s stands for σ/sqrt(n). Rounds go from 0 to
    ½ log2(T/e); after the last one the estimate counts as exact, before the first the half-width
    is ∞.
    """
    last = max(0.0, math.floor(0.5 * math.log2(horizon / math.e)))
    radius = math.inf
    r = 0.0
    while r <= last:
        level = max(0.0, math.log(horizon) - r * math.log(4.0))
        if scale * math.sqrt(2.0 * level) * deviation > noise * 0.5**r:
            return radius
        radius = noise * 0.5**r
        r += 1.0
    return 0.0


@inlined
def prepare(
    model: Model,
    plays: Array,
    clock: Keys,
    settings: Array,
    tolerances: Array,
    sight: Array,
    widths: Array,
) -> None:
    """Write what rules read: the deviations of draws, upper bounds, and tolerances or weights."""
    means, deviations = sight[MEANS], sight[DEVIATIONS]
    spreads, reaches = sight[SPREADS], sight[REACHES]
    rule = int(settings[RULE])
    arms = means.shape[1]
    for i in range(means.shape[0]):
        noise = math.sqrt(model.facts[i, NOISE])
        for arm in range(arms):
            deviation = deviations[i, arm]
            spreads[i, arm] = settings[DRAW_WIDTH] * deviation
            reaches[i, arm] = means[i, arm]
            if rule >= CS_UCB:
                reaches[i, arm] += radius_of(
                    rule,
                    deviation,
                    noise,
                    plays[arm],
                    arms,
                    clock[0] + 1.0,
                    settings[SCALE],
                    settings[HORIZON],
                )
        widths[i] = settings[WEIGHTS + i] if rule == WEIGHTED else tolerances[i]


@inlined
def keep_highest(values: Array, i: int, marks: Array) -> float:
    """Unmark the arms that do not have the highest values[i] of those marked; returns it."""
    top = -math.inf
    for arm in range(marks.shape[0]):
        if marks[arm] > 0.0:
            top = max(top, values[i, arm])
    for arm in range(marks.shape[0]):
        if values[i, arm] != top:
            marks[arm] = 0.0
    return top


@kernel
def narrow(rule: int, means: Array, reaches: Array, bands: Array, marks: Array) -> None:
    """Leave marked the arms that CS-UCB or CS-ETC may play, of those marked."""
    last = means.shape[0] - 1
    if rule == CS_ETC:
        unknown = False
        for arm in range(marks.shape[0]):
            unknown = unknown or (marks[arm] > 0.0 and reaches[0, arm] == math.inf)
        if unknown:
            keep_highest(reaches, 0, marks)
            return
    for i in range(last):
        floor = -math.inf
        for arm in range(marks.shape[0]):
            if marks[arm] > 0.0:
                low = 2.0 * means[i, arm] - reaches[i, arm]
                floor = max(floor, reaches[i, arm] if rule == CS_UCB else low)
        for arm in range(marks.shape[0]):
            if reaches[i, arm] < floor - bands[i]:
                marks[arm] = 0.0
    keep_highest(reaches, last, marks)


@inlined
def to_explore(
    means: Array, deviations: Array, reaches: Array, i: int, chosen: Array, marks: Array
) -> None:
    """Mark the chosen arms of the largest deviation at level i that is not known exactly."""
    widest = 0.0
    for arm in range(marks.shape[0]):
        if chosen[arm] > 0.0 and reaches[i, arm] > means[i, arm]:
            widest = max(widest, deviations[i, arm])
    for arm in range(marks.shape[0]):
        unknown = chosen[arm] > 0.0 and reaches[i, arm] > means[i, arm]
        marks[arm] = 1.0 if unknown and deviations[i, arm] == widest else 0.0


@inlined
def verdict_of(means: Array, reaches: Array, i: int, band: float, best: int, arm: int) -> float:
    """Return whether an arm is within the band of the best at level i, worse, or that is open."""
    if arm == best or 2.0 * means[i, arm] - reaches[i, arm] >= reaches[i, best] - band:
        return _AS_GOOD
    if reaches[i, arm] < 2.0 * means[i, best] - reaches[i, best] - band:
        return _WORSE
    return _OPEN


@inlined
def find_best(means: Array, reaches: Array, i: int, marks: Array, chosen: Array) -> int:
    """Choose the marked arms that may be the best at level i; returns it, or −1 while unsure.

    They are those with U_a ≥ max L. Of equal ones the best has the higher last estimate.
    """
    last = means.shape[0] - 1
    floor = -math.inf
    for arm in range(marks.shape[0]):
        if marks[arm] > 0.0:
            floor = max(floor, 2.0 * means[i, arm] - reaches[i, arm])
    rivals, uncertain, best = 0, False, -1
    for arm in range(marks.shape[0]):
        chosen[arm] = 1.0 if marks[arm] > 0.0 and reaches[i, arm] >= floor else 0.0
        if chosen[arm] > 0.0:
            rivals += 1
            uncertain = uncertain or reaches[i, arm] > means[i, arm]
            ahead = best < 0 or means[i, arm] > means[i, best]
            tied = best >= 0 and means[i, arm] == means[i, best]
            if ahead or (tied and means[last, arm] > means[last, best]):
                best = arm
    return -1 if rivals > 1 and uncertain else best


@inlined
def judge(
    means: Array,
    reaches: Array,
    i: int,
    band: float,
    best: int,
    least: float,
    marks: Array,
    chosen: Array,
) -> tuple[bool, bool]:
    """Choose verdicts on the marked arms with a last estimate of at least `least`.

    Returns whether one is as good as the best at level i, and whether that is open of one.
    """
    last = means.shape[0] - 1
    accepted, still_open = False, False
    for arm in range(marks.shape[0]):
        chosen[arm] = _WORSE
        if marks[arm] > 0.0 and means[last, arm] >= least:
            chosen[arm] = verdict_of(means, reaches, i, band, best, arm)
        accepted = accepted or chosen[arm] == _AS_GOOD
        still_open = still_open or chosen[arm] == _OPEN
    return accepted, still_open


@kernel
def eliminate(means: Array, deviations: Array, reaches: Array, bands: Array, marks: Array) -> None:
    """Leave marked the arms that PE-CS may play, of those marked.

    At each level but the last: of the arms that may be the best, play the one known least, until
    one is left. Then compare the others with this arm h: as good if L_a ≥ U_h − β, worse if
    U_a < L_h − β; while that is open, play the one of the two that is known less. At the level
    before the last, arms are compared in order of the last objective's estimate and the first that
    is as good is played, so nothing is spent on those behind it.
    """
    arms, last = means.shape[1], means.shape[0] - 1
    chosen = np.empty(arms)
    for i in range(max(last, 1)):
        best = find_best(means, reaches, i, marks, chosen)
        if best < 0:
            to_explore(means, deviations, reaches, i, chosen, marks)
            return
        if last == 0:
            keep_highest(means, 0, marks)
            return
        decides = i == last - 1
        accepted = False
        while not accepted:
            least = -math.inf
            for arm in range(arms):
                if decides and marks[arm] > 0.0:
                    least = max(least, means[last, arm])
            accepted, still_open = judge(means, reaches, i, bands[i], best, least, marks, chosen)
            if still_open and not (decides and accepted):
                for arm in range(arms):
                    chosen[arm] = 1.0 if chosen[arm] == _OPEN or arm == best else 0.0
                to_explore(means, deviations, reaches, i, chosen, marks)
                return
            for arm in range(arms):
                if accepted:
                    marks[arm] = 1.0 if chosen[arm] == _AS_GOOD else 0.0
                elif means[last, arm] >= least:
                    marks[arm] = 0.0


@kernel
def mark(
    rule: int,
    means: Array,
    deviations: Array,
    reaches: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    marks: Array,
) -> int:
    """Mark by 1 the arms of which a rule with bounds plays one, uniformly; returns how many."""
    for arm in range(marks.shape[0]):
        marks[arm] = 1.0 if ceilings[row, arm] > 0.0 else 0.0
    if rule == PE_CS:
        eliminate(means, deviations, reaches, widths, marks)
    else:
        narrow(rule, means, reaches, widths, marks)
    count = 0
    for arm in range(marks.shape[0]):
        count += marks[arm] > 0.0
    return count


@inlined
def weighted(means: Array, spreads: Array, weights: Array, arm: int) -> tuple[float, float]:
    """Return the mean and the deviation of the weighted sum of independent draws of an arm."""
    mean = 0.0
    variance = 0.0
    for i in range(means.shape[0]):
        mean += weights[i] * means[i, arm]
        part = weights[i] * spreads[i, arm]
        variance += part * part
    return mean, math.sqrt(variance)


@inlined
def place_of_highest(draws: Array, size: int, random: RandomState) -> int:
    """Return the place of the highest of the first `size` draws; one is drawn if there are ties."""
    top = -math.inf
    ties = 0
    for k in range(size):
        if draws[k] > top:
            top = draws[k]
            ties = 0
        ties += draws[k] == top
    skip = below(random, ties) if ties > 1 else 0
    k = 0
    while draws[k] != top or skip > 0:
        skip -= draws[k] == top
        k += 1
    return k


@kernel
def decide(
    settings: Array,
    sight: Array,
    widths: Array,
    ceilings: Array,
    row: int,
    random: RandomState,
    members: Keys,
    draws: Array,
) -> int:
    """Return the arm to play; `members` and `draws` are space for one number an arm.

    Rules that draw take two steps of the random state for each arm that they draw for, in order of
    arms; CS-TS none at a level with one arm left. A tie takes one more.
    """
    means, deviations = sight[MEANS], sight[DEVIATIONS]
    spreads, reaches = sight[SPREADS], sight[REACHES]
    rule = int(settings[RULE])
    size = 0
    if rule >= CS_UCB:
        mark(rule, means, deviations, reaches, widths, ceilings, row, draws)
        return place_of_highest(draws, draws.shape[0], random)
    for arm in range(means.shape[1]):
        if ceilings[row, arm] > 0.0:
            members[size] = arm
            size += 1
    if rule == WEIGHTED:
        for k in range(size):
            mean, spread = weighted(means, spreads, widths, members[k])
            draws[k] = mean + spread * normal(random)
        return int(members[place_of_highest(draws, size, random)])
    last = means.shape[0] - 1
    for i in range(last + 1):
        if size == 1:
            break
        top = -math.inf
        for k in range(size):
            arm = members[k]
            draws[k] = means[i, arm] + spreads[i, arm] * normal(random)
            top = max(top, draws[k])
        if i == last:
            return int(members[place_of_highest(draws, size, random)])
        left = 0
        for k in range(size):
            if draws[k] >= top - widths[i]:
                members[left] = members[k]
                left += 1
        size = left
    return int(members[0])


@kernel
def chances(
    settings: Array, sight: Array, widths: Array, ceilings: Array, row: int, out: Array
) -> None:
    """Write the exact probability of every arm to be the one that `decide` returns.

    NaN for CS-TS: there sets of arms are drawn, which takes an integral an objective.
    """
    means, deviations = sight[MEANS], sight[DEVIATIONS]
    spreads, reaches = sight[SPREADS], sight[REACHES]
    rule = int(settings[RULE])
    if rule >= CS_UCB:
        count = mark(rule, means, deviations, reaches, widths, ceilings, row, out)
        for arm in range(out.shape[0]):
            out[arm] /= count
        return
    size = 0
    for arm in range(out.shape[0]):
        allowed = ceilings[row, arm] > 0.0
        out[arm] = math.nan if allowed else 0.0
        size += allowed
    if rule == CS_TS:
        return
    sums, sigmas = np.empty(size), np.empty(size)
    k = 0
    for arm in range(out.shape[0]):
        if ceilings[row, arm] > 0.0:
            sums[k], sigmas[k] = weighted(means, spreads, widths, arm)
            k += 1
    shares = normal_chances.chances(sums, sigmas)
    k = 0
    for arm in range(out.shape[0]):
        if ceilings[row, arm] > 0.0:
            out[arm] = shares[k]
            k += 1


# The compiled loops of all of these rules: which one it is stands in the settings.
LOOPS = pooled_rule(prepare=prepare, choose=decide, chances=chances)
