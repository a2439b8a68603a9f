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

A decision's row whose context was erased has the context null, and no key. A key, or a list of
allowed arms, that is null is none.

The state of a decision point is what its events, taken one after the other, lead to.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, get_args, overload
from zlib import crc32

import msgspec
import numpy as np

from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels.log_pages import TABLES, checksums

Kind = Literal["begin", "decisions", "rewards", "arm", "erase", "tick"]
KINDS: tuple[Kind, ...] = get_args(Kind)


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


def snapshot_checksum(point: str, definition: str, snapshot: Snapshot) -> bytes:
    """Return the checksum that is stored beside a snapshot; it covers its place too."""
    found = hashlib.sha256(f"{point}\n{definition}\n{snapshot.seq}\n".encode())
    found.update(snapshot.data)
    return found.digest()


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


def rows_of(body: Mapping[str, Any], since: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the decisions of an event, which holds them in rows or in columns, from one on."""
    if "rows" in body:
        yield from body["rows"][since:]
        return
    contexts, allowed = body["contexts"], body["allowed"]
    for_all = allowed is None or all(isinstance(arm, str) for arm in allowed)
    for n in range(since, len(body["ids"])):
        yield {
            "id": body["ids"][n],
            "arm": body["arms"][n],
            "propensity": body["propensities"][n],
            "context": {name: values[n] for name, values in contexts.items()},
            "allowed": allowed if for_all else allowed[n],
        }


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


class Events(Sequence[Event]):
    """Events of the log in their order, by columns: a few objects for many events.

    seqs, times    their numbers and times
    labels         of each, which of `names` says its point and its kind
    text           all bodies, one after the other
    starts, ends   where in `text` the body of each begins and ends
    """

    def __init__(
        self,
        seqs: Integers,
        times: Floats,
        labels: Integers,
        names: Sequence[tuple[str, Kind]],
        text: bytes,
        starts: Integers,
        ends: Integers,
    ) -> None:
        self.seqs, self.times, self.labels, self.names = seqs, times, labels, names
        self.text, self.starts, self.ends = text, starts, ends

    @classmethod
    def of(cls, events: Iterable[tuple[int, float, str, Kind, bytes]]) -> Self:
        """Return events by columns."""
        names: dict[tuple[str, Kind], int] = {}
        rows = [
            (seq, time, names.setdefault((point, kind), len(names)), body)
            for seq, time, point, kind, body in events
        ]
        seqs, times, labels, bodies = zip(*rows, strict=True) if rows else ((), (), (), ())
        numbers = np.array(seqs, np.int64), np.array(times, np.float64), np.array(labels, np.int64)
        return cls(*numbers, [*names], *_joined(bodies))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the events of several parts."""
        if not parts:
            return cls.of(())
        names = {
            name: n for n, name in enumerate(dict.fromkeys(chain(*(one.names for one in parts))))
        }
        labels = [np.array([names[name] for name in one.names])[one.labels] for one in parts]
        before = np.cumsum([0, *(len(one.text) for one in parts[:-1])]).tolist()
        return cls(
            np.concatenate([one.seqs for one in parts]),
            np.concatenate([one.times for one in parts]),
            np.concatenate(labels),
            [*names],
            b"".join([one.text for one in parts]),
            np.concatenate([one.starts + n for one, n in zip(parts, before, strict=True)]),
            np.concatenate([one.ends + n for one, n in zip(parts, before, strict=True)]),
        )

    def __len__(self) -> int:
        return len(self.seqs)

    @overload
    def __getitem__(self, n: SupportsIndex) -> Event: ...
    @overload
    def __getitem__(self, n: slice) -> Self: ...
    def __getitem__(self, n: Any) -> Event | Self:
        """Return an event, or the events of a slice."""
        if isinstance(n, slice):
            return self.some(n)
        point, kind = self.names[self.labels[n]]
        body = self.text[self.starts[n] : self.ends[n]]
        return Event(int(self.seqs[n]), float(self.times[n]), point, kind, body)

    def __iter__(self) -> Iterator[Event]:
        names, text = self.names, self.text
        columns = (self.seqs, self.times, self.labels, self.starts, self.ends)
        for seq, time, label, start, end in zip(*(one.tolist() for one in columns), strict=True):
            point, kind = names[label]
            yield Event(seq, time, point, kind, text[start:end])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def some(self, which: slice | Integers | Booleans) -> Self:
        """Return some of the events."""
        columns = self.seqs[which], self.times[which], self.labels[which]
        return type(self)(*columns, self.names, self.text, self.starts[which], self.ends[which])

    def points(self) -> list[str]:
        """Return the points that have events here."""
        return list(dict.fromkeys(self.names[n][0] for n in np.unique(self.labels).tolist()))

    def of_point(self, point: str) -> Self:
        """Return the events of a point."""
        ours = [name == point for name, _ in self.names]
        return self if all(ours) else self.some(np.array(ours)[self.labels])

    def after(self, seq: int) -> Self:
        """Return the events after one."""
        return self[int(np.searchsorted(self.seqs, seq, "right")) :]

    def until(self, seq: int) -> Self:
        """Return the events up to one."""
        return self[: int(np.searchsorted(self.seqs, seq, "right"))]

    def of_kind(self, kind: Kind) -> Integers:
        """Return which of the events are of a kind."""
        ours = np.array([name == kind for _, name in self.names], np.bool_)
        return np.flatnonzero(ours[self.labels])


def by_columns(events: Sequence[Event]) -> Events:
    """Return events by columns, whatever a storage returned."""
    return events if isinstance(events, Events) else Events.of(events)


def _joined(bodies: Sequence[bytes]) -> tuple[bytes, Integers, Integers]:
    """Return bodies one after the other, and where each begins and ends."""
    sizes = np.array(list(map(len, bodies)), np.int64)
    ends = np.cumsum(sizes)
    return b"".join(bodies), ends - sizes, ends


def in_order(rows: Sequence[Sequence[Any]], seq: int | None = None, time: float = 0.0) -> Events:
    """Return events from rows whose sixth value is a checksum: as they were written.

    With `seq` they are all that come after this event, and none may be missing. None may be of
    before `time`.
    """
    if not rows:
        return Events.of(())
    seqs, times, points, kinds, bodies, stored, *_ = zip(*rows, strict=True)
    # Damage may change types as well.
    types = (seqs, int), (times, float), (bodies, bytes), (stored, int)
    if all(set(map(type, column)) == {kind} for column, kind in types):
        events = Events.of(zip(seqs, times, points, kinds, bodies, strict=True))
        found = np.array(list(map(crc32, bodies, map(_head, points, kinds))))
        if _fit(events, found, stored) and follow(events, seq, time):
            return events
    raise _first_damage(rows, seq, time)


def as_written(events: Events, stored: Integers) -> bool:
    """Tell whether events have these checksums; `text` must have their bodies and nothing else."""
    heads = np.array([_head(point, kind) for point, kind in events.names], np.uint32)
    found = np.empty(len(events), np.int64)
    text = np.frombuffer(events.text, np.uint8)
    checksums(TABLES, text, events.ends, events.labels, heads, found)
    return _fit(events, found, stored)


def _fit(events: Events, contents: Integers, stored: Any) -> bool:
    """Tell whether events with these checksums of their content have those that are stored."""
    found = contents ^ events.seqs ^ events.times.view(np.int64)
    return bool(np.array_equal(found, np.array(stored)))


def follow(events: Events, seq: int | None, time: float) -> bool:
    """Tell whether times never go back, from `time` on.

    With `seq`, also whether they are all that come after this event.
    """
    seqs, times = events.seqs, events.times
    if seq is not None and not np.array_equal(seqs, np.arange(seq + 1, seq + 1 + len(seqs))):
        return False
    return bool((times[:1] >= time).all() and (times[1:] >= times[:-1]).all())


def _first_damage(rows: Sequence[Sequence[Any]], seq: int | None, last: float) -> CorruptLog:
    """Return the error for the first row that is not as it was written, or comes after a gap."""
    for n, (place, time, point, kind, body, stored, *_) in enumerate(rows, 1):
        if seq is not None and place != seq + n:
            return CorruptLog(
                f"event {seq + n} of the log is missing: the next one there is {place}. "
                "Restore the log from a backup."
            )
        types = time.__class__, body.__class__, stored.__class__
        whole = types == (float, bytes, int) and time >= last
        if not whole or crc32(body, _head(point, kind)) ^ place ^ _bits(time) != stored:
            return CorruptLog(
                f"event {place} of the log (of {point!r}) was damaged: it is not as it was "
                "written. Restore the log from a backup."
            )
        last = time
    raise AssertionError("all rows are as they were written")


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
