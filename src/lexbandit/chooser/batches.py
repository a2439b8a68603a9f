"""Many contexts, rewards and rows of logs at once, from frames and arrays."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.frames import Columns, columns_of, length_of, plain
from lexbandit.chooser.ledger import Ledger, Pending, id_of
from lexbandit.contexts import Contexts, no_value
from lexbandit.errors import (
    InvalidInput,
    UnknownName,
    counted,
    row_by_row,
    there_are,
    unknown_name,
)
from lexbandit.objectives import ARM, Objective

log = logging.getLogger("lexbandit")

# The columns of `lexbandit export`: contexts and rewards are learned, the others are not read.
_CONTEXT, _REWARD = "context.", "reward."
_UNREAD = {"seq", "time", "id", "policy_version", "allowed"}
# Any log may have this column; only `lexbandit.Log` weighs rows by it.
PROPENSITY = "propensity"
_DELAY = "delay."


class Decisions(NamedTuple):
    """Many decisions: ids, arms' names and propensities, in the order of the contexts.

    A tuple of these three, so len() of it is 3; len(choices.ids) is the number of decisions.
    """

    ids: list[str]
    arms: list[str]
    propensities: Floats


class Batch(NamedTuple):
    """Contexts of a frame as a policy reads them.

    points  float[n, d]
    masks   which arms are allowed, one mask or None for each; None if there is no list at all
    table   the same as bool[n, K]; None if all arms are allowed in all contexts
    notes   how often values of a context were missing, unknown or outside their range
    """

    points: Floats
    masks: list[Booleans | None] | None
    table: Booleans | None
    notes: tuple[tuple[str, str, int], ...]


def batch_of(
    contexts: Contexts, arms: Arms, frame: Any, allowed: Any, *, retired: bool = False
) -> Batch:
    """Return the contexts of a frame, and the arms that are allowed in each.

    `allowed` is one list of arms for all, or one (or None) for each. Retired arms are refused in
    it, unless `retired` is True.
    """
    columns = columns_of(frame, contexts.names)
    n = length_of(columns, frame)
    masks = _masks(arms, allowed, n, retired)
    points, notes = contexts.encode_many(columns, n)
    return Batch(points, masks, _table(arms, masks, n), notes)


def _masks(arms: Arms, allowed: Any, n: int, retired: bool) -> list[Booleans | None] | None:
    """Return a mask for each context; None without any list."""
    if allowed is None:
        return None
    listed = checks.listed(allowed)
    if listed is None:
        raise InvalidInput(f"allowed must be a list of arms, or one for each, got {allowed!r}.")
    if all(isinstance(arm, str) for arm in listed):
        return [arms.mask(listed, retired=retired)] * n
    if len(listed) != n:
        raise InvalidInput(
            f"allowed has {counted(len(listed), 'list')} for {counted(n, 'context')}."
        )
    return row_by_row(lambda names: arms.mask(names, retired=retired), listed)


def _table(arms: Arms, masks: Sequence[Booleans | None] | None, n: int) -> Booleans | None:
    """Return masks as the policy reads them, bool[n, K]; None for all arms in all contexts."""
    if masks is None:
        return None if arms.usual is None else np.tile(arms.usual, (n, 1))
    rows = [arms.active if mask is None else mask for mask in masks]
    return np.array(rows, np.bool_).reshape(n, len(arms))


def reward_many(ledger: Ledger, ids: Decisions | Iterable[str], rewards: Any) -> None:
    """Learn the rewards of many decisions; all are checked before the first is learned."""
    listed = ids_of(ids)
    columns = columns_of(rewards, list(ledger.index))
    for name in columns:
        if name not in ledger.index:
            raise unknown_name("objective", name, ledger.index)
    if length_of(columns) != len(listed):
        rows = there_are(length_of(columns), "reward")
        raise InvalidInput(f"{rows} for {counted(len(listed), 'decision')}.")
    values = values_of(ledger.objectives, columns, len(listed))
    ledger.tick()
    decisions = row_by_row(lambda id: ledger.find(id_of(id)), listed)
    _remove_known(ledger, decisions, values)
    ledger.reward_rows(decisions, values)


def ids_of(ids: Any) -> list[Any]:
    """Return the ids of decisions: those of `Decisions`, or a list of ids or of decisions."""
    if isinstance(ids, Decisions):
        return ids.ids
    listed = None if isinstance(ids, Mapping) else checks.listed(ids)
    if listed is None:
        raise InvalidInput(f"ids must be what choose_many returned, or its ids, got {ids!r}.")
    return listed


def _remove_known(ledger: Ledger, decisions: Sequence[Pending], values: Floats) -> None:
    """Replace rewards that are known already by NaN; refuse another value than before.

    Several rows may belong to one decision.
    """
    earlier: dict[str, dict[int, float]] = {}
    twice = len({one.id for one in decisions}) < len(decisions)
    for row, one in enumerate(decisions):
        if one.rewards is ledger.no_rewards and not twice:
            continue
        before = earlier.setdefault(one.id, {})
        given = {
            o.name: value
            for o, value in zip(ledger.objectives, values[row].tolist(), strict=True)
            if not no_value(value)
        }
        try:
            new = {i: value for i, value, _ in ledger.new_rewards(one, given, before)}
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
        before.update(new)
        for i in range(len(ledger.objectives)):
            if i not in new:
                values[row, i] = np.nan


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
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufb" and column.ndim == 1:
        return column.astype(np.float64)

    def number(value: Any) -> float:
        found = math.nan if no_value(value) else checks.reward(value)
        if math.isnan(found) and not no_value(value):
            how = checks.conversion(value)
            raise InvalidInput(f"{name} must be a finite number, got {value!r}{how}.")
        return found

    return np.array(row_by_row(number, plain(column)), np.float64)


def learn(arms: Arms, ledger: Ledger, frame: Any) -> int:
    """Learn from a log and return how many rows were learned; if any row is wrong, learn none."""
    contexts = ledger.contexts
    features, objectives = contexts.names, list(ledger.index)
    columns = _named(columns_of(frame, [*features, ARM, *objectives]), features, objectives)
    if ARM not in columns:
        raise InvalidInput(
            f"a log needs a column {ARM!r}; it has {', '.join(columns) or 'none at all'}."
        )
    names = plain(columns.pop(ARM))
    values = values_of(ledger.objectives, columns, len(names))
    rewarded = ~np.isnan(values).all(axis=1)
    if len(names) and not rewarded.any():
        raise InvalidInput(f"the log holds no reward of any objective ({', '.join(objectives)}).")
    numbers = np.array(row_by_row(arms.number, names), np.int64)
    given = {name: columns[name] for name in features if name in columns}
    absent = _absent(contexts, given)
    points, notes = contexts.encode_many(given, len(names))
    shares = [o.shares(values[:, i]) for i, o in enumerate(ledger.objectives)]
    ledger.policy.update_many(
        points[rewarded], numbers[rewarded], np.column_stack(shares)[rewarded]
    )
    ledger.add_rows_of_log(np.bincount(numbers[rewarded], minlength=len(arms)))
    contexts.count(notes)
    for i, objective in enumerate(ledger.objectives):
        ledger.count_outside(i, objective.count_outside(values[:, i]))
    if absent:
        log.warning(
            "the log has no column %s: all its rows are learned as if the value were missing.",
            " and none ".join(map(repr, absent)),
        )
    return int(rewarded.sum())


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
            refused = unknown_name("column of a log:", name, names)
            raise UnknownName(f"{refused} Leave others out, or learn(Log(frame, like=chooser)).")
    return {names[name]: column for name, column in columns.items()}


def _is_unread(name: str) -> bool:
    return name in _UNREAD or name.startswith(_DELAY)


def _absent(contexts: Contexts, given: Columns) -> list[str]:
    """Return the features without a column in a log; one that must not be missing is refused."""
    absent = [feature for feature in contexts.features if feature.name not in given]
    for feature in absent:
        if feature.missing == "refuse":
            raise InvalidInput(
                f"the log has no column {feature.name!r}, a context feature; add it, or declare "
                'the feature with missing="middle".'
            )
    return [feature.name for feature in absent]
