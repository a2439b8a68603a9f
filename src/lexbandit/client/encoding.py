"""Encode request bodies as JSON: numbers of NumPy are taken, NaN and infinities are refused."""

import json
from collections.abc import Iterable
from typing import Any

from lexbandit.errors import InvalidInput


def encoded(body: Any) -> bytes:
    """Return a body as it is sent; what is no JSON is refused."""
    try:
        return _json(body).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {_why(body, error)}.") from error


def _json(body: Any, *, allow_nan: bool = False) -> str:
    return json.dumps(body, allow_nan=allow_nan, separators=(",", ":"), default=_plain)


def _why(body: Any, error: Exception) -> str:
    """Return why a body cannot be sent; if NaN or an infinity is all that is wrong, its place."""
    try:
        _json(body, allow_nan=True)
    except (TypeError, ValueError):
        return str(error)
    return (
        f"{_not_finite(body).lstrip('.')}, and JSON has neither NaN nor Infinity; a value that is "
        "missing is left out, and a feature may be None"
    )


def _not_finite(value: Any) -> str:
    """Return the first NaN or infinity in a value, with its place, as `.context.tokens is nan`."""
    entries: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        entries = ((f".{key}", entry) for key, entry in value.items())
    elif isinstance(value, list | tuple):
        entries = ((f"[{n}]", entry) for n, entry in enumerate(value))
    for step, entry in entries:
        try:
            _json(entry)
        except ValueError:
            return step + _not_finite(entry)
    return f" is {value!r}"


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays, or a frame's, as plain ones."""
    for way in ("item", "tolist") if getattr(value, "ndim", 0) == 0 else ("tolist",):
        if hasattr(value, way):
            return getattr(value, way)()
    raise TypeError(f"{value!r} is of {type(value).__name__}")
