"""A decision point's state as bytes, and back.

lexbandit.point 1\n        the format and its version
8 bytes                    the length of the next part, the low byte first
JSON                       seq, time, counts, keys, ...
the rest                   the chooser, in its own format (docs/saving.md)
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.ledger import OldestFirst
from lexbandit.service.definition import Definition
from lexbandit.service.engine.history import History
from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point, Prior
from lexbandit.service.events import SNAPSHOT_HEAD, SNAPSHOT_LENGTH, snapshot_parts

log = logging.getLogger("lexbandit.service")

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
    tables: dict[str, list[Any]] = {
        "keys": list(point.keys.values()),
        "past": list(point.past.values()),
    }
    chooser = point.chooser.packer()

    def pack() -> bytes:
        parts = [_json(document)[:-1]]
        for name, rows in tables.items():
            parts += [f',"{name}":['.encode(), _rows_as_json(rows), b"]"]
        text = b"".join([*parts, b"}"])
        return b"".join(
            [SNAPSHOT_HEAD, len(text).to_bytes(SNAPSHOT_LENGTH, "little"), text, chooser()]
        )

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
    document, chooser = snapshot_parts(definition.name, data)
    return _point(definition, document, chooser)


def unpack_as_it_was(name: str, data: bytes) -> Point:
    """Return the point whose state was packed, under the definition that it had then."""
    document, chooser = snapshot_parts(name, data)
    definition = Definition.from_plain(name, document["arms"], document["definition"])
    return _point(definition, document, chooser)


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
    point.keys = OldestFirst((row[0], AnsweredRequest(*row)) for row in document["keys"])
    point.past = OldestFirst((row[0], PastDecision(*row)) for row in document["past"])
    return point
