"""Replay a log in blocks, with the same result as replaying it event by event.

Decisions and rewards are recorded in the order of the log. `learn` then lets the policy and the
sums learn the rewards, in the same order, in compiled loops.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.ledger import Ledger, Pending
from lexbandit.errors import InvalidInput

# Types of values whose column is encoded exactly as the values are one by one.
_ALIKE = ({float}, {int}, {int, float}, {str}, {bool})


class LoggedDecision(Protocol):
    """A decision as a log has it."""

    arm: str
    propensity: float | None
    context: dict[str, Any] | None


class LogBlock:
    """A block of a log that is applied to a chooser. Call `learn` before the chooser is used.

    `defers`: whether rewards can be collected here. A policy that learns only complete rewards
    learns them one by one, by `Chooser.reward`.
    """

    def __init__(self, chooser: Chooser) -> None:
        self.lock = chooser._lock
        """To be held from before the first decision until `learn`."""
        self._ledger: Ledger = chooser._ledger
        self._contexts = chooser.contexts
        self._arms = chooser._arms
        self.held = self._ledger.pending
        self.defers = self._ledger.in_parts
        self._names = frozenset(chooser.contexts.names)
        self._objectives = chooser.objectives
        self._ranges = {o.name: (i, *o.range) for i, o in enumerate(chooser.objectives)}
        self._masks: dict[tuple[str, ...] | int, Booleans | None] = {}
        self._rewarded: list[Pending] = []
        self._values: list[Sequence[float]] = []
        self._amends: list[bool] = []

    def takes(self, row: LoggedDecision) -> bool:
        """Tell whether a decision can take the fast path of this block."""
        context, propensity = row.context, row.propensity
        return (
            context is not None
            and context.keys() == self._names
            and row.arm in self._arms.numbers
            and (propensity is None or 0.0 < propensity <= 1.0)
        )

    def points(self, contexts: Sequence[Mapping[str, Any]]) -> list[Floats] | None:
        """Return the points of contexts, and count missing, unknown and clipped values.

        None, with nothing counted, if the contexts must be encoded one by one.
        """
        columns = {name: [one[name] for one in contexts] for name in self._contexts.names}
        for column in columns.values():
            if {value.__class__ for value in column} not in _ALIKE:
                return None
        try:
            points, notes = self._contexts.encode_many(columns, len(contexts))
        except InvalidInput:
            return None
        self._contexts.count(notes)
        return list(points)

    def uncount(self, context: Mapping[str, Any]) -> None:
        """Take back what `points` counted of a context that is recorded elsewhere."""
        counts = self._contexts.counts
        for name, note, count in self._contexts.encode(context)[1]:
            counts[name][note] -= count
            if not counts[name][note]:
                del counts[name][note]

    def mask(self, arm: str, allowed: Sequence[str] | None) -> Booleans | None:
        """Return the mask of a decision; what is not allowed is an `InvalidInput`."""
        if allowed is None and self._arms.usual is None:
            return None
        number = self._arms.numbers[arm]
        if allowed is None:
            key: tuple[str, ...] | int = number
        else:
            key = (arm, *allowed)
        if key not in self._masks:
            given = self._arms.mask(allowed, retired=True)
            self._masks[key] = self._arms.chosen_from(number, given)
        return self._masks[key]

    def record(
        self,
        id: str,
        arm: str,
        propensity: float | None,
        point: Floats,
        mask: Booleans | None,
        now: float,
    ) -> None:
        """Record a decision under an id that is not stored yet."""
        ledger = self._ledger
        if len(self.held) >= ledger.keep:
            ledger.drop_oldest()
        number = self._arms.numbers[arm]
        chance = math.nan if propensity is None else propensity
        self.held[id] = Pending(id, number, point, mask, chance, now, ledger.no_rewards)
        ledger.made += 1
        ledger.recent.append((point, mask))

    def rewards_of(self, id: str, values: Mapping[str, Any]) -> list[float | None] | None:
        """Return the rewards of a decision with new ones added; None without a fast path.

        It takes new rewards of a stored decision that are floats within their ranges.
        """
        pending = self.held.get(id)
        if pending is None or not values:
            return None
        rewards = list(pending.rewards)
        for name, value in values.items():
            line = self._ranges.get(name)
            if line is None:
                return None
            i, low, high = line
            if value.__class__ is not float or not low <= value <= high or rewards[i] is not None:
                return None
            rewards[i] = value
        return rewards

    def reward(self, id: str, values: Mapping[str, Any]) -> bool:
        """Collect rewards for `learn`; False if `rewards_of` is None."""
        rewards = self.rewards_of(id, values)
        if rewards is None:
            return False
        pending = self.held[id]
        if len(values) == len(rewards):
            self._values.append(rewards)  # type: ignore[arg-type]
        else:
            self._values.append([values.get(name, math.nan) for name in self._ranges])
        self._rewarded.append(pending)
        self._amends.append(pending.learned)
        pending.rewards = tuple(rewards)
        pending.learned = True
        return True

    def learn(self) -> None:
        """Let the policy and the sums learn the collected rewards."""
        rewarded = self._rewarded
        if not rewarded:
            return
        ledger = self._ledger
        n = len(rewarded)
        values = np.array(self._values)
        amends = np.array(self._amends)
        arms = np.array([one.arm for one in rewarded], np.int64)
        propensities = np.array([one.propensity for one in rewarded])
        points = np.frombuffer(b"".join([one.point.data for one in rewarded])).reshape(n, -1)
        masks = [one.mask for one in rewarded]
        shares = np.empty_like(values)
        for i, objective in enumerate(self._objectives):
            shares[:, i] = objective.shares(values[:, i])
        features, means = ledger.policy._learn_many_checked(points, arms, shares, masks, amends)
        ledger.sums.add_many(arms, propensities, masks, shares, values, features, means)
        for arm, count in enumerate(np.bincount(arms[~amends]).tolist()):
            ledger.plays[arm] += count
        self._rewarded, self._values, self._amends = [], [], []
