"""Replay a log in blocks, with the same result as replaying it event by event.

Decisions and rewards of a block are checked and encoded by columns. `plan` works out what a stretch
of its events does, up to the first that has no place here, and changes nothing; `apply` does it,
and lets the policy and the sums learn the rewards in compiled loops.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, KeysView, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

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
_VECTORS = frozenset((list, _NONE))
# Makes a named tuple in half the time.
_tuple = tuple.__new__

Ids = KeysView[str]


class LoggedDecisions(NamedTuple):
    """Decisions as a log has them, and which event of the block each is of.

    contexts   by feature, one value a decision; None where a context has none
    erased     whether a decision's context was erased
    """

    events: Sequence[int]
    ids: Sequence[str]
    arms: Sequence[str]
    propensities: Sequence[float | None]
    contexts: Mapping[str, Sequence[Any]]
    erased: Sequence[bool]
    allowed: Sequence[list[str] | None]


class LoggedRewards(NamedTuple):
    """Rewards as a log has them, and which event of the block they are of.

    values   by objective, one value for each decision's rewards; NaN where there is none
    """

    events: Sequence[int]
    ids: Sequence[str]
    values: Mapping[str, Sequence[Any]]


class LeavingDecision(NamedTuple):
    """A decision that leaves before an event: its time is over, or there is no room for it.

    `decision` has the rewards that came; `defaults` are those of the missing ones, learned now.
    """

    event: int
    decision: Pending
    expired: bool
    defaults: Mapping[str, float]


class Learned(NamedTuple):
    """Rewards and defaults that the policy learns, in order.

    events      before or by which event each is learned
    decisions   as they were before
    values      in the objectives' own units, float[n, D]; NaN: none
    """

    events: Sequence[int]
    decisions: Sequence[Pending]
    values: Floats


class Stretch(NamedTuple):
    """What the events from `start` to `end` of a block do.

    rows       the first and the last but one of their rows of decisions
    made       these decisions, with the rewards that came
    changed    earlier decisions to which rewards came
    leaving    the decisions that leave, in order: the oldest of all
    learned    what the policy learns
    others     rows of rewards of decisions that do not wait for any at that time
    """

    start: int
    end: int
    rows: tuple[int, int]
    made: list[Pending]
    changed: dict[str, Pending]
    leaving: list[LeavingDecision]
    learned: Learned
    others: list[int]


def learns_in_blocks(chooser: Chooser) -> bool:
    """Tell whether a chooser can replay blocks: its policy learns a decision's rewards in parts."""
    return chooser._ledger.in_parts


class LogBlock:
    """A block of a log: decisions and rewards of events at these times, in order.

    arms    the names of the arms by their numbers
    """

    def __init__(
        self,
        chooser: Chooser,
        times: Sequence[float],
        decisions: LoggedDecisions,
        rewards: LoggedRewards,
    ) -> None:
        self._lock = chooser._lock
        self._ledger: Ledger = chooser._ledger
        self._contexts = chooser.contexts
        self._arms = chooser._arms
        self.arms = self._arms.names
        self._objectives = chooser.objectives
        self._defaults = {o.name: o.default for o in self._objectives if o.default is not None}
        self._times = np.array(times)
        self._masks: dict[tuple[str, ...] | int, Booleans | None] = {}
        self._decisions, self._rewards = decisions, rewards
        with self._lock:
            self._made = self._as_stored([times[event] for event in decisions.events])
        self._table, self._given = self._as_rewards()
        self._unusual: list[int] = []  # the events that have rows without a place here
        for events, ours in ((decisions.events, self._made), (rewards.events, self._given)):
            if None in ours:
                self._unusual += [n for n, one in zip(events, ours, strict=True) if one is None]
        self._unusual.sort()

    # Decisions.

    def _as_stored(self, times: Sequence[float]) -> list[Any]:
        """Return decisions as they are stored, and count missing, unknown and clipped values.

        None for one without a place here, of which nothing is counted.
        """
        _, ids, arms, propensities, contexts, erased, allowed = self._decisions
        numbers = [self._arms.numbers.get(arm) for arm in arms]
        chances = np.array(propensities, np.float64)
        usual = np.isnan(chances) | ((chances > 0.0) & (chances <= 1.0))
        usual &= ~np.array(erased, np.bool_)
        if None in numbers:
            usual &= [number is not None for number in numbers]
        points = self._points(contexts, len(ids)) if usual.all() else None
        if points is None:
            return self._one_by_one(times, usual.tolist())
        masks: Iterable[Booleans | None] = repeat(None)
        if self._arms.usual is not None or any(one is not None for one in allowed):
            try:
                masks = list(map(self._mask, arms, allowed))
            except InvalidInput:
                self._uncount(range(len(ids)))
                return self._one_by_one(times, usual.tolist())
        nothing = repeat(self._ledger.no_rewards)
        fields = zip(ids, numbers, points, masks, chances.tolist(), times, nothing, repeat(False))
        return list(map(_tuple, repeat(Pending), fields))

    def _one_by_one(self, times: Sequence[float], usual: Sequence[bool]) -> list[Pending | None]:
        """Return the decisions that have a place here, found one by one."""
        found: list[Pending | None] = []
        _, ids, arms, propensities, _, _, allowed = self._decisions
        for n, (id, arm, chance) in enumerate(zip(ids, arms, propensities, strict=True)):
            one = None
            if usual[n]:
                try:
                    point, notes = self._contexts.encode(self._context(n))
                    mask = self._mask(arm, allowed[n])
                    known = math.nan if chance is None else chance
                    number, nothing = self._arms.numbers[arm], self._ledger.no_rewards
                    one = Pending(id, number, point, mask, known, times[n], nothing)
                    self._contexts.count(notes)
                except InvalidInput:
                    one = None
            found.append(one)
        return found

    def _context(self, n: int) -> dict[str, Any]:
        return {name: column[n] for name, column in self._decisions.contexts.items()}

    def _points(self, contexts: Mapping[str, Sequence[Any]], count: int) -> list[Floats] | None:
        """Return the points of contexts, and count missing, unknown and clipped values.

        None, with nothing counted, if the contexts must be encoded one by one.
        """
        if not all(_alike(one, contexts[one.name]) for one in self._contexts.features):
            return None
        try:
            points, notes = self._contexts.encode_many(contexts, count)
        except InvalidInput:
            return None
        self._contexts.count(notes)
        return list(points)

    def uncount(self, start: int, end: int) -> None:
        """Take back what was counted of the decisions of events that others record."""
        first, last = self.rows(start, end)
        with self._lock:
            self._uncount([n for n in range(first, last) if self._made[n] is not None])

    def _uncount(self, rows: Iterable[int]) -> None:
        counts = self._contexts.counts
        for n in rows:
            for name, note, count in self._contexts.encode(self._context(n))[1]:
                counts[name][note] -= count
                if not counts[name][note]:
                    del counts[name][note]

    def rows(self, start: int, end: int) -> tuple[int, int]:
        """Return the first row of decisions of events, and the one after the last."""
        events = self._decisions.events
        return bisect_left(events, start), bisect_left(events, end)

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

    # Rewards.

    def _as_rewards(self) -> tuple[Floats, list[Any]]:
        """Return rewards as float[n, D] and as they are stored; None for those without a place."""
        count = len(self._rewards.ids)
        usual = np.ones(count, np.bool_)
        table = np.empty((count, len(self._objectives)))
        columns: list[Sequence[Any]] = []
        for i, objective in enumerate(self._objectives):
            column = self._rewards.values[objective.name]
            if set(map(type, column)) - {float}:
                usual &= [value.__class__ is float for value in column]
                column = [value if value.__class__ is float else math.nan for value in column]
            columns.append(column)
            table[:, i] = column
            low, high = objective.range
            usual &= ~((table[:, i] < low) | (table[:, i] > high))
        given: list[Any] = list(zip(*columns, strict=True))
        missing = np.isnan(table)
        for n in np.flatnonzero(missing.any(axis=1)).tolist():
            given[n] = tuple([None if math.isnan(value) else value for value in given[n]])
        for n in np.flatnonzero(~usual | missing.all(axis=1)).tolist():
            given[n] = None
        return table, given

    # What a stretch of events does.

    def plan(self, start: int, end: int, over: Ids, taken: Ids) -> Stretch:
        """Return what the events from `start` on do, to `end` or the first without a place here.

        `over` are the ids of decisions whose time is over: rewards of these are among `others`. A
        new decision has no place here under one of them, or under one that is `taken`.
        """
        next_unusual = bisect_left(self._unusual, start)
        if next_unusual < len(self._unusual):
            end = min(end, self._unusual[next_unusual])
        while True:
            stretch = self._planned(start, end, over, taken)
            if isinstance(stretch, Stretch):
                return stretch
            end = stretch

    def _planned(self, start: int, end: int, over: Ids, taken: Ids) -> Stretch | int:
        """Return what a stretch does; or where it must end since an event has no place here."""
        first, last = self.rows(start, end)
        ids, owners = self._decisions.ids[first:last], self._decisions.events[first:last]
        pending = self._ledger.pending
        positions = dict(zip(ids, range(len(ids)), strict=True))
        known = pending.keys(), over, taken
        if len(positions) < len(ids) or not all(some.isdisjoint(ids) for some in known):
            return _first_known(ids, owners, known)
        leaving = self._leaving(start, end, owners)
        if leaving is None:
            return start
        gone = {one.id: event for event, one, _ in leaving}
        made = self._made[first:last]
        changed: dict[str, Pending] = {}
        nothing = self._ledger.no_rewards
        learned: list[Pending] = []
        rows: list[int] = []
        others: list[int] = []
        given = self._rewards.events
        begin, until = bisect_left(given, start), bisect_left(given, end)
        for n, id, rewards, event in zip(
            range(begin, until),
            self._rewards.ids[begin:until],
            self._given[begin:until],
            given[begin:until],
            strict=True,
        ):
            position = positions.get(id)
            if position is not None:
                one = made[position] if owners[position] < event else None
            else:
                one = changed.get(id) or pending.get(id)
            if one is None or id in over or (id in gone and gone[id] <= event):
                others.append(n)
                continue
            _, arm, point, mask, propensity, since, before, _ = one
            now = rewards
            if before is not nothing:
                both = list(zip(before, rewards, strict=True))
                if any(old is not None and new is not None for old, new in both):
                    return event
                now = tuple([new if old is None else old for old, new in both])
            after = _tuple(Pending, (id, arm, point, mask, propensity, since, now, True))
            if position is None:
                changed[id] = after
            else:
                made[position] = after
            learned.append(one)
            rows.append(n)
        left = []
        for event, one, expired in leaving:
            if expired and one.id in over:
                return event
            position = positions.get(one.id)
            final = changed.get(one.id, one) if position is None else made[position]
            left.append(self._left(event, final, expired))
        events = [given[n] for n in rows]
        values = self._table[rows]
        defaults = [one for one in left if one.defaults]
        learning = _with_defaults(
            Learned(events, learned, values), defaults, list(self._ledger.index)
        )
        return Stretch(start, end, (first, last), made, changed, left, learning, others)

    def _leaving(
        self, start: int, end: int, owners: Sequence[int]
    ) -> list[tuple[int, Pending, bool]] | None:
        """Return which decisions leave, before which event, and whether their time is over.

        The oldest leave first. With `keep` of them stored, a decision leaves when another is made.
        None if more are stored.
        """
        ledger, pending = self._ledger, self._ledger.pending
        wait, keep, now = ledger.wait, ledger.keep, float(self._times[end - 1])
        stored, made = len(pending), len(owners)
        if stored > keep:
            return None
        excess = max(stored + made - keep, 0)
        oldest: list[Pending] = []
        if excess or wait is not None:
            for one in pending.oldest():
                if len(oldest) >= excess and (wait is None or one.since + wait > now):
                    break
                oldest.append(one)
        if len(oldest) == stored:  # then new ones may leave too
            oldest += self._made[slice(*self.rows(start, end))]
        if not oldest:
            return []
        over = [end] * len(oldest)
        if wait is not None:
            dues = np.array([one.since for one in oldest]) + wait
            over = (start + np.searchsorted(self._times[start:end], dues)).tolist()
        free = keep - stored
        dropped = chain(islice(owners, free, None), repeat(end))
        left = []
        for one, expires, drops in zip(oldest, over, dropped, strict=False):
            event = min(expires, drops)
            if event >= end:
                break
            left.append((event, one, expires <= drops))
        return left

    def _left(self, event: int, one: Pending, expired: bool) -> LeavingDecision:
        defaults: Mapping[str, float] = {}
        if expired and self._defaults:
            missing = zip(self._ledger.index, one.rewards, strict=True)
            defaults = {
                name: self._defaults[name]
                for name, value in missing
                if value is None and name in self._defaults
            }
        return _tuple(LeavingDecision, (event, one, expired, defaults))

    def apply(self, stretch: Stretch, *, learn: bool = True) -> None:
        """Do what a stretch does; without `learn`, all but what the policy learns by it."""
        with self._lock:
            self._apply(stretch)
            if learn:
                self.learn(stretch.learned)

    def _apply(self, stretch: Stretch) -> None:
        ledger, pending, leaving = self._ledger, self._ledger.pending, stretch.leaving
        for id, one in stretch.changed.items():
            pending[id] = one
        stored = len(pending)
        for _ in range(min(len(leaving), stored)):
            pending.pop_oldest()
        first, last = stretch.rows
        gone = max(len(leaving) - stored, 0)
        ids = self._decisions.ids[first + gone : last]
        pending.extend(ids, stretch.made[gone:])
        ledger.made += last - first
        ledger.recent.extend([(one.point, one.mask) for one in stretch.made[-RECENT:]])
        expired = sum([one.expired for one in leaving])
        ledger.expired += expired
        ledger.defaulted += sum([len(one.defaults) for one in leaving])
        ledger.count_dropped(len(leaving) - expired)

    @property
    def due(self) -> float | None:
        """When the oldest decision's time is over."""
        return self._ledger.due

    def learn(self, learned: Learned) -> None:
        """Let the policy and the sums learn the rewards of a stretch, in the stretches' order.

        Meanwhile further stretches may be planned and applied, which need nothing of what is known,
        and nothing else may be done with the chooser.
        """
        if not learned.decisions:
            return
        ledger, values = self._ledger, learned.values
        _, numbers, rows, masks, chances, _, _, before = zip(*learned.decisions, strict=True)
        amends, arms = np.array(before), np.array(numbers, np.int64)
        propensities = np.array(chances)
        points = np.frombuffer(b"".join(rows)).reshape(len(rows), -1)
        shares = np.empty_like(values)
        for i, objective in enumerate(self._objectives):
            shares[:, i] = objective.shares(values[:, i])
        features, means = ledger.policy._learn_many_checked(points, arms, shares, masks, amends)
        ledger.sums.add_many(arms, propensities, masks, shares, values, features, means)
        for arm, count in enumerate(np.bincount(arms[~amends]).tolist()):
            ledger.plays[arm] += count


def _with_defaults(
    rewards: Learned, leaving: Sequence[LeavingDecision], names: Sequence[str]
) -> Learned:
    """Return rewards and the defaults of decisions that leave, in the order of their events."""
    if not leaving:
        return rewards
    values = [[one.defaults.get(name, math.nan) for name in names] for one in leaving]
    events = [one.event for one in leaving] + list(rewards.events)
    decisions = [one.decision for one in leaving] + list(rewards.decisions)
    order = np.argsort(events, kind="stable")  # those that leave come before rewards of an event
    table = np.concatenate([np.array(values), rewards.values])[order]
    positions = order.tolist()
    return Learned([events[n] for n in positions], [decisions[n] for n in positions], table)


def _first_known(ids: Sequence[str], events: Sequence[int], known: Sequence[Ids]) -> int:
    """Return the event of the first decision under an id that is known."""
    seen: set[str] = set()
    for id, event in zip(ids, events, strict=True):
        if id in seen or any(id in some for some in known):
            return event
        seen.add(id)
    raise AssertionError("no id is known")


def _alike(feature: Feature, column: Sequence[Any]) -> bool:
    """Tell whether a column is encoded as its values are one by one."""
    classes = {value.__class__ for value in column}
    if feature.kind == "vector":
        return classes <= _VECTORS
    return classes <= _PLAIN or classes <= _FLAGS
