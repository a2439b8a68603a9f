"""Read JSON strictly: one value a key, finite numbers, text that is UTF-8."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from lexbandit.service.engine.point import LONGEST_ID
from lexbandit.service.http.problems import INVALID, MALFORMED, TOO_LARGE, Problem

T = TypeVar("T")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_INDEX = re.compile(r"\[\d+\]")

# msgspec's words for types, in those of JSON.
_TYPE = re.compile(r"Expected `([a-z |]+)`, got `([a-z]+)`")
_TYPES = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}

# What an object that must not be empty has, by its field; rewards, where it is another one.
_ENTRIES = {"contexts": "feature", "prior": "mean"}


class _Twice(ValueError):
    """A key stands twice in one object."""


class _NoNumber(ValueError):
    """NaN, Infinity or -Infinity stands where a number may."""


def _no_number(name: str) -> None:
    raise _NoNumber(name)


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


def _keys(value: Any) -> int:
    """Return how many keys there are in a decoded value, level by level."""
    count, level = 0, [value]
    while level:
        inside: list[Any] = []
        for one in level:
            if one.__class__ is dict:
                count += len(one)
                inside += one.values()
            elif one.__class__ is list:
                inside += one
        level = inside
    return count


LARGE = 65_536
"""Bodies of more bytes take milliseconds to read, and nothing else is answered meanwhile."""
# So many commas, colons and opening brackets a body may have: about so many values and keys, and
# objects and lists. 10,000 rows of ten features, or columns of forty, have fewer; to decode them
# takes 20 ms.
_MOST_VALUES, _MOST_KEYS, _MOST_NESTED = 400_000, 125_000, 50_000
# The largest double has so many digits: a whole number with fewer is a finite double.
_DIGITS = 309
_LONG = b"0" * _DIGITS
_LARGEST = 2**1024 - 2**970 - 1  # what is larger would be rounded to infinity
_AS_ZEROS = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else 0 for byte in range(256))
_decode = msgspec.json.Decoder().decode
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
# Made once: json.loads would make one for every body.
_SCANNER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


def decode(body: bytes) -> Any:
    """Return the value of a JSON text; whatever is not strictly JSON is refused.

    msgspec reads it: it refuses NaN, Infinity, decimals that no float can hold, half surrogates and
    text that is not UTF-8. It takes whole numbers of any length, so long runs of digits are looked
    at again: every number must be a finite double. It takes the last of two equal keys, so where
    there may be such the standard library looks for them: every key is followed by a colon, so if
    there are as many keys as colons, none was lost.
    """
    value = parse(body)
    check(value, body)
    return value


def parse(body: bytes) -> Any:
    """Return the value of a JSON text, which `check` must look at before anything uses it.

    Equal keys and numbers that are too large get through here; a large body of too many parts is
    refused.
    """
    if len(body) > LARGE:
        _check_parts(body)
    try:
        return _decode(body)
    except _UNREADABLE as error:
        raise _malformed(body, error) from None


def check(value: Any, body: bytes) -> None:
    """Refuse what msgspec reads though it is not strictly JSON; see `decode`."""
    try:
        if _keys(value) != body.count(b":"):
            _SCANNER.raw_decode(body.decode().lstrip())
        if len(body) >= _DIGITS and _LONG in body.translate(_AS_ZEROS) and _too_large([value]):
            raise ValueError("a number is too large")
    except _UNREADABLE as error:
        raise _malformed(body, error) from None


def _malformed(body: bytes, error: Exception) -> Problem:
    """Return the message about a body that is not strict JSON."""
    if isinstance(error, _Twice):
        return Problem(MALFORMED, f"the key {str(error)!r} stands twice in one object.")
    if isinstance(error, RecursionError):
        return Problem(MALFORMED, "the JSON is nested too deeply.")
    if isinstance(error, UnicodeDecodeError):
        return Problem(MALFORMED, f"the body is not UTF-8: {error.reason}.")
    if not body.strip():
        return Problem(MALFORMED, "the body is empty; it is to be JSON.")
    return Problem(MALFORMED, f"{_why(body, error)}.")


def read(body: bytes, types: tuple[Any, ...]) -> Any:
    """Return a body as one of the types that an operation takes."""
    value = decode(body)
    return convert(value, type_for(value, types))


def type_for(value: Any, types: tuple[Any, ...]) -> Any:
    """Return the type that a decoded body is to have: columns are recognized by `contexts`."""
    columns = len(types) > 1 and isinstance(value, dict) and "contexts" in value
    return types[1 if columns else 0]


def _check_parts(body: bytes) -> None:
    """Refuse a body with so many values that it would take long to decode."""
    nested = body.count(b"[") + body.count(b"{")
    for count, most, what in (
        (body.count(b","), _MOST_VALUES, "values"),
        (body.count(b":"), _MOST_KEYS, "keys"),
        (nested, _MOST_NESTED, "objects and lists"),
    ):
        if count > most:
            raise Problem(TOO_LARGE, f"a body has at most {most:,} {what}; send it in parts.")


def _too_large(values: Iterable[Any]) -> bool:
    """Tell whether a whole number in decoded values is too large for a double."""
    values = list(values)
    if any(one.__class__ is int and not -_LARGEST <= one <= _LARGEST for one in values):
        return True
    nested = [one for one in values if one.__class__ is dict or one.__class__ is list]
    return any(_too_large(one.values() if one.__class__ is dict else one) for one in nested)


def _why(body: bytes, error: Exception) -> str:
    """Return why a body cannot be read: msgspec's own words, but for what people do send."""
    if len(body) > LARGE:
        return f"the body is not JSON: {error}"
    try:
        text = body.decode()
        found = find_unrepresentable(text)
        if found is not None:
            return found
        _SCANNER.raw_decode(text.lstrip())
    except _NoNumber as name:
        return (
            f"the body is not JSON: it has {name}, and JSON has neither NaN nor Infinity; a value "
            "that is missing is left out, and a feature may be null"
        )
    except (ValueError, RecursionError):
        pass  # the standard library takes offence at something else
    return f"the body is not JSON: {error}"


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


def find_unrepresentable(text: str) -> str | None:
    """Say what of a JSON text cannot be held, and where it stands; None if that is not the matter.

    A number that is too large, and a text with one half of a surrogate pair.
    """
    try:
        value = _LOOSE.raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None
    return next(_unrepresentable(value, "$"), None)


def _unrepresentable(value: Any, place: str) -> Iterator[str]:
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
            yield from _unrepresentable(one, f"{place}[{n}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _unrepresentable(key, place)
            yield from _unrepresentable(one, f"{place}.{key}")


def convert(value: Any, type: type[T]) -> T:
    """Return a decoded value as the type wanted; one that does not fit is refused with its place.

    The types bound the depth: whatever is nested deeper than they are does not fit.
    """
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        raise Problem(
            INVALID, f"{_in_words(_with_keys(str(error), value, type), value, type)}."
        ) from None


def _with_keys(message: str, value: Any, type: Any) -> str:
    """Return msgspec's message with the keys that it leaves out, as `$.context[...]`."""
    text, _, path = message.partition(" - at `")
    node, place = value, "$"
    passed: list[tuple[list[Any], Any]] = []
    for field, index in _STEP.findall(path):
        key: Any = field
        if index == "...":
            for rows, row in passed:
                rows[:] = [row]  # those before it are fine and need not be looked at again
            key = _culprit(message, node, value, type)
        elif index:
            key = int(index)
            passed.append((node, node[key]))
        if key is None:
            return message
        place += f".{key}" if isinstance(key, str) else f"[{key}]"
        node = node[key]
    return f"{text} - at `{place}`" if path else text


def _in_words(message: str, value: Any, type: Any) -> str:
    """Return msgspec's message; where it has a type's words for a rule, with the rule itself."""
    text, at, place = message.partition(" - at `")
    field = _STEP.sub(r".\1", place).rstrip("`").rpartition(".")[2]
    if text == "Expected `object` of length >= 1":
        text = f"at least one {_ENTRIES.get(field, 'reward')} is needed"
    elif field == "id" and text.startswith(("Expected `str` matching", "Expected `str` of length")):
        text = (
            f"an id begins with a letter or digit and has up to {LONGEST_ID} visible characters, "
            "no spaces"
        )
    elif text.startswith("Object contains unknown field"):
        if _without_context(place, value, type):
            text += ' (the features go into "context")'
        text += f"; known: {', '.join(_fields(place, type))}"
    elif (types := _TYPE.fullmatch(text)) is not None:
        wanted, got = types.groups()
        ordered = sorted(wanted.split(" | "), key=lambda one: one in ("bool", "null"))
        allowed = " or ".join(_TYPES.get(one, one) for one in ordered)
        text = f"{allowed} is needed, got {_TYPES.get(got, got)}"
    return text + at + place


def _fields(place: str, type: Any) -> list[str]:
    """Return the names of the fields that an object at a place may have."""
    info: Any = msgspec.inspect.type_info(type)
    for field, _ in _STEP.findall(place):
        info = next(f.type for f in info.fields if f.name == field) if field else info.item_type
    return [field.name for field in info.fields]


def _without_context(place: str, value: Any, type: Any) -> bool:
    """Tell whether a body, or the row of a batch at this place, should have a context."""
    row = re.fullmatch(r"\$\.decisions\[(\d+)\]`", place)
    if row is not None:
        return "context" not in value["decisions"][int(row[1])]
    return "context" in getattr(type, "__struct_fields__", ()) and "context" not in value


def _culprit(message: str, node: Any, value: Any, type: Any) -> str | None:
    """Return the key that a message of msgspec's is about: the first that is wrong.

    It is found by halving: an object may have as many keys as a body can hold.
    """
    entries = list(node.items())
    wanted = _INDEX.sub("[]", message)

    def is_in(some: list[tuple[str, Any]]) -> bool:
        node.clear()
        node.update(some)
        try:
            msgspec.convert(value, type)
        except msgspec.ValidationError as error:
            return _INDEX.sub("[]", str(error)) == wanted
        return False

    while len(entries) > 1:
        half = len(entries) // 2
        entries = entries[:half] if is_in(entries[:half]) else entries[half:]
    return entries[0][0] if is_in(entries) else None
