r"""Confidence sequences for the difference of two policies: intervals that hold at every look.

**What is estimated.** Row t of a log has a context x_t, an arm a_t that was drawn with probability
p_t = h_t(a_t), and a reward y_t in [0, 1]. The logging policy h_t may depend on everything that
happened before (a log of a learning policy). For a candidate π and a baseline π' with δ = π − π',

    Δ_n = (1/n) Σ_t θ_t,    θ_t = Σ_a δ(a | x_t) μ_t(x_t, a)

is what the candidate would have earned more, on average over the rows; μ is the mean reward. If the
baseline is what was logged, θ_t = Σ_a (π − h_t)(a | x_t) μ_t(x_t, a). Contexts and means may drift:
nothing is assumed of them. If contexts are drawn from one distribution and the means stay, the same
bounds hold for the expectation of θ_t, the difference in that population.

**Scores.** For any function q of arms that is fixed before a_t is drawn,

    G_t(q) = Σ_a δ(a) q(a) + δ(a_t)/p_t · (y_t − q(a_t))            E[G_t(q) | past, x_t] = θ_t

wherever h_t is positive for every arm with δ ≠ 0. Three choices of q, where δ⁺ and δ⁻ are the
positive and negative parts of δ:

    L: q = 1{δ < 0}     L = δ⁺(a_t)/p_t·y_t + δ⁻(a_t)/p_t·(1 − y_t) − Σδ⁻       never below −1
    U: q = 1{δ > 0}     U = Σδ⁺ − δ⁺(a_t)/p_t·(1 − y_t) − δ⁻(a_t)/p_t·y_t       never above 1
    R: q = q̂            doubly robust, with a reward model that was fitted on earlier rows

If the baseline is what was logged, L = (w − 1)y, U = (w − 1)(y − 1) and R = Σ_a π(a)q̂(a) +
w(y − q̂(a_t)) − y, with w = π(a_t)/p_t.

Only the propensity of the played arm is logged, so a bound on the weights is not known when it is
needed. L needs none: it is a lower bound's score, bounded from below whatever the weights are. And
where h_t is 0 for an arm with δ ≠ 0, L misses a term that is not negative, so its expectation is
below θ_t: lack of overlap makes the lower bound lower, never wrong. U is the mirror image. R is
bounded below by −1/ρ if every allowed arm had a propensity of at least ρ. That is a promise about
the policy (`least_propensity`, such as `explore` divided by the number of arms); with it the score

    Z = (1 − κ)L + κR

has all of the model's help at κ = 1 and none at κ = 0, and Z ≥ −(1 − κ) − κ/ρ. Without the promise
κ = 0. κ is the coefficient of a control variate (Vlassis et al., 2019, "On the design of estimators
for bandit off-policy evaluation", ICML), chosen anew for each block of rows from the blocks before.

**The bound.** For a number c fixed before the block and Y = Z − c ≥ −b, and 0 ≤ λ < 1/b,

    exp(λY − ψ_b(λ)Y²) ≤ 1 + λY,    ψ_b(λ) = (−ln(1 − bλ) − bλ)/b²

(Fan, Grama and Liu, 2015, Electronic Journal of Probability 20). Taking expectations and
1 + x ≤ eˣ, E[exp(λ(Z − θ) − ψ_b(λ)(Z − c)²) | past] ≤ 1, where θ is the conditional expectation of
Z, or a number above it. So for every λ the product over rows,

    M_n(λ) = exp(λ Σ(Z_t − θ_t) − Σ ψ_{b_t}(λ)(Z_t − c_t)²),

is a nonnegative supermartingale that begins at 1; if a block's b is 1/λ or more, it is set to 0 for
good, which keeps it one. A mixture over λ_k with weights v_k that sum to 1 is one as well, and by
Ville's inequality it ever reaches 1/α with probability at most α. Hence, with probability 1 − α,
at all n together,

    Δ_n > (ΣZ − u_n)/n,    u_n: Σ_k v_k exp(λ_k u_n − Σ ψ_{b_t}(λ_k)(Z_t − c_t)²) = 1/α.

This is an empirical Bernstein confidence sequence with a discrete mixture (Howard, Ramdas,
McAuliffe and Sekhon, 2021, Annals of Statistics 49, Theorem 4; for the logs of bandits
Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro, 2022, "Anytime-valid off-policy inference for
contextual bandits"). λ is not adapted from row to row, so that all rows count alike and Δ_n is a
plain average.

Since c and κ stay as they are within a block, Σ(Z − c)² follows from the sums of L, R, L², LR and
R² over the block: intervals are made from sums, and a look in the middle of a block is as valid as
one at its end. The upper bound is that of −U and −R. An interval of level 1 − α has both ends at
α/2.

**What is assumed.** The logged propensities are right. Rewards lie in the declared range. Given the
past and the context, whether a reward is missing depends neither on the arm nor on the reward (then
Δ_n is an average over the rows that have one). The candidate, the baseline and the reward model for
a row do not depend on that row's arm or reward, nor on later rows. The promise on propensities, if
one is made, is true. Nothing else: neither independent rows nor many of them.

**Asymptotic** intervals (`normal_interval`) are estimate ± z standard errors: about half as long,
valid for one look at a long log of independent rows, and only approximately.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import sequences as kernel
from lexbandit.logs.sums import blocks

# A projection beyond this many rows is none.
MOST_ROWS = 1e12


class Lower(NamedTuple):
    """A lower bound, the mean of the scores it was made from, and their variance a row."""

    bound: float
    mean: float
    variance: float


def reach(least_propensity: float) -> float:
    """Return how far doubly robust scores may lie below 0: ∞ if nothing is promised."""
    least = checks.at_least_zero("least_propensity", least_propensity)
    if least > 1.0:
        raise InvalidInput(f"least_propensity must be at most 1, got {least_propensity!r}.")
    return 1.0 / least if least > 0.0 else math.inf


def lower_bound(sums: Floats, *, alpha: float, least_propensity: float = 0.0) -> Lower:
    """Return the bound below a mean difference that holds at all times with probability 1 − alpha.

    sums[m, 6] has the rows of each block with a reward, ΣL, ΣR, ΣL², ΣLR and ΣR².
    """
    costs = np.empty(len(kernel.LAMBDAS))
    total, far, share = kernel.lower_bound(
        sums, reach(least_propensity), math.log(1.0 / alpha), costs
    )
    whole = sums.sum(axis=0)
    rows = float(whole[kernel.ROWS])
    if rows == 0.0:
        return Lower(-1.0, math.nan, math.nan)
    mean = float(total) / rows
    variance = kernel.squares(whole, share, mean) / rows
    return Lower(max(mean - float(far) / rows, -1.0), mean, variance)


def running_intervals(
    lower: Floats,
    upper: Floats,
    robust: Floats,
    *,
    alpha: float = 0.05,
    least_propensity: float = 0.0,
    every: int = 1,
) -> tuple[Floats, Floats]:
    """Return the ends of the interval after every `every` rows, as float[looks] each.

    lower[n], upper[n] and robust[n] are the scores L, U and R of all rows (`estimators.scores`);
    NaN where the reward is missing. All looks hold together with probability 1 − alpha.
    """
    rows = len(lower)
    edges = np.array([0, *(last for _, last in blocks(0, rows))], np.float64)
    far, log_level = reach(least_propensity), math.log(2.0 / alpha)
    step = checks.whole("every", every, least=1)
    lows = kernel.running_bounds(lower, robust, edges, step, far, log_level)
    highs = kernel.running_bounds(-upper, -robust, edges, step, far, log_level)
    return lows, -highs


def rows_needed(*, variance: float, distance: float, alpha: float) -> float:
    """Return after how many rows a bound at level alpha is within `distance` of the mean.

    `variance` is that of the scores of a row, which lie above −1. ∞ if it takes too many.
    """
    rates = np.empty(len(kernel.LAMBDAS))
    kernel.rate(1.0, rates)
    log_level = math.log(1.0 / alpha)

    def decides(rows: float) -> bool:
        costs = rates * variance * rows
        guess = kernel.first_guess(costs, log_level)
        return kernel.boundary(costs, log_level, guess) <= rows * distance

    most = 1.0
    while not decides(most):
        most *= 2.0
        if most > MOST_ROWS:
            return math.inf
    least = most / 2.0
    while most - least > 1e-3 * most + 1.0:
        middle = 0.5 * (least + most)
        least, most = (least, middle) if decides(middle) else (middle, most)
    return math.ceil(most)


def normal_interval(mean: float, variance: float, rows: float, alpha: float) -> tuple[float, float]:
    """Return mean ± z·sqrt(variance/rows): about valid, for one look at independent rows."""
    half = NormalDist().inv_cdf(1.0 - alpha / 2.0) * math.sqrt(max(variance, 0.0) / rows)
    return mean - half, mean + half
