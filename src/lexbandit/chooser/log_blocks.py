"""Replay a log in blocks, with the same result as replaying it event by event.

Decisions and rewards of a block are checked and encoded by columns. `plan` works out what a stretch
of its events does, up to the first that has no place here, and changes nothing; `apply` does it,
and lets the policy and the sums learn the rewards in compiled loops.

An event has no place here if it needs more than columns: an unknown arm, a value outside its range,
an id that is known already, a reward that was given before. The caller replays such an event alone,
and plans the next stretch after it.
"""

import math
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from itertools import chain, compress, filterfalse, islice, repeat, takewhile
from typing import Any, NamedTuple, Self

import numpy as np

from lexbandit.checks import Booleans, Floats, Integers
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
    """

    events: Integers
    ids: Sequence[str]
    arms: Sequence[str]
    propensities: Sequence[float | None]
    contexts: Mapping[str, Sequence[Any]]
    allowed: Sequence[list[str] | None]


class LoggedRewards(NamedTuple):
    """Rewards as a log has them, and which event of the block they are of.

    values   float[n, D], by objective; NaN where there is none
    """

    events: Integers
    ids: Sequence[str]
    values: Floats


class PendingColumns(NamedTuple):
    """Decisions by columns; see `Pending`. `rewards` are float[n, D], NaN where none came."""

    ids: Sequence[str]
    arms: Integers
    points: Floats
    masks: Sequence[Booleans | None]
    propensities: Floats
    since: Floats
    rewards: Floats
    learned: Booleans

    @classmethod
    def of(cls, decisions: Sequence[Pending], dimension: int, objectives: int) -> Self:
        """Return stored decisions by columns."""
        columns: Any = zip(*decisions, strict=True) if decisions else ((),) * len(cls._fields)
        ids, arms, points, masks, propensities, since, rewards, learned = columns
        return cls(
            ids,
            np.array(arms, np.int64),
            np.frombuffer(b"".join(points)).reshape(len(ids), dimension),
            masks,
            np.array(propensities, np.float64),
            np.array(since, np.float64),
            np.array(rewards, np.float64).reshape(len(ids), objectives),
            np.array(learned, np.bool_),
        )

    def part(self, first: int, last: int) -> Self:
        """Return the decisions from `first` on, up to the one before `last`."""
        columns: list[Any] = [column[first:last] for column in self]
        return type(self)(*columns)

    def rows(self, rows: Integers) -> Self:
        """Return some of the decisions, in this order."""
        numbers = rows.tolist()
        columns: list[Any] = [
            column[rows] if isinstance(column, np.ndarray) else [column[n] for n in numbers]
            for column in self
        ]
        return type(self)(*columns)

    def then(self, others: Self) -> Self:
        """Return these decisions and others after them; all arrays are new ones."""
        both: Iterator[tuple[Any, Any]] = zip(self, others, strict=True)
        columns: list[Any] = [
            np.concatenate([a, b]) if isinstance(a, np.ndarray) else [*a, *b] for a, b in both
        ]
        return type(self)(*columns)

    def reward(self, at: Integers, values: Floats) -> Self:
        """Add rewards values[n, D] of the decisions at these positions; NaN: none.

        Returns the decision of each row as it was before, and `learned` if it is rewarded again.
        """
        before = self.rows(at)._replace(learned=self.learned[at] | _repeats(at))
        for i, column in enumerate(values.T):
            there = ~np.isnan(column)
            self.rewards[at[there], i] = column[there]
        self.learned[at] = True
        return before

    def stored(self, nothing: tuple[float | None, ...], points: Sequence[Floats]) -> list[Pending]:
        """Return the decisions as they are stored; `nothing` stands for no rewards.

        `points` are given, as a row of `self.points` would hold the points of all decisions.
        """
        rewards: list[Any] = list(zip(*self.rewards.T.tolist(), strict=True))
        missing = np.isnan(self.rewards)
        for n in np.flatnonzero(missing.any(axis=1)).tolist():
            rewards[n] = tuple([None if math.isnan(value) else value for value in rewards[n]])
        for n in np.flatnonzero(missing.all(axis=1)).tolist():
            rewards[n] = nothing
        fields = zip(
            self.ids,
            self.arms.tolist(),
            points,
            self.masks,
            self.propensities.tolist(),
            self.since.tolist(),
            rewards,
            self.learned.tolist(),
            strict=True,
        )
        return list(map(_tuple, repeat(Pending), fields))


class Leaving(NamedTuple):
    """Decisions that leave: their time is over, or there are more than `keep`.

    events      before which event each leaves
    expired     whether its time is over
    decisions   with the rewards that came
    """

    events: Integers
    expired: Booleans
    decisions: Sequence[Pending]

    def over(self) -> tuple[Integers, list[Pending]]:
        """Return the decisions whose time is over, and before which event each leaves."""
        return self.events[self.expired], list(compress(self.decisions, self.expired))

    def first_over(self, ids: Ids) -> int | None:
        """Return before which event the first of these leaves by time; None if none does."""
        if not ids or ids.isdisjoint([one.id for one in self.decisions]):
            return None
        events, decisions = self.over()
        return next(
            (int(n) for n, one in zip(events, decisions, strict=True) if one.id in ids), None
        )


class Learned(NamedTuple):
    """Rewards and defaults that the policy learns, in order.

    events      before or by which event each is learned
    decisions   as they were before
    values      in the objectives' own units, float[n, D]; NaN: none
    """

    events: Integers
    decisions: PendingColumns
    values: Floats


class Stretch(NamedTuple):
    """What the events from `start` to `end` of a block do.

    rows        the first of their rows of decisions, and the one after the last
    made        these decisions, with the rewards that came
    changed     earlier decisions to which rewards came, as they are now
    leaving     the decisions that leave, in order: the oldest of all
    learned     what the policy learns
    defaulted   how many values of it are defaults
    others      rows of rewards of decisions that do not wait for any at that time
    """

    start: int
    end: int
    rows: tuple[int, int]
    made: list[Pending]
    changed: dict[str, Pending]
    leaving: Leaving
    learned: Learned
    defaulted: int
    others: list[int]


def learns_in_blocks(chooser: Chooser) -> bool:
    """Tell whether a chooser can replay blocks: its policy learns a decision's rewards in parts."""
    return chooser._ledger.in_parts


class LogBlock:
    """A block of a log: decisions and rewards of events at these times, in order.

    arms    the names of the arms by their numbers
    """

    def __init__(
        self, chooser: Chooser, times: Floats, decisions: LoggedDecisions, rewards: LoggedRewards
    ) -> None:
        self._lock = chooser._lock
        self._ledger: Ledger = chooser._ledger
        self._contexts = chooser.contexts
        self._arms = chooser._arms
        self.arms = self._arms.names
        self._objectives = chooser.objectives
        defaults = [one.default for one in self._objectives]
        self._defaults: Floats = np.array(defaults, np.float64)  # NaN: it has none
        self._times = times
        self._masks: dict[tuple[str, ...] | int, Booleans | None] = {}
        self._decisions, self._rewards = decisions, rewards
        with self._lock:
            self._made, self._usual = self._encoded()
        usual = self._usual_rewards()
        # The events that have rows without a place here.
        unusual = decisions.events[~self._usual], rewards.events[~usual]
        self._unusual = np.sort(np.concatenate(unusual))

    # Decisions.

    def _encoded(self) -> tuple[PendingColumns, Booleans]:
        """Return the decisions, and which of them have a place here.

        Missing, unknown and clipped values of the contexts of these are counted.
        """
        events, ids, arms, propensities, contexts, allowed = self._decisions
        chances = np.array(propensities, np.float64)
        usual = np.isnan(chances) | ((chances > 0.0) & (chances <= 1.0))
        numbers = np.array(list(map(self._arms.numbers.get, arms, repeat(-1))), np.int64)
        usual &= numbers >= 0
        masks: list[Booleans | None] = [None] * len(ids)
        points = self._points(contexts, len(ids)) if usual.all() else None
        if points is not None and (self._arms.usual is not None or allowed.count(None) < len(ids)):
            try:
                masks = list(map(self._mask, arms, allowed))
            except InvalidInput:
                self._uncount(range(len(ids)))
                points = None
        if points is None:
            points = np.zeros((len(ids), self._contexts.dimension))
            for n in np.flatnonzero(usual).tolist():
                try:
                    points[n], notes = self._contexts.encode(self._context(n))
                    masks[n] = self._mask(arms[n], allowed[n])
                    self._contexts.count(notes)
                except InvalidInput:
                    usual[n] = False
        rewards = np.full((len(ids), len(self._objectives)), math.nan)
        learned = np.zeros(len(ids), np.bool_)
        since = self._times[events]
        return PendingColumns(ids, numbers, points, masks, chances, since, rewards, learned), usual

    def _context(self, n: int) -> dict[str, Any]:
        return {name: column[n] for name, column in self._decisions.contexts.items()}

    def _points(self, contexts: Mapping[str, Sequence[Any]], count: int) -> Floats | None:
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
        return points

    def uncount(self, start: int, end: int) -> None:
        """Take back what was counted of the decisions of events that others record."""
        first, last = self.rows(start, end)
        with self._lock:
            self._uncount((first + np.flatnonzero(self._usual[first:last])).tolist())

    def _uncount(self, rows: Iterable[int]) -> None:
        counts = self._contexts.counts
        for n in rows:
            for name, note, count in self._contexts.encode(self._context(n))[1]:
                counts[name][note] -= count
                if not counts[name][note]:
                    del counts[name][note]

    def rows(self, start: int, end: int) -> tuple[int, int]:
        """Return the first row of decisions of events, and the one after the last."""
        return _between(self._decisions.events, start, end)

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

    def _usual_rewards(self) -> Booleans:
        """Return which of the rewards have a place here: there are some, all in their ranges."""
        values = self._rewards.values
        ranges = np.array([objective.range for objective in self._objectives])
        outside = (values < ranges[:, 0]) | (values > ranges[:, 1])
        return np.asarray(~(outside.any(axis=1) | np.isnan(values).all(axis=1)))

    # What a stretch of events does.

    def plan(self, start: int, end: int, over: Ids, taken: Ids) -> Stretch:
        """Return what the events from `start` on do, to `end` or the first without a place here.

        `over` are the ids of decisions whose time is over: rewards of these are among `others`. A
        new decision has no place here under one of them, or under one that is `taken`.
        """
        for event in self._unusual[np.searchsorted(self._unusual, start) :][:1].tolist():
            end = min(end, event)
        while True:
            stretch = self._planned(start, end, over, taken)
            if isinstance(stretch, Stretch):
                return stretch
            end = stretch

    def _planned(self, start: int, end: int, over: Ids, taken: Ids) -> Stretch | int:
        """Return what a stretch does; or where it must end since an event has no place here."""
        first, last = self.rows(start, end)
        made, owners = self._made.part(first, last), self._decisions.events[first:last]
        pending = self._ledger.pending
        known = _first_known(made.ids, owners, (pending.keys(), over, taken))
        if known is not None:
            return known
        if len(pending) > self._ledger.keep:
            return start
        begin, until = _between(self._rewards.events, start, end)
        wanted, events = self._rewards.ids[begin:until], self._rewards.events[begin:until]
        positions, earlier = self._rewarded(made.ids, wanted)
        leaves, expired, oldest = self._leaving(start, end, made.since, owners)
        left = [positions.get(one.id, -1) for one in oldest] + [*range(len(leaves) - len(oldest))]
        at = np.array(list(map(positions.get, wanted, repeat(-1))), np.int64)
        if over and not over.isdisjoint(wanted):
            at[[id in over for id in wanted]] = -1
        comes = np.concatenate([owners, np.full(len(earlier), -1)])
        waits = _waits_for(at, events, comes, left, leaves, end)
        decisions = made.then(self._columns(earlier))
        values = self._rewards.values[begin:until][waits]
        learned = _learned(decisions, at[waits], events[waits], values)
        if isinstance(learned, int):
            return learned
        points = [*made.points, *(one.point for one in earlier)]
        now = decisions.stored(self._ledger.no_rewards, points)
        gone = [one if n < 0 else now[n] for n, one in zip(left, chain(oldest, now), strict=False)]
        leaving = Leaving(leaves, expired, gone)
        again = leaving.first_over(over)
        if again is not None:
            return again
        return Stretch(
            start,
            end,
            (first, last),
            now[: last - first],
            {one.id: one for one in now[last - first :]},
            leaving,
            *self._with_defaults(learned, leaving),
            (begin + np.flatnonzero(~waits)).tolist(),
        )

    def _rewarded(
        self, made: Sequence[str], wanted: Sequence[str]
    ) -> tuple[dict[str, int], list[Pending]]:
        """Return the positions of decisions by their ids, and the earlier ones among them.

        The decisions that are made here come first, then the earlier ones that rewards are of.
        """
        positions = dict(zip(made, range(len(made)), strict=True))
        pending = self._ledger.pending
        others = dict.fromkeys(filterfalse(positions.__contains__, wanted))
        earlier = [pending[id] for id in others if id in pending]
        for one in earlier:
            positions[one.id] = len(positions)
        return positions, earlier

    def _columns(self, decisions: Sequence[Pending]) -> PendingColumns:
        return PendingColumns.of(decisions, self._contexts.dimension, len(self._objectives))

    def _leaving(
        self, start: int, end: int, since: Floats, owners: Integers
    ) -> tuple[Integers, Booleans, list[Pending]]:
        """Return before which events decisions leave, whether by time, and those stored before.

        The oldest leave first: those that were stored before this stretch, then those that it
        makes, at times `since` by the events `owners`. A decision leaves when its time is over, or
        when another is made while `keep` of them are stored.
        """
        ledger, pending = self._ledger, self._ledger.pending
        wait, free, now = ledger.wait, ledger.keep - len(pending), float(self._times[end - 1])
        excess = len(owners) - free
        in_order = pending.oldest()
        oldest = list(islice(in_order, max(excess, 0)))
        if wait is not None:
            oldest += takewhile(lambda one: one.since + wait <= now, in_order)
        begun = np.array([one.since for one in oldest])
        if len(oldest) == len(pending):  # then new ones may leave too
            begun = np.concatenate([begun, since])
        expires = drops = np.full(len(begun), end)
        if wait is not None:
            expires = start + np.searchsorted(self._times[start:end], begun + wait)
        if excess > 0:
            by = owners[free : free + len(begun)]
            drops = np.concatenate([by, drops[len(by) :]])
        events = np.minimum(expires, drops)
        count = int(np.searchsorted(events, end))
        return events[:count], (expires <= drops)[:count], oldest[:count]

    def _with_defaults(self, rewards: Learned, leaving: Leaving) -> tuple[Learned, int]:
        """Return rewards and the defaults of decisions that leave, in the order of their events.

        And how many defaults there are.
        """
        if np.isnan(self._defaults).all():
            return rewards, 0
        events, over = leaving.over()
        missing = [n for n, one in enumerate(over) if None in one.rewards]
        decisions = self._columns([over[n] for n in missing])
        values = np.where(np.isnan(decisions.rewards), self._defaults, math.nan)
        some = np.flatnonzero(~np.isnan(values).all(axis=1))
        if not len(some):
            return rewards, 0
        # Those that leave before an event come before the rewards of that event.
        events = np.concatenate([events[missing][some], rewards.events])
        order = np.argsort(events, kind="stable")
        decisions = decisions.rows(some).then(rewards.decisions).rows(order)
        defaulted = int(np.count_nonzero(~np.isnan(values)))
        values = np.concatenate([values[some], rewards.values])
        return Learned(events[order], decisions, values[order]), defaulted

    def apply(self, stretch: Stretch, *, learn: bool = True) -> None:
        """Do what a stretch does; without `learn`, all but what the policy learns by it."""
        with self._lock:
            self._apply(stretch)
            if learn:
                self.learn(stretch.learned)

    def _apply(self, stretch: Stretch) -> None:
        ledger, pending, leaving = self._ledger, self._ledger.pending, stretch.leaving
        for id, one in stretch.changed.items():
            pending.replace(id, one)
        left, expired = len(leaving.events), int(np.count_nonzero(leaving.expired))
        gone = max(left - len(pending), 0)
        pending.drop_oldest(left - gone)
        first, last = stretch.rows
        pending.extend(self._decisions.ids[first + gone : last], stretch.made[gone:])
        ledger.made += last - first
        ledger.recent.extend([(one.point, one.mask) for one in stretch.made[-RECENT:]])
        ledger.expired += expired
        ledger.defaulted += stretch.defaulted
        ledger.count_dropped(left - expired)

    @property
    def due(self) -> float | None:
        """When the oldest decision's time is over."""
        return self._ledger.due

    def learn(self, learned: Learned) -> None:
        """Let the policy and the sums learn the rewards of a stretch, in the stretches' order.

        Meanwhile further stretches may be planned and applied, which need nothing of what the
        policy knows, and nothing else may be done with the chooser.
        """
        _, (_, arms, points, masks, propensities, _, _, amends), values = learned
        if not len(arms):
            return
        ledger = self._ledger
        shares = np.empty_like(values)
        for i, objective in enumerate(self._objectives):
            shares[:, i] = objective.shares(values[:, i])
        features, means = ledger.policy._learn_many_checked(points, arms, shares, masks, amends)
        ledger.sums.add_many(arms, propensities, masks, shares, values, features, means)
        for arm, count in enumerate(np.bincount(arms[~amends]).tolist()):
            ledger.plays[arm] += count


def _between(events: Integers, start: int, end: int) -> tuple[int, int]:
    """Return the first row of events, and the one after the last."""
    first, last = np.searchsorted(events, (start, end)).tolist()
    return first, last


def _repeats(values: Integers) -> Booleans:
    """Tell of each value whether it came before."""
    found = np.ones(len(values), np.bool_)
    found[np.unique(values, return_index=True)[1]] = False
    return found


def _learned(
    decisions: PendingColumns, at: Integers, events: Integers, values: Floats
) -> Learned | int:
    """Add rewards values[n, D] to the decisions at these positions, and return what is learned.

    Or return the first event with a reward that its decision has already, and add nothing.
    """
    twice = _given_twice(decisions.rewards, at, values)
    if twice.any():
        return int(events[twice][0])
    return Learned(events, decisions.reward(at, values), values)


def _given_twice(before: Floats, at: Integers, values: Floats) -> Booleans:
    """Tell which rows of values[n, D] have one that the decision at this place has already.

    It has those of `before`, and those of the rows before.
    """
    found = np.zeros(len(at), np.bool_)
    for i, column in enumerate(values.T):
        there = np.flatnonzero(~np.isnan(column))
        found[there] |= _repeats(at[there]) | ~np.isnan(before[at[there], i])
    return found


def _waits_for(
    at: Integers, events: Integers, comes: Integers, left: list[int], leaving: Integers, end: int
) -> Booleans:
    """Tell of each reward whether its decision waits for it: it was made, and did not leave yet.

    at, events      the position of its decision, -1 if there is none, and its own event
    comes           by which event each decision is made
    left, leaving   which decisions leave, -1 for one without rewards, and before which event
    """
    made = np.append(comes, end)  # the last one stands for no decision
    leaves = np.full(len(made), end)
    leaves[left] = leaving
    return np.asarray((made[at] < events) & (events < leaves[at]))


def _first_known(ids: Sequence[str], events: Integers, known: Sequence[Ids]) -> int | None:
    """Return the event of the first decision under an id that is known or came before; or None."""
    if len(set(ids)) == len(ids) and all(some.isdisjoint(ids) for some in known if some):
        return None
    seen: set[str] = set()
    for id, event in zip(ids, events.tolist(), strict=True):
        if id in seen or any(id in some for some in known):
            return int(event)
        seen.add(id)
    raise AssertionError("no id is known")


def _alike(feature: Feature, column: Sequence[Any]) -> bool:
    """Tell whether a column is encoded as its values are one by one."""
    classes = set(map(type, column))
    if feature.kind == "vector":
        return classes <= _VECTORS
    return classes <= _PLAIN or classes <= _FLAGS
