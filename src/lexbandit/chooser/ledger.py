"""Store decisions until their rewards come, add up the rewards, and let the policy learn them.

The state depends on decisions, rewards and the clock only, in their order: replaying the same
events at the same times gives the same state bit for bit.
"""

import logging
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser.reward_sums import RewardSums
from lexbandit.contexts import Contexts, Notes
from lexbandit.errors import Contradiction, InvalidInput, UnknownDecision, counted, unknown_name
from lexbandit.kernels.comparison import NO_MASK, score
from lexbandit.objectives import Objective
from lexbandit.policies import Policy

log = logging.getLogger("lexbandit")

# The number of recent contexts that are stored, for `outlook`.
RECENT = 256
_NO_EARLIER: Mapping[int, float] = {}

# Makes a named tuple in half the time.
_tuple = tuple.__new__
_put, _remove = dict.__setitem__, dict.__delitem__  # without the cost of super()

# Mixtures and sums of probabilities may exceed 1 by rounding.
_CERTAIN = 1.0 + 1e-9

# New rewards of a decision: index of the objective, value, and its share of the range.
NewRewards = list[tuple[int, float, float]]


class Decision(NamedTuple):
    """A decision: the arm to play, the exact probability it had, and the id to reward it by."""

    id: str
    arm: str
    propensity: float


class Pending(NamedTuple):
    """A decision, and its rewards so far, in the objectives' own units (None: not yet).

    `arm` is its number. `learned`: the policy learned from the play. When rewards come, the ledger
    stores another one in its place: so a snapshot refers to those there are, and copies none.
    """

    id: str
    arm: int
    point: Floats
    mask: Booleans | None
    propensity: float
    since: float
    rewards: tuple[float | None, ...]
    learned: bool = False


_V = TypeVar("_V")


class OldestFirst(dict[str, _V]):
    """Values by id, in the order in which the ids came, of which the oldest is found at once.

    An `OrderedDict` is that too, but to grow from 700,000 ids on takes it five times as long as a
    dict, all at once. A dict alone passes by all that was removed when it looks for its first id.
    Ids come by `[]` and `extend`, and go by `del`, `pop`, `pop_oldest` and `drop_oldest` only.
    """

    __slots__ = ("_order", "_removed")

    def __init__(self, items: Iterable[tuple[str, _V]] = ()) -> None:
        super().__init__(items)
        self._order = deque(self)
        self._removed: Counter[str] = Counter()  # ids that `_order` still has, how often

    def __setitem__(self, id: str, value: _V) -> None:
        if id not in self:
            self._order.append(id)
        _put(self, id, value)

    def __delitem__(self, id: str) -> None:
        _remove(self, id)
        if self._order[0] == id:
            self._order.popleft()
            return
        self._removed[id] += 1
        if len(self._order) > 2 * len(self) + 1000:
            self._order, self._removed = deque(self), Counter()

    def pop(self, id: str, default: Any = None) -> Any:
        """Remove an id, and return its value if it is there."""
        if id not in self:
            return default
        value = self[id]
        del self[id]
        return value

    # Another value of an id that is there: half the time of `[]`.
    replace = dict.__setitem__

    def extend(self, ids: Sequence[str], values: Iterable[_V]) -> None:
        """Add values of ids that are not there yet."""
        self._order.extend(ids)
        self.update(zip(ids, values, strict=True))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove ids, as far as they are there: a third of the time of `pop` for each."""
        order = self._order
        for id in ids:
            if id in self:
                _remove(self, id)
                if order[0] == id:
                    order.popleft()
                else:
                    self._removed[id] += 1
        if len(order) > 2 * len(self) + 1000:
            self._order, self._removed = deque(self), Counter()

    def oldest(self) -> Iterator[_V]:
        """Return the values, the oldest first; to be done with before any is removed."""
        self._skip_removed()
        return iter(self.values()) if self._removed else map(self.__getitem__, self._order)

    def pop_oldest(self) -> _V:
        """Remove the oldest id, and return its value."""
        self._skip_removed()
        return super().pop(self._order.popleft())

    def drop_oldest(self, count: int) -> None:
        """Remove the `count` oldest ids."""
        while count > 0 and self._removed:
            self.pop_oldest()
            count -= 1
        for id in [self._order.popleft() for _ in range(count)]:
            _remove(self, id)

    def _skip_removed(self) -> None:
        """Let the order begin with an id that is there."""
        removed = self._removed
        while removed and (id := self._order[0]) in removed:
            self._order.popleft()
            removed[id] -= 1
            if not removed[id]:
                del removed[id]


class Ledger:
    """Stores decisions by id until their rewards come, and lets the policy learn these.

    At most `keep` decisions are stored, the newest; one leaves after `wait` seconds, if any. A
    decision stays when its rewards are complete, so that a repeated reward is recognised. `expired`
    and `dropped` count those that were removed because of `wait` and of `keep`, complete or not.
    """

    def __init__(
        self,
        *,
        objectives: Sequence[Objective],
        policy: Policy,
        contexts: Contexts,
        keep: int,
        wait: float | None,
        clock: Callable[[], float],
        explore: float,
    ) -> None:
        self.objectives = objectives
        self.policy = policy
        self.contexts = contexts
        self.keep = keep
        self.wait = wait
        self.clock = clock
        self.now()  # refuses a clock that does not return seconds
        self.index = {objective.name: i for i, objective in enumerate(objectives)}
        self.pending: OldestFirst[Pending] = OldestFirst()
        self.made = 0
        self.expired = 0
        self.dropped = 0
        self.defaulted = 0
        # decisions and rows of logs that the policy learned from, by arm
        self.plays = policy.plays_by_arm or [0] * policy.arms
        self.rows = 0
        self.outside = dict.fromkeys(self.index, 0)
        self.sums = RewardSums(policy, explore)
        self.recent: deque[tuple[Floats, Booleans | None]] = deque(maxlen=RECENT)
        self.no_rewards: tuple[float | None, ...] = (None,) * len(objectives)
        self.in_parts = policy.learns_in_parts
        self._has_defaults = any(objective.default is not None for objective in objectives)
        self._lines = {
            o.name: (i, *o.range, o.span, o.goal == "max") for i, o in enumerate(objectives)
        }
        self._unknown: Floats = np.full(len(objectives), np.nan)

    def now(self) -> float:
        """Return the time of the clock, checked to be a number of seconds."""
        now = self.clock()
        if now.__class__ is float and now - now == 0.0:  # the usual case: finite
            return now
        return checks.seconds("the time that clock() returns", now)

    # Decisions.

    def add(
        self,
        id: str,
        arm: int,
        propensity: float,
        point: Floats,
        mask: Booleans | None,
        notes: Notes,
    ) -> None:
        """Store a checked decision until its rewards come."""
        now = self.now()
        pending = self.pending
        if self.wait is not None:
            self.expire(now)
        if id in pending:
            raise _stored_already(id)
        if len(pending) >= self.keep:
            self.drop_oldest()
        pending[id] = _tuple(
            Pending, (id, arm, point, mask, propensity, now, self.no_rewards, False)
        )
        self.made += 1
        self.recent.append((point, mask))
        if notes:
            self.contexts.count(notes)

    def add_many(
        self,
        ids: Sequence[str],
        arms: Sequence[int],
        propensities: Sequence[float],
        points: Floats,
        masks: Sequence[Booleans | None],
        notes: Notes,
    ) -> None:
        """Store many checked decisions with different ids; the same as `add` one by one."""
        now, pending, nothing = self.now(), self.pending, self.no_rewards
        if self.wait is not None:
            self.expire(now)
        if not pending.keys().isdisjoint(ids):
            raise _stored_already(next(id for id in ids if id in pending))
        free = self.keep - len(pending)
        rows = list(points)
        for n, (id, arm, propensity, point, mask) in enumerate(
            zip(ids, arms, propensities, rows, masks, strict=True)
        ):
            if n >= free:
                self.drop_oldest()
            pending[id] = _tuple(Pending, (id, arm, point, mask, propensity, now, nothing, False))
        self.made += len(ids)
        self.recent.extend(zip(rows[-RECENT:], masks[-RECENT:], strict=True))
        self.contexts.count(notes)

    def find(self, id: str) -> Pending:
        """Return a stored decision; an unknown one is an error."""
        try:
            return self.pending[id]
        except KeyError:
            raise UnknownDecision(
                f"no decision {id!r} waits for rewards: the id is wrong, or the decision is older "
                f"than the {self.keep:,} that are kept"
                + ("." if self.wait is None else f" or than {self.wait:g} seconds.")
            ) from None

    @property
    def due(self) -> float | None:
        """When the oldest decision expires; None if none does."""
        if self.wait is None or not self.pending:
            return None
        return next(self.pending.oldest()).since + self.wait

    def overdue(self, now: float) -> Iterator[Pending]:
        """Yield the decisions that have expired by `now`, the oldest first; they stay stored."""
        wait = self.wait
        if wait is None:
            return
        for pending in self.pending.oldest():
            if pending.since + wait > now:
                return
            yield pending

    def tick(self) -> None:
        """Remove the decisions that have expired by now."""
        if self.wait is not None:
            self.expire(self.now())

    def expire(self, now: float) -> None:
        """Remove expired decisions; missing rewards take their defaults, if any."""
        while self.wait is not None and self.pending:
            oldest = next(self.pending.oldest())
            if oldest.since + self.wait > now:
                return
            self.pending.pop_oldest()
            self.expired += 1
            if self._has_defaults:
                defaults = {
                    objective.name: objective.default
                    for objective, value in zip(self.objectives, oldest.rewards, strict=True)
                    if value is None and objective.default is not None
                }
                self.defaulted += len(defaults)
                oldest = self.reward(oldest, defaults)
            self._leave(oldest)

    def forget(self, pending: Pending) -> None:
        """Remove a decision before it expires."""
        del self.pending[pending.id]
        self._leave(pending)

    def drop_oldest(self) -> None:
        """Remove the oldest decision because `keep` is reached."""
        oldest = self.pending.pop_oldest()
        self.count_dropped(1)
        self._leave(oldest)

    def count_dropped(self, count: int) -> None:
        """Count decisions that are removed because `keep` is reached; warn of the first ones."""
        if count and not self.dropped:
            log.warning(
                "%s kept for rewards, as many as there is room for (keep=%d): the oldest leave "
                "from now on, and their rewards will be refused.",
                counted(self.keep, "decision"),
                self.keep,
            )
        self.dropped += count

    def _leave(self, pending: Pending) -> None:
        """Learn the rewards of a removed decision that the policy could not learn in part."""
        if not pending.learned and pending.rewards != self.no_rewards:
            self._learn_at_once(pending)

    # Rewards.

    def reward(self, pending: Pending, rewards: Mapping[str, Any]) -> Pending:
        """Check rewards by name, and let the policy learn those that are new.

        Returns the decision with these rewards; it is stored if the one before was.
        """
        if pending.rewards is self.no_rewards and self.in_parts:
            # Fast path: the first rewards of a decision, floats within their ranges.
            lines, given = self._lines, list(self.no_rewards)
            shares, values = self._unknown.copy(), self._unknown.copy()
            for name, value in rewards.items():
                line = lines.get(name)
                if line is None or value.__class__ is not float:
                    break
                i, low, high, span, most = line
                if not low <= value <= high:
                    break
                share = (value - low) / span
                shares[i] = share if most else 1.0 - share
                values[i] = given[i] = value
            else:
                return self._learn_part(pending, shares, values, given) if rewards else pending
        return self._learn(pending, self.new_rewards(pending, rewards))

    def new_rewards(
        self,
        pending: Pending,
        rewards: Mapping[str, Any],
        earlier: Mapping[int, float] = _NO_EARLIER,
    ) -> NewRewards:
        """Return the rewards that are new; refuse another value than before.

        `earlier` holds the rewards of earlier rows of the same batch.
        """
        new: NewRewards = []
        for name, given in rewards.items():
            i = self.index.get(name)
            if i is None:
                raise unknown_name("objective", name, self.index)
            objective = self.objectives[i]
            value = objective.checked(given)
            before = pending.rewards[i]
            if before is None and earlier:
                before = earlier.get(i)
            if before is None:
                new.append((i, value, objective.share(value)))
            elif before != value:
                raise Contradiction(
                    f"{name} of decision {pending.id!r} was given as {before!r} before, now as "
                    f"{value!r}."
                )
        return new

    def _learn(self, pending: Pending, new: NewRewards) -> Pending:
        """Let the policy learn new rewards; one outside its range is clipped."""
        if not new:
            return pending
        given = list(pending.rewards)
        shares, values = self._unknown.copy(), self._unknown.copy()
        for i, value, share in new:
            given[i] = value
            shares[i] = share
            values[i] = self.objectives[i].clipped(value)
            if values[i] != value:
                self.count_outside(i, 1)
        return self._learn_part(pending, shares, values, given)

    def _learn_part(
        self,
        pending: Pending,
        shares: Floats,
        values: Floats,
        rewards: Sequence[float | None],
    ) -> Pending:
        """Learn new rewards, shares[D] and values[D]; a policy that needs all learns later.

        Returns, and stores, the decision with all its `rewards`.
        """
        id, arm, point, mask, propensity, since, _, learned = pending
        policy = self.policy
        if learned or self.in_parts:
            features, means = policy._learn_checked(point, arm, shares, mask, learned)
            if not learned:
                learned = True
                self.plays[arm] += 1
        else:
            features, means = policy._expect_checked(point, arm)
        sums = self.sums
        score(
            sums.compared,
            sums.received,
            features,
            means,
            arm,
            propensity,
            sums.explore,
            shares,
            values,
            NO_MASK if mask is None else mask,
        )
        known = (id, arm, point, mask, propensity, since, tuple(rewards), learned)
        after: Pending = _tuple(Pending, known)
        if not learned and None not in rewards:
            self._learn_at_once(after)
            after = after._replace(learned=True)
        if id in self.pending:
            self.pending.replace(id, after)
        return after

    def _learn_at_once(self, pending: Pending) -> None:
        """Let a policy that cannot learn in parts learn all rewards of a decision."""
        shares = [
            o.share(v) if v is not None else math.nan
            for o, v in zip(self.objectives, pending.rewards, strict=True)
        ]
        self.policy.update(pending.point, pending.arm, shares, pending.mask)
        self.plays[pending.arm] += 1

    def reward_rows(self, decisions: Sequence[Pending], values: Floats) -> None:
        """Learn new, checked rewards values[n, D] of many decisions; NaN: no reward.

        The same as `reward` row by row.
        """
        taken, shares = np.empty_like(values), np.empty_like(values)
        for i, objective in enumerate(self.objectives):
            shares[:, i] = objective.shares(values[:, i])
            taken[:, i] = np.clip(values[:, i], *objective.range)
            self.count_outside(i, objective.count_outside(values[:, i]))
        some = ~np.isnan(values)
        for row in np.flatnonzero(some.any(axis=1)).tolist():
            pending = self.pending[decisions[row].id]  # a decision may be in several rows
            rewards = [
                value if new else before
                for value, new, before in zip(
                    values[row].tolist(), some[row].tolist(), pending.rewards, strict=True
                )
            ]
            self._learn_part(pending, shares[row], taken[row], rewards)

    def add_rows_of_log(self, plays: Integers) -> None:
        """Count plays[K] that the policy learned from the rows of a log."""
        self.rows += int(plays.sum())
        for arm, count in enumerate(plays.tolist()):
            self.plays[arm] += count

    def count_outside(self, i: int, count: int) -> None:
        """Count rewards of an objective outside its range; log the first, without its value.

        Rewards may be confidential, and the logs of a service are read by others.
        """
        objective = self.objectives[i]
        if count and not self.outside[objective.name]:
            log.warning(
                "a reward of %s lies outside its range from %g to %g and is taken as the nearest "
                "end; further ones are only counted (summary().outside).",
                objective.name,
                *objective.range,
            )
        self.outside[objective.name] += count

    # Changes of the whole ledger.

    def add_arm(self, active: Booleans) -> None:
        """Add an arm; `active` says which could be chosen before.

        Earlier decisions did not have the new arm to choose.
        """
        self.plays.append(0)
        self.sums.add_arm()
        before = np.append(np.ones(len(active), np.bool_), False)
        for id, pending in self.pending.items():
            mask = pending.mask
            after = before if mask is None else np.append(mask, False)
            self.pending[id] = pending._replace(mask=after)
        recent = [
            (point, None if mask is None else np.append(mask, bool((mask == active).all())))
            for point, mask in self.recent
        ]
        self.recent = deque(recent, maxlen=RECENT)

    def merge(self, other: "Ledger") -> None:
        """Add the counts, sums and decisions of another ledger; beyond `keep`, drop the oldest."""
        self.made += other.made
        self.defaulted += other.defaulted
        self.plays = [mine + theirs for mine, theirs in zip(self.plays, other.plays, strict=True)]
        self.rows += other.rows
        self.sums.merge(other.sums)
        for name, count in other.outside.items():
            self.outside[name] += count
        for name, counts in other.contexts.counts.items():
            self.contexts.count(tuple((name, note, count) for note, count in counts.items()))
        both = [*self.pending.values(), *other.pending.values()]
        both.sort(key=lambda one: one.since)
        self.pending = OldestFirst((one.id, one) for one in both[-self.keep :])
        self.dropped += other.dropped + len(both) - len(self.pending)
        self.expired += other.expired


def _stored_already(id: str) -> Contradiction:
    return Contradiction(
        f"decision {id!r} is kept already: every decision needs an id of its own, and is recorded "
        "once."
    )


def id_of(decision: Any) -> str:
    """Return the id of a decision, or the id itself."""
    id = decision if isinstance(decision, str) else getattr(decision, "id", None)
    if not isinstance(id, str):
        raise InvalidInput(f"decision must be what choose returned, or its id, got {decision!r}.")
    return id


def propensity_of(given: Any) -> float:
    """Return a probability above 0 and at most 1; NaN where a policy knows none."""
    number: float = given if given.__class__ is float else checks.real(given)
    unknown = number != number and isinstance(given, float | np.floating)  # noqa: PLR0124
    if not (0.0 < number <= _CERTAIN or unknown):
        raise InvalidInput(
            "propensity must be a probability above 0 and at most 1, or NaN where it is not known, "
            f"got {given!r}."
        )
    return number


def rewards_by_name(values: Any, named_values: Mapping[str, float]) -> Mapping[str, float]:
    """Return rewards that are given in a mapping, by keywords, or both."""
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"rewards are given by name, as quality=0.9 or a mapping, got {values!r}."
        )
    for name in values:
        if name in named_values and _differ(values[name], named_values[name]):
            raise Contradiction(
                f"{name} is given as {values[name]!r} and as {named_values[name]!r}."
            )
    return {**values, **named_values}


def _differ(one: Any, other: Any) -> bool:
    """Tell whether two rewards are different numbers; other values are refused later."""
    first, second = checks.reward(one), checks.reward(other)
    return first != second and not (math.isnan(first) and math.isnan(second))


def no_reward(objectives: Sequence[Objective]) -> InvalidInput:
    """Return the error for a call without any reward."""
    names = ", ".join(objective.name for objective in objectives)
    return InvalidInput(
        f"no reward is given; give one or more of {names} by name, as {objectives[0].name}=..."
    )
