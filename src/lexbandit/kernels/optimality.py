"""Ground truth from means[n, K, D]: optimal arms, Pareto fronts, and the gaps to them.

Arms that may not be played are left out by `ceilings[n or 1, K]`, as everywhere in the kernels.
"""

import math

import numpy as np

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.pareto import mark_front

# Relative: an arm that is behind its band by so much, which is rounding, is still inside.
SLACK = 1e-12


@kernel
def mark_optimal(means: Array, ceiling: Array, optimal: Mask) -> int:
    """Set optimal[arm] for the lexicographically optimal allowed arms; return how many there are.

    Among the arms left by the objectives above, those that attain the maximum (exact equality)
    are left for the next objective: Section III-A, and VI-B for more than two objectives.
    """
    left = 0
    for arm in range(means.shape[0]):
        optimal[arm] = ceiling[arm] > 0.0
    for i in range(means.shape[1]):
        best = -math.inf
        for arm in range(means.shape[0]):
            if optimal[arm] and means[arm, i] > best:
                best = means[arm, i]
        left = 0
        for arm in range(means.shape[0]):
            optimal[arm] = optimal[arm] and means[arm, i] == best
            left += optimal[arm]
    return left


@kernel
def optimal_arms(means: Array, ceilings: Array) -> Mask:
    """Return bool[n, K]: which arms are lexicographically optimal in each round."""
    out = np.empty(means.shape[:2], np.bool_)
    for t in range(means.shape[0]):
        mark_optimal(means[t], ceilings[t if ceilings.shape[0] > 1 else 0], out[t])
    return out


@kernel
def pareto_front(means: Array, ceilings: Array) -> Mask:
    """Return bool[n, K]: which arms are on the Pareto front in each round (Definition 1)."""
    rounds, arms, objectives = means.shape
    out = np.empty((rounds, arms), np.bool_)
    work = np.empty((1 + objectives, arms))
    for t in range(rounds):
        ceiling = ceilings[t if ceilings.shape[0] > 1 else 0]
        for i in range(objectives):
            for arm in range(arms):
                work[1 + i, arm] = min(means[t, arm, i], ceiling[arm])
        mark_front(work, 1, 1 + objectives, arms)
        for arm in range(arms):
            out[t, arm] = work[0, arm] > 0.0
    return out


@kernel
def optimal_means(means: Array, ceilings: Array) -> Array:
    """Return float[n, D]: the means μ_* of an optimal arm in each round."""
    rounds, arms, objectives = means.shape
    out = np.empty((rounds, objectives))
    optimal = np.empty(arms, np.bool_)
    for t in range(rounds):
        mark_optimal(means[t], ceilings[t if ceilings.shape[0] > 1 else 0], optimal)
        for arm in range(arms):
            if optimal[arm]:
                for i in range(objectives):
                    out[t, i] = means[t, arm, i]
                break
    return out


@kernel
def band_floors(means: Array, ceilings: Array, tolerances: Array) -> Array:
    """Return float[n, D]: the least mean inside the band of each objective, then the best last one.

    Among the arms inside all earlier bands, with the best mean μ*, an arm is inside the band of
    objective i if μ^i ≥ μ* − tolerance − SLACK · max(|μ*|, tolerance). The last number is the best
    last mean of the arms inside all bands, without slack. What an arm's mean is below its floor
    is its loss beyond tolerance, and in the last objective what it missed: the cost-subsidy regret
    of Sinha et al. (AISTATS 2021) and Juneja et al. (ICLR 2025), for any number of objectives.
    """
    rounds, arms, objectives = means.shape
    floors = np.empty((rounds, objectives))
    inside = np.empty(arms, np.bool_)
    for t in range(rounds):
        ceiling = ceilings[t if ceilings.shape[0] > 1 else 0]
        for arm in range(arms):
            inside[arm] = ceiling[arm] > 0.0
        for i in range(objectives):
            best = -math.inf
            for arm in range(arms):
                if inside[arm] and means[t, arm, i] > best:
                    best = means[t, arm, i]
            floors[t, i] = best
            if i < objectives - 1:
                floors[t, i] -= tolerances[i] + SLACK * max(abs(best), tolerances[i])
                for arm in range(arms):
                    inside[arm] = inside[arm] and means[t, arm, i] >= floors[t, i]
    return floors


@kernel
def pareto_gaps(means: Array, ceilings: Array) -> Array:
    """Return float[n, K]: the Pareto suboptimality gap of every arm (Definition 2).

    Closed form: max(0, max over arms b of min over objectives i of (μ^i_b − μ^i_a)). Raising all
    of a's means by more than this leaves no arm that is better in every objective; all arms b may
    enter, since an arm off the front is matched by one on it.
    """
    rounds, arms, objectives = means.shape
    out = np.zeros((rounds, arms))
    for t in range(rounds):
        ceiling = ceilings[t if ceilings.shape[0] > 1 else 0]
        for arm in range(arms):
            for rival in range(arms):
                least = ceiling[rival]
                for i in range(objectives):
                    least = min(least, means[t, rival, i] - means[t, arm, i])
                out[t, arm] = max(out[t, arm], least)
    return out
