"""A warm start: what a log tells, of a user's own making or of the service's."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lexbandit.checks import Integers
from lexbandit.chooser.batches import values_of
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.doors import ARM
from lexbandit.chooser.frames import Columns, columns_of, plain
from lexbandit.errors import InvalidInput, unknown_name

log = logging.getLogger("lexbandit")

# How `lexbandit export` calls its columns; of these a chooser learns from nothing else.
_CONTEXT, _REWARD = "context.", "reward."
_UNREAD = {"seq", "time", "id", "policy_version", "allowed"}
# Any log may have it. How rows are weighed by it is for a `Log`.
PROPENSITY = "propensity"
_DELAY = "delay."


def learn(chooser: ChooserCore, frame: Any) -> int:
    """Learn from a log: nothing is learned if anything in it is wrong. Returns the rows learned."""
    features, objectives = chooser.contexts.names, list(chooser._ledger.index)
    columns = _named(columns_of(frame, [*features, ARM, *objectives]), features, objectives)
    if ARM not in columns:
        raise InvalidInput(
            f"a log needs a column {ARM!r}; it has {', '.join(columns) or 'none at all'}."
        )
    names = plain(columns.pop(ARM))
    values = values_of(chooser.objectives, columns, len(names))
    told = ~np.isnan(values).all(axis=1)
    if len(names) and not told.any():
        raise InvalidInput(f"the log holds no reward of any objective ({', '.join(objectives)}).")
    places = _places(chooser, names)
    given = {name: columns[name] for name in features if name in columns}
    absent = _absent(chooser, given)
    points, notes = chooser.contexts.encode_many(given, len(names))
    shares = [o.shares(values[:, i]) for i, o in enumerate(chooser.objectives)]
    chooser.policy.update_many(points[told], places[told], np.column_stack(shares)[told])
    chooser._ledger.note_log(np.bincount(places[told], minlength=len(chooser._arms)))
    chooser.contexts.count(notes)
    for i in range(len(chooser.objectives)):
        chooser._ledger.warn_outside(i, values[:, i])
    if absent:
        log.warning(
            "the log has no column %s: all its rows are learned as if the value were missing.",
            " and none ".join(map(repr, absent)),
        )
    return int(told.sum())


def _places(chooser: ChooserCore, names: Sequence[Any]) -> Integers:
    """Return the numbers of arms; one that is not known is told with its row."""
    places = np.empty(len(names), np.int64)
    for row, name in enumerate(names):
        try:
            places[row] = chooser._arms.place(name)
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
    return places


def _named(columns: Columns, features: Iterable[str], objectives: Iterable[str]) -> Columns:
    """Return the columns under the names of features and objectives; unknown ones are refused."""
    known = {*features, ARM, *objectives}
    if PROPENSITY not in known:
        columns = {name: columns[name] for name in columns if name != PROPENSITY}
    exported = {_CONTEXT + name: name for name in features}
    exported |= {_REWARD + name: name for name in objectives}
    if exported.keys().isdisjoint(columns.keys() - known):
        names = {name: name for name in known}
    else:
        names = {**exported, ARM: ARM}
        columns = {name: columns[name] for name in columns if not _is_unread(name)}
    for name in columns:
        if name not in names:
            raise unknown_name("column of a log:", name, names)
    return {names[name]: column for name, column in columns.items()}


def _is_unread(name: str) -> bool:
    return name in _UNREAD or name.startswith(_DELAY)


def _absent(chooser: ChooserCore, given: Columns) -> list[str]:
    """Return the features that a log has no column of, where they may be missing."""
    absent = [feature for feature in chooser.contexts.features if feature.name not in given]
    for feature in absent:
        if feature.missing == "refuse":
            raise InvalidInput(
                f"the log has no column {feature.name!r}, a context feature; add it, or declare "
                'the feature with missing="middle".'
            )
    return [feature.name for feature in absent]
