"""Pareto fronts: which vectors no other dominates."""

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import leaf


@leaf
def dominators(vectors: Array, first: int, last: int, arms: int, arm: int) -> int:
    """Return how many arms dominate `arm` in vectors[objective, arm]: ≥ in every row, > in some.

    The objectives are rows `first` to last−1. Two of them have a loop of their own: without
    branches it is ten times as fast.
    """
    count = 0
    if last - first == 2:
        x = vectors[first, arm]
        y = vectors[first + 1, arm]
        for rival in range(arms):
            p = vectors[first, rival]
            q = vectors[first + 1, rival]
            count += (p >= x) & (q >= y) & ((p > x) | (q > y))
    else:
        for rival in range(arms):
            at_least = True
            better = False
            for i in range(first, last):
                at_least &= vectors[i, rival] >= vectors[i, arm]
                better |= vectors[i, rival] > vectors[i, arm]
            count += at_least & better
    return count


@leaf
def mark_front(vectors: Array, front: Mask) -> int:
    """Set front[arm] where no other arm dominates it; return how many such arms there are.

    Equal vectors stay on the front together. An arm that may not be played has −∞ everywhere, so
    any other dominates it.
    """
    size = 0
    objectives, arms = vectors.shape
    for arm in range(arms):
        front[arm] = dominators(vectors, 0, objectives, arms, arm) == 0
        size += front[arm]
    return size


@leaf
def mark_front_of(work: Array, first: int, last: int, arms: int) -> int:
    """Set work[0, arm] to 1 where no arm dominates it by rows `first` to last−1, else to 0.

    Returns how many are on the front, as `mark_front`.
    """
    size = 0
    for arm in range(arms):
        alone = dominators(work, first, last, arms, arm) == 0
        work[0, arm] = alone
        size += alone
    return size
