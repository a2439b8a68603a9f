"""JSON without its loose ends: one value a key, numbers that are numbers, text that is UTF-8."""

import json
from typing import Any, TypeVar

import msgspec

from lexbandit.service.problems import INVALID, MALFORMED, Problem

T = TypeVar("T")


class _Twice(ValueError):
    """A key stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a key twice is refused, since readers differ in which one they take."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return made


# Made once: `json.loads` with a hook would make one for every text.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def decode(body: bytes) -> Any:
    """Return the value of a JSON text; whatever is not strictly JSON is refused.

    msgspec reads it: it refuses NaN, Infinity, numbers that no float can hold, half surrogates and
    text that is not UTF-8. It takes the last of two equal keys, so the standard library looks for
    those.
    """
    try:
        value = msgspec.json.decode(body)
        _DECODER.decode(body.decode())
    except _Twice as error:
        raise Problem(MALFORMED, f"the key {str(error)!r} stands twice in one object.") from None
    except RecursionError:
        raise Problem(MALFORMED, "the JSON is nested too deeply.") from None
    except msgspec.ValidationError as error:
        raise Problem(MALFORMED, f"not a number that can be held: {error}.") from None
    except UnicodeDecodeError as error:
        raise Problem(MALFORMED, f"the body is not UTF-8: {error.reason}.") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise Problem(MALFORMED, f"the body is not JSON: {error}.") from None
    return value


def convert(value: Any, type: type[T]) -> T:
    """Return a decoded value as the type wanted; one that does not fit is refused with its place.

    The types bound the depth: whatever is nested deeper than they are does not fit.
    """
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        raise Problem(INVALID, f"{error}.") from None
