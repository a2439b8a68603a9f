"""The parts of a chooser: what it was made with, its arms, and the decisions it keeps."""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.doors import id_of, names_apart, objectives_of, prior_of
from lexbandit.chooser.first_guess import warn_if_far
from lexbandit.chooser.ledger import Ledger
from lexbandit.chooser.policy_for import DEFAULT, policy_for
from lexbandit.chooser.proposals import PendingDecision, kept
from lexbandit.chooser.settings import no_settings, settings_of
from lexbandit.chooser.waiting import Waiting, WaitingRoom
from lexbandit.contexts import Feature, Notes
from lexbandit.errors import InvalidInput, counted
from lexbandit.kernels.random import now_and_then, now_and_then_many, seeded
from lexbandit.objectives import Objective, named
from lexbandit.policies import Policy

# Sets the chooser's own draws apart from those of its policy.
_OWN_DRAWS = 0x5EED


class ChooserCore:
    """What a `Chooser` is made of; use that."""

    def __init__(
        self,
        *,
        objectives: Objective | Sequence[Objective],
        arms: Iterable[str],
        context: Sequence[Feature] = (),
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
        self._arms = Arms(arms)
        self.explore = checks.at_least_zero("explore", explore)
        if self.explore > 1.0:
            raise InvalidInput(f"explore must be a share of at most 1, got {explore!r}.")
        if not callable(clock):
            raise InvalidInput(f"clock must be a function of no arguments, got {clock!r}.")
        named_by = DEFAULT if policy is None else policy
        self._policy_name = None if isinstance(named_by, Policy) else named_by
        if self._policy_name is None:
            no_settings(settings, _OWN)
            self._settings: dict[str, Any] = {}
        else:
            self._settings = settings_of(self._policy_name, settings, _OWN)
        self._horizon = horizon
        self._seed = checks.whole("seed", seed, least=0)
        if isinstance(policy, Policy) and id(policy) in _USED:
            raise InvalidInput(
                f"{policy!r} is another chooser's already: each needs a policy of its own, or one "
                "would learn what the other is told. Make a second one."
            )
        self.policy, self.contexts = policy_for(
            policy,
            objectives=self.objectives,
            arms=len(self._arms),
            context=context,
            horizon=horizon,
            seed=self._seed,
            settings=self._settings,
        )
        names_apart(self.objectives, self.contexts.names)
        room = WaitingRoom(
            checks.whole("keep", keep, least=1),
            None if wait is None else checks.positive("wait", wait),
        )
        self._ledger = Ledger(
            objectives=self.objectives,
            policy=self.policy,
            contexts=self.contexts,
            room=room,
            clock=clock,
            explore=self.explore,
        )
        self._lock = threading.RLock()
        self._save_lock = threading.Lock()
        self._random = seeded(self._seed ^ _OWN_DRAWS)
        prefix = secrets.token_hex(4)
        self._id = f"{prefix}-%x"  # of the decision of a number
        self._past = {prefix}  # whose decisions it learned from: none may count twice
        _USED[id(self.policy)] = self
        warn_if_far(self.objectives, len(self._arms), self.contexts, self.policy)

    # What Python says of a missing argument is for those who made a Chooser.
    __init__.__qualname__ = "Chooser.__init__"

    def _let_go(self) -> None:
        """Leave the policy to another chooser: this one did not become whole."""
        _USED.pop(id(self.policy), None)

    def __repr__(self) -> str:
        order = ", then ".join(objective.name for objective in self.objectives)
        return (
            f"<Chooser by {self.policy.name}: {order}; {counted(len(self.arms), 'arm')}, "
            f"decisions: {self._ledger.made:,}>"
        )

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms that can be chosen."""
        with self._lock:
            arms = self._arms
            return tuple(arm for arm, on in zip(arms.names, arms.active, strict=True) if on)

    @property
    def plays(self) -> dict[str, int]:
        """Per arm, the decisions and the rows of logs whose rewards were learned."""
        with self._lock:
            return dict(zip(self._arms.names, map(int, self._ledger.plays), strict=True))

    @property
    def retired(self) -> tuple[str, ...]:
        """The names of the arms that were retired."""
        with self._lock:
            arms = self._arms
            return tuple(arm for arm, on in zip(arms.names, arms.active, strict=True) if not on)

    @property
    def waiting(self) -> int:
        """How many decisions are kept for their rewards."""
        return len(self._ledger.room)

    @property
    def expired(self) -> int:
        """How many decisions left when their time was over (`wait`)."""
        return self._ledger.room.expired

    @property
    def dropped(self) -> int:
        """How many decisions left for want of room (`keep`)."""
        return self._ledger.room.dropped

    @property
    def defaulted(self) -> int:
        """How many rewards did not come in time and took their objective's default."""
        return self._ledger.defaulted

    @property
    def outside(self) -> dict[str, int]:
        """How many rewards of each objective lay outside its range, and were clipped."""
        return self._ledger.outside

    def set_tolerances(self, tolerances: Sequence[float]) -> None:
        """Give the objectives other tolerances; choices to come go by them.

        Nothing that was learned depends on them.
        """
        with self._lock:
            pairs = zip(self.objectives, tolerances, strict=True)
            self.objectives = tuple(replace(one, tolerance=value) for one, value in pairs)
            self._ledger.objectives = self.objectives
            theirs = self.policy.read_tolerances
            if theirs is not None:
                theirs[:] = [one.tolerance / one.span for one in self.objectives]
                self._settings.pop("tolerance", None)

    def tick(self) -> int:
        """Let decisions go whose time is over now (`wait`); returns how many.

        Recording and rewarding do it too. It matters if neither happens for a while.
        """
        with self._lock:
            before = self.expired
            self._ledger.tick()
            return self.expired - before

    def __contains__(self, id: object) -> bool:
        """Tell whether a decision of this id is kept."""
        return id in self._ledger.room

    def decision(self, id: str) -> PendingDecision:
        """Return a decision that is kept for its rewards, and those that came."""
        with self._lock:
            return self._kept(self._ledger.room.get(id_of(id)))

    def decisions(self) -> Iterator[PendingDecision]:
        """Return all decisions that are kept now, the oldest first."""
        with self._lock:
            listed = [self._kept(waiting) for waiting in self._ledger.room]
        return iter(listed)

    def overdue(self, now: float) -> list[PendingDecision]:
        """Return the kept decisions whose time is over at `now`, the oldest first: `tick` then."""
        time = checks.seconds("now", now)
        with self._lock:
            return [self._kept(waiting) for waiting in self._ledger.room.overdue(time)]

    def _kept(self, waiting: Waiting) -> PendingDecision:
        return kept(self._arms, self._ledger, waiting)

    def forget(self, ids: Iterable[str]) -> list[PendingDecision]:
        """Let decisions go with their contexts, before their time; returns those that were kept.

        What was learned from them stays learned. The last contexts, which `outlook` asks about, are
        forgotten too, whose ever they are.
        """
        with self._lock:
            ledger = self._ledger
            gone = [ledger.room.held[id] for id in ids if id in ledger.room]
            listed = [self._kept(waiting) for waiting in gone]
            for waiting in gone:
                ledger.let_go(waiting)
            ledger.recent.clear()
            return listed

    @property
    def due(self) -> float | None:
        """When the time of the oldest kept decision is over; None if none waits for a time."""
        with self._lock:
            return self._ledger.room.due

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
            arms = self._arms
            if arm in arms.places:
                if arms.active[arms.places[arm]]:
                    raise InvalidInput(f"there is an arm {arm!r} already.")
                if known is not None:
                    raise InvalidInput(
                        f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
                    )
                arms.set_active(arms.places[arm], True)
                return
            if known is None:
                self.policy.add_arm()
            else:
                self.policy.add_arm(known)
            self._ledger.widen(arms.active)
            arms.add(arm)

    def retire_arm(self, arm: str) -> None:
        """Stop choosing an arm. Rewards of its earlier decisions are still taken."""
        with self._lock:
            arms = self._arms
            place = arms.place(arm)
            if not arms.active[place]:
                raise InvalidInput(f"arm {arm!r} is retired already.")
            if arms.active.sum() == 1:
                raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")
            arms.set_active(place, False)

    def _decide(
        self, context: Mapping[str, Any], allowed: Iterable[str] | None
    ) -> tuple[int, float, Floats, Booleans | None, Notes]:
        """Return the arm, its probability, the point, the arms it was chosen from, and notes."""
        mask = self._arms.standing if allowed is None else self._arms.mask(allowed)
        point, notes = self.contexts.encode(context)
        arm, propensity = self.policy._select_checked(point, mask)
        if self.explore > 0.0:
            arm, propensity = self._explored(point, mask, arm, propensity)
        return arm, propensity, point, mask, notes

    def _explored(
        self, point: Floats, mask: Booleans | None, arm: int, propensity: float
    ) -> tuple[int, float]:
        """Return a uniformly drawn arm now and then; the propensity is that of the mixture."""
        allowed = np.flatnonzero(mask) if mask is not None else range(len(self._arms))
        drawn = now_and_then(self._random, self.explore, len(allowed))
        if drawn >= 0:
            arm = int(allowed[drawn])
            propensity = float(self.policy._propensities_checked(point, mask)[arm])
        return arm, (1.0 - self.explore) * propensity + self.explore / len(allowed)

    def _propensities(self, point: Floats, mask: Booleans | None) -> Floats:
        """Return the exact probability of every arm, retired ones too; NaN where none is known."""
        shares = self.policy._propensities_checked(point, mask)
        allowed = self._arms.active if mask is None else mask
        if self.explore > 0.0:
            shares = (1.0 - self.explore) * shares + self.explore / allowed.sum()
        return np.where(allowed, shares, 0.0)

    def _propensities_many(self, points: Floats, masks: Booleans | None) -> Floats:
        """As `_propensities`, for points[n, d] and masks[n, K]; None allows all active arms."""
        if masks is None and self._arms.standing is not None:
            masks = np.tile(self._arms.standing, (len(points), 1))
        shares = self.policy.propensities_many(points, masks)
        if self.explore > 0.0:
            counts = len(self._arms) if masks is None else masks.sum(axis=1, keepdims=True)
            shares = (1.0 - self.explore) * shares + self.explore / counts
        return shares if masks is None else np.where(masks, shares, 0.0)

    def _explored_many(
        self, points: Floats, masks: Booleans | None, arms: Integers, propensities: Floats
    ) -> tuple[Integers, Floats]:
        """As `_explored`, row after row: the same draws in the same order."""
        counts = np.full(len(points), len(self._arms)) if masks is None else masks.sum(axis=1)
        arms, propensities = arms.copy(), propensities.copy()
        drawn = np.empty(len(points), np.int64)
        now_and_then_many(self._random, self.explore, counts, drawn)
        for row in np.flatnonzero(drawn >= 0):
            mask = None if masks is None else masks[row]
            arm = drawn[row] if mask is None else np.flatnonzero(mask)[drawn[row]]
            arms[row] = arm
            propensities[row] = self.policy._propensities_checked(points[row], mask)[arm]
        return arms, (1.0 - self.explore) * propensities + self.explore / counts


# The arguments of a chooser but for settings of its policy.
_OWN = tuple(signature(ChooserCore).parameters)[:-1]

# The choosers by the id of their policy, which each of them keeps alive.
_USED: "WeakValueDictionary[int, ChooserCore]" = WeakValueDictionary()
