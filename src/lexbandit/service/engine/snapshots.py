"""A decision point's state as bytes, and back.

lexbandit.point 1\n        the format and its version
8 bytes                    the length of the next part, the low byte first
JSON                       seq, time, counts, keys, ...
the rest                   the chooser, in its own format (docs/saving.md)
"""

import asyncio
import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lexbandit.chooser import RecordingChooser
from lexbandit.errors import InvalidInput
from lexbandit.service.definition import Definition
from lexbandit.service.engine.history import History
from lexbandit.service.engine.journal import Journal
from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point, Prior
from lexbandit.service.events import Snapshot
from lexbandit.service.storage import Storage, StorageFailed

log = logging.getLogger("lexbandit.service")

# How often, in seconds, to look whether a snapshot is due, and how long one is put off at most.
_LOOK, _LONGEST = 1.0, 60.0
_HEAD = b"lexbandit.point 1\n"
_SIZE = 8
# So many rows are encoded at once.
_TOGETHER = 1_000


def packer(point: Point) -> Callable[[], bytes]:
    """Return a function that packs the state as it is now; it may run in another thread.

    What is taken here is all that must not change meanwhile. It is quick: rows of `keys` and `past`
    and pending decisions are replaced when they change, never changed in place, so they need no
    copies.
    """
    document: dict[str, Any] = {
        "seq": point.seq,
        "version": point.version,
        "time": point.time,
        "counts": dict(point.counts),
        "priors": dict(point.priors),
        "history": point.history.plain(),
        "arms": list(point.definition.arms),
        "definition": point.definition.plain(),
    }
    # `dict.values` and not `values`: of an OrderedDict that takes many times as long.
    tables: dict[str, list[Any]] = {
        "keys": list(dict.values(point.keys)),
        "past": list(dict.values(point.past)),
    }
    chooser = point.chooser.packer()

    def pack() -> bytes:
        parts = [_json(document)[:-1]]
        for name, rows in tables.items():
            parts += [f',"{name}":['.encode(), _rows_as_json(rows), b"]"]
        text = b"".join([*parts, b"}"])
        return b"".join([_HEAD, len(text).to_bytes(_SIZE, "little"), text, chooser()])

    return pack


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _rows_as_json(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Return rows as the inside of a JSON array.

    Some at a time: whoever encodes keeps other threads from running.
    """
    starts = range(0, len(rows), _TOGETHER)
    return b",".join([_json(rows[start : start + _TOGETHER])[1:-1] for start in starts])


def unpack(definition: Definition, data: bytes) -> Point:
    """Return the point whose state was packed, with the tolerances that its definition has now."""
    document, chooser = _parts(definition.name, data)
    return _point(definition, document, chooser)


def unpack_as_it_was(name: str, data: bytes) -> Point:
    """Return the point whose state was packed, under the definition that it had then."""
    document, chooser = _parts(name, data)
    definition = Definition.from_plain(name, document["arms"], document["definition"])
    return _point(definition, document, chooser)


def _parts(name: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the document and the chooser's bytes."""
    if not data.startswith(_HEAD):
        raise InvalidInput(f"the snapshot of {name!r} has another format.")
    start = len(_HEAD) + _SIZE
    size = int.from_bytes(data[len(_HEAD) : start], "little")
    return json.loads(data[start : start + size]), data[start + size :]


def _point(definition: Definition, document: Mapping[str, Any], chooser: bytes) -> Point:
    point = Point(definition)
    point.chooser = RecordingChooser.from_bytes(chooser, clock=point.clock)
    point.chooser.set_tolerances([one.tolerance for one in definition.objectives])
    point.begun = True
    for name in ("seq", "version", "time"):
        setattr(point, name, document[name])
    point.counts = Counter(document["counts"])
    point.priors = {arm: Prior(*prior) for arm, prior in document["priors"].items()}
    point.history = History.from_plain(document["history"])
    point.keys = OrderedDict((row[0], AnsweredRequest(*row)) for row in document["keys"])
    point.past = OrderedDict((row[0], PastDecision(*row)) for row in document["past"])
    return point


class Snapshots:
    """Saves a snapshot of each point now and then, so that a start need not read the whole log."""

    def __init__(
        self, points: Mapping[str, Point], storage: Storage, journal: Journal, every: int
    ) -> None:
        self._points = points
        self._storage = storage
        self._journal = journal
        self._every = every
        self._saved: dict[str, int] = {name: point.seq for name, point in points.items()}
        self.folded = 0
        """How many rows of events were folded since the last snapshot."""
        self.seconds = 0.0
        """How long the last snapshots took, from begin to end."""
        self._last = time.monotonic()

    @property
    def age(self) -> float:
        """How many seconds ago the last snapshots were saved; 0 if nothing happened since."""
        return time.monotonic() - self._last if self.folded else 0.0

    async def now_and_then(self) -> None:
        """Save snapshots when they are due, until cancelled."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK)
            due = self.folded >= self._every or time.monotonic() - last > _LONGEST
            well = self._journal.trouble is None and self._journal.stalled is None
            if self.folded and due and well:
                last = time.monotonic()
                try:
                    await self.take()
                except StorageFailed as error:
                    log.warning("no snapshot was saved: %s", error)

    def forget(self, name: str) -> None:
        """Save a snapshot of a point the next time, whatever was saved of it before."""
        self._saved[name] = 0
        self.folded += 1

    async def take(self) -> None:
        """Save a snapshot of every point that changed since its last one, or whose last is old."""
        begin = time.monotonic()
        self.folded = 0
        for name, point in list(self._points.items()):
            # One that did not change is saved anew now and then, so that a start reads little.
            changed = point.seq > self._saved[name]
            far = self._journal.seq - self._saved[name] >= self._every
            if not point.begun or not (changed or far):
                continue
            seq, pack = self._journal.seq, packer(point)
            data = await asyncio.to_thread(pack)
            await self._storage.save_snapshot(
                name, point.definition.fingerprint, Snapshot(seq, data)
            )
            self._saved[name] = seq
        self._last = time.monotonic()
        self.seconds = self._last - begin
