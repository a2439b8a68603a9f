"""The chooser: objectives, arms and contexts in the user's own words, and a policy underneath."""

import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser import batches, merging, storing
from lexbandit.chooser.batches import Choices
from lexbandit.chooser.doors import arms_of, id_of, objectives_of, prior_of, told_of
from lexbandit.chooser.explaining import ChooserExplanation, explained
from lexbandit.chooser.policy_for import CAREFUL, DEFAULT, policy_for, takes_parts
from lexbandit.chooser.summary import Summary, summarized
from lexbandit.chooser.waiting import Waiting, WaitingRoom
from lexbandit.contexts import Feature
from lexbandit.errors import Contradiction, InvalidInput, unknown_name
from lexbandit.kernels.random import below, seeded
from lexbandit.objectives import Objective, named
from lexbandit.policies import Policy

log = logging.getLogger("lexbandit")

# Sets the chooser's own draws apart from those of its policy.
_OWN_DRAWS = 0x5EED
_PARTS = 2**53
# So many of the last contexts are kept for `summary`.
_RECENT = 256
_NOTHING: Mapping[int, float] = {}


# What is told of a decision for the first time: objective, value and its share of the range.
Fresh = list[tuple[int, float, float]]
# Makes a named tuple in half the time.
_tuple = tuple.__new__


class Choice(NamedTuple):
    """A decision: the arm to play, the exact probability it had, and the id to reward it by."""

    id: str
    arm: str
    propensity: float


class Chooser:
    """Chooses among named arms by objectives in order of priority, and learns from rewards.

    objectives   one `Objective` or several, the most important first
    arms         the options' names
    context      the features that are known before choosing: `Number`, `Category`, ...
    policy       a policy's name, or a policy; by default one that suits the problem
    explore      the share of choices drawn uniformly from the allowed arms; it makes logs usable to
                 evaluate other policies
    wait         seconds to wait for rewards; None waits for as long as the decision is kept
    keep         how many decisions are kept for their rewards; the oldest leave first
    horizon      how many choices are planned for, for policies that need to know
    seed         of all random draws
    settings     further parameters of the policy, such as scale=0.5

    A chooser may be used from many threads: every method takes its lock.
    """

    def __init__(
        self,
        *,
        objectives: Objective | Sequence[Objective],
        arms: Iterable[str],
        context: Sequence[Feature],
        policy: str | Policy | None = None,
        explore: float = 0.0,
        wait: float | None = None,
        keep: int = 100_000,
        horizon: int | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> None:
        self.objectives = objectives_of(objectives)
        self._arms = arms_of(arms)
        self._places = {arm: n for n, arm in enumerate(self._arms)}
        self.explore = checks.at_least_zero("explore", explore)
        if self.explore > 1.0:
            raise InvalidInput(f"explore must be a share of at most 1, got {explore!r}.")
        if not callable(clock):
            raise InvalidInput(f"clock must be a function of no arguments, got {clock!r}.")
        self._policy_name = None if isinstance(policy, Policy) else policy or DEFAULT
        # With the default's own, so that a file and a merge know them.
        self._settings = {**CAREFUL, **settings} if policy is None else settings
        self._horizon = horizon
        self._seed = checks.whole("seed", seed, least=0)
        self.policy, self.contexts = policy_for(
            policy,
            objectives=self.objectives,
            arms=len(self._arms),
            context=context,
            horizon=horizon,
            seed=self._seed,
            settings=self._settings,
        )
        self._in_parts = takes_parts(self.policy)
        self._standing: Booleans | None
        self._active = np.ones(len(self._arms), np.bool_)
        self._room = WaitingRoom(
            checks.whole("keep", keep, least=1),
            None if wait is None else checks.positive("wait", wait),
        )
        self._clock = clock
        self._lock = threading.RLock()
        self._random = seeded(self._seed ^ _OWN_DRAWS)
        self._prefix = secrets.token_hex(4)
        self._past = {self._prefix}  # whose decisions it learned from: none may count twice
        self._save_lock = threading.Lock()
        self._made = 0
        self._index = {objective.name: i for i, objective in enumerate(self.objectives)}
        self._no_rewards: list[float | None] = [None] * len(self.objectives)
        self._defaults = any(objective.default is not None for objective in self.objectives)
        self.outside = dict.fromkeys(self._index, 0)
        """How many rewards of each objective lay outside its range, and were clipped."""
        self._unknown: Floats = np.full(len(self.objectives), np.nan)
        # count, sum and sum of squares of the rewards of each objective
        self._received = [(0.0, 0.0, 0.0)] * len(self.objectives)
        self._recent: deque[tuple[Floats, Booleans | None]] = deque(maxlen=_RECENT)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms that can be chosen."""
        with self._lock:
            return tuple(arm for arm, on in zip(self._arms, self._active, strict=True) if on)

    @property
    def _active(self) -> Booleans:
        """Which arms can be chosen; `_standing` says the same as the policy reads it."""
        return self._in_use

    @_active.setter
    def _active(self, active: Booleans) -> None:
        self._in_use = active
        self._standing = None if active.all() else active

    @property
    def waiting(self) -> int:
        """How many decisions are kept for their rewards."""
        return len(self._room)

    def choose(self, context: Mapping[str, Any], allowed: Iterable[str] | None = None) -> Choice:
        """Return the arm to play in `context`, among the allowed ones."""
        with self._lock:
            mask = self._standing if allowed is None else self._mask(allowed)
            point = self.contexts.point(context)
            arm, propensity = self.policy.select(point, mask)
            if self.explore > 0.0:
                arm, propensity = self._explored(point, mask, arm, propensity)
            return self._note(arm, propensity, point, mask)

    def _note(self, arm: int, propensity: float, point: Floats, mask: Booleans | None) -> Choice:
        """Keep a decision for its rewards."""
        self._made = made = self._made + 1
        id = f"{self._prefix}-{made:x}"
        self._recent.append((point, mask))
        now, room = self._clock(), self._room
        if room.wait is not None:
            self._expire(now)
        if len(room.held) >= room.room:
            self._make_room()
        room.held[id] = Waiting(id, arm, point, mask, propensity, now, self._no_rewards.copy())
        return _tuple(Choice, (id, self._arms[arm], propensity))

    def _make_room(self) -> None:
        """Let the oldest decision go; say so the first time."""
        room = self._room
        self._leave(room.drop())
        if room.dropped == 1:
            log.warning(
                "%d decisions wait for their rewards, as many as are kept (keep=%d): the oldest "
                "leave from now on, and their rewards will be refused.",
                room.room,
                room.room,
            )

    def _explored(
        self, point: Floats, mask: Booleans | None, arm: int, propensity: float
    ) -> tuple[int, float]:
        """Return a uniformly drawn arm now and then; the propensity is that of the mixture."""
        allowed = np.flatnonzero(mask) if mask is not None else range(len(self._arms))
        if below(self._random, _PARTS) < self.explore * _PARTS:
            arm = int(allowed[below(self._random, len(allowed))])
            propensity = self.policy.explain(point, mask).arms[arm].propensity
        return arm, (1.0 - self.explore) * propensity + self.explore / len(allowed)

    def reward(
        self,
        decision: Choice | str,
        values: Mapping[str, float] | None = None,
        /,
        **named_values: float,
    ) -> None:
        """Tell rewards of a decision, all or some of them, now or later, in any order.

        The same reward told twice is one reward; another value for it is a `Contradiction`.
        """
        told = named_values if values is None else told_of(values, named_values)
        id = decision.id if decision.__class__ is Choice else decision
        with self._lock:
            room = self._room
            if room.wait is not None:
                self._expire(self._clock())
            waiting = room.held.get(id) if id.__class__ is str else None
            if waiting is None:
                waiting = room.get(id_of(decision))
            self._tell(waiting, self._fresh(waiting, told))

    def _let_go(self) -> None:
        """Let decisions go whose time is over now."""
        if self._room.wait is not None:
            self._expire(self._clock())

    def _learn(self, waiting: Waiting, told: Mapping[str, Any]) -> None:
        """Check all that is told, then tell the policy what is new."""
        self._tell(waiting, self._fresh(waiting, told))

    def _fresh(
        self, waiting: Waiting, told: Mapping[str, Any], earlier: Mapping[int, float] = _NOTHING
    ) -> Fresh:
        """Return what is told for the first time, as (objective, value, share).

        `earlier` has what came in the same batch.
        """
        fresh: Fresh = []
        for name, given in told.items():
            i = self._index.get(name, -1)
            if i < 0:
                raise unknown_name("objective", name, self._index)
            value, share = self.objectives[i].taken(given)
            before = waiting.rewards[i]
            if before is None:
                before = earlier.get(i)
            if before is None:
                fresh.append((i, value, share))
            elif before != value:
                raise Contradiction(
                    f"{name} of decision {waiting.id!r} was told as {before!r} before, now as "
                    f"{value!r}."
                )
        return fresh

    def _tell(self, waiting: Waiting, fresh: Fresh) -> None:
        """Let the policy learn checked rewards."""
        if not fresh:
            return
        shares = self._unknown.copy()
        for i, _, share in fresh:
            shares[i] = share
        if self._in_parts or waiting.learned:
            learn = self.policy.amend if waiting.learned else self.policy.update
            learn(waiting.point, waiting.arm, shares, waiting.mask)
            waiting.learned = True
        self._record(waiting, fresh)
        if not waiting.learned and None not in waiting.rewards:
            self._tell_at_once(waiting)

    def _record(self, waiting: Waiting, fresh: Fresh) -> None:
        """Note rewards that were learned, or are held back until all are there."""
        for i, value, share in fresh:
            waiting.rewards[i] = value
            count, total, squares = self._received[i]
            self._received[i] = (count + 1.0, total + value, squares + value * value)
            # What lies outside was taken as an end.
            if not 0.0 < share < 1.0 and self.objectives[i].is_outside(value):
                self._warn_outside(i, value)

    def _tell_at_once(self, waiting: Waiting) -> None:
        """Let a policy that cannot learn in parts learn all that came of a decision."""
        told = [
            o.share(v) if v is not None else math.nan
            for o, v in zip(self.objectives, waiting.rewards, strict=True)
        ]
        self.policy.update(waiting.point, waiting.arm, told, waiting.mask)
        waiting.learned = True

    def _leave(self, waiting: Waiting) -> None:
        """Let a decision go: what is held back of it is learned."""
        if not waiting.learned and any(value is not None for value in waiting.rewards):
            self._tell_at_once(waiting)

    def _warn_outside(self, i: int, value: float) -> None:
        objective = self.objectives[i]
        self.outside[objective.name] += 1
        if self.outside[objective.name] == 1:
            log.warning(
                "%s = %g lies outside its range from %g to %g and is taken as the nearest end; "
                "further ones are only counted (chooser.outside).",
                objective.name,
                value,
                *objective.range,
            )

    def _expire(self, now: float) -> None:
        """Let decisions go whose time is over; what is missing takes its default, if it has one."""
        for waiting in self._room.leave(now):
            if self._defaults:
                told = {
                    objective.name: objective.default
                    for objective, value in zip(self.objectives, waiting.rewards, strict=True)
                    if value is None and objective.default is not None
                }
                self._learn(waiting, told)
            self._leave(waiting)

    def explain(
        self, context: Mapping[str, Any], allowed: Iterable[str] | None = None
    ) -> ChooserExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        with self._lock:
            mask = self._mask(allowed)
            told = self.policy.explain(self.contexts.point(context, count=False), mask)
            return explained(told, self._arms, self._active, self.objectives, self.explore)

    def summary(self) -> Summary:
        """Say what was learned so far, and what the order of priority gained and gave up."""
        with self._lock:
            return summarized(self)

    def save(self, path: str | Path) -> None:
        """Write the chooser to a file; one that is there is replaced whole or not at all."""
        place = storing.place_of(path)
        with self._save_lock:  # choosing goes on while the file is written
            with self._lock:
                contents = storing.contents(self)
            storing.write(place, contents)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Chooser":
        """Read a chooser from a file; `policy` only if it was made with a policy object."""
        return storing.load(cls, storing.place_of(path), policy, clock)

    def merge(self, other: "Chooser") -> None:
        """Add what another chooser of the same definition learned on other traffic."""
        if not isinstance(other, Chooser) or other is self:
            raise InvalidInput(f"merge takes another Chooser, got {other!r}.")
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            merging.merge(self, other)

    def choose_many(self, contexts: Any, allowed: Any = None) -> Choices:
        """Return the arms to play in many contexts, a frame or columns by feature.

        `allowed` is one list of arms for all, or one for each. All are chosen by what is known now.
        """
        with self._lock:
            return batches.choose_many(self, contexts, allowed)

    def reward_many(self, ids: Choices | Iterable[str], rewards: Any) -> None:
        """Tell rewards of many decisions, a frame or columns by objective; NaN or None is none.

        `ids` is what `choose_many` returned, or ids. If anything is wrong nothing is learned.
        """
        with self._lock:
            batches.reward_many(self, ids, rewards)

    def learn(self, frame: Any) -> int:
        """Learn from logged data: columns of features, `arm`, and objectives; returns the rows.

        A warm start from what another policy did. NaN or None is "not observed".
        """
        with self._lock:
            return batches.learn(self, frame)

    def _mask(self, allowed: Iterable[str] | None) -> Booleans | None:
        """Return which arms can be played, as the policy reads it; None for all."""
        if allowed is None:
            return self._standing
        mask = np.zeros(len(self._arms), np.bool_)
        if isinstance(allowed, str) or not isinstance(allowed, Iterable):
            raise InvalidInput(f"allowed must be a list of arms, got {allowed!r}.")
        for arm in allowed:
            place = self._place(arm)
            if not self._active[place]:
                raise InvalidInput(f"arm {arm!r} is retired; it cannot be allowed.")
            mask[place] = True
        if not mask.any():
            raise InvalidInput("allowed is empty; at least one arm is needed.")
        return mask

    def _place(self, arm: Any) -> int:
        try:
            return self._places[arm]
        except (KeyError, TypeError):
            raise unknown_name("arm", arm, self._arms) from None

    def add_arm(
        self, arm: str, *, prior: Mapping[str, float] | None = None, weight: int | None = None
    ) -> None:
        """Add an arm that nothing is known of, or take a retired one back with all it learned.

        With a `prior`, such as prior={"quality": 0.9, "cost": 0.01}, weight=20, a new arm starts as
        if so many rewards of these averages had come, spread evenly over all contexts.
        """
        with self._lock:
            named("arm", arm)
            known = prior_of(arm, prior, weight, self.objectives)
            if arm in self._places:
                if self._active[self._places[arm]]:
                    raise InvalidInput(f"there is an arm {arm!r} already.")
                if known is not None:
                    raise InvalidInput(
                        f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
                    )
                active = self._active.copy()
                active[self._places[arm]] = True
                self._active = active
                return
            if known is None:
                self.policy.add_arm()
            else:
                self.policy.add_arm(known)
            self._places[arm] = len(self._arms)
            self._arms.append(arm)
            # What was chosen before could not be the new arm.
            before = np.append(np.ones(len(self._active), np.bool_), False)
            old = self._active
            self._active = np.append(old, True)
            for waiting in self._room:
                mask = waiting.mask
                waiting.mask = before if mask is None else np.append(mask, False)
            recent = [
                (p, None if mask is None else np.append(mask, bool((mask == old).all())))
                for p, mask in self._recent
            ]
            self._recent = deque(recent, maxlen=_RECENT)

    def retire_arm(self, arm: str) -> None:
        """Stop choosing an arm. Rewards of its earlier decisions are still taken."""
        with self._lock:
            place = self._place(arm)
            if not self._active[place]:
                raise InvalidInput(f"arm {arm!r} is retired already.")
            if self._active.sum() == 1:
                raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")
            active = self._active.copy()
            active[place] = False
            self._active = active
