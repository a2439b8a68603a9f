"""Find the values in JSON documents of one form, without an object for each.

A document is an object. One of its keys has an array of rows, which are objects too, and one key of
a row has an object of named values:

    {"version": 1, "rows": [{"id": "a", "values": {"x": 0.5}}, ...]}

`scan` finds where the values of all rows stand, and `column` returns those of one key as the text
of a JSON array, which a parser reads at once. Neither looks into strings and numbers: that all of
them are valid is for that parser to say.
"""

from typing import NamedTuple

import numpy as np

from lexbandit.kernels.arrays import Bytes, Keys
from lexbandit.kernels.jit import kernel, leaf

_QUOTE, _COMMA, _BACKSLASH, _DOT, _MINUS = ord('"'), ord(","), ord("\\"), ord("."), ord("-")
_OPEN, _CLOSE, _OPEN_ARRAY, _CLOSE_ARRAY = ord("{"), ord("}"), ord("["), ord("]")
_ZERO, _NINE, _EXPONENT = ord("0"), ord("9"), ord("e")
# The bytes of numbers and words.
_PLAIN = np.array([bytes([n]).isalnum() or n in b"+-." for n in range(256)])
_NULL = np.frombuffer(b"null", np.uint8)
# The levels of a document: itself, a row, and the object in a row.
_DOCUMENT, _ROW, _VALUES = 0, 1, 2
START, END = 0, 1
# What is asked of the value of a key: that it is there, and that it is a number with a point or an
# exponent.
NEEDED, FLOAT = 1, 2


class Form(NamedTuple):
    """The keys that documents may have, as `form_of` returns them.

    text    the keys as they are written, with quotes and colon, one after the other
    starts  where each begins, and where the last one ends
    asks    NEEDED, FLOAT, both or neither, of each key
    first   the first key of each of the three levels, and the number of keys

    The last key of a document is the one of the rows, the last of a row the one of its object.
    """

    text: Bytes
    starts: Keys
    asks: Keys
    first: Keys


def form_of(document: dict[str, int], row: dict[str, int], values: dict[str, int]) -> Form:
    """Return the form of documents with these keys, and what is asked of the value of each.

    Keys are given as JSON has them, without quotes.
    """
    levels = document, row, values
    keys = [f'"{key}":'.encode() for level in levels for key in level]
    return Form(
        np.frombuffer(b"".join(keys), np.uint8),
        np.cumsum([0, *map(len, keys)]),
        np.array([ask for level in levels for ask in level.values()], np.int64),
        np.cumsum([0, *map(len, levels)]),
    )


@leaf
def byte_at(text: Bytes, at: int, end: int) -> int:
    """Return a byte of a document; 0 where there is none."""
    return int(text[np.uint64(at)]) if 0 <= at < end else 0


@leaf
def string_end(text: Bytes, at: int, end: int) -> int:
    """Return where the string that begins at `at` ends; -1 if it does not."""
    at += 1
    while at < end:
        one = text[np.uint64(at)]
        if one == _QUOTE:
            return at + 1
        at += 2 if one == _BACKSLASH else 1
    return -1


@leaf
def plain_end(text: Bytes, at: int, end: int) -> int:
    """Return where the string, number or word at `at` ends; -1 if there is none."""
    if byte_at(text, at, end) == _QUOTE:
        return string_end(text, at, end)
    first = at
    while at < end and _PLAIN[text[np.uint64(at)]]:
        at += 1
    return at if at > first else -1


@leaf
def value_end(text: Bytes, at: int, end: int) -> int:
    """Return where a value ends; -1 if it is an object, or an array that has others in it."""
    if byte_at(text, at, end) != _OPEN_ARRAY:
        return plain_end(text, at, end)
    if byte_at(text, at + 1, end) == _CLOSE_ARRAY:
        return at + 2
    after = _COMMA
    while after == _COMMA:
        at = plain_end(text, at + 1, end)
        after = byte_at(text, at, end)
    return at + 1 if after == _CLOSE_ARRAY else -1


@leaf
def is_float(text: Bytes, at: int, end: int) -> bool:
    """Tell whether a value is a number that is written with a point or an exponent."""
    one = text[np.uint64(at)]
    if one != _MINUS and not (one >= _ZERO and one <= _NINE):
        return False
    for n in range(at + 1, end):
        one = text[np.uint64(n)]
        if one == _DOT or one | 32 == _EXPONENT:
            return True
    return False


@leaf
def key_at(form: Form, first: int, last: int, likely: int, text: Bytes, at: int, end: int) -> int:
    """Return which of the keys from `first` to before `last` stands at `at`; -1 if none does."""
    key = likely
    for _ in range(first, last):
        if key >= last:
            key = first
        begin = form.starts[key]
        size = form.starts[key + 1] - begin
        if at + size <= end:
            n = 0
            while n < size and text[np.uint64(at + n)] == form.text[np.uint64(begin + n)]:
                n += 1
            if n == size:
                return key
        key += 1
    return -1


@leaf
def note(form: Form, key: int, text: Bytes, at: int, end: int, found: Keys, row: int) -> int:
    """Note where the value of a key that stands at `at` is; returns where it ends.

    -1 if the key is none or was found before, or its value is not what is asked.
    """
    if key < 0 or found[row, key, START] >= 0:
        return -1
    at += form.starts[key + 1] - form.starts[key]
    stop = value_end(text, at, end)
    if stop >= 0 and form.asks[key] & FLOAT and not is_float(text, at, stop):
        return -1
    found[row, key, START], found[row, key, END] = at, stop
    return stop


@leaf
def forget(form: Form, level: int, found: Keys, row: int) -> None:
    """Note that no key of a level was found in a row yet."""
    for key in range(form.first[level], form.first[level + 1]):
        found[row, key, START] = found[row, key, END] = -1


@leaf
def is_whole(form: Form, level: int, found: Keys, row: int) -> bool:
    """Tell whether all keys of a level that are needed were found in a row."""
    whole = True
    for key in range(form.first[level], form.first[level + 1]):
        whole &= not form.asks[key] & NEEDED or found[row, key, START] >= 0
    return whole


@leaf
def values_end(form: Form, text: Bytes, at: int, end: int, found: Keys, row: int) -> int:
    """Note the values of the object in a row that begins at `at`; returns where it ends, or -1."""
    first, last = form.first[_VALUES], form.first[_VALUES + 1]
    if byte_at(text, at, end) != _OPEN:
        return -1
    if byte_at(text, at + 1, end) == _CLOSE:
        return at + 2
    key, after = first - 1, _COMMA
    while after == _COMMA:
        key = key_at(form, first, last, key + 1, text, at + 1, end)
        at = note(form, key, text, at + 1, end, found, row)
        after = byte_at(text, at, end)
    return at + 1 if after == _CLOSE else -1


@leaf
def row_end(form: Form, text: Bytes, at: int, end: int, found: Keys, row: int) -> int:
    """Note the values of the row that begins at `at`; returns where it ends, or -1."""
    first, last = form.first[_ROW], form.first[_ROW + 1]
    if byte_at(text, at, end) != _OPEN or row >= found.shape[0]:
        return -1
    forget(form, _ROW, found, row)
    forget(form, _VALUES, found, row)
    key, after = first - 1, _COMMA
    while after == _COMMA:
        key = key_at(form, first, last, key + 1, text, at + 1, end)
        if key == last - 1 and found[row, key, START] < 0:
            found[row, key, START] = at + 1 + form.starts[key + 1] - form.starts[key]
            at = values_end(form, text, found[row, key, START], end, found, row)
        else:
            at = note(form, key, text, at + 1, end, found, row)
        after = byte_at(text, at, end)
    return at + 1 if after == _CLOSE and is_whole(form, _ROW, found, row) else -1


@leaf
def scan_one(form: Form, text: Bytes, at: int, end: int, found: Keys, rows: int) -> int:
    """Find the values of one document after so many rows; returns how many rows there are then.

    -1 if it is not of the form, or `found` is too short for its rows. The values of the
    document itself are noted in its first row.
    """
    last, row = form.first[_ROW], rows
    if byte_at(text, at, end) != _OPEN or rows >= found.shape[0]:
        return -1
    forget(form, _DOCUMENT, found, rows)
    key, after = -1, _COMMA
    while after == _COMMA:
        key = key_at(form, 0, last, key + 1, text, at + 1, end)
        if key == last - 1 and row == rows:
            at += 1 + form.starts[key + 1] - form.starts[key]
            found[rows, key, START] = at
            after = _COMMA if byte_at(text, at, end) == _OPEN_ARRAY else 0
            while after == _COMMA:
                at = row_end(form, text, at + 1, end, found, row)
                after = byte_at(text, at, end)
                row += 1
            at = at + 1 if after == _CLOSE_ARRAY else -1
        else:
            at = note(form, key, text, at + 1, end, found, rows)
        after = byte_at(text, at, end)
    whole = after == _CLOSE and at + 1 == end and is_whole(form, _DOCUMENT, found, rows)
    return row if whole else -1


@kernel
def scan(form: Form, text: Bytes, starts: Keys, ends: Keys, found: Keys, owners: Keys) -> int:
    """Find the values of all rows of documents that stand from `starts` to `ends` in a text.

    found[row, key, START and END] says where a value stands, -1 if there is none, and owners[row]
    of which document it is. A document that is not of the form has no rows. Returns how many rows
    there are.
    """
    rows = 0
    for n in range(starts.shape[0]):
        after = scan_one(form, text, starts[n], ends[n], found, rows)
        for row in range(rows, after):
            owners[row] = n
            for key in range(form.first[_ROW]):
                found[row, key, START] = found[rows, key, START]
                found[row, key, END] = found[rows, key, END]
        rows = max(after, rows)
    return rows


@kernel
def column(text: Bytes, found: Keys, key: int) -> Bytes:
    """Return the values of a key as the text of a JSON array; null where there is none."""
    size = 2
    for row in range(found.shape[0]):
        is_there = found[row, key, END] >= 0
        size += 1 + (found[row, key, END] - found[row, key, START] if is_there else len(_NULL))
    made = np.empty(size, np.uint8)
    made[0] = _OPEN_ARRAY
    at = 1
    for row in range(found.shape[0]):
        if found[row, key, END] >= 0:
            for n in range(found[row, key, START], found[row, key, END]):
                made[at] = text[n]
                at += 1
        else:
            for n in range(len(_NULL)):
                made[at] = _NULL[n]
                at += 1
        made[at] = _COMMA
        at += 1
    made[max(at - 1, 1)] = _CLOSE_ARRAY
    return made[: max(at, 2)]
