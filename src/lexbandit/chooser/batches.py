"""Many decisions and rewards at once, from frames and arrays."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.frames import columns_of
from lexbandit.errors import InvalidInput, unknown_name

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
    points = chooser.contexts.points(columns_of(contexts))
    masks = _masks(chooser, allowed, len(points))
    arms, propensities = chooser.policy.select_many(points, masks)
    if chooser.explore > 0.0:
        arms, propensities = arms.copy(), propensities.copy()
        for n, point in enumerate(points):
            mask = None if masks is None else masks[n]
            arms[n], propensities[n] = chooser._explored(
                point, mask, int(arms[n]), float(propensities[n])
            )
    noted = [
        chooser._note(int(arm), float(p), point, None if masks is None else masks[n])
        for n, (arm, p, point) in enumerate(zip(arms, propensities, points, strict=True))
    ]
    return Choices([c.id for c in noted], [c.arm for c in noted], propensities)


def _masks(chooser: "Chooser", allowed: Any, n: int) -> Booleans | None:
    """Return bool[n, K]: one list of arms for all, or one for each context."""
    if allowed is None:
        mask = chooser._mask(None)
        return None if mask is None else np.tile(mask, (n, 1))
    if isinstance(allowed, str) or not isinstance(allowed, Iterable):
        raise InvalidInput(f"allowed must be a list of arms, or one for each, got {allowed!r}.")
    listed = list(allowed)
    if all(isinstance(arm, str) for arm in listed):
        mask = chooser._mask(listed)
        return np.tile(mask if mask is not None else chooser._active, (n, 1))
    if len(listed) != n:
        raise InvalidInput(f"allowed has {len(listed)} lists for {n} contexts.")
    rows = [chooser._mask(arms) for arms in listed]
    return np.array([chooser._active if row is None else row for row in rows])


def reward_many(chooser: "Chooser", ids: Sequence[str], rewards: Any) -> None:
    """Tell the rewards of many decisions; all are checked before the first is learned."""
    columns = columns_of(rewards)
    rows = [dict[str, Any]() for _ in ids]
    for name, column in columns.items():
        if name not in chooser._index:
            raise unknown_name("objective", name, chooser._index)
        if len(column) != len(rows):
            raise InvalidInput(f"{name} has {len(column)} values for {len(rows)} decisions.")
        for row, value in zip(rows, np.asarray(column).tolist(), strict=True):
            if value is not None and value == value:  # noqa: PLR0124  NaN is not equal to itself
                row[name] = value
    if chooser._room.wait is not None:
        chooser._expire(chooser._clock())
    waiting = [chooser._room.get(id) for id in ids]
    fresh = [chooser._fresh(one, told) for one, told in zip(waiting, rows, strict=True)]
    if len(set(ids)) < len(ids):  # the same decision twice: what the first row tells matters
        for one, told in zip(waiting, rows, strict=True):
            chooser._learn(one, told)
        return
    for one, new in zip(waiting, fresh, strict=True):
        chooser._tell(one, new)


def learn(chooser: "Chooser", frame: Any) -> int:
    """Learn from a log: nothing is learned if anything in it is wrong."""
    columns = columns_of(frame)
    if _ARM not in columns:
        raise InvalidInput(f"a log needs a column {_ARM!r}; it has {', '.join(columns)}.")
    names = columns.pop(_ARM)
    rewards = np.full((len(names), len(chooser.objectives)), np.nan)
    outside = []
    for i, objective in enumerate(chooser.objectives):
        if objective.name not in columns:
            continue
        values = np.array(
            [np.nan if v is None else v for v in np.asarray(columns.pop(objective.name)).tolist()],
            np.float64,
        )
        if np.isinf(values).any():
            raise InvalidInput(f"{objective.name} must be finite, or NaN if not observed.")
        out = (values < objective.range[0]) | (values > objective.range[1])
        if objective.outside == "refuse" and out.any():
            objective.checked(values[out][0])
        outside.append((i, values[out]))
        rewards[:, i] = objective.shares(values)
    if np.isnan(rewards).all():
        raise InvalidInput("the log holds no reward of any objective.")
    places = np.array([chooser._place(name) for name in np.asarray(names).tolist()], np.int64)
    points = chooser.contexts.points(columns)
    chooser.policy.update_many(points, places, rewards)
    for i, values in outside:
        for value in values:
            chooser._warn_outside(i, float(value))
    return len(places)
