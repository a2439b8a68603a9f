"""A decision point's state as bytes, and back.

lexbandit.point 5\n        the format and its version
8 bytes                    the length of the next part, the low byte first
JSON                       seq, time, counts, keys, ...
the rest                   the chooser, in its own format (docs/saving.md)
"""

import asyncio
import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lexbandit.chooser import Chooser
from lexbandit.errors import InvalidInput
from lexbandit.service.definition import Definition
from lexbandit.service.engine.history import History
from lexbandit.service.engine.point import Point
from lexbandit.service.engine.point_state import Key, Past, Prior
from lexbandit.service.events import Snapshot
from lexbandit.service.storage import StorageFailed

if TYPE_CHECKING:
    from lexbandit.service.engine.core import EngineCore

log = logging.getLogger("lexbandit.service")

# How often, in seconds, to look whether a snapshot is due, and how long one is put off at most.
_LOOK, _LONGEST = 1.0, 60.0
_HEAD = b"lexbandit.point 5\n"
_SIZE = 8


def packer(point: Point) -> Callable[[], bytes]:
    """Return a function that packs the state as it is now; it may run in another thread.

    What is taken here is all that must not change meanwhile.
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
    keys = list(point.keys.items())
    past = [(id, *one[:-1], dict(one.late)) for id, one in point.past.items()]
    chooser = point.chooser.packer()

    def pack() -> bytes:
        document["keys"] = [[id, *key] for id, key in keys]
        document["past"] = past
        text = json.dumps(document, separators=(",", ":")).encode()
        return b"".join([_HEAD, len(text).to_bytes(_SIZE, "little"), text, chooser()])

    return pack


def unpack(definition: Definition, data: bytes) -> Point:
    """Return the point whose state was packed, with the tolerances that its definition has now."""
    told, chooser = _parts(definition.name, data)
    return _point(definition, told, chooser)


def unpack_as_it_was(name: str, data: bytes) -> Point:
    """Return the point whose state was packed, under the definition that it had then."""
    told, chooser = _parts(name, data)
    return _point(Definition.from_plain(name, told["arms"], told["definition"]), told, chooser)


def _parts(name: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the document and the chooser's bytes."""
    if not data.startswith(_HEAD):
        raise InvalidInput(f"the snapshot of {name!r} has another format.")
    start = len(_HEAD) + _SIZE
    size = int.from_bytes(data[len(_HEAD) : start], "little")
    return json.loads(data[start : start + size]), data[start + size :]


def _point(definition: Definition, told: Mapping[str, Any], chooser: bytes) -> Point:
    point = Point(definition)
    point.chooser = Chooser.from_bytes(chooser, clock=point.clock)
    point.chooser.set_tolerances([one.tolerance for one in definition.objectives])
    point.begun = True
    for name in ("seq", "version", "time"):
        setattr(point, name, told[name])
    point.counts = Counter(told["counts"])
    point.priors = {arm: Prior(*prior) for arm, prior in told["priors"].items()}
    point.history = History.from_plain(told["history"])
    point.keys = OrderedDict((id, Key(*key)) for id, *key in told["keys"])
    point.past = OrderedDict((id, Past(*one)) for id, *one in told["past"])
    return point


class Snapshots:
    """Keeps a snapshot of each point now and then, so that a start need not read the whole log."""

    def __init__(self, engine: "EngineCore", every: int) -> None:
        self._engine = engine
        self._every = every
        self._kept: dict[str, int] = {name: point.seq for name, point in engine.points.items()}
        self.folded = 0
        """How many rows of events were folded since the last snapshot."""
        self.seconds = 0.0
        """How long the last snapshots took, from begin to end."""
        self._last = time.monotonic()

    @property
    def age(self) -> float:
        """How many seconds ago the last snapshots were kept; 0 if nothing happened since."""
        return time.monotonic() - self._last if self.folded else 0.0

    async def now_and_then(self) -> None:
        """Keep snapshots when they are due, until cancelled."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK)
            due = self.folded >= self._every or time.monotonic() - last > _LONGEST
            if self.folded and due and self._engine.trouble is None:
                last = time.monotonic()
                try:
                    await self.take()
                except StorageFailed as error:
                    log.warning("no snapshot was kept: %s", error)

    def forget(self, name: str) -> None:
        """Keep a snapshot of a point the next time, whatever was kept of it before."""
        self._kept[name] = 0
        self.folded += 1

    async def take(self) -> None:
        """Keep a snapshot of every point that changed since its last one, or whose last is old."""
        begin = time.monotonic()
        self.folded = 0
        for name, point in self._engine.points.items():
            # One that did not change is kept anew now and then, so that a start reads little.
            changed = point.seq > self._kept[name]
            far = self._engine.seq - self._kept[name] >= self._every
            if not point.begun or not (changed or far):
                continue
            seq, pack = self._engine.seq, packer(point)
            data = await asyncio.to_thread(pack)
            await self._engine.storage.save_snapshot(
                name, point.definition.fingerprint, Snapshot(seq, data)
            )
            self._kept[name] = seq
        self._last = time.monotonic()
        self.seconds = self._last - begin
