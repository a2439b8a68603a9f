"""Many decisions and rewards at once, from frames and arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.frames import Columns, columns_of, length_of, plain
from lexbandit.chooser.waiting import Waiting
from lexbandit.contexts import no_value
from lexbandit.errors import InvalidInput, UnknownDecision, unknown_name

if TYPE_CHECKING:
    from lexbandit.chooser.chooser import Chooser

_ARM = "arm"


class Choices(NamedTuple):
    """Many decisions: ids, arms' names and propensities, in the order of the contexts."""

    ids: list[str]
    arms: list[str]
    propensities: Floats


def choose_many(chooser: "Chooser", contexts: Any, allowed: Any) -> Choices:
    """Choose for every context of a frame."""
    columns = columns_of(contexts, chooser.contexts.names)
    masks = _masks(chooser, allowed, length_of(columns))
    points = chooser.contexts.points(columns)
    arms, propensities = chooser.policy.select_many(points, masks)
    if chooser.explore > 0.0:
        arms, propensities = arms.copy(), propensities.copy()
        for n, point in enumerate(points):
            mask = None if masks is None else masks[n]
            arms[n], propensities[n] = chooser._explored(
                point, mask, int(arms[n]), float(propensities[n])
            )
    noted = [
        chooser._note(arm, propensity, points[n], None if masks is None else masks[n])
        for n, (arm, propensity) in enumerate(
            zip(arms.tolist(), propensities.tolist(), strict=True)
        )
    ]
    return Choices([c.id for c in noted], [c.arm for c in noted], propensities)


def _masks(chooser: "Chooser", allowed: Any, n: int) -> Booleans | None:
    """Return bool[n, K]: one list of arms for all, or one (or None) for each context."""
    if allowed is None:
        mask = chooser._mask(None)
        return None if mask is None else np.tile(mask, (n, 1))
    if isinstance(allowed, str) or not isinstance(allowed, Iterable):
        raise InvalidInput(f"allowed must be a list of arms, or one for each, got {allowed!r}.")
    listed = list(allowed)
    if all(isinstance(arm, str) for arm in listed):
        mask = chooser._mask(listed)
        return np.tile(chooser._active if mask is None else mask, (n, 1))
    if len(listed) != n:
        raise InvalidInput(f"allowed has {len(listed)} lists for {n} contexts.")
    rows = []
    for row, arms in enumerate(listed):
        try:
            mask = chooser._mask(arms)
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
        rows.append(chooser._active if mask is None else mask)
    return np.array(rows)


def reward_many(chooser: "Chooser", ids: Choices | Iterable[str], rewards: Any) -> None:
    """Tell the rewards of many decisions; all are checked before the first is learned."""
    listed = ids_of(ids)
    columns = columns_of(rewards, list(chooser._index))
    for name in columns:
        if name not in chooser._index:
            raise unknown_name("objective", name, chooser._index)
    if length_of(columns) != len(listed):
        raise InvalidInput(f"there are {length_of(columns)} rewards for {len(listed)} decisions.")
    told = [dict[str, Any]() for _ in listed]
    for name, column in columns.items():
        for row, value in zip(told, plain(column), strict=True):
            if not no_value(value):
                row[name] = value
    _tell_all(chooser, _fresh_rows(chooser, _waiting_rows(chooser, listed), told))


def ids_of(ids: Any) -> list[Any]:
    """Return the ids of decisions: those of `Choices`, or a list of ids or of decisions."""
    if isinstance(ids, Choices):
        return ids.ids
    if isinstance(ids, str | Mapping) or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids must be what choose_many returned, or its ids, got {ids!r}.")
    return [getattr(one, "id", one) for one in ids]


def _waiting_rows(chooser: "Chooser", ids: Sequence[Any]) -> list[Waiting]:
    chooser._let_go()
    waiting = []
    for row, id in enumerate(ids):
        if not isinstance(id, str):
            raise InvalidInput(f"row {row}: the id of a decision is a text, got {id!r}.")
        try:
            waiting.append(chooser._room.get(id))
        except UnknownDecision as error:
            raise UnknownDecision(f"row {row}: {error}") from None
    return waiting


def _fresh_rows(
    chooser: "Chooser", waiting: Sequence[Waiting], told: Sequence[Mapping[str, Any]]
) -> list[tuple[Waiting, list[tuple[int, float, float]]]]:
    """Return what is new for each decision; where one comes twice, its rows are taken together."""
    fresh: dict[str, tuple[Waiting, list[tuple[int, float, float]], dict[int, float]]] = {}
    for row, (one, values) in enumerate(zip(waiting, told, strict=True)):
        _, new, earlier = fresh.setdefault(one.id, (one, [], {}))
        try:
            for i, value, share in chooser._fresh(one, values, earlier):
                new.append((i, value, share))
                earlier[i] = value
        except InvalidInput as error:
            raise type(error)(f"row {row}: {error}") from None
    return [(one, new) for one, new, _ in fresh.values()]


def _tell_all(
    chooser: "Chooser", fresh: list[tuple[Waiting, list[tuple[int, float, float]]]]
) -> None:
    """Let the policy learn checked rewards: the plays it does not know of yet all at once."""
    first = [(one, new) for one, new in fresh if new and not one.learned]
    if chooser._in_parts and first:
        shares = np.full((len(first), len(chooser.objectives)), np.nan)
        for row, (_, new) in enumerate(first):
            for i, _, share in new:
                shares[row, i] = share
        points = np.array([one.point for one, _ in first])
        arms = np.array([one.arm for one, _ in first], np.int64)
        chooser.policy.update_many(points, arms, shares, _masks_of(chooser, first))
        for one, new in first:
            one.learned = True
            chooser._record(one, new)
        done = {one.id for one, _ in first}
        fresh = [(one, new) for one, new in fresh if one.id not in done]
    for one, new in fresh:
        chooser._tell(one, new)


def _masks_of(chooser: "Chooser", told: Sequence[tuple[Waiting, Any]]) -> Booleans | None:
    if all(one.mask is None for one, _ in told):
        return None
    every = np.ones(len(chooser._arms), np.bool_)
    return np.array([every if one.mask is None else one.mask for one, _ in told])


def learn(chooser: "Chooser", frame: Any) -> int:
    """Learn from a log: nothing is learned if anything in it is wrong."""
    columns = columns_of(frame, [*chooser.contexts.names, _ARM, *chooser._index])
    if _ARM not in columns:
        raise InvalidInput(
            f"a log needs a column {_ARM!r}; it has {', '.join(columns) or 'none at all'}."
        )
    known = {*chooser.contexts.names, _ARM, *chooser._index}
    for name in columns:
        if name not in known:
            raise unknown_name("column of a log:", name, known)
    names = plain(columns.pop(_ARM))
    rewards, outside = _logged(chooser, columns, len(names))
    places = np.array([chooser._place(name) for name in names], np.int64)
    nothing = [None] * len(names)
    points = chooser.contexts.points(
        {name: columns.get(name, nothing) for name in chooser.contexts.names}
    )
    chooser.policy.update_many(points, places, rewards)
    for i, values in outside:
        for value in values.tolist():
            chooser._warn_outside(i, value)
    return len(places)


def _logged(
    chooser: "Chooser", columns: Columns, n: int
) -> tuple[Floats, list[tuple[int, Floats]]]:
    """Return the rewards of a log as shares[n, D], and the values outside their ranges."""
    rewards = np.full((n, len(chooser.objectives)), np.nan)
    outside = []
    for i, objective in enumerate(chooser.objectives):
        if objective.name not in columns:
            continue
        values = _numbers(objective.name, columns[objective.name])
        out = (values < objective.range[0]) | (values > objective.range[1])
        for row in np.flatnonzero(np.isinf(values) | (out & (objective.outside == "refuse"))):
            try:
                objective.checked(values[row])
            except InvalidInput as error:
                raise InvalidInput(f"row {row}: {error}") from None
        outside.append((i, values[out]))
        rewards[:, i] = objective.shares(values)
    if n and np.isnan(rewards).all():
        raise InvalidInput(
            f"the log holds no reward of any objective ({', '.join(chooser._index)})."
        )
    return rewards, outside


def _numbers(name: str, column: Any) -> Floats:
    """Return a column of numbers; None and NaN are NaN."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.ndim == 1:
        return column.astype(np.float64)
    numbers = np.full(len(column), np.nan)
    for row, value in enumerate(plain(column)):
        if not no_value(value):
            numbers[row] = checks.real(value)
            if np.isnan(numbers[row]):
                raise InvalidInput(f"row {row}: {name} must be a finite number, got {value!r}.")
    return numbers
