"""What decisions and rewards lead to: the kept decisions, the sums, and what the policy learns.

All that is here follows from `keep`, `tell` and the clock, in their order. So the same decisions
and rewards, folded again at the same times, lead to the same state bit for bit.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser.comparison import Comparison
from lexbandit.chooser.received import NOTHING, Received, with_many
from lexbandit.chooser.waiting import Waiting, WaitingRoom
from lexbandit.contexts import Contexts, Notes
from lexbandit.errors import Contradiction, counted, unknown_name
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

log = logging.getLogger("lexbandit")

# So many of the last contexts are kept, for questions about present traffic.
RECENT = 256
_NO_EARLIER: Mapping[int, float] = {}
_BINARY = (0.0, 1.0)
# Makes a named tuple in half the time.
_tuple = tuple.__new__

# What is told of a decision for the first time: objective, value and its share of the range.
Fresh = list[tuple[int, float, float]]


class Ledger:
    """Keeps decisions for their rewards, and lets the policy learn what is told of them."""

    def __init__(
        self,
        *,
        objectives: Sequence[Objective],
        policy: Policy,
        contexts: Contexts,
        room: WaitingRoom,
        clock: Callable[[], float],
        explore: float,
    ) -> None:
        self.objectives = objectives
        self.policy = policy
        self.contexts = contexts
        self.room = room
        self.clock = clock
        self.now()  # one that does not tell seconds is refused here
        self.index = {objective.name: i for i, objective in enumerate(objectives)}
        self.made = 0
        self.defaulted = 0
        # how many decisions of each arm the policy learned from, and rows of logs
        self.plays = policy.plays_by_arm or [0] * policy.arms
        self.rows = 0
        self.outside = dict.fromkeys(self.index, 0)
        # the rewards of each objective, as they were learned
        self.received = [NOTHING] * len(objectives)
        self.comparison = Comparison(policy, explore)
        self.recent: deque[tuple[Floats, Booleans | None]] = deque(maxlen=RECENT)
        self.no_rewards: tuple[float | None, ...] = (None,) * len(objectives)
        self.in_parts = policy.learns_in_parts
        self._defaults = any(objective.default is not None for objective in objectives)
        self._lines = {
            o.name: (i, *o.range, o.span, o.goal == "max") for i, o in enumerate(objectives)
        }
        self._unknown: Floats = np.full(len(objectives), np.nan)

    def now(self) -> float:
        """Return the time by the clock; what is no number of seconds is refused."""
        now = self.clock()
        if now.__class__ is float and now - now == 0.0:  # the usual case: finite
            return now
        return checks.seconds("the time that clock() returns", now)

    def keep(
        self,
        id: str,
        arm: int,
        propensity: float,
        point: Floats,
        mask: Booleans | None,
        notes: Notes,
    ) -> None:
        """Keep a checked decision for its rewards."""
        now, room = self.now(), self.room
        if room.wait is not None:
            self.expire(now)
        if id in room.held:
            raise room.refuse(id)
        if len(room.held) >= room.room:
            self.make_room()
        room.held[id] = Waiting(id, arm, point, mask, propensity, now, self.no_rewards)
        self.made += 1
        self.recent.append((point, mask))
        if notes:
            self.contexts.count(notes)

    def keep_many(
        self,
        ids: Sequence[str],
        arms: Sequence[int],
        propensities: Sequence[float],
        points: Floats,
        masks: Sequence[Booleans | None],
        notes: Notes,
    ) -> None:
        """Keep many checked decisions, whose ids differ: as `keep`, one after the other."""
        now, room = self.now(), self.room
        if room.wait is not None:
            self.expire(now)
        held, nothing = room.held, self.no_rewards
        if not held.keys().isdisjoint(ids):
            raise room.refuse(next(id for id in ids if id in held))
        full = room.room - len(held)
        rows = list(points)
        for n, (id, arm, propensity, point, mask) in enumerate(
            zip(ids, arms, propensities, rows, masks, strict=True)
        ):
            if n >= full:
                self.make_room()
            held[id] = Waiting(id, arm, point, mask, propensity, now, nothing)
        self.made += len(ids)
        self.recent.extend(zip(rows[-RECENT:], masks[-RECENT:], strict=True))
        self.contexts.count(notes)

    def make_room(self) -> None:
        """Let the oldest decision go; say so the first time."""
        room = self.room
        self._leave(room.drop())
        if room.dropped == 1:
            log.warning(
                "%s kept for rewards, as many as there is room for (keep=%d): the oldest leave "
                "from now on, and their rewards will be refused.",
                counted(room.room, "decision"),
                room.room,
            )

    def tick(self) -> None:
        """Let decisions go whose time is over now."""
        if self.room.wait is not None:
            self.expire(self.now())

    def expire(self, now: float) -> None:
        """Let decisions go whose time is over; what is missing takes its default, if it has one."""
        for waiting in self.room.leave(now):
            if self._defaults:
                told = {
                    objective.name: objective.default
                    for objective, value in zip(self.objectives, waiting.rewards, strict=True)
                    if value is None and objective.default is not None
                }
                self.defaulted += len(told)
                self.tell(waiting, self.fresh(waiting, told))
            self._leave(waiting)

    def fresh(
        self, waiting: Waiting, told: Mapping[str, Any], earlier: Mapping[int, float] = _NO_EARLIER
    ) -> Fresh:
        """Return what is told for the first time, as (objective, value, share).

        `earlier` has what came in the same batch.
        """
        fresh: Fresh = []
        rewards, lines = waiting.rewards, self._lines
        for name, given in told.items():
            line = lines.get(name)
            if line is None:
                raise unknown_name("objective", name, self.index)
            i, low, high, span, most = line
            if given.__class__ is float and low <= given <= high:  # the usual case needs no call
                value, share = given, (given - low) / span
                if not most:
                    share = 1.0 - share
            else:
                value = self.objectives[i].checked(given)
                share = self.objectives[i].share(value)
            before = rewards[i]
            if before is None and earlier:
                before = earlier.get(i)
            if before is None:
                fresh.append((i, value, share))
            elif before != value:
                raise Contradiction(
                    f"{name} of decision {waiting.id!r} was told as {before!r} before, now as "
                    f"{value!r}."
                )
        return fresh

    def tell(self, waiting: Waiting, fresh: Fresh) -> None:
        """Let the policy learn checked rewards."""
        if not fresh:
            return
        rewards, shares = list(waiting.rewards), self._unknown.copy()
        for i, value, share in fresh:
            rewards[i] = value
            shares[i] = share
        point, arm, learned = waiting.point, waiting.arm, waiting.learned
        if learned or self.in_parts:
            expected = self.policy._learn_checked(point, arm, shares, waiting.mask, learned)
        else:
            expected = self.policy._expect_checked(point, arm)
        self.comparison.score(waiting, shares, *expected)
        if self.in_parts and not learned:
            waiting.learned = True
            self.plays[arm] += 1
        waiting.rewards = tuple(rewards)
        received = self.received
        for i, value, share in fresh:
            taken = value
            # What lies outside was taken as an end.
            if not 0.0 < share < 1.0 and self.objectives[i].is_outside(value):
                self.warn_outside(i, np.array([value]))
                taken = self.objectives[i].clipped(value)
            count, origin, total, squares, binary = received[i]
            if not count:
                origin = taken
            apart = taken - origin
            binary = binary and taken in _BINARY
            sums = (count + 1.0, origin, total + apart, squares + apart * apart, binary)
            received[i] = _tuple(Received, sums)
        if not waiting.learned and None not in rewards:
            self._tell_at_once(waiting)

    def _tell_at_once(self, waiting: Waiting) -> None:
        """Let a policy that cannot learn in parts learn all that came of a decision."""
        told = [
            o.share(v) if v is not None else math.nan
            for o, v in zip(self.objectives, waiting.rewards, strict=True)
        ]
        self.policy.update(waiting.point, waiting.arm, told, waiting.mask)
        waiting.learned = True
        self.plays[waiting.arm] += 1

    def _leave(self, waiting: Waiting) -> None:
        """Let a decision go: what is held back of it is learned."""
        if not waiting.learned and waiting.rewards != self.no_rewards:
            self._tell_at_once(waiting)

    def let_go(self, waiting: Waiting) -> None:
        """Let a decision go before its time."""
        del self.room.held[waiting.id]
        self._leave(waiting)

    def note_many(self, first: Sequence[Waiting], values: Floats) -> None:
        """Note the first rewards of many decisions, values[n, D]; NaN is none.

        As `tell`, one after the other.
        """
        for i in range(len(self.objectives)):
            told = values[:, i][~np.isnan(values[:, i])]
            self.warn_outside(i, told)
            taken = np.clip(told, *self.objectives[i].range)
            self.received[i] = with_many(self.received[i], taken)
        rows = values.tolist()
        if np.isnan(values).any():
            rows = [[None if v != v else v for v in row] for row in rows]  # noqa: PLR0124  NaN
        for waiting, row in zip(first, rows, strict=True):
            waiting.rewards = tuple(row)
            waiting.learned = True
            self.plays[waiting.arm] += 1

    def note_log(self, plays: Integers) -> None:
        """Note that the policy learned so many plays of each arm from a log."""
        self.rows += int(plays.sum())
        for arm, count in enumerate(plays.tolist()):
            self.plays[arm] += count

    def warn_outside(self, i: int, values: Floats) -> None:
        """Count the rewards outside their range; say so the first time, without the value.

        Rewards may be confidential, and the logs of a service are read by others.
        """
        objective = self.objectives[i]
        low, high = objective.range
        outside = (values < low) | (values > high)
        count = int(outside.sum())
        if count and not self.outside[objective.name]:
            log.warning(
                "a reward of %s lies outside its range from %g to %g and is taken as the nearest "
                "end; further ones are only counted (chooser.outside).",
                objective.name,
                low,
                high,
            )
        self.outside[objective.name] += count

    def widen(self, active: Booleans) -> None:
        """Make room for an arm that was added; `active` says which could be chosen before.

        What was chosen before could not be the new arm.
        """
        self.plays.append(0)
        self.comparison.widen()
        before = np.append(np.ones(len(active), np.bool_), False)
        for waiting in self.room:
            mask = waiting.mask
            waiting.mask = before if mask is None else np.append(mask, False)
        recent = [
            (point, None if mask is None else np.append(mask, bool((mask == active).all())))
            for point, mask in self.recent
        ]
        self.recent = deque(recent, maxlen=RECENT)
