"""The events of the log: in one order, each a few plain values in JSON.

kind         body
begin        {"arms": [...], "definition": {...}}: a decision point's first event
decisions    {"by": replica, "version": ..., "rows": [{"id", "arm", "propensity", "context", ...}]};
             with callers' own ids also "seen": the last event that the replica had taken
             or by columns: {..., "ids", "arms", "propensities", "contexts": {feature: [...]}}
rewards      {"rows": [{"id", "values": {objective: value}}, ...]}
arm          {"arm": name, "change": "add" or "retire", "prior": ..., "weight": ...}
erase        {"ids": [...]}: the contexts of these decisions are forgotten
tick         {}: time went by; decisions whose time is over leave

A decision's row whose context was erased has the context null, and no key.

The state of a decision point is what its events, taken one after the other, lead to.
"""

import json
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Literal, NamedTuple, get_args
from zlib import crc32

import msgspec
import numpy as np

from lexbandit.errors import InvalidInput

Kind = Literal["begin", "decisions", "rewards", "arm", "erase", "tick"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class Event(NamedTuple):
    """An event: its place in the log's order, the time the log gave it in seconds, what it says.

    Places are 1, 2, 3, ... without gaps, and times never go back. Both are 0 in an event that is to
    be appended; a storage's `append` returns it with its place and time.
    """

    seq: int
    time: float
    point: str
    kind: Kind
    body: bytes


class Snapshot(NamedTuple):
    """A decision point's state after the event `seq`."""

    seq: int
    data: bytes


# What the data begins with, and how many bytes say how long the document after it is.
SNAPSHOT_HEAD, SNAPSHOT_LENGTH = b"lexbandit.point 1\n", 8


def snapshot_parts(name: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the document of a snapshot and the chooser's bytes."""
    if not data.startswith(SNAPSHOT_HEAD):
        raise InvalidInput(f"the snapshot of {name!r} has another format.")
    start = len(SNAPSHOT_HEAD) + SNAPSHOT_LENGTH
    size = int.from_bytes(data[len(SNAPSHOT_HEAD) : start], "little")
    return json.loads(data[start : start + size]), data[start + size :]


_DOUBLE, _SIGNED = struct.Struct(">d"), struct.Struct(">q")


class CorruptLog(Exception):
    """Something in the log is not what was written; it cannot be trusted."""


# Returns the body of an event; a number that is none is written as null.
body_of: Callable[[dict[str, Any]], bytes] = msgspec.json.Encoder(enc_hook=list).encode


def read_body(event: Event) -> dict[str, Any]:
    """Return what an event says."""
    try:
        return msgspec.json.decode(event.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CorruptLog(f"event {event.seq} of the log cannot be read: {error}.") from error


def content_checksum(event: Event) -> int:
    """Return the checksum of what an event says: its point, its kind and its body."""
    return crc32(event.body, _head(event.point, event.kind))


def checksum(event: Event) -> int:
    """Return the checksum that is stored beside an event; it covers all of it.

    It is the one of the content, exclusive-or the place, exclusive-or the bits of the time: a
    database that assigns place and time can add these two by itself.
    """
    return content_checksum(event) ^ event.seq ^ _bits(event.time)


@lru_cache(8)
def _bits(time: float) -> int:
    """Return the bits of a time as a signed integer; all events of a batch have one time."""
    bits: int = _SIGNED.unpack(_DOUBLE.pack(time))[0]
    return bits


@lru_cache(1000)
def _head(point: str, kind: str) -> int:
    """Return the checksum of all but the body: there are few of them, and many events."""
    return crc32(f"{point}\0{kind}\0".encode())


def in_order(rows: Sequence[Sequence[Any]], seq: int | None = None) -> list[Event]:
    """Return events from rows whose sixth value is a checksum: as they were written.

    With `seq` they are all that come after this event, and none may be missing.
    """
    columns = list(zip(*rows, strict=True))[:6]
    if not rows or not _whole(columns, seq):
        _refuse_first(rows, seq)
    return list(map(_tuple, repeat(Event), zip(*columns[:5], strict=True)))


def _whole(columns: Sequence[Sequence[Any]], seq: int | None) -> bool:
    """Tell whether the columns of events are as they were written, by whole columns."""
    numbers, times, points, kinds, bodies, stored = columns
    if seq is not None and numbers != tuple(range(seq + 1, seq + 1 + len(numbers))):
        return False
    # Damage may change types as well.
    types = (numbers, int), (times, float), (bodies, bytes), (stored, int)
    if not all(set(map(type, column)) == {kind} for column, kind in types):
        return False
    heads = map(_head, points, kinds)
    contents = list(map(crc32, bodies, heads))
    seconds = np.array(times)
    found = np.array(contents) ^ np.array(numbers) ^ seconds.view(np.int64)
    same = np.array_equal(found, np.array(stored))
    return same and seconds[0] >= 0.0 and bool((seconds[1:] >= seconds[:-1]).all())


def _refuse_first(rows: Sequence[Sequence[Any]], seq: int | None) -> None:
    """Refuse the first row that is not as it was written, or comes after a gap."""
    last = 0.0
    for n, (place, time, point, kind, body, stored, *_) in enumerate(rows, 1):
        if seq is not None and place != seq + n:
            raise CorruptLog(
                f"event {seq + n} of the log is missing: the next one there is {place}. "
                "Restore the log from a backup."
            )
        whole = time.__class__ is float and body.__class__ is bytes and time >= last
        if not whole or crc32(body, _head(point, kind)) ^ place ^ _bits(time) != stored:
            raise CorruptLog(
                f"event {place} of the log (of {point!r}) was damaged: it is not as it was "
                "written. Restore the log from a backup."
            )
        last = time


def point_name(name: Any) -> str:
    """Return the name of a decision point: a-z, A-Z, 0-9, - and _, at most 64."""
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= 64
        or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    ):
        raise InvalidInput(
            "the name of a decision point has 1 to 64 characters, of a-z, A-Z, 0-9, - and _, "
            f"got {name!r}."
        )
    return name
