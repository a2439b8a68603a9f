"""One update of a cell found by its key, for the rules that keep nothing but the objectives."""

from lexbandit.kernels.cells import Table, slot_of
from lexbandit.kernels.jit import kernel
from lexbandit.kernels.statistics import Array, learn


@kernel
def update(
    key: int, table: Table, plays: Array, stats: Array, arm: int, rewards: Array, bound: Array
) -> bool:
    """Record one decision's rewards; False, and nothing done, if the cell has no slot yet."""
    slot = slot_of(table, key)
    if slot == 0:
        return False
    learn(plays, stats, slot, arm, rewards, bound)
    return True
