"""What a pooled regression knows in one context: credible intervals, and which arms are as good."""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.decisions import Level
from lexbandit.kernels import pooled
from lexbandit.kernels.pooled_prediction import UNLIKE

LEVEL = 0.95
_TINY = 1e-300
_ROUNDING = 1e-9
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.5 + LEVEL / 2)

# The noise and the scales that are learned from all arms count for so many rewards of an arm.
_PSEUDO = 2.0

# The noise of an arm is at least what it would be if drawn to that of all arms by so many rewards:
# where most rewards are 0, an arm that had few others seems both worse and quieter than it is.
_DRAWN = 30.0

# The learned variances draw arms together, so the truth varies by more than they say: so many times
# as much is expected of what the features cannot represent. It shows as noise, so its variance is
# at most _MISFIT times the noise, more by _FEW/near where few rewards show it. By measured
# coverage, as `left_out` is.
_MORE = 3.0
_MISFIT, _FEW = 6.0, 25.0

# The points of `chances_within`: quantiles of one arm in the middle of equal shares, and grid
# between which the distribution of the best arm is interpolated, in deviations of each arm. Where
# there are many arms these are taken from the most promising ones.
_SHARES = np.array([_NORMAL.inv_cdf((k + 0.5) / 200) for k in range(200)])
_GRID = np.linspace(-5.0, 5.0, 101)
_PLACED = 8

# For an outlook: joint draws of all arms, and up to how many rewards of an arm are few.
DRAWS = 256
_FEW_REWARDS = 5.0


class Known(NamedTuple):
    """What is known of every objective and arm, float[D, K] each.

    means      posterior means
    low, high  ends of the credible interval of level `LEVEL`
    near       how many rewards in this very context would say as much as those that came
    prior      how many rewards of this context what the arms have in common counts for
    noise      variances of single rewards
    beyond     variances of what the features cannot represent
    seen       rewards of the arm
    """

    means: Floats
    low: Floats
    high: Floats
    near: Floats
    prior: Floats
    noise: Floats
    beyond: Floats
    seen: Floats

    def deviations(self) -> Floats:
        """Return posterior deviations, given the part that all arms share, as `known_at` has them.

        They are larger by as much as the quantiles of the intervals are than 1.96.
        """
        quantiles = student(_PSEUDO + np.minimum(self.seen, self.near))
        variances = self.noise / (self.near + self.prior) + self.beyond
        return np.asarray(quantiles / _Z * np.sqrt(variances))

    def after(self, rewards: Floats) -> "Known":
        """Return what would be known after so many further rewards, all arrays float[n, D, K].

        Means stay. A reward tells as much of this context as those before it did, or as an average
        one of all arms where an arm has few. The variance of what the features cannot represent is
        learned too, and falls with the root of what the others fall by: see benchmarks/outlook.py.
        """
        known, seen = (every.sum(axis=-1, keepdims=True) for every in (self.near, self.seen))
        average = (known + 1.0) / (seen + 1.0)
        near = self.near + rewards * (self.near + _FEW_REWARDS * average) / (
            self.seen + _FEW_REWARDS
        )
        beyond = self.beyond * np.sqrt((self.near + self.prior) / (near + self.prior))
        return self._replace(near=near, seen=self.seen + rewards, beyond=beyond)


def known_at(
    model: pooled.Model,
    features: Floats,
    means: Floats,
    left_out: Floats,
    unlike: Booleans,
    expected: Floats,
) -> Known:
    """Return what is known at features φ, given the posterior means there.

    With u = ΛBφ the variance of the mean is σ_a²(φᵀBφ + uᵀC_0u) + 3(1 − near/n)Σ_f w_f c_f. The
    last term is for what the features cannot represent, with w = `left_out`
    (`FeatureMap.left_out`), as far as the n rewards of the arm came elsewhere; if all came in this
    very context, that does not matter. It is at most 6σ²(1 + 25/near), or it would have shown as
    noise.

    An interval also holds that of `loosened`, so that the arm's own rewards have to show what it
    gives in a category. `deviations` do without: they say what arms are like in general, and few
    are so unlike the others.

    Where the noise is larger in this context than on average, that of `noise_here` counts;
    `expected` is E[φ].

    For σ_a² the largest is taken of the model's, of (2σ² + Q_a)/(2 + n), which is drawn less to the
    noise of all arms, and of (30σ² + Q_a)/(30 + n), which is drawn to it more. Quantiles are those
    of Student's t with 2 + n degrees of freedom, or with 2 + near if that is less: far from data
    the interval rests on variances that few arms tell of.

    Where all rewards were 0 or 1 the interval is that of Wilson (1927, JASA 22), as if 1/leverage
    rewards had been observed here, and holds that of the estimate as it would be without the pull
    to the other arms: an arm that never failed may be certain.
    """
    tallies, facts, shared = model.tallies, model.facts, model.shared
    products = model.matrices[:, :, pooled.INVERSE] @ features
    leverages = np.maximum((products @ features).T, _TINY)
    pulls = products * shared[:, pooled.PENALTY]
    whole = leverages + np.einsum("aij,ijk,aik->ia", pulls, model.common, pulls)
    prior = 1.0 / (features**2 @ (1.0 / shared[:, pooled.PENALTY]).T)[:, np.newaxis]
    near = np.maximum(1.0 / leverages - prior, 0.0)

    common = facts[:, pooled.NOISE, np.newaxis]
    seen = (tallies[:, :, pooled.COUNT] - tallies[:, :, pooled.WEIGHT]).T
    elsewhere = 1.0 - np.minimum(near / np.maximum(seen, 1.0), 1.0)
    most = _MISFIT * common * (1.0 + _FEW / np.maximum(near, _TINY))
    beyond = _MORE * common / shared[:, pooled.PENALTY] @ left_out[:, np.newaxis]
    beyond = np.minimum(beyond, most) * elsewhere
    modelled = pooled.noises_of(model, means, whole)
    residuals = tallies[:, :, pooled.RESIDUAL].T
    looser, drawn = ((by * common + residuals) / (by + seen) for by in (_PSEUDO, _DRAWN))
    binary = (facts[:, pooled.OTHER] == 0.0) & (facts[:, pooled.SEEN] > 0.0)
    noise = np.where(
        binary[:, np.newaxis], modelled, np.maximum(modelled, np.maximum(looser, drawn))
    )

    estimates = [(means, whole)]
    if unlike.any():
        estimates.append(loosened(model, features, unlike))
    quantiles = student(_PSEUDO + np.minimum(seen, near))
    here = np.where(binary[:, np.newaxis], noise, noise * noise_here(model, products, expected))
    widths = [quantiles * np.sqrt(here * variance + beyond) for _, variance in estimates]
    around = list(zip(estimates, widths, strict=True))
    low = np.min([found - width for (found, _), width in around], axis=0)
    high = np.max([found + width for (found, _), width in around], axis=0)
    if binary.any():
        weights = np.minimum(leverages * prior, 0.5)
        centres = (shared[:, pooled.COMMON] @ features)[:, np.newaxis]
        estimates.append((centres + (means - centres) / (1.0 - weights), whole))
        ends = [
            wilson(found[binary], 1.0 / (variance + beyond / np.maximum(noise, _TINY))[binary])
            for found, variance in estimates
        ]
        low[binary] = np.min([end for end, _ in ends], axis=0)
        high[binary] = np.max([end for _, end in ends], axis=0)
    return Known(means, low, high, near, prior, noise, beyond, seen)


def noise_here(model: pooled.Model, products: Floats, expected: Floats) -> Floats:
    """Return by how much noise is larger at φ than on average, at least 1, float[D, K].

    A regression of the squared errors on the features, by the inverses B of the model: with q the
    mean of an arm's n errors e²/(1 + φᵀBφ) it is 1 + φᵀB Σ(e²/(1 + φᵀBφ)/q − 1)φ, where `products`
    is Bφ, and 1 where the features have no constant, which Σ and n are known by. A prior, which
    counts as rewards at E[φ] = `expected`, has no errors and is left out.
    """
    constant = model.prior[pooled.CONSTANT]
    priors = model.tallies[:, :, pooled.WEIGHT, np.newaxis] * expected
    sums = model.matrices[:, :, pooled.GRAM] @ constant - priors
    errors = model.vectors[:, :, pooled.ERRORS]
    counts = sums @ constant
    known = (counts > 0.5) & (errors @ constant > 0.0)
    means = np.where(known, errors @ constant, 1.0) / np.where(known, counts, 1.0)
    ratios = np.where(known[..., np.newaxis], errors / means[..., np.newaxis] - sums, 0.0)
    return np.asarray(np.maximum(1.0 + np.einsum("aif,aif->ia", products, ratios), 1.0))


def loosened(model: pooled.Model, features: Floats, unlike: Booleans) -> tuple[Floats, Floats]:
    """Return means and variances over σ_a² at features φ, float[D, K], of arms that vary more.

    They are φᵀB(b + Λθ_0) and φᵀBφ + uᵀC_0u with a scale of at least 9 for the features `unlike`
    in Λ and B; the rest of the model, C_0 too, is as it was learned.
    """
    shared = model.shared
    share = np.minimum(shared[:, pooled.SCALE] / UNLIKE, 1.0)
    least = pooled.LEAST_PENALTY * model.facts[:, pooled.SEEN, np.newaxis]
    looser = np.maximum(share * shared[:, pooled.PENALTY], least)
    penalties = np.where(unlike, looser, shared[:, pooled.PENALTY])
    pull = penalties * shared[:, pooled.COMMON]
    means, variances = np.empty((2, *model.tallies.shape[1::-1]))
    for arm, (vectors, matrices) in enumerate(zip(model.vectors, model.matrices, strict=True)):
        whole = matrices[:, pooled.GRAM] + penalties[:, :, np.newaxis] * np.eye(len(features))
        known = np.linalg.solve(whole, np.broadcast_to(features, pull.shape)[..., np.newaxis])[
            ..., 0
        ]
        pulled = penalties * known
        means[:, arm] = np.einsum("if,if->i", known, vectors[:, pooled.MOMENT] + pull)
        variances[:, arm] = known @ features
        variances[:, arm] += np.einsum("ij,ijk,ik->i", pulled, model.common, pulled)
    return means, np.maximum(variances, _TINY)


def standing(known: Known, bands: Floats, allowed: Booleans) -> tuple[tuple[Level, ...], Floats]:
    """Return who leads in each objective before the last, or in the only one, and who is as good.

    See `PolicyExplanation.standing`. The second part has the probability of every arm to be within
    the band of the best, float[D − 1, K]; the best is one of those that are as good, by the
    estimates, in the objectives before.
    """
    objectives, arms = known.means.shape
    deviations = known.deviations()
    levels = []
    within = np.zeros((max(1, objectives - 1), arms))
    left = allowed.copy()
    for i in range(len(within)):
        means = np.where(left, known.means[i], -np.inf)
        chances = chances_within(known.means[i], deviations[i], bands[i], left)
        within[i] = np.where(allowed, chances, 0.0)
        top = int(means.argmax())
        left &= means >= means[top] - bands[i]
        levels.append(Level(top, tuple(np.flatnonzero(left).tolist()), float(bands[i])))
    return tuple(levels), within


def chances_by_draws(means: Floats, deviations: Floats, bands: Floats, allowed: Booleans) -> Floats:
    """Return the probability of every arm to be within the bands of all objectives but the last.

    For n contexts, given means[n, D, K], deviations[n, D, K], bands[n, D] and allowed[n, K]. By 256
    joint draws of the means: off by some 0.01, in a fraction of the time of `standing`.
    """
    count, objectives, arms = means.shape
    left = np.broadcast_to(allowed[:, np.newaxis], (count, DRAWS, arms))
    for i, normal in enumerate(normal_draws(max(1, objectives - 1), arms)):
        drawn = means[:, i, np.newaxis] + deviations[:, i, np.newaxis] * normal
        best = np.where(left, drawn, -np.inf).max(axis=2, keepdims=True)
        left = left & (drawn >= best - bands[:, i, np.newaxis, np.newaxis])
    return np.asarray(left.mean(axis=1))


@lru_cache(maxsize=4)
def normal_draws(objectives: int, arms: int) -> Floats:
    """Return normal numbers [D, draws, K]: for every arm each quantile once, shuffled."""
    quantiles = [_NORMAL.inv_cdf((k + 0.5) / DRAWS) for k in range(DRAWS)]
    columns = np.tile(np.array(quantiles)[:, np.newaxis], (objectives, 1, arms))
    return np.random.default_rng(0).permuted(columns, axis=1)


def student(freedom: Floats) -> Floats:
    """Return the quantile of Student's t that belongs to `LEVEL`, for 2 degrees of freedom or more.

    The expansion of Cornish and Fisher, off by 3 % at 2 degrees and by 0.1 % at 6.
    """
    z = _Z
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return np.asarray(z + first / freedom + second / freedom**2 + third / freedom**3)


def wilson(shares: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval for shares of ones among so many rewards."""
    inside = np.clip(shares, 0.0, 1.0)
    inside = np.where(inside > 1.0 - _ROUNDING, 1.0, np.where(inside < _ROUNDING, 0.0, inside))
    square = _Z**2 / counts
    middle = (inside + square / 2) / (1 + square)
    half = _Z * np.sqrt(inside * (1 - inside) / counts + square / (4 * counts)) / (1 + square)
    return np.minimum(middle - half, inside), np.maximum(middle + half, inside)


def chances_within(means: Floats, deviations: Floats, band: float, rivals: Booleans) -> Floats:
    """Return the probability of every arm to have a mean at most `band` below the best rival's.

    The means are normal and independent given the part that all arms share, which moves all alike.
    For arm a it is ∫ f_a(x) Π_b F_b(x + band) dx over the other rivals b: the mean of the product
    at 200 quantiles of f_a, with the product of all rivals interpolated. Off by less than 0.003.
    """
    spreads = np.maximum(deviations, 1e-12 * np.maximum(1.0, np.abs(means)))
    among = np.flatnonzero(rivals)
    foremost = among[np.argsort(-(means + 2 * spreads)[among])[:_PLACED]]
    grid = np.unique((means[foremost, None] + spreads[foremost, None] * _GRID).ravel())
    floor = (means - _GRID[-1] * spreads)[among].max()  # the best rival is hardly ever below
    grid = grid[grid >= floor]
    logs = _log_shares((grid - means[among, None]) / spreads[among, None]).sum(axis=0)
    points = means[:, None] + spreads[:, None] * _SHARES + band
    found = np.interp(points.ravel(), grid, logs).reshape(points.shape)
    own = _log_shares((points - means[:, None]) / spreads[:, None])
    found -= np.where(rivals[:, None], own, 0.0)
    return np.asarray(np.exp(np.minimum(found, 0.0)).mean(axis=1))


def _log_shares(z: Floats) -> Floats:
    """Return ln Φ(z), off by less than 1e-7 in Φ (Abramowitz and Stegun, 1964, 26.2.17)."""
    size = np.minimum(np.abs(z), 26.0)
    t = 1.0 / (1.0 + 0.2316419 * size)
    series = np.zeros_like(t)
    for factor in (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530):
        series = (series + factor) * t
    tail = np.exp(-0.5 * size**2) / math.sqrt(2 * math.pi) * series
    return np.log(np.where(z >= 0.0, 1.0 - tail, np.maximum(tail, 1e-300)))
