"""Pareto fronts: which vectors no other dominates."""

from lexbandit.kernels.arrays import Array
from lexbandit.kernels.jit import leaf


@leaf
def _dominates(p: float, q: float, x: float, y: float) -> bool:
    """Tell whether (p, q) dominates (x, y)."""
    return (p >= x) & (q >= y) & ((p > x) | (q > y))


@leaf
def _count_by_two(work: Array, first: int, arms: int) -> None:
    """Set work[0, arm] to 0 where no arm dominates it by rows `first` and first + 1.

    Four rivals at a time are compared with all arms: that loop has no branches and no sum, so the
    compiler makes vector instructions of it for a few arms too.
    """
    last = first + 1
    for a in range(0, arms, 4):
        b, c, d = min(a + 1, arms - 1), min(a + 2, arms - 1), min(a + 3, arms - 1)
        a_x, b_x, c_x, d_x = work[first, a], work[first, b], work[first, c], work[first, d]
        a_y, b_y, c_y, d_y = work[last, a], work[last, b], work[last, c], work[last, d]
        for arm in range(arms):
            x, y = work[first, arm], work[last, arm]
            by_a, by_b = _dominates(a_x, a_y, x, y), _dominates(b_x, b_y, x, y)
            by_c, by_d = _dominates(c_x, c_y, x, y), _dominates(d_x, d_y, x, y)
            before = work[0, arm] if a > 0 else 0.0
            work[0, arm] = before + (by_a | by_b | by_c | by_d)


@leaf
def _count_by_all(work: Array, first: int, last: int, arms: int) -> None:
    """Set work[0, arm] to the number of arms that dominate it by rows `first` to last−1."""
    for arm in range(arms):
        count = 0
        for rival in range(arms):
            at_least = True
            better = False
            for i in range(first, last):
                at_least &= work[i, rival] >= work[i, arm]
                better |= work[i, rival] > work[i, arm]
            count += at_least & better
        work[0, arm] = count


@leaf
def mark_front(work: Array, first: int, last: int, arms: int) -> int:
    """Set work[0, arm] to 1 where no arm dominates it by rows `first` to last−1, else to 0.

    An arm dominates another if it is ≥ in every row and > in some. Equal vectors stay on the front
    together. An arm that may not be played has −∞ everywhere, so any other dominates it. Returns
    how many arms are on the front.
    """
    if last - first == 2:
        _count_by_two(work, first, arms)
    else:
        _count_by_all(work, first, last, arms)
    size = 0
    for arm in range(arms):
        alone = work[0, arm] == 0.0
        work[0, arm] = alone
        size += alone
    return size
