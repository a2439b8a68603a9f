"""Many decisions and rewards at once, from frames and arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.frames import Columns, columns_of, length_of, plain
from lexbandit.chooser.ledger import Ledger
from lexbandit.chooser.proposals import Proposals, propensity_of
from lexbandit.chooser.waiting import Waiting
from lexbandit.contexts import no_value
from lexbandit.errors import (
    InvalidInput,
    UnknownDecision,
    counted,
    there_are,
    unknown_name,
)
from lexbandit.objectives import Objective


class Decisions(NamedTuple):
    """Many decisions: ids, arms' names and propensities, in the order of the contexts.

    A tuple of these three, so len() of it is 3; len(choices.ids) is the number of decisions.
    """

    ids: list[str]
    arms: list[str]
    propensities: Floats


def choose_many(chooser: ChooserCore, contexts: Any, allowed: Any) -> Decisions:
    """Choose for every context of a frame."""
    arms, made = propose_many(chooser, contexts, allowed)
    ledger, n = chooser._ledger, len(arms)
    first = ledger.made + 1
    ids = [chooser._id % k for k in range(first, first + n)]
    standing = chooser._arms.standing
    masks = (
        [standing] * n
        if made.masks is None
        else [standing if mask is None else mask for mask in made.masks]
    )
    ledger.keep_many(ids, arms.tolist(), made.propensities.tolist(), made.points, masks, made.notes)
    return Decisions(ids, made.arms, made.propensities)


def propose_many(chooser: ChooserCore, contexts: Any, allowed: Any) -> tuple[Integers, Proposals]:
    """Return the arms to play in every context of a frame, by number and as proposals."""
    arms_known = chooser._arms
    columns = columns_of(contexts, chooser.contexts.names)
    n = length_of(columns, contexts)
    masks = _masks(chooser, allowed, n)
    points, notes = chooser.contexts.encode_many(columns, n)
    table = _table(arms_known, masks, n)
    arms, propensities = chooser.policy.select_many(points, table)
    if chooser.explore > 0.0:
        arms, propensities = chooser._explored_many(points, table, arms, propensities)
    names = arms_known.names
    return arms, Proposals([names[k] for k in arms.tolist()], propensities, points, masks, notes)


def propensities_many(chooser: ChooserCore, contexts: Any, allowed: Any) -> Floats:
    """Return the probability of every arm that is not retired, for every context of a frame."""
    arms = chooser._arms
    columns = columns_of(contexts, chooser.contexts.names)
    n = length_of(columns, contexts)
    table = _table(arms, _masks(chooser, allowed, n), n)
    points, _ = chooser.contexts.encode_many(columns, n)
    shares = chooser._propensities_many(points, table)
    return np.ascontiguousarray(shares[:, arms.active])


def proposals(
    chooser: ChooserCore, arms: Any, propensities: Any, contexts: Any, allowed: Any
) -> Proposals:
    """Return decisions made elsewhere as proposals."""
    columns = columns_of(contexts, chooser.contexts.names)
    n = length_of(columns, contexts)
    names, chances = checks.listed(arms), checks.listed(propensities)
    if names is None:
        raise InvalidInput(f"arms must be a list of names, got {arms!r}.")
    if chances is None:
        raise InvalidInput(f"propensities must be a list of probabilities, got {propensities!r}.")
    if len(names) != n:
        raise InvalidInput(f"{there_are(len(names), 'arm')} for {counted(n, 'context')}.")
    if len(chances) != n:
        told = counted(len(chances), "number")
        raise InvalidInput(f"propensities has {told} for {counted(n, 'context')}.")
    masks = _masks(chooser, allowed, n, retired=True)
    shares = np.empty(n)
    for row, (name, chance) in enumerate(zip(names, chances, strict=True)):
        try:
            arm = chooser._arms.place(name)
            shares[row] = propensity_of(chance)
            if masks is not None:
                chooser._arms.chosen_from(arm, masks[row])
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
    points, notes = chooser.contexts.encode_many(columns, n)
    return Proposals(names, shares, points, masks, notes)


def _masks(
    chooser: ChooserCore, allowed: Any, n: int, *, retired: bool = False
) -> list[Booleans | None] | None:
    """Return a mask for each context: one list of arms for all, or one (or None) for each."""
    if allowed is None:
        return None
    listed = checks.listed(allowed)
    if listed is None:
        raise InvalidInput(f"allowed must be a list of arms, or one for each, got {allowed!r}.")
    if all(isinstance(arm, str) for arm in listed):
        return [chooser._arms.mask(listed, retired=retired)] * n
    if len(listed) != n:
        raise InvalidInput(
            f"allowed has {counted(len(listed), 'list')} for {counted(n, 'context')}."
        )
    masks = []
    for row, arms in enumerate(listed):
        try:
            masks.append(chooser._arms.mask(arms, retired=retired))
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
    return masks


def _table(arms: Arms, masks: Sequence[Booleans | None] | None, n: int) -> Booleans | None:
    """Return masks as the policy reads them, bool[n, K]; None for all arms in all contexts."""
    if masks is None:
        return None if arms.standing is None else np.tile(arms.standing, (n, 1))
    rows = [arms.active if mask is None else mask for mask in masks]
    return np.array(rows, np.bool_).reshape(n, len(arms))


def reward_many(chooser: ChooserCore, ids: Decisions | Iterable[str], rewards: Any) -> None:
    """Tell the rewards of many decisions; all are checked before the first is learned."""
    listed = ids_of(ids)
    ledger = chooser._ledger
    columns = columns_of(rewards, list(ledger.index))
    for name in columns:
        if name not in ledger.index:
            raise unknown_name("objective", name, ledger.index)
    if length_of(columns) != len(listed):
        told = there_are(length_of(columns), "reward")
        raise InvalidInput(f"{told} for {counted(len(listed), 'decision')}.")
    values = values_of(ledger.objectives, columns, len(listed))
    waiting = _waiting_rows(ledger, listed)
    _forget_known(ledger, waiting, values)
    _tell_all(ledger, waiting, values)


def ids_of(ids: Any) -> list[Any]:
    """Return the ids of decisions: those of `Decisions`, or a list of ids or of decisions."""
    if isinstance(ids, Decisions):
        return ids.ids
    listed = None if isinstance(ids, Mapping) else checks.listed(ids)
    if listed is None:
        raise InvalidInput(f"ids must be what choose_many returned, or its ids, got {ids!r}.")
    return [getattr(one, "id", one) for one in listed]


def _waiting_rows(ledger: Ledger, ids: Sequence[Any]) -> list[Waiting]:
    ledger.tick()
    waiting = []
    for row, id in enumerate(ids):
        if not isinstance(id, str):
            raise InvalidInput(f"row {row}: the id of a decision is a text, got {id!r}.")
        try:
            waiting.append(ledger.room.get(id))
        except UnknownDecision as error:
            raise UnknownDecision(f"row {row}: {error}") from None
    return waiting


def _forget_known(ledger: Ledger, waiting: Sequence[Waiting], values: Floats) -> None:
    """Make NaN what was told before; a contradiction is refused. A decision may come twice."""
    earlier: dict[str, dict[int, float]] = {}
    twice = len({one.id for one in waiting}) < len(waiting)
    for row, one in enumerate(waiting):
        if one.rewards is ledger.no_rewards and not twice:
            continue
        before = earlier.setdefault(one.id, {})
        told = {
            o.name: value
            for o, value in zip(ledger.objectives, values[row].tolist(), strict=True)
            if not no_value(value)
        }
        try:
            fresh = {i: value for i, value, _ in ledger.fresh(one, told, before)}
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
        before.update(fresh)
        for i in range(len(ledger.objectives)):
            if i not in fresh:
                values[row, i] = np.nan


def _tell_all(ledger: Ledger, waiting: Sequence[Waiting], values: Floats) -> None:
    """Let the policy learn what is new, in order; plays it does not know of in one go.

    The order is that of single rewards, so the outcome is the same bit for bit.
    """
    shares = np.empty_like(values)
    for i, objective in enumerate(ledger.objectives):
        shares[:, i] = objective.shares(values[:, i])
    together: list[int] = []
    inside: set[str] = set()
    for row in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
        one = waiting[row]
        if ledger.in_parts and not one.learned and one.id not in inside:
            together.append(row)
            inside.add(one.id)
            continue
        _tell_together(ledger, waiting, values, shares, together)
        together, inside = [], set()
        told = zip(values[row].tolist(), shares[row].tolist(), strict=True)
        ledger.tell(one, [(i, v, share) for i, (v, share) in enumerate(told) if not no_value(v)])
    _tell_together(ledger, waiting, values, shares, together)


def _tell_together(
    ledger: Ledger,
    waiting: Sequence[Waiting],
    values: Floats,
    shares: Floats,
    rows: Sequence[int],
) -> None:
    """Let the policy learn of plays that it was not told of.

    Each is compared by what the policy knew before it, so they are learned one after the other.
    """
    if not rows:
        return
    policy, comparison = ledger.policy, ledger.comparison
    for row in rows:
        one, told = waiting[row], shares[row]
        expected = policy._learn_checked(one.point, one.arm, told, one.mask, False)
        comparison.score(one, told, *expected)
    ledger.note_many([waiting[row] for row in rows], values[rows])


def values_of(objectives: Sequence[Objective], columns: Columns, n: int) -> Floats:
    """Return the rewards of a frame as values[n, D], checked; NaN where there is none."""
    table = np.full((n, len(objectives)), np.nan)
    for i, objective in enumerate(objectives):
        if objective.name not in columns:
            continue
        values = _numbers(objective.name, columns[objective.name])
        wrong = np.isinf(values)
        if objective.outside == "refuse":
            wrong |= (values < objective.range[0]) | (values > objective.range[1])
        for row in np.flatnonzero(wrong):
            try:
                objective.checked(values[row])
            except InvalidInput as error:
                raise InvalidInput(f"row {row}: {error}") from None
        table[:, i] = values
    return table


def _numbers(name: str, column: Any) -> Floats:
    """Return a column of numbers; None and NaN are NaN."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.ndim == 1:
        return column.astype(np.float64)
    numbers = np.full(len(column), np.nan)
    for row, value in enumerate(plain(column)):
        if not no_value(value):
            numbers[row] = checks.real(value)
            if np.isnan(numbers[row]):
                how = checks.conversion(value)
                raise InvalidInput(
                    f"row {row}: {name} must be a finite number, got {value!r}{how}."
                )
    return numbers
