"""Where in a JSON text something stands that cannot be held, in words: for the error alone."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

# A number is shown by so many of its characters.
_SHOWN = 12


class _Number(NamedTuple):
    """A number that is no finite double."""

    text: str


def _whole(text: str) -> Any:
    # Rounded as a float is: what would be rounded to infinity is too large.
    return _Number(text) if math.isinf(float(text)) else 0


def _decimal(text: str) -> Any:
    return _Number(text) if math.isinf(float(text)) else 0.0


_LOOSE = json.JSONDecoder(parse_int=_whole, parse_float=_decimal)


def unheld(text: str) -> str | None:
    """Say what of a JSON text cannot be held, and where it stands; None if that is not the matter.

    A number that is too large, and a text with one half of a surrogate pair.
    """
    try:
        value = _LOOSE.raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None
    return next(_found(value, "$"), None)


def _found(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, _Number):
        length, short = len(value.text), value.text[:_SHOWN]
        shown = value.text if length <= _SHOWN else f"{short}… ({length:,} characters)"
        yield f"the number {shown} is too large - at `{place}`"
    elif isinstance(value, str):
        half = next((c for c in value if "\ud800" <= c <= "\udfff"), None)
        if half is not None:
            yield f"the text has \\u{ord(half):x}, one half of a character - at `{place}`"
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from _found(one, f"{place}[{n}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _found(key, place)
            yield from _found(one, f"{place}.{key}")
