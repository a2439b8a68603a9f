"""One of the marked arms is played, each with the same probability."""

import numpy as np

from lexbandit.kernels.jit import inlined, kernel
from lexbandit.kernels.random import RandomState, below
from lexbandit.kernels.statistics import Array, Mask


@inlined
def draw(marked: Mask, size: int, random: RandomState) -> int:
    """Return one of the `size` marked arms, uniformly; a random number is drawn if size > 1."""
    skip = below(random, size) if size > 1 else 0
    arm = -1
    while skip >= 0:
        arm += 1
        skip -= marked[arm]
    return arm


@kernel
def shares_of(marked: Mask, size: int) -> Array:
    """Return the probability with which `draw` returns each arm."""
    out = np.zeros(marked.shape[0])
    for arm in range(marked.shape[0]):
        out[arm] = marked[arm] / size
    return out
