"""The adaptive tree: which leaf a context lies in, found from how many contexts came to each node.

A node of level l is a cube with edges 2^(−l). Its key is 1 followed by d bits for each level, the
halves of the cube above that it lies in, so the root is 1 and the key tells the level. A node has
children once `arrivals` reach limits[level]; that is all there is to remember.
"""

import numpy as np

from lexbandit.kernels.arrays import Array, Keys
from lexbandit.kernels.cells import bucket_of, slot_of
from lexbandit.kernels.jit import inlined, kernel


@inlined
def leaf_of(contexts: Array, t: int, table: Keys, arrivals: Keys, limits: Array) -> int:
    """Return the key of the leaf that holds contexts[t]; −1 if it is outside [0,1]^d.

    Cubes are half-open, the last ones closed. 2^l · x is exact, so a boundary is never missed.
    """
    dimension = contexts.shape[1]
    for j in range(dimension):
        if not (0.0 <= contexts[t, j] <= 1.0):
            return -1
    key = 1
    size = 1.0
    for level in range(limits.shape[0]):
        slot = slot_of(table, key)
        if slot == 0 or arrivals[slot] < limits[level]:
            return key
        size *= 2.0
        for j in range(dimension):
            place = min(int(contexts[t, j] * size), int(size) - 1)
            key = 2 * key + (place & 1)
    return key


@kernel
def leaves(contexts: Array, table: Keys, arrivals: Keys, limits: Array) -> Keys:
    """Return `leaf_of` every row, with nobody arriving."""
    keys = np.empty(contexts.shape[0], np.int64)
    for t in range(contexts.shape[0]):
        keys[t] = leaf_of(contexts, t, table, arrivals, limits)
    return keys


@kernel
def arrive(table: Keys, nodes: Keys, arrivals: Keys, used: int, key: int) -> int:
    """Count an arrival at a node; returns the number of slots then used, −1 if none is free."""
    bucket = bucket_of(table, key)
    if table[bucket, 1] == 0:
        if used == nodes.shape[0]:
            return -1
        nodes[used] = key
        table[bucket, 0] = key
        table[bucket, 1] = used
        used += 1
    arrivals[table[bucket, 1]] += 1
    return used


@kernel
def enter(
    contexts: Array,
    start: int,
    table: Keys,
    nodes: Keys,
    arrivals: Keys,
    used: int,
    limits: Array,
    keys: Keys,
) -> tuple[int, int]:
    """Write the leaf of each context from `start` on to `keys`, and count its arrival there.

    Stops before one whose leaf needs a slot when none is free. Returns the slots then used and
    where it stopped.
    """
    for t in range(start, contexts.shape[0]):
        key = leaf_of(contexts, t, table, arrivals, limits)
        now = arrive(table, nodes, arrivals, used, key)
        if now < 0:
            return used, t
        used = now
        keys[t] = key
    return used, contexts.shape[0]
