"""What the log holds: events in one order, each a few plain values in JSON.

kind         body
begin        {"arms": [...], "definition": {...}}: a decision point's first event
decisions    {"by": replica, "version": ..., "rows": [{"id", "arm", "propensity", "context", ...}]};
             with callers' own ids also "seen": the last event that the replica had taken
             or by columns: {..., "ids", "arms", "propensities", "contexts": {feature: [...]}}
rewards      {"rows": [{"id", "values": {objective: value}}, ...]}
arm          {"arm": name, "change": "add" or "retire", "prior": ..., "weight": ...}
tick         {}: time went by; decisions whose time is over leave

The state of a decision point is what its events, taken one after the other, lead to.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from lexbandit.errors import InvalidInput

Kind = Literal["begin", "decisions", "rewards", "arm", "tick"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Event(NamedTuple):
    """Something to be appended to the log."""

    point: str
    kind: Kind
    body: bytes


class Stored(NamedTuple):
    """An event of the log: its place in the order, and the time the log gave it, in seconds.

    Places are 1, 2, 3, ... without gaps, and times never go back.
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


class CorruptLog(Exception):
    """Something in the log is not what was written; it cannot be trusted."""


_encode = msgspec.json.Encoder(enc_hook=list).encode


def body_of(value: dict[str, Any]) -> bytes:
    """Return the body of an event; a number that is none is written as null."""
    return _encode(value)


def read_body(stored: Stored) -> dict[str, Any]:
    """Return what an event says."""
    try:
        return msgspec.json.decode(stored.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CorruptLog(f"event {stored.seq} of the log cannot be read: {error}.") from error


def checksum(event: Event | Stored) -> int:
    """Return the checksum that is kept beside an event."""
    return zlib.crc32(event.body, _head(event.point, event.kind))


@lru_cache(1000)
def _head(point: str, kind: str) -> int:
    """Return the checksum of all but the body: there are few of them, and many events."""
    return zlib.crc32(f"{point}\0{kind}\0".encode())


def in_order(seq: int, rows: Iterable[Sequence[Any]]) -> list[Stored]:
    """Return the events after `seq`, from rows that end with a checksum: all, and as written.

    The checksum does not cover the time, but a time that goes back is damaged too.
    """
    events: list[Stored] = []
    time = 0.0
    for place, (*fields, kept) in enumerate(rows, seq + 1):
        stored = Stored(*fields)
        if stored.seq != place:
            raise CorruptLog(
                f"event {place} of the log is missing: the next one there is {stored.seq}. "
                "Restore the log from a backup."
            )
        if not _as_written(stored, kept, time):
            raise CorruptLog(
                f"event {place} of the log (of {stored.point!r}) was damaged: it is not as it was "
                "written. Restore the log from a backup."
            )
        events.append(stored)
        time = stored.time
    return events


def _as_written(stored: Stored, kept: int, time: float) -> bool:
    """Tell whether an event is as it was written; damage may change types as well."""
    if [type(stored.time), type(stored.body)] != [float, bytes]:
        return False
    return checksum(stored) == kept and stored.time >= time


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
