"""The rewards of one objective as sums, and their average with a 95 % interval.

Distances from an origin are summed, and not values: the squares of 1.7e9 ± 10 have no digits left
for the 10. The origin is the first reward. It is one of those whose variance is asked for, so the
square of its distance from their mean is at most n times that variance: with n = 10⁶ of them ten
of sixteen digits remain, whatever the values are.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats
from lexbandit.errors import InvalidInput
from lexbandit.objectives import Objective

_Z = 1.959964
# Of Student's t distribution with 1, 2, … degrees of freedom, the quantile of 97.5 %.
_T = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
)  # fmt: skip


class Received(NamedTuple):
    """How many rewards, their origin, the sums of distances from it and of their squares.

    `binary`: every one of them was 0 or 1.
    """

    number: float
    origin: float
    total: float
    squares: float
    binary: bool


NOTHING = Received(0.0, 0.0, 0.0, 0.0, True)


def with_many(received: Received, values: Floats) -> Received:
    """Return what was received, and more: as `Ledger.tell` adds one after the other."""
    if not len(values):
        return received
    count, origin, total, squares, binary = received
    if not count:
        origin = float(values[0])
    apart = values - origin  # `accumulate` adds in order
    return Received(
        count + len(values),
        origin,
        float(np.add.accumulate(np.append(total, apart))[-1]),
        float(np.add.accumulate(np.append(squares, apart * apart))[-1]),
        binary and bool(((values == 0.0) | (values == 1.0)).all()),
    )


def added(one: Received, other: Received) -> Received:
    """Return what two received, from the first's origin."""
    if not one.number:
        return other
    count, origin, total, squares, binary = other
    apart = origin - one.origin
    return Received(
        one.number + count,
        one.origin,
        one.total + (total + count * apart),
        one.squares + (squares + 2.0 * apart * total + count * apart * apart),
        one.binary and binary,
    )


def interval(received: Received, objective: Objective) -> tuple[float, float] | None:
    """Return the ends of a 95 % interval of the average; None with one reward that is not 0 or 1.

    Rewards that all were 0 or 1 have Wilson's interval (Wilson, 1927), others Student's. Rewards
    that all were the same have no variance to go by; but where another value may come in more than
    a share p of all cases, n equal ones have a probability of less than (1 − p)ⁿ. With p = 1 −
    0.025^(1/n), and the other values anywhere in the range, that gives the ends. All ends lie in
    the range, as rewards are taken.
    """
    n, apart = received.number, received.total / received.number
    mean = received.origin + apart
    low, high = objective.range
    if received.binary:
        middle = (mean + _Z * _Z / (2.0 * n)) / (1.0 + _Z * _Z / n)
        root = math.sqrt(max(mean * (1.0 - mean), 0.0) / n + (_Z / (2.0 * n)) ** 2)
        half = _Z * root / (1.0 + _Z * _Z / n)
        # At rates of 0 and 1 an end is the average itself, but for rounding.
        ends = min(middle - half, mean), max(middle + half, mean)
        return max(ends[0], low), min(ends[1], high)
    if n < 2:
        return None
    variance = max(received.squares / n - apart**2, 0.0)
    if variance == 0.0:
        rare = -math.expm1(math.log(0.025) / n)
        return mean - rare * (mean - low), mean + rare * (high - mean)
    half = _student(int(n) - 1) * math.sqrt(variance / (n - 1))
    return max(mean - half, low), min(mean + half, high)


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution, right to 1 in 10⁴.

    Beyond ten degrees of freedom by its expansion (Abramowitz and Stegun, 1964, 26.7.5).
    """
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = _Z
    first = (z**3 + z) / (4.0 * freedom)
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * freedom**3)
    return z + first + second + third


def read(document: Any, objectives: tuple[Objective, ...], version: int) -> list[Received]:
    """Return what a file of a version says of each objective.

    In version 1 the origin was 0. Before version 3 it was not noted whether all rewards were 0 or
    1: sums tell it where the range ends at 0 and 1, and elsewhere they count as not so.
    """
    width = 3 if version == 1 else 4
    numbers = checks.floats("received", document["received"], (len(objectives), width))
    checks.refuse_first("received", numbers, ~np.isfinite(numbers), "sums are finite")
    rows = numbers.tolist()
    if version == 1:
        flags = [
            _only_ends(o, 0.0, row[1], row[2]) for o, row in zip(objectives, rows, strict=True)
        ]
        rows = [_around_mean(*row) for row in rows]
    elif version == 2:
        flags = [_only_ends(o, *row[1:]) for o, row in zip(objectives, rows, strict=True)]
    else:
        flags = list(document["binary"])
        if len(flags) != len(objectives) or not all(flag.__class__ is bool for flag in flags):
            raise InvalidInput(f"binary is {flags!r}, not true or false for each objective.")
    return [
        Received(count, origin, total, squares, flag or not count)
        for (count, origin, total, squares), flag in zip(rows, flags, strict=True)
    ]


def _only_ends(objective: Objective, origin: float, total: float, squares: float) -> bool:
    """Tell whether rewards in a range from 0 to 1 all were 0 or 1, by their sums from an end."""
    if objective.range != (0.0, 1.0) or origin not in (0.0, 1.0):
        return False
    return squares == abs(total)  # v² ≤ v with equality at 0 and 1 alone; whole sums are exact


def _around_mean(count: float, total: float, squares: float) -> tuple[float, float, float, float]:
    """Return sums from 0 as sums from the mean, so that what comes is added where it lies."""
    if not count:
        return 0.0, 0.0, 0.0, 0.0
    origin = total / count
    return count, origin, total - count * origin, max(squares - origin * total, 0.0)
