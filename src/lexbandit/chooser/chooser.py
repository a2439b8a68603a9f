"""`Chooser`: choose among named arms by objectives in their units, with a policy underneath."""

import copy
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from inspect import signature
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.chooser import batches, saving
from lexbandit.chooser.arms import Arms, prior_of
from lexbandit.chooser.batches import Batch, Decisions, batch_of
from lexbandit.chooser.explanation import Explanation
from lexbandit.chooser.ledger import Decision, Ledger, id_of, no_reward, rewards_by_name
from lexbandit.chooser.outlook import Outlook, outlook, warn_if_far
from lexbandit.chooser.policy import DEFAULT, no_settings, policy_for, settings_of
from lexbandit.chooser.reasons import explain
from lexbandit.chooser.summary import Summary, copy_for_summary, summarize
from lexbandit.contexts import Feature, Notes
from lexbandit.errors import InvalidInput, counted
from lexbandit.kernels.random import now_and_then, now_and_then_many, seeded
from lexbandit.objectives import Objective, named, objectives_of, refuse_shared_names
from lexbandit.policies import Policy

# Separates the chooser's own random draws from those of its policy.
_OWN_DRAWS = 0x5EED

# Half the time of calling the named tuple.
_tuple = tuple.__new__

# The context of a chooser without features.
_NONE: Mapping[str, Any] = {}

# What must be equal in choosers that merge: seeds, waiting times and `explore` may differ.
_MEANING = ("objectives", "arms", "context", "policy", "settings", "horizon")


class Chooser:
    """Chooses among named arms by objectives in order of priority, and learns from rewards.

    objectives   one `Objective` or several, the most important first
    arms         the options' names
    context      the features that are known before choosing: `Number`, `Category`, ...; none at all
                 if it is left out, and then contexts can be left out too
    policy       a policy's name, or a policy that no other chooser has; by default one that suits
                 the problem
    explore      the share of choices drawn uniformly from the allowed arms; it makes logs usable to
                 evaluate other policies
    wait         seconds to wait for rewards; None waits for as long as the decision is stored
    keep         how many decisions are stored for their rewards; the oldest leave first
    horizon      how many choices are planned for, for policies that need to know
    seed         of all random draws
    clock        returns the time in seconds, as a number
    settings     further parameters of the policy, such as scale=0.5

    A chooser may be used from many threads: every method takes its lock.
    """

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
        self._explore = checks.at_least_zero("explore", explore)
        if self._explore > 1.0:
            raise InvalidInput(f"explore must be a share of at most 1, got {explore!r}.")
        if not callable(clock):
            raise InvalidInput(f"clock must be a function of no arguments, got {clock!r}.")
        by_name = DEFAULT if policy is None else policy
        self._policy_name = None if isinstance(by_name, Policy) else by_name
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
        refuse_shared_names(self.objectives, self.contexts.names)
        self._ledger = Ledger(
            objectives=self.objectives,
            policy=self.policy,
            contexts=self.contexts,
            keep=checks.whole("keep", keep, least=1),
            wait=None if wait is None else checks.positive("wait", wait),
            clock=clock,
            explore=self._explore,
        )
        self._lock = threading.RLock()
        self._save_lock = threading.Lock()
        self._random = seeded(self._seed ^ _OWN_DRAWS)
        # The id prefixes of all decisions it learned, so that `merge` counts none twice.
        self._past: set[str] = set()
        self._new_ids()
        _USED[id(self.policy)] = self
        self._warn_at_first()

    def _warn_at_first(self) -> None:
        warn_if_far(self.objectives, len(self._arms), self.contexts, self.policy)

    def _new_ids(self) -> None:
        """Draw a new random prefix for the ids of further decisions."""
        prefix = secrets.token_hex(4)
        self._id = f"{prefix}-%x"  # the id of the decision of this number
        self._past.add(prefix)

    def _part_from_parent(self) -> None:
        """Draw ids and random numbers of its own in a forked process."""
        self._new_ids()
        self._save_lock = threading.Lock()  # another thread may have held it
        seed = secrets.randbits(63)
        self._random[:] = seeded(seed ^ _OWN_DRAWS)
        self.policy.reseed(seed)

    def __repr__(self) -> str:
        order = ", then ".join(objective.name for objective in self.objectives)
        return (
            f"<Chooser by {self.policy.name}: {order}; {counted(len(self.arms), 'arm')}, "
            f"decisions: {self._ledger.made:,}>"
        )

    # Choose and learn.

    def choose(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Decision:
        """Return the arm to play in `context`, among the allowed ones."""
        lock = self._lock
        lock.acquire()  # not `with`, here and in `reward`: it takes twice the time
        try:
            arm, propensity, point, mask, notes = self._decide(context, allowed)
            ledger = self._ledger
            id = self._id % (ledger.made + 1)
            ledger.add(id, arm, propensity, point, mask, notes)
            return _tuple(Decision, (id, self._arms.names[arm], propensity))
        finally:
            lock.release()

    def reward(
        self,
        decision: Decision | str,
        values: Mapping[str, float] | None = None,
        /,
        **named_values: float,
    ) -> None:
        """Learn rewards of a decision, all or some of them, now or later, in any order.

        Repeating a reward has no further effect; another value for it is a `Contradiction`.
        """
        rewards = named_values if values is None else rewards_by_name(values, named_values)
        if not rewards:
            raise no_reward(self.objectives)
        id = decision.id if decision.__class__ is Decision else decision
        lock = self._lock
        lock.acquire()
        try:
            ledger = self._ledger
            if ledger.wait is not None:
                ledger.tick()
            pending = ledger.pending.get(id) if id.__class__ is str else None
            if pending is None:
                pending = ledger.find(id_of(decision))
            ledger.reward(pending, rewards)
        finally:
            lock.release()

    def choose_many(self, contexts: Any, allowed: Any = None) -> Decisions:
        """Return the arms to play in many contexts, a frame or columns by feature.

        `allowed` is one list of arms for all contexts, or one for each. No choice in the batch
        depends on another.
        """
        with self._lock:
            batch = batch_of(self.contexts, self._arms, contexts, allowed)
            arms, propensities = self._decide_many(batch)
            ledger, names, usual = self._ledger, self._arms.names, self._arms.usual
            first, n = ledger.made + 1, len(arms)
            ids = [self._id % k for k in range(first, first + n)]
            masks = [usual if mask is None else mask for mask in batch.masks or [None] * n]
            numbers = arms.tolist()
            ledger.add_many(ids, numbers, propensities.tolist(), batch.points, masks, batch.notes)
            return Decisions(ids, [names[k] for k in numbers], propensities)

    def reward_many(self, ids: Decisions | Iterable[str], rewards: Any) -> None:
        """Learn rewards of many decisions, a frame or columns by objective; NaN or None: no reward.

        `ids` is what `choose_many` returned, or ids. If any row is wrong, nothing is learned. The
        result is the same as calling `reward` row by row.
        """
        with self._lock:
            batches.reward_many(self._ledger, ids, rewards)

    def learn(self, frame: Any, **how: Any) -> int:
        """Learn from logged data: columns of features, `arm`, and objectives, or a `Log`.

        A warm start from what another policy did; a table that `lexbandit export` wrote is taken
        too. NaN or None is "not observed". A column `propensity` is not read. Returns how many rows
        were learned: those with a reward.

        A `Log` is read in batches, so it may be larger than memory. For it there are two more
        arguments. `weigh="propensity"` learns each row about 1/(k·propensity) times, with k the
        allowed arms, as if arms had been drawn uniformly; `weigh="doubly-robust"` learns pseudo-
        rewards of arms drawn uniformly, by a model that the logged rewards correct. `executor`
        learns parts of the log elsewhere, such as Dask's `Client.get_executor()`.
        """
        teach = getattr(frame, "teach", None)
        if teach is not None:
            return int(teach(self, **how))
        if how:
            raise InvalidInput(
                f"{', '.join(how)} is for a Log: chooser.learn(lexbandit.Log(frame, like=chooser), "
                "...)."
            )
        with self._lock:
            return batches.learn(self._arms, self._ledger, frame)

    # Ask.

    def propensities(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Return the exact probability of every arm to be chosen in `context` now, by name.

        All of `chooser.arms` are there, in that order; one that is not allowed has 0. What
        `explore` adds is counted. NaN where the policy knows no closed form of its probabilities.
        """
        with self._lock:
            arms = self._arms
            mask = arms.usual if allowed is None else arms.mask(allowed)
            shares = self._propensities(self.contexts.encode(context)[0], mask).tolist()
            return {name: shares[arms.numbers[name]] for name in self.arms}

    def propensities_many(self, contexts: Any, allowed: Any = None) -> Floats:
        """Return the exact probabilities of many contexts as float[n, K].

        A row for each context, a column for each of `chooser.arms`, in that order. `contexts` and
        `allowed` are those of `choose_many`.
        """
        with self._lock:
            batch = batch_of(self.contexts, self._arms, contexts, allowed)
            shares = self._propensities_many(batch.points, batch.table)
            return np.ascontiguousarray(shares[:, self._arms.active])

    def explain(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Explanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        with self._lock:
            arms = self._arms
            mask = arms.usual if allowed is None else arms.mask(allowed)
            explanation = self.policy.explain(self.contexts.encode(context)[0], mask)
            plays = list(self._ledger.plays)
            names, active = list(arms.names), arms.active
            return explain(explanation, names, plays, active, self.objectives, self._explore)

    def outlook(self, share: float = 0.9) -> Outlook:
        """Say which share of requests gets an arm within the tolerances, and when most of them do.

        This is measured in recent contexts, and projected to when it is `share` of the requests, as
        an order of magnitude; before the first reward it is a rough guess. It also says where
        several arms are within the tolerances, so that the last objective decides. The chooser is
        locked for one context at a time.
        """
        return outlook(self._lock, self._arms, self._ledger, self._explore, share)

    def summary(self) -> Summary:
        """Say what was earned so far, and what always playing each arm would have given instead.

        The chooser is locked only while the sums are copied.
        """
        with self._lock:
            source = copy_for_summary(self._arms, self._ledger, self._explore)
        return summarize(source)

    # Change.

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms that can be chosen."""
        with self._lock:
            arms = self._arms
            return tuple(arm for arm, on in zip(arms.names, arms.active, strict=True) if on)

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
            if arm in arms.numbers:
                if arms.active[arms.numbers[arm]]:
                    raise InvalidInput(f"there is an arm {arm!r} already.")
                if known is not None:
                    raise InvalidInput(
                        f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
                    )
                arms.set_active(arms.numbers[arm], True)
                return
            if known is None:
                self.policy.add_arm()
            else:
                self.policy.add_arm(known)
            self._ledger.add_arm(arms.active)
            arms.add(arm)

    def retire_arm(self, arm: str) -> None:
        """Stop choosing an arm. Rewards of its earlier decisions are still taken."""
        with self._lock:
            arms = self._arms
            number = arms.number(arm)
            if not arms.active[number]:
                raise InvalidInput(f"arm {arm!r} is retired already.")
            if arms.active.sum() == 1:
                raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")
            arms.set_active(number, False)

    def set_tolerances(self, tolerances: Sequence[float]) -> None:
        """Change the tolerances of the objectives, for further choices.

        What was learned does not depend on them.
        """
        given = checks.listed(tolerances)
        if given is None or len(given) != len(self.objectives):
            names = ", ".join(objective.name for objective in self.objectives)
            raise InvalidInput(
                f"set_tolerances takes a list with one tolerance for each objective ({names}), got "
                f"{tolerances!r}."
            )
        with self._lock:
            pairs = zip(self.objectives, given, strict=True)
            self.objectives = tuple(replace(one, tolerance=value) for one, value in pairs)
            self._ledger.objectives = self.objectives
            shares = self.policy.read_tolerances
            if shares is not None:
                shares[:] = [one.tolerance / one.span for one in self.objectives]

    def merge(self, other: "Chooser") -> None:
        """Add what another chooser of the same definition learned on other traffic.

        Its waiting decisions are added too. Which arms are retired stays as it is here.
        """
        if not isinstance(other, Chooser) or other is self:
            raise InvalidInput(f"merge takes another Chooser, got {other!r}.")
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            mine, theirs = self._definition(), other._definition()
            for key in _MEANING:
                if mine[key] != theirs[key]:
                    raise InvalidInput(
                        f"choosers of different definitions cannot be merged: {key} is "
                        f"{theirs[key]!r} there and {mine[key]!r} here."
                    )
            if self._past & other._past:
                raise InvalidInput(
                    "these choosers share a past (one was loaded from a file of the other, both "
                    "from one file, or they were merged before), so what they learned in common "
                    "would count twice."
                )
            self.policy.merge(other.policy.state())
            self._past |= other._past
            self._ledger.merge(other._ledger)

    # Save.

    def save(self, path: str | Path) -> None:
        """Write the chooser to a file; an existing file is replaced atomically."""
        place = saving.path_of(path)
        with self._save_lock:  # so that the last call is the one whose file stays
            saving.write(place, self.to_bytes())

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Read a chooser from a file; `policy` only if it was made with a policy object."""
        place = saving.path_of(path)
        return cls._load(str(place), saving.read(place), policy, clock)

    def to_bytes(self) -> bytes:
        """Return what `save` writes, to be stored elsewhere, such as in a database.

        The chooser is locked while a snapshot is taken, not while it is packed.
        """
        return saving.pack(*saving.contents_of(self._snapshot()))

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        *,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Return a chooser from what `to_bytes` returned, or from the contents of a file."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidInput(f"from_bytes takes what to_bytes returned, got {data!r}.")
        return cls._load("what was given", bytes(data), policy, clock)

    @classmethod
    def _load(
        cls, where: str, data: bytes, policy: Policy | None, clock: Callable[[], float]
    ) -> Self:
        """Return a chooser from the bytes of a file; errors name `where` they are from.

        Further decisions get ids with a new prefix: decisions made after the file was saved are
        lost, and their late rewards must not be taken for rewards of others.
        """
        document, arrays = saving.unpack(where, data)
        with saving.refusing_damage(where):
            chooser = cls(clock=clock, **saving.arguments_of(document["definition"], policy))
            try:
                chooser._past |= {str(past) for past in document["past"]}
                chooser._random = saving.array_of(arrays, "random", "u", (2,))
                saving.restore(document, arrays, chooser._arms, chooser._ledger)
            except BaseException:
                _USED.pop(id(chooser.policy), None)  # so that the policy can be given again
                raise
        return chooser

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what `save` writes; further decisions of the copy get ids with a new prefix."""
        policy = self.policy if self._policy_name is None else None
        return _unpickle, (type(self), self.to_bytes(), policy, self._ledger.clock)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a policy object has one chooser, so it is copied too

    def _definition(self) -> dict[str, Any]:
        """Return the arguments that the chooser was made with, as JSON can hold them."""
        definition: dict[str, Any] = saving.plain_values(
            {
                "objectives": [asdict(objective) for objective in self.objectives],
                "arms": list(self._arms.names),
                "context": [{"kind": f.kind, **asdict(f)} for f in self.contexts.features],
                "policy": self._policy_name,
                "settings": self._settings,
                "horizon": self._horizon,
                "seed": self._seed,
                "explore": self._explore,
                "wait": self._ledger.wait,
                "keep": self._ledger.keep,
            }
        )
        return definition

    def _snapshot(self) -> saving.ChooserSnapshot:
        with self._lock:
            return saving.snapshot(
                self._definition(), self._arms, self._ledger, self._past, self._random
            )

    # How an arm is chosen. The caller holds the lock.

    def _decide(
        self, context: Mapping[str, Any], allowed: Iterable[str] | None
    ) -> tuple[int, float, Floats, Booleans | None, Notes]:
        """Return the arm, its probability, the point, the arms it was chosen from, and notes."""
        mask = self._arms.usual if allowed is None else self._arms.mask(allowed)
        point, notes = self.contexts.encode(context)
        arm, propensity = self.policy._select_checked(point, mask)
        if self._explore > 0.0:
            arm, propensity = self._explored(point, mask, arm, propensity)
        return arm, propensity, point, mask, notes

    def _explored(
        self, point: Floats, mask: Booleans | None, arm: int, propensity: float
    ) -> tuple[int, float]:
        """Draw an arm uniformly with probability `explore`; return the mixture's propensity."""
        explore = self._explore
        allowed = np.flatnonzero(mask) if mask is not None else range(len(self._arms.names))
        drawn = now_and_then(self._random, explore, len(allowed))
        if drawn >= 0:
            arm = int(allowed[drawn])
            propensity = float(self.policy._propensities_checked(point, mask)[arm])
        return arm, (1.0 - explore) * propensity + explore / len(allowed)

    def _decide_many(self, batch: Batch) -> tuple[Integers, Floats]:
        """Return arms by number and their probabilities."""
        points, masks = batch.points, batch.table
        arms, propensities = self.policy.select_many(points, masks)
        explore = self._explore
        if explore == 0.0:
            return arms, propensities
        # The same draws in the same order as `_explored` row by row.
        counts = np.full(len(points), len(self._arms)) if masks is None else masks.sum(axis=1)
        arms, propensities = arms.copy(), propensities.copy()
        drawn = np.empty(len(points), np.int64)
        now_and_then_many(self._random, explore, counts, drawn)
        for row in np.flatnonzero(drawn >= 0):
            mask = None if masks is None else masks[row]
            arm = drawn[row] if mask is None else np.flatnonzero(mask)[drawn[row]]
            arms[row] = arm
            propensities[row] = self.policy._propensities_checked(points[row], mask)[arm]
        return arms, (1.0 - explore) * propensities + explore / counts

    def _propensities(self, point: Floats, mask: Booleans | None) -> Floats:
        """Return the exact probability of every arm, retired ones too; NaN where none is known."""
        shares = self.policy._propensities_checked(point, mask)
        allowed = self._arms.active if mask is None else mask
        if self._explore > 0.0:
            shares = (1.0 - self._explore) * shares + self._explore / allowed.sum()
        return np.where(allowed, shares, 0.0)

    def _propensities_many(self, points: Floats, masks: Booleans | None) -> Floats:
        """As `_propensities`, for points[n, d] and masks[n, K]; None allows all active arms."""
        if masks is None and self._arms.usual is not None:
            masks = np.tile(self._arms.usual, (len(points), 1))
        shares = self.policy.propensities_many(points, masks)
        if self._explore > 0.0:
            counts = len(self._arms) if masks is None else masks.sum(axis=1, keepdims=True)
            shares = (1.0 - self._explore) * shares + self._explore / counts
        return shares if masks is None else np.where(masks, shares, 0.0)


# The arguments of a chooser, without the settings of its policy.
_OWN = tuple(signature(Chooser).parameters)[:-1]

# The choosers by id() of their policy, which lives as long as its chooser.
_USED: "WeakValueDictionary[int, Chooser]" = WeakValueDictionary()


def _unpickle(
    kind: type[Chooser], data: bytes, policy: Policy | None, clock: Callable[[], float]
) -> Chooser:
    return kind.from_bytes(data, policy=policy, clock=clock)


# A fork waits until no chooser is being changed; in the child, choosers draw new ids and numbers.
_forking = threading.local()


def _hold_all() -> None:
    _forking.choosers = sorted(_USED.values(), key=id)
    for chooser in _forking.choosers:
        chooser._lock.acquire()


def _release_all() -> None:
    for chooser in _forking.__dict__.pop("choosers", ()):
        chooser._lock.release()


def _part_all() -> None:
    for chooser in getattr(_forking, "choosers", ()):
        chooser._part_from_parent()
    _release_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_part_all)
