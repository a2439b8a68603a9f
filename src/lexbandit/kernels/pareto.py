"""Pareto fronts: which vectors no other dominates."""

from lexbandit.kernels.arrays import Array, Mask
from lexbandit.kernels.jit import leaf


@leaf
def dominators(vectors: Array, arm: int) -> int:
    """Return how many arms dominate `arm` in vectors[objective, arm]: ≥ in every row, > in some.

    Two objectives have a loop of their own: without branches it is ten times as fast.
    """
    count = 0
    if vectors.shape[0] == 2:
        x = vectors[0, arm]
        y = vectors[1, arm]
        for rival in range(vectors.shape[1]):
            p = vectors[0, rival]
            q = vectors[1, rival]
            count += (p >= x) & (q >= y) & ((p > x) | (q > y))
    else:
        for rival in range(vectors.shape[1]):
            at_least = True
            better = False
            for i in range(vectors.shape[0]):
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
    for arm in range(vectors.shape[1]):
        front[arm] = dominators(vectors, arm) == 0
        size += front[arm]
    return size
