"""Replay a log in blocks, with the same result as replaying it event by event.

Decisions and rewards are checked and encoded by columns, then recorded in the order of the log.
`learn` lets the policy and the sums learn the rewards, in the same order, in compiled loops.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.ledger import RECENT, Ledger, Pending
from lexbandit.contexts import Feature
from lexbandit.errors import InvalidInput

_NONE = type(None)
# Classes of values that may be mixed in a column, which is then encoded as its values are one by
# one. Truth values are apart: beside numbers they would become numbers.
_PLAIN, _FLAGS = frozenset((float, int, str, _NONE)), frozenset((bool, _NONE))
_VECTORS, _FLOATS = frozenset((list, _NONE)), frozenset((float, _NONE))
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class LoggedDecision(Protocol):
    """A decision as a log has it."""

    id: str
    arm: str
    propensity: float | None
    context: dict[str, Any] | None
    allowed: list[str] | None


class LoggedReward(Protocol):
    """The rewards of a decision as a log has them."""

    id: str
    values: dict[str, Any]


class ExpiredDecision(NamedTuple):
    """A decision whose time is over: the rewards that came, and the defaults of those missing."""

    id: str
    arm: str
    propensity: float
    since: float
    rewards: dict[str, float]
    defaults: dict[str, float]


class LogBlock:
    """A block of a log that is applied to a chooser. Call `learn` before the chooser is used.

    lock       to be held from before the first decision until `learn`
    pending    the decisions that wait for rewards, by id
    keep       how many of them there may be
    defers     rewards can be collected here; a policy that learns only complete rewards learns
               them one by one, by `Chooser.reward`
    """

    def __init__(self, chooser: Chooser) -> None:
        self.lock = chooser._lock
        self._ledger: Ledger = chooser._ledger
        self._contexts = chooser.contexts
        self._arms = chooser._arms
        self._objectives = chooser.objectives
        self.pending = self._ledger.pending
        self.keep = self._ledger.keep
        self.defers = self._ledger.in_parts
        self._defaults = {o.name: o.default for o in self._objectives if o.default is not None}
        self._table = np.empty((0, len(self._objectives)))
        self._decisions: list[Pending | None] = []
        self._given: list[tuple[float | None, ...] | None] = []
        self._rewarded: list[Pending] = []  # as they were before the rewards
        self._rows: list[int] = []  # where in the table their rewards are
        self._more: list[list[float]] = []  # rows that come after those of the table
        self._masks: dict[tuple[str, ...] | int, Booleans | None] = {}

    # Decisions.

    def decisions(
        self, rows: Sequence[LoggedDecision], times: Sequence[float]
    ) -> list[Pending | None]:
        """Return decisions as they are stored, and count missing, unknown and clipped values.

        None for one without a fast path, of which nothing is counted.
        """
        if not rows:
            return []
        numbers = [self._arms.numbers.get(row.arm) for row in rows]
        chances = np.array([row.propensity for row in rows], np.float64)
        known = np.array([row.propensity is not None for row in rows])
        usual = ~known | ((chances > 0.0) & (chances <= 1.0))
        if None in numbers:
            usual &= [number is not None for number in numbers]
        points = self._points([row.context for row in rows]) if usual.all() else None
        if points is None:
            return self._some(rows, times, usual.tolist())
        masks: Iterable[Booleans | None] = repeat(None)
        if self._arms.usual is not None or any(row.allowed is not None for row in rows):
            try:
                masks = [self._mask(row.arm, row.allowed) for row in rows]
            except InvalidInput:
                self.uncount([row.context for row in rows])
                return self._some(rows, times, usual.tolist())
        nothing = repeat(self._ledger.no_rewards)
        ids = [row.id for row in rows]
        fields = zip(ids, numbers, points, masks, chances.tolist(), times, nothing, repeat(False))
        self._decisions = list(map(_tuple, repeat(Pending), fields))
        return self._decisions

    def _some(
        self, rows: Sequence[LoggedDecision], times: Sequence[float], usual: Sequence[bool]
    ) -> list[Pending | None]:
        """Return the decisions that have a fast path, found one by one."""
        found: list[Pending | None] = []
        for row, time, fine in zip(rows, times, usual, strict=True):
            one = None
            if fine and row.context is not None and self._names_fit(row.context):
                try:
                    point, notes = self._contexts.encode(row.context)
                    mask = self._mask(row.arm, row.allowed)
                    chance = math.nan if row.propensity is None else row.propensity
                    number, nothing = self._arms.numbers[row.arm], self._ledger.no_rewards
                    one = Pending(row.id, number, point, mask, chance, time, nothing)
                    self._contexts.count(notes)
                except InvalidInput:
                    one = None
            found.append(one)
        self._decisions = found
        return found

    def _names_fit(self, context: Mapping[str, Any]) -> bool:
        return len(context) == len(self._contexts.names) and all(
            name in context for name in self._contexts.names
        )

    def _points(self, contexts: Sequence[Any]) -> list[Floats] | None:
        """Return the points of contexts, and count missing, unknown and clipped values.

        None, with nothing counted, if the contexts must be encoded one by one.
        """
        names = self._contexts.names
        try:
            columns = {name: [one[name] for one in contexts] for name in names}
        except (KeyError, TypeError):  # a feature, or a whole context, is missing
            return None
        if None in contexts or sum(map(len, contexts)) != len(contexts) * len(names):
            return None
        for feature in self._contexts.features:
            if not _alike(feature, columns[feature.name]):
                return None
        try:
            points, notes = self._contexts.encode_many(columns, len(contexts))
        except InvalidInput:
            return None
        self._contexts.count(notes)
        return list(points)

    def uncount(self, contexts: Iterable[Any]) -> None:
        """Take back what was counted of the contexts of decisions that are recorded elsewhere."""
        counts = self._contexts.counts
        for context in contexts:
            for name, note, count in self._contexts.encode(context)[1]:
                counts[name][note] -= count
                if not counts[name][note]:
                    del counts[name][note]

    def _mask(self, arm: str, allowed: Sequence[str] | None) -> Booleans | None:
        """Return the mask of a decision; what is not allowed is an `InvalidInput`."""
        if allowed is None and self._arms.usual is None:
            return None
        number = self._arms.numbers[arm]
        key = number if allowed is None else (arm, *allowed)
        if key not in self._masks:
            given = self._arms.mask(allowed, retired=True)
            self._masks[key] = self._arms.chosen_from(number, given)
        return self._masks[key]

    def drop_oldest(self) -> None:
        """Let the oldest decision leave for want of room."""
        self._ledger.drop_oldest()

    def recorded(self, count: int, end: int) -> None:
        """Count decisions that were added to `pending`, those before number `end`."""
        self._ledger.made += count
        last: list[Any] = self._decisions[end - min(count, RECENT) : end]
        self._ledger.recent.extend([(one.point, one.mask) for one in last])

    # Rewards.

    def rewards(self, rows: Sequence[LoggedReward]) -> None:
        """Check the rewards of a block; `reward` collects them by their numbers."""
        values = [row.values for row in rows]
        there = np.zeros(len(rows), np.int64)
        usual = np.ones(len(rows), np.bool_)
        self._table = np.empty((len(rows), len(self._objectives)))
        columns: list[list[Any]] = []
        for i, objective in enumerate(self._objectives):
            column = [one.get(objective.name) for one in values]
            if not {value.__class__ for value in column} <= _FLOATS:
                usual &= [value.__class__ in _FLOATS for value in column]
                column = [value if value.__class__ is float else None for value in column]
            columns.append(column)
            numbers = self._table[:, i] = np.array(column, np.float64)
            missing = np.isnan(numbers)
            low, high = objective.range
            usual &= missing | ((numbers >= low) & (numbers <= high))
            there += ~missing
        usual &= (there > 0) & (there == np.fromiter(map(len, values), np.int64, len(values)))
        given: list[Any] = list(zip(*columns, strict=True))
        for n in np.flatnonzero(~usual).tolist():
            given[n] = None
        self._given = given

    def fits(self, n: int, id: str) -> bool:
        """Tell whether reward n has a fast path: new, in range, and of a pending decision."""
        given, one = self._given[n], self.pending.get(id)
        if given is None or one is None or not self.defers:
            return False
        return all(new is None or old is None for new, old in zip(given, one.rewards, strict=True))

    def reward(self, n: int, id: str) -> bool:
        """Collect reward n for `learn`; False if it has no fast path."""
        given, one = self._given[n], self.pending.get(id)
        if given is None or one is None or not self.defers:
            return False
        _, arm, point, mask, propensity, since, before, _ = one
        if before is not self._ledger.no_rewards:
            if not self.fits(n, id):
                return False
            given = tuple([b if g is None else g for g, b in zip(given, before, strict=True)])
        after = (id, arm, point, mask, propensity, since, given, True)
        self.pending[id] = _tuple(Pending, after)
        self._rewarded.append(one)
        self._rows.append(n)
        return True

    def expire(self, now: float) -> list[ExpiredDecision]:
        """Let decisions leave whose time is over, and collect the defaults that they learn."""
        ledger, arms, names = self._ledger, self._arms.names, self._ledger.index
        gone = []
        while self.pending and ledger.wait is not None:
            one = next(iter(self.pending.values()))
            if one.since + ledger.wait > now:
                break
            del self.pending[one.id]
            ledger.expired += 1
            came = {n: v for n, v in zip(names, one.rewards, strict=True) if v is not None}
            defaults = {n: v for n, v in self._defaults.items() if n not in came}
            if defaults:
                ledger.defaulted += len(defaults)
                self._rewarded.append(one)
                self._rows.append(len(self._table) + len(self._more))
                self._more.append([defaults.get(name, math.nan) for name in names])
            fields = (one.id, arms[one.arm], one.propensity, one.since, came, defaults)
            gone.append(_tuple(ExpiredDecision, fields))
        return gone

    @property
    def due(self) -> float | None:
        """When the oldest decision's time is over."""
        return self._ledger.due

    def learn(self) -> None:
        """Let the policy and the sums learn the collected rewards."""
        rewarded = self._rewarded
        if not rewarded:
            return
        ledger = self._ledger
        table = np.concatenate([self._table, self._more]) if self._more else self._table
        values = np.ascontiguousarray(table[self._rows])
        _, numbers, rows, masks, chances, _, _, learned = zip(*rewarded, strict=True)
        amends, arms = np.array(learned), np.array(numbers, np.int64)
        propensities = np.array(chances)
        points = np.frombuffer(b"".join(rows)).reshape(len(rows), -1)
        shares = np.empty_like(values)
        for i, objective in enumerate(self._objectives):
            shares[:, i] = objective.shares(values[:, i])
        features, means = ledger.policy._learn_many_checked(points, arms, shares, masks, amends)
        ledger.sums.add_many(arms, propensities, masks, shares, values, features, means)
        for arm, count in enumerate(np.bincount(arms[~amends]).tolist()):
            ledger.plays[arm] += count
        self._rewarded, self._rows = [], []


def _alike(feature: Feature, column: Sequence[Any]) -> bool:
    """Tell whether a column is encoded as its values are one by one."""
    classes = {value.__class__ for value in column}
    if feature.kind == "vector":
        return classes <= _VECTORS
    return classes <= _PLAIN or classes <= _FLAGS
