"""Read the bodies of many events at once, by columns.

A compiled scan finds the values in bodies of the usual form (`kernels/json_rows.py`), and msgspec
decodes each column of them by one call. A body of another form is left to `Point.fold`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

from lexbandit.checks import Integers
from lexbandit.chooser.log_blocks import LoggedDecisions, LoggedRewards
from lexbandit.kernels.json_rows import END, FLOAT, NEEDED, Form, column, form_of, scan
from lexbandit.service.events import Events, Kind

# The keys of a body and of its rows, and what is asked of each. Below the last one of a row stand
# the features or the objectives.
_DECISIONS = (
    {"by": 0, "version": NEEDED, "seen": 0, "rows": NEEDED},
    {"id": NEEDED, "arm": NEEDED, "propensity": NEEDED, "key": 0, "allowed": 0, "context": NEEDED},
)
_REWARDS = {"rows": NEEDED}, {"id": NEEDED, "values": NEEDED}

_text = msgspec.json.Decoder(list[str | None]).decode
_names = msgspec.json.Decoder(list[list[str] | None]).decode
_whole = msgspec.json.Decoder(list[int | None]).decode
_number = msgspec.json.Decoder(list[float | None]).decode
_any = msgspec.json.Decoder(list[Any]).decode


class DecisionsRead(NamedTuple):
    """Decisions of a block, with their callers' keys (None: none) and versions.

    alone   the events of decisions that must be folded alone
    """

    decisions: LoggedDecisions
    keys: Sequence[str | None]
    versions: Sequence[int]
    alone: Integers


class RewardsRead(NamedTuple):
    """Rewards of a block, and the events of rewards that must be folded alone."""

    rewards: LoggedRewards
    alone: Integers


def read_decisions(events: Events, features: Sequence[str]) -> DecisionsRead:
    """Return the decisions of events, with contexts of these features."""
    rows = _Rows(events, "decisions", features)
    body = _text, _whole, _whole, None
    row = _text, _text, _number, _text, _names, None
    _, versions, _, _, ids, arms, propensities, keys, allowed, _, *values = rows.columns(
        [*body, *row, *[_any] * len(features)]
    )
    contexts = dict(zip(features, values, strict=True))
    decisions = LoggedDecisions(rows.events, ids, arms, propensities, contexts, allowed)
    return DecisionsRead(decisions, keys, versions, rows.alone)


def read_rewards(events: Events, objectives: Sequence[str]) -> RewardsRead:
    """Return the rewards of events, of these objectives."""
    rows = _Rows(events, "rewards", objectives)
    _, ids, _, *values = rows.columns([None, _text, None, *[_number] * len(objectives)])
    table = np.array(values, np.float64).T  # None becomes NaN
    return RewardsRead(LoggedRewards(rows.events, ids, table), rows.alone)


@lru_cache(64)
def _form(kind: Kind, names: tuple[str, ...]) -> Form:
    """Return the form of the bodies of a kind, with these features or objectives."""
    written = [msgspec.json.encode(name)[1:-1].decode() for name in names]
    if kind == "decisions":
        return form_of(*_DECISIONS, dict.fromkeys(written, 0))
    return form_of(*_REWARDS, dict.fromkeys(written, FLOAT))


class _Rows:
    """The rows of the events of a kind.

    events   the event of each row
    alone    the events that are not of the form, and have no rows here
    """

    def __init__(self, events: Events, kind: Kind, names: Sequence[str]) -> None:
        self._ours, form = events.of_kind(kind), _form(kind, tuple(names))
        starts, ends = events.starts[self._ours], events.ends[self._ours]
        self._text = np.frombuffer(events.text, np.uint8)
        # A row has two braces that open.
        block = self._text[starts.min(initial=0) : ends.max(initial=0)]
        most = np.count_nonzero(block == ord("{")) // 2
        found, owners = np.empty((most, len(form.asks), 2), np.int64), np.empty(most, np.int64)
        count = scan(form, self._text, starts, ends, found, owners)
        self._set(found[:count], owners[:count])

    def _set(self, found: Integers, owners: Integers) -> None:
        self._found = found
        self.events = self._ours[owners]
        self.alone = np.delete(self._ours, owners)

    def columns(self, decoders: Sequence[Callable[[Any], list[Any]] | None]) -> list[list[Any]]:
        """Return the values of the keys, None where there is none; keys without decoder have none.

        All events are alone if a value cannot be decoded.
        """
        try:
            return [
                [] if decode is None else self._column(key, decode)
                for key, decode in enumerate(decoders)
            ]
        except msgspec.MsgspecError:
            self._set(self._found[:0], np.empty(0, np.int64))
            return [[] for _ in decoders]

    def _column(self, key: int, decode: Callable[[Any], list[Any]]) -> list[Any]:
        if (self._found[:, key, END] < 0).all():
            return [None] * len(self._found)
        return decode(column(self._text, self._found, key))
