"""Bodies in place of calls: the same results, one function, and refusals."""

import math
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from lexbandit.kernels.flatten import flatten

SCALE = 3.0


def halves(x: float, n: int) -> tuple[float, int]:
    """Assigns to its parameters."""
    while x > 1.0:
        x = x / 2.0
        n += 1
    return x, n


def scaled(values: Any, at: int) -> float:
    """Calls another part, and reads a global."""
    x, n = halves(values[at], 0)
    return x + SCALE * n + math.pi


def store(values: Any, at: int, value: float) -> None:
    values[at] = value


def total(values: Any) -> float:
    """The names of the parts' variables are names here too."""
    x, n = 10.0, 0
    while n < len(values):
        at = n
        n += 1
        value = scaled(values, at)
        store(values, at, value + 1.0)
        x += value * n
    return x


def passed(values: Any, at: int) -> float:
    return scaled(values, at + 1)


def early(x: float) -> float:
    if x > 0.0:
        return x
    return -x


def absolute(x: float) -> float:
    return early(x)


PARTS: set[FunctionType] = {halves, scaled, store}  # type: ignore[arg-type]


def flat(function: Any, parts: Any = PARTS) -> Any:
    return flatten(function, parts)


def test_the_results_are_the_same() -> None:
    one, other = np.array([5.0, 0.5, 100.0]), np.array([5.0, 0.5, 100.0])
    assert flat(total)(one) == total(other)
    np.testing.assert_array_equal(one, other)
    assert flat(passed)(one, 0) == passed(one, 0)


def test_no_call_is_left() -> None:
    names = flat(total).__code__.co_names
    assert not {"halves", "scaled", "store"} & set(names)
    assert {"SCALE", "math"} <= set(names)


def test_it_is_in_the_same_place_of_the_same_file() -> None:
    made = flat(total)
    assert made.__code__.co_filename == total.__code__.co_filename
    assert made.__code__.co_firstlineno == total.__code__.co_firstlineno
    assert (made.__name__, made.__module__) == (total.__name__, total.__module__)


def test_a_function_without_parts_stays_as_it_is() -> None:
    assert flat(halves) is halves
    assert flat(total, set()) is total


def test_globals_that_mean_something_else_where_it_is_called() -> None:
    caller = FunctionType(passed.__code__, {**passed.__globals__, "SCALE": 0.0})
    values = np.array([1.0, 100.0])
    assert flat(caller)(values, 0) == passed(values, 0)


def test_a_part_that_returns_before_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match="early returns before its end"):
        flat(absolute, {early})
