"""The rewards of one objective as sums: what `summary` makes an average and an interval of.

Distances from an origin are summed, and not values: the squares of 1.7e9 ± 10 have no digits left
for the 10. The origin is the first reward. It is one of those whose variance is asked for, so the
square of its distance from their mean is at most n times that variance: with n = 10⁶ of them ten
of sixteen digits remain, whatever the values are.
"""

from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats

# How many, the origin, and the sums of the distances from it and of their squares.
Received = tuple[float, float, float, float]

NOTHING: Received = (0.0, 0.0, 0.0, 0.0)


def with_many(received: Received, values: Floats) -> Received:
    """Return what was received, and more: as `Ledger.tell` adds one after the other."""
    if not len(values):
        return received
    count, origin, total, squares = received
    if not count:
        origin = float(values[0])
    apart = values - origin  # `accumulate` adds in order
    return (
        count + len(values),
        origin,
        float(np.add.accumulate(np.append(total, apart))[-1]),
        float(np.add.accumulate(np.append(squares, apart * apart))[-1]),
    )


def added(one: Received, other: Received) -> Received:
    """Return what two received, from the first's origin."""
    if not one[0]:
        return other
    count, origin, total, squares = other
    apart = origin - one[1]
    return (
        one[0] + count,
        one[1],
        one[2] + (total + count * apart),
        one[3] + (squares + 2.0 * apart * total + count * apart * apart),
    )


def read(rows: Any, objectives: int, version: int) -> list[Received]:
    """Return what a file of a version says of each objective; in version 1 the origin was 0."""
    if version > 1:
        numbers = checks.floats("received", rows, (objectives, 4)).tolist()
        return [(count, origin, total, squares) for count, origin, total, squares in numbers]
    numbers = checks.floats("received", rows, (objectives, 3)).tolist()
    return [_around_mean(*sums) for sums in numbers]


def _around_mean(count: float, total: float, squares: float) -> Received:
    """Return sums from 0 as sums from the mean, so that what comes is added where it lies."""
    if not count:
        return NOTHING
    origin = total / count
    return count, origin, total - count * origin, max(squares - origin * total, 0.0)
