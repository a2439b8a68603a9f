"""The chooser: objectives, arms and contexts in the user's own words, and a policy underneath."""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser import batches, merging, proposals, saving, storing
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.batches import Choices
from lexbandit.chooser.doors import id_of, objectives_of, prior_of, told_of
from lexbandit.chooser.explaining import ChooserExplanation, explained
from lexbandit.chooser.ledger import Ledger
from lexbandit.chooser.policy_for import CAREFUL, DEFAULT, policy_for
from lexbandit.chooser.proposals import Choice, KeptDecision, Proposal, Proposals
from lexbandit.chooser.summary import Summary, summarized
from lexbandit.chooser.waiting import WaitingRoom
from lexbandit.contexts import Feature, Notes
from lexbandit.errors import InvalidInput
from lexbandit.kernels.random import below, seeded
from lexbandit.objectives import Objective, named
from lexbandit.policies import Policy

# Sets the chooser's own draws apart from those of its policy.
_OWN_DRAWS = 0x5EED
_PARTS = 2**53
# Makes a named tuple in half the time.
_tuple = tuple.__new__


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
        self._arms = Arms(arms)
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
        )
        self._lock = threading.RLock()
        self._save_lock = threading.Lock()
        self._random = seeded(self._seed ^ _OWN_DRAWS)
        self._prefix = secrets.token_hex(4)
        self._past = {self._prefix}  # whose decisions it learned from: none may count twice

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms that can be chosen."""
        with self._lock:
            arms = self._arms
            return tuple(arm for arm, on in zip(arms.names, arms.active, strict=True) if on)

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

    def choose(self, context: Mapping[str, Any], allowed: Iterable[str] | None = None) -> Choice:
        """Return the arm to play in `context`, among the allowed ones."""
        with self._lock:
            ledger = self._ledger
            arm, propensity, point, mask, notes = self._decide(context, allowed)
            id = f"{self._prefix}-{ledger.made + 1:x}"
            ledger.keep(id, arm, propensity, point, mask, notes)
            return _tuple(Choice, (id, self._arms.names[arm], propensity))

    def propose(self, context: Mapping[str, Any], allowed: Iterable[str] | None = None) -> Proposal:
        """Return what `choose` would, and keep nothing: only random state moves.

        `record` keeps it, under an id of yours, once you want it to count.
        """
        with self._lock:
            arm, propensity, point, mask, notes = self._decide(context, allowed)
            given = None if allowed is None else mask
            return Proposal(self._arms.names[arm], propensity, point, given, notes)

    def proposal(
        self,
        arm: str,
        propensity: float,
        context: Mapping[str, Any],
        allowed: Iterable[str] | None = None,
    ) -> Proposal:
        """Return a decision that was made elsewhere, such as one of a log, to `record` it here.

        The arm, and those allowed, may have been retired since.
        """
        with self._lock:
            place = self._arms.place(arm)
            mask = self._arms.mask(allowed, retired=True)
            self._arms.chosen_from(place, mask)
            point, notes = self.contexts.encode(context)
            return Proposal(arm, proposals.propensity_of(propensity), point, mask, notes)

    def record(self, id: str, proposal: Proposal) -> None:
        """Keep a decision under an id of yours, for its rewards; its time is the clock's.

        An id that is kept already is a `Contradiction`.
        """
        with self._lock:
            proposals.record(self, id, proposal)

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
            ledger = self._ledger
            room = ledger.room
            if room.wait is not None:
                ledger.tick()
            waiting = room.held.get(id) if id.__class__ is str else None
            if waiting is None:
                waiting = room.get(id_of(decision))
            ledger.tell(waiting, ledger.fresh(waiting, told))

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

    def decision(self, id: str) -> KeptDecision:
        """Return a decision that is kept for its rewards, and those that came."""
        with self._lock:
            return proposals.kept(self, self._ledger.room.get(id_of(id)))

    def decisions(self) -> Iterator[KeptDecision]:
        """Return all decisions that are kept now, the oldest first."""
        with self._lock:
            listed = [proposals.kept(self, waiting) for waiting in self._ledger.room]
        return iter(listed)

    def overdue(self, now: float) -> list[KeptDecision]:
        """Return the kept decisions whose time is over at `now`, the oldest first: `tick` then."""
        with self._lock:
            room = self._ledger.room
            return [proposals.kept(self, waiting) for waiting in room.overdue(now)]

    @property
    def due(self) -> float | None:
        """When the time of the oldest kept decision is over; None if none waits for a time."""
        with self._lock:
            return self._ledger.room.due

    def explain(
        self, context: Mapping[str, Any], allowed: Iterable[str] | None = None
    ) -> ChooserExplanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        with self._lock:
            arms = self._arms
            mask = arms.standing if allowed is None else arms.mask(allowed)
            told = self.policy.explain(self.contexts.encode(context)[0], mask)
            return explained(told, arms.names, arms.active, self.objectives, self.explore)

    def summary(self) -> Summary:
        """Say what was learned so far, and what the order of priority gained and gave up."""
        with self._lock:
            return summarized(self)

    def save(self, path: str | Path) -> None:
        """Write the chooser to a file; one that is there is replaced whole or not at all."""
        place = saving.place_of(path)
        with self._save_lock:  # the one who asked last writes last
            saving.write(place, self.to_bytes())

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Chooser":
        """Read a chooser from a file; `policy` only if it was made with a policy object."""
        place = saving.place_of(path)
        return storing.load(cls, str(place), saving.read(place), policy, clock)

    def to_bytes(self) -> bytes:
        """Return what `save` writes, to be kept elsewhere, such as in a database.

        Others wait only while a snapshot is taken, not while it is packed.
        """
        return self.packer()()

    def packer(self) -> Callable[[], bytes]:
        """Take a snapshot and return a function that packs it, for another thread to call."""
        with self._lock:
            taken = storing.snapshot(self)
        return lambda: saving.pack(*storing.laid_out(taken))

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        *,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Chooser":
        """Return a chooser from what `to_bytes` returned, or from the contents of a file."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidInput(f"from_bytes takes what to_bytes returned, got {data!r}.")
        return storing.load(cls, "what was given", bytes(data), policy, clock)

    def digest(self) -> str:
        """Return a hash of what was learned from decisions and rewards, as hex.

        Choosers of one definition that recorded the same decisions and were told the same rewards,
        in the same order, have the same digest, whoever proposed the decisions. With a `wait`, the
        times must be the same too. Random states, the seed and the ids' prefix do not count; but a
        policy that draws while it learns (s-ucb1, cs-ucb1) learns the same only with the same seed.
        """
        with self._lock:
            taken = storing.snapshot(self)
        return storing.digest(storing.laid_out(taken))

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

    def propose_many(self, contexts: Any, allowed: Any = None) -> Proposals:
        """Return what `choose_many` would, and keep nothing: only random state moves."""
        with self._lock:
            return batches.propose_many(self, contexts, allowed)[1]

    def proposals(
        self, arms: Iterable[str], propensities: Any, contexts: Any, allowed: Any = None
    ) -> Proposals:
        """Return many decisions that were made elsewhere, to `record_many` them here."""
        with self._lock:
            return batches.proposals(self, arms, propensities, contexts, allowed)

    def record_many(self, ids: Sequence[str], proposed: Proposals) -> None:
        """Keep many decisions under ids of yours; nothing is kept if anything is wrong.

        The outcome is that of `record` for one after the other.
        """
        with self._lock:
            proposals.record_many(self, ids, proposed)

    def reward_many(self, ids: Choices | Iterable[str], rewards: Any) -> None:
        """Tell rewards of many decisions, a frame or columns by objective; NaN or None is none.

        `ids` is what `choose_many` returned, or ids. If anything is wrong nothing is learned. The
        outcome is that of `reward` for one after the other.
        """
        with self._lock:
            batches.reward_many(self, ids, rewards)

    def learn(self, frame: Any) -> int:
        """Learn from logged data: columns of features, `arm`, and objectives; returns the rows.

        A warm start from what another policy did. NaN or None is "not observed".
        """
        with self._lock:
            return batches.learn(self, frame)

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
