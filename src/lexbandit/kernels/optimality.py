"""Ground truth from means[n, K, D]: optimal arms, Pareto fronts, and the gaps to them."""

import numpy as np

from lexbandit.kernels.jit import kernel
from lexbandit.kernels.pareto import mark_front
from lexbandit.kernels.statistics import Array, Mask


@kernel
def mark_optimal(means: Array, allowed: Mask, optimal: Mask) -> int:
    """Set optimal[arm] for the lexicographically optimal allowed arms; return how many there are.

    Among the arms left by the objectives above, those that attain the maximum (exact equality)
    are left for the next objective: Section III-A, and VI-B for more than two objectives.
    """
    left = 0
    for arm in range(means.shape[0]):
        optimal[arm] = allowed[arm]
    for i in range(means.shape[1]):
        best = -np.inf
        for arm in range(means.shape[0]):
            if optimal[arm] and means[arm, i] > best:
                best = means[arm, i]
        left = 0
        for arm in range(means.shape[0]):
            optimal[arm] = optimal[arm] and means[arm, i] == best
            left += optimal[arm]
    return left


@kernel
def optimal_arms(means: Array, allowed: Mask) -> Mask:
    """Return bool[n, K]: which arms are lexicographically optimal in each round."""
    out = np.empty(means.shape[:2], np.bool_)
    for t in range(means.shape[0]):
        mark_optimal(means[t], allowed[t if allowed.shape[0] > 1 else 0], out[t])
    return out


@kernel
def pareto_front(means: Array, allowed: Mask) -> Mask:
    """Return bool[n, K]: which arms are on the Pareto front in each round (Definition 1)."""
    out = np.empty(means.shape[:2], np.bool_)
    for t in range(means.shape[0]):
        mark_front(means[t].T, allowed[t if allowed.shape[0] > 1 else 0], out[t])
    return out


@kernel
def optimal_means(means: Array, allowed: Mask) -> Array:
    """Return float[n, D]: the means μ_* of an optimal arm in each round."""
    rounds, arms, objectives = means.shape
    out = np.empty((rounds, objectives))
    optimal = np.empty(arms, np.bool_)
    for t in range(rounds):
        mark_optimal(means[t], allowed[t if allowed.shape[0] > 1 else 0], optimal)
        for arm in range(arms):
            if optimal[arm]:
                out[t] = means[t, arm]
                break
    return out


@kernel
def pareto_gaps(means: Array, allowed: Mask) -> Array:
    """Return float[n, K]: the Pareto suboptimality gap of every arm (Definition 2).

    Closed form: max(0, max over arms b of min over objectives i of (μ^i_b − μ^i_a)). Raising all
    of a's means by more than this leaves no arm that is better in every objective; all arms b may
    enter, since an arm off the front is matched by one on it.
    """
    rounds, arms, objectives = means.shape
    out = np.zeros((rounds, arms))
    for t in range(rounds):
        mask = allowed[t if allowed.shape[0] > 1 else 0]
        for arm in range(arms):
            for rival in range(arms):
                if mask[rival]:
                    least = means[t, rival, 0] - means[t, arm, 0]
                    for i in range(1, objectives):
                        least = min(least, means[t, rival, i] - means[t, arm, i])
                    out[t, arm] = max(out[t, arm], least)
    return out
