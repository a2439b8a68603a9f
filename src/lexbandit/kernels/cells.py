"""Cells: which cell a context lies in, and which slot of the arrays a cell has.

A cell's key is a number below m^d, far too many to keep an array of. Only visited cells have a
slot; `table[bucket] = (key, slot)` finds it, by open addressing with linear probing, at most half
full. Slot 0 means "not visited".
"""

import numpy as np
from numpy.typing import NDArray

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import mix

Table = NDArray[np.int64]


@inlined
def bucket_of(table: Table, key: int) -> int:
    """Return the bucket that holds `key`, or the vacant one where it belongs."""
    last = table.shape[0] - 1  # the number of buckets is a power of two
    bucket = np.int64(mix(np.uint64(key)) & np.uint64(last))
    while table[bucket, 1] != 0 and table[bucket, 0] != key:
        bucket = (bucket + 1) & last
    return int(bucket)


@kernel
def slot_of(table: Table, key: int) -> int:
    """Return the slot of the cell `key`; 0 if it was never visited."""
    return int(table[bucket_of(table, key), 1])


@kernel
def insert(table: Table, keys: Keys, first: int, last: int) -> None:
    """Enter keys[first:last], each at the slot of its own position."""
    for slot in range(first, last):
        bucket = bucket_of(table, keys[slot])
        table[bucket, 0] = keys[slot]
        table[bucket, 1] = slot


@kernel
def visit(table: Table, keys: Keys, used: int, block: Keys, slots: Keys) -> tuple[int, int]:
    """Write the slot of each key of `block` to `slots`; a new key is given the next free slot.

    Stops before a new key for which `keys` has no room. Returns the number of slots then used and
    the number of keys done.
    """
    for t in range(block.shape[0]):
        bucket = bucket_of(table, block[t])
        if table[bucket, 1] == 0:
            if used == keys.shape[0]:
                return used, t
            keys[used] = block[t]
            table[bucket, 0] = block[t]
            table[bucket, 1] = used
            used += 1
        slots[t] = table[bucket, 1]
    return used, block.shape[0]


@inlined
def grid_key(context: Array, sides: Keys) -> int:
    """Return the cell of a context in a grid of sides[j] cells in dimension j; −1 if outside.

    In each dimension the cell is the largest k < side with k/side ≤ x, where k/side is the double
    nearest to it: cells are half-open, the last one is closed, and the double k/side itself lies
    in cell k. Multiplying alone would not do: 0.29·100 is 28.999999999999996.
    """
    key = 0
    for j in range(context.shape[0]):
        x, side = context[j], sides[j]
        if not (0.0 <= x <= 1.0):
            return -1
        k = min(int(x * side), side - 1)
        if k / side > x:
            k -= 1
        elif k + 1 < side and (k + 1) / side <= x:
            k += 1
        key = key * side + k
    return key


@kernel
def grid_keys(contexts: Array, sides: Keys) -> Keys:
    """Return `grid_key` of every row."""
    keys = np.empty(contexts.shape[0], np.int64)
    for t in range(contexts.shape[0]):
        keys[t] = grid_key(contexts[t], sides)
    return keys
