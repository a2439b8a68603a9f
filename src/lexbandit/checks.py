"""Checks of arguments: each returns the value in its proper type or raises `InvalidInput`."""

import math
import operator
from collections.abc import Sequence
from dataclasses import fields
from decimal import Decimal
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lexbandit.errors import InvalidInput, unknown_name

# The largest absolute value of a reward, so that no sum of rewards overflows.
LARGEST_REWARD = 1e100
REWARDS_ALLOWED = "rewards are at most 1e100 in size, or NaN if not observed"

# Types that float() accepts though they are not real numbers: text and complex numbers.
_NO_NUMBERS = (np.complexfloating, str, bytes, bytearray, memoryview)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


C = TypeVar("C", bound=type)


def named_keywords(kind: C) -> C:
    """Make a dataclass refuse an unknown keyword and suggest the nearest known one."""
    made: Any = vars(kind)["__init__"]
    known = [field.name for field in fields(kind)]

    @wraps(made)
    def checked(self: object, *given: object, **keywords: object) -> None:
        for name in keywords:
            if name not in known:
                raise unknown_name(f"argument of {kind.__name__}:", name, known)
        made(self, *given, **keywords)

    setattr(kind, "__init__", checked)  # noqa: B010  mypy refuses the assignment
    return kind


def whole(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`; floats such as 1e5 are taken if exact."""
    number: int | None = None
    if isinstance(value, float | np.floating):
        number = int(value) if math.isfinite(value) and value == int(value) else None
    elif not isinstance(value, bool | np.bool_):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None or number < least or (most is not None and number > most):
        upper = "" if most is None or number is None or number < least else f" and at most {most}"
        raise InvalidInput(
            f"{name} must be a whole number of at least {least}{upper}, got {value!r}."
        )
    return number


def positive(name: str, value: object, *, most: float = math.inf) -> float:
    """Return `value` as a float above 0 and at most `most`, of a size that can be squared."""
    number = real(value)
    if not (0.0 < number <= most) or math.isinf(number):
        upper = f" and at most {most:g}" if math.isfinite(most) else ""
        raise InvalidInput(f"{name} must be a finite number above 0{upper}, got {value!r}.")
    if not 1e-100 <= number <= 1e100:
        raise InvalidInput(f"{name} must lie between 1e-100 and 1e100, got {value!r}.")
    return number


def at_least_zero(name: str, value: object, *, most: float = math.inf) -> float:
    """Return `value` as a finite float of at least 0 and at most `most`."""
    number = real(value)
    if not 0.0 <= number <= min(most, 1e100):
        upper = f" and at most {most:g}" if math.isfinite(most) else ""
        raise InvalidInput(f"{name} must be a finite number of at least 0{upper}, got {value!r}.")
    return number


def probability(name: str, value: object) -> float:
    """Return a probability above 0 and below 1."""
    number = positive(name, value, most=1.0)
    if number == 1.0:
        raise InvalidInput(f"{name} must lie between 0 and 1, got {value!r}.")
    return number


def tolerances(value: Any, objectives: int) -> Floats:
    """Return one tolerance for each objective, from one number for all or a list."""
    if np.ndim(value) == 0:
        return np.full(objectives, at_least_zero("tolerance", value))
    given = list(value)
    if len(given) != objectives:
        raise InvalidInput(
            f"tolerance must be one number, or one for each of {objectives} objectives, "
            f"got {len(given)}: {value!r}."
        )
    return np.array([at_least_zero(f"tolerance[{i}]", each) for i, each in enumerate(given)])


LAYOUT_KINDS = ("number", "category", "vector")


def layout(value: Any, dimension: int) -> tuple[tuple[str, int], ...]:
    """Return what the coordinates of a context are, as (kind, size) pairs; () means all numbers."""
    pairs = []
    for place, pair in enumerate(listed(value) or ()):
        each = listed(pair)
        if each is None or len(each) != 2 or each[0] not in LAYOUT_KINDS:
            raise InvalidInput(
                f"layout[{place}] must be a pair of a kind ({', '.join(LAYOUT_KINDS)}) and a "
                f"number of coordinates, got {pair!r}."
            )
        pairs.append((str(each[0]), whole(f"layout[{place}][1]", each[1], least=1)))
    found = sum(size for _, size in pairs)
    if listed(value) is None or (pairs and found != dimension):
        raise InvalidInput(
            f"layout must be a list of (kind, size) whose sizes add up to the {dimension} "
            f"coordinates of a context, got {value!r}."
        )
    return tuple(pairs)


def real(value: object) -> float:
    """Return a number as a float; NaN for booleans, text, complex numbers and other values."""
    usual = value.__class__ is int or value.__class__ is float
    if not usual:
        if isinstance(value, bool | np.bool_ | str | bytes | np.complexfloating):
            return math.nan
        if isinstance(value, np.ndarray) and (value.dtype.kind == "c" or np.ma.is_masked(value)):
            return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def reward(value: object) -> float:
    """Return a reward as a float, True and False as 1 and 0; NaN for other values."""
    return float(value) if isinstance(value, bool | np.bool_) else real(value)


def seconds(name: str, value: object) -> float:
    """Return a time in seconds as a float; refuse dates, text, arrays and infinite numbers."""
    number = real(value) if isinstance(value, Real | Decimal) else math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{name} must be a finite number of seconds, got {value!r}.")
    return number


def listed(value: Any) -> list[Any] | None:
    """Return the values of a list, an array or the like; None for text and other values."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else None
    if isinstance(value, str | bytes):
        return None
    try:
        each = iter(value)
    except TypeError:
        return None
    return list(each)


def one_of(what: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a value that is not one of the known strings."""
    if not isinstance(value, str) or value not in known:
        raise unknown_name(what, value, known)


def unmasked(array: Any) -> Any:
    """Return an array with NaN or None in place of masked values.

    A value without a mask is returned as it is.
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind == "f":
        return array.filled(np.nan)
    values = array.data.astype(object)
    values[np.ma.getmaskarray(array)] = None
    return values


def refuse_masked(name: str, value: Any) -> None:
    """Refuse an array with masked values."""
    if np.ma.is_masked(value):
        place = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(value))[0].tolist()))
        raise InvalidInput(f"{name}[{place}] is masked; a value is needed there.")


def conversion(value: object) -> str:
    """Return a hint for an error if the value is a number given as text, else ""."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return " (a text: convert it with float(...))"
    return ""


def floats(name: str, value: Any, shape: Sequence[int | None]) -> Floats:
    """Return `value` as a contiguous float64 array of `shape` (None: any length)."""
    array = numbers(name, value)
    _check_shape(name, array, shape)
    return array


def numbers(name: str, value: Any) -> Floats:
    """Return `value` as a contiguous float64 array; masked values become NaN."""
    try:
        given = np.asarray(unmasked(value))
        if not _are_numbers(given):
            raise TypeError(f"{given.dtype} values are not numbers")
        return np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be an array of numbers, got {value!r}.") from error


def _are_numbers(array: NDArray[Any]) -> bool:
    """Tell whether an array has numbers and nothing else."""
    if array.dtype.kind == "O":
        kinds = set(map(type, array.flat))  # sample a few: checking each value would be slow
        return not any(issubclass(kind, _NO_NUMBERS) for kind in kinds)
    return array.dtype.kind in "biuf"


def booleans(name: str, value: Any, shape: Sequence[int | None]) -> Booleans:
    """Return `value` as a contiguous boolean array of `shape`; numbers are not booleans."""
    refuse_masked(name, value)
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"{name} must be rows of one length, got {value!r}.") from error
    if given.dtype != np.bool_:
        raise InvalidInput(f"{name} must hold True and False, got {given.dtype} values: {value!r}.")
    _check_shape(name, given, shape)
    return np.ascontiguousarray(given)


def _check_shape(name: str, array: NDArray[Any], shape: Sequence[int | None]) -> None:
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise InvalidInput(f"{name} must have shape ({wanted}), got {array.shape}.")


def allowed_arms(value: Any, shape: Sequence[int | None]) -> Booleans:
    """Return masks allowed[..., K] that allow at least one arm each."""
    allowed = booleans("allowed", value, shape)
    some = allowed.any(axis=-1)
    if not some.all():
        place = f"[{int(some.argmin())}]" if allowed.ndim > 1 else ""
        raise InvalidInput(f"allowed{place} allows no arm; at least one is needed.")
    return allowed


def arms_of(arms: Any, *, rounds: int, arms_known: int) -> Integers:
    """Return the arm played in each round as int64[rounds]."""
    refuse_masked("arms", arms)
    try:
        array = np.asarray(arms)
    except ValueError as error:
        raise InvalidInput(f"arms must be a list of whole numbers, got {arms!r}.") from error
    if array.shape != (rounds,) or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"arms must be whole numbers of shape ({rounds},), "
            f"got {array.dtype} of shape {array.shape}."
        )
    if rounds and (array.min() < 0 or array.max() >= arms_known):
        wrong = (array < 0) | (array >= arms_known)
        refuse_first("arms", array, wrong, f"arms go from 0 to {arms_known - 1}")
    return np.ascontiguousarray(array, np.int64)


def in_unit_cube(name: str, contexts: Floats) -> None:
    """Refuse contexts outside [0,1] or NaN, naming the first offender and its place."""
    inside = (contexts >= 0.0) & (contexts <= 1.0)
    refuse_first(name, contexts, ~inside, "every context feature must lie in [0, 1]")


def refuse_first(name: str, array: NDArray[Any], wrong: Booleans, allowed: str) -> None:
    """Raise for the first True of `wrong`, if any, naming value and place."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = ", ".join(map(str, place))
        raise InvalidInput(f"{name}[{where}] is {array[place].item()!r}; {allowed}.")
