"""The chooser: objectives, arms and contexts in the user's own words, and a policy underneath."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexbandit.checks import Floats
from lexbandit.chooser import batches, learning, merging, proposals, saving, storing
from lexbandit.chooser.batches import Decisions
from lexbandit.chooser.core import ChooserCore
from lexbandit.chooser.doors import id_of, nothing_told, told_of
from lexbandit.chooser.explaining import Explanation, explained
from lexbandit.chooser.first_guess import Outlook
from lexbandit.chooser.outlook import outlook
from lexbandit.chooser.proposals import Decision, Proposal, Proposals
from lexbandit.chooser.summary import Summary, summarized, taken_of
from lexbandit.errors import InvalidInput
from lexbandit.policies import Policy

# Makes a named tuple in half the time.
_tuple = tuple.__new__

# The context of a chooser without features.
_NONE: Mapping[str, Any] = {}


class Chooser(ChooserCore):
    """Chooses among named arms by objectives in order of priority, and learns from rewards.

    objectives   one `Objective` or several, the most important first
    arms         the options' names
    context      the features that are known before choosing: `Number`, `Category`, ...; none at all
                 if it is left out, and then contexts can be left out too
    policy       a policy's name, or a policy that no other chooser has; by default one that suits
                 the problem
    explore      the share of choices drawn uniformly from the allowed arms; it makes logs usable to
                 evaluate other policies
    wait         seconds to wait for rewards; None waits for as long as the decision is kept
    keep         how many decisions are kept for their rewards; the oldest leave first
    horizon      how many choices are planned for, for policies that need to know
    seed         of all random draws
    clock        returns the time in seconds, as a number
    settings     further parameters of the policy, such as scale=0.5

    A chooser may be used from many threads: every method takes its lock.
    """

    def choose(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Decision:
        """Return the arm to play in `context`, among the allowed ones."""
        lock = self._lock
        lock.acquire()  # here and in `reward`: `with` would take twice the time
        try:
            arm, propensity, point, mask, notes = self._decide(context, allowed)
            ledger = self._ledger
            id = self._id % (ledger.made + 1)
            ledger.keep(id, arm, propensity, point, mask, notes)
            return _tuple(Decision, (id, self._arms.names[arm], propensity))
        finally:
            lock.release()

    def propose(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Proposal:
        """Return what `choose` would, and keep nothing: only random state moves.

        `record` keeps it, under an id of yours, once you want it to count.
        """
        with self._lock:
            arm, propensity, point, mask, notes = self._decide(context, allowed)
            given = None if allowed is None else mask
            return Proposal(self._arms.names[arm], float(propensity), point, given, notes)

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
            proposals.record(self._arms, self._ledger, id, proposal)

    def reward(
        self,
        decision: Decision | str,
        values: Mapping[str, float] | None = None,
        /,
        **named_values: float,
    ) -> None:
        """Tell rewards of a decision, all or some of them, now or later, in any order.

        The same reward told twice is one reward; another value for it is a `Contradiction`.
        """
        told = named_values if values is None else told_of(values, named_values)
        if not told:
            raise nothing_told(self.objectives)
        id = decision.id if decision.__class__ is Decision else decision
        lock = self._lock
        lock.acquire()
        try:
            ledger = self._ledger
            room = ledger.room
            if room.wait is not None:
                ledger.tick()
            waiting = room.held.get(id) if id.__class__ is str else None
            if waiting is None:
                waiting = room.get(id_of(decision))
            ledger.tell(waiting, ledger.fresh(waiting, told))
        finally:
            lock.release()

    def propensities(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Return the exact probability of every arm to be chosen in `context` now, by name.

        All of `chooser.arms` are there, in that order; one that is not allowed has 0. What
        `explore` adds is counted. NaN where the policy knows no closed form of its probabilities.
        """
        with self._lock:
            arms = self._arms
            mask = arms.standing if allowed is None else arms.mask(allowed)
            shares = self._propensities(self.contexts.encode(context)[0], mask).tolist()
            return {name: shares[arms.places[name]] for name in self.arms}

    def propensities_many(self, contexts: Any, allowed: Any = None) -> Floats:
        """Return the exact probabilities of many contexts as float[n, K].

        A row for each context, a column for each of `chooser.arms`, in that order. `contexts` and
        `allowed` are those of `choose_many`.
        """
        with self._lock:
            return batches.propensities_many(self, contexts, allowed)

    def explain(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Explanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""
        with self._lock:
            arms = self._arms
            mask = arms.standing if allowed is None else arms.mask(allowed)
            told = self.policy.explain(self.contexts.encode(context)[0], mask)
            return explained(
                told, arms.names, self._ledger.plays, arms.active, self.objectives, self.explore
            )

    def confidence(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> float:
        """Return how sure it is that the arm it would choose now is within the tolerances.

        That is the probability, by what is known, that the arm is within the tolerance of the best
        in every objective before the last, or in the only one. NaN for a policy that knows none.
        """
        confidence = self.explain(context, allowed).confidence
        return math.nan if confidence is None else confidence

    def outlook(self, share: float = 0.9) -> Outlook:
        """Say which share of requests gets an arm within the tolerances, and when most of them do.

        This is measured in recent contexts, and projected to when it is `share` of the requests, as
        an order of magnitude. Before any reward came it is a first guess. It says too where several
        arms are within the tolerances, so that the last objective decides. Others wait for one
        context at a time.
        """
        return outlook(self, share)

    def summary(self) -> Summary:
        """Say what was earned so far, and what always playing each arm would have given instead.

        Others wait only while the sums are copied.
        """
        with self._lock:
            taken = taken_of(self)
        return summarized(taken)

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

        Choosers of one definition that recorded the same decisions under the same ids and were told
        the same rewards, in the same order, have the same digest, whoever proposed the decisions.
        `choose` gives random ids, so choosers that chose for themselves differ. With a `wait`, the
        times must be the same too. Random states and the seed do not count; but a policy that draws
        while it learns (s-ucb1, cs-ucb1) learns the same only with the same seed.
        """
        with self._lock:
            taken = storing.snapshot(self)
        return storing.digest(storing.laid_out(taken))

    def merge(self, other: "Chooser") -> None:
        """Add what another chooser of the same definition learned on other traffic.

        Which arms are retired stays as it is here.
        """
        if not isinstance(other, Chooser) or other is self:
            raise InvalidInput(f"merge takes another Chooser, got {other!r}.")
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            merging.merge(self, other)

    def choose_many(self, contexts: Any, allowed: Any = None) -> Decisions:
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
            proposals.record_many(self._arms, self._ledger, ids, proposed)

    def reward_many(self, ids: Decisions | Iterable[str], rewards: Any) -> None:
        """Tell rewards of many decisions, a frame or columns by objective; NaN or None is none.

        `ids` is what `choose_many` returned, or ids. If anything is wrong nothing is learned. The
        outcome is that of `reward` for one after the other.
        """
        with self._lock:
            batches.reward_many(self, ids, rewards)

    def learn(self, frame: Any, **how: Any) -> int:
        """Learn from logged data: columns of features, `arm`, and objectives, or a `Log`.

        A warm start from what another policy did; a table that `lexbandit export` wrote is taken
        too. NaN or None is "not observed". Returns how many rows were learned: those with a reward.

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
            return learning.learn(self, frame)
