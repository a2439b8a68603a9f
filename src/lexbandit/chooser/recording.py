"""`RecordingChooser`: propose a decision, record it later, and inspect pending decisions.

The service uses it: it writes a proposal to its log, and records it once that is durable.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser import saving
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.batches import batch_of
from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.ledger import Ledger, Pending, id_of, propensity_of
from lexbandit.contexts import Notes
from lexbandit.errors import InvalidInput, counted, row_by_row, there_are, unknown_name

_NONE: Mapping[str, Any] = {}


class Proposal(NamedTuple):
    """A decision that is not recorded: the arm to play and the exact probability it had.

    `point` is the context as the policy sees it. `mask` says which arms were allowed; None is "all
    that can be chosen". `notes` counts missing, unknown and clipped values of the context.
    """

    arm: str
    propensity: float
    point: Floats
    mask: Booleans | None = None
    notes: Notes = ()


class Proposals(NamedTuple):
    """Many decisions that are not recorded, in the order of the contexts; see `Proposal`.

    `masks` has a mask or None for each context; None stands for None in every context.
    """

    arms: list[str]
    propensities: Floats
    points: Floats
    masks: Sequence[Booleans | None] | None = None
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision that is stored until its rewards come.

    rewards    those that came so far, by objective, in its own units
    since      when it was recorded, in seconds by the chooser's clock
    complete   whether the rewards of all objectives came
    """

    id: str
    arm: str
    propensity: float
    rewards: dict[str, float]
    since: float
    complete: bool


class RecordingChooser(Chooser):
    """A `Chooser` whose decisions can be proposed first and recorded later, under ids of yours.

    It also has pending decisions by id, counts, digests of what was learned, and snapshots that
    another thread packs.
    """

    def _warn_at_first(self) -> None:
        """Log nothing: a service makes several choosers of one definition, and warns once."""

    # Decide and record.

    def propose(
        self, context: Mapping[str, Any] = _NONE, allowed: Iterable[str] | None = None
    ) -> Proposal:
        """Return the decision that `choose` would make, and store nothing; random draws advance.

        `record` stores it, under an id of yours, once you want it to count.
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
            number = self._arms.number(arm)
            mask = self._arms.mask(allowed, retired=True)
            self._arms.chosen_from(number, mask)
            point, notes = self.contexts.encode(context)
            return Proposal(arm, propensity_of(propensity), point, mask, notes)

    def record(self, id: str, proposal: Proposal) -> None:
        """Store a decision under an id of yours, for its rewards, with the time of the clock.

        An id that is stored already is a `Contradiction`.
        """
        with self._lock:
            arms, ledger = self._arms, self._ledger
            _new_id(id)
            if not isinstance(proposal, Proposal):
                raise InvalidInput(
                    f"record takes what propose or proposal returned, got {proposal!r}; for many "
                    "at once there is record_many."
                )
            name, propensity, point, mask, notes = proposal
            arm = arms.numbers.get(name) if name.__class__ is str else None
            if arm is None:
                raise unknown_name("arm", name, arms.names)
            if getattr(point, "shape", None) != (ledger.contexts.dimension,):
                raise _other_point(point, ledger)
            if mask is not None or arms.usual is not None:  # not all arms can be chosen
                mask = arms.chosen_from(arm, _mask_of(arms, mask))
            ledger.add(id, arm, propensity_of(propensity), point, mask, notes)

    def propose_many(self, contexts: Any, allowed: Any = None) -> Proposals:
        """Return the decisions that `choose_many` would make, and store nothing."""
        with self._lock:
            batch = batch_of(self.contexts, self._arms, contexts, allowed)
            arms, propensities = self._decide_many(batch)
            names = [self._arms.names[k] for k in arms.tolist()]
            return Proposals(names, propensities, batch.points, batch.masks, batch.notes)

    def proposals(
        self, arms: Iterable[str], propensities: Any, contexts: Any, allowed: Any = None
    ) -> Proposals:
        """Return many decisions that were made elsewhere, to `record_many` them here."""
        names, chances = checks.listed(arms), checks.listed(propensities)
        if names is None:
            raise InvalidInput(f"arms must be a list of names, got {arms!r}.")
        if chances is None:
            raise InvalidInput(
                f"propensities must be a list of probabilities, got {propensities!r}."
            )
        with self._lock:
            batch = batch_of(self.contexts, self._arms, contexts, allowed, retired=True)
            n = len(batch.points)
            if len(names) != n:
                raise InvalidInput(f"{there_are(len(names), 'arm')} for {counted(n, 'context')}.")
            if len(chances) != n:
                numbers = counted(len(chances), "number")
                raise InvalidInput(f"propensities has {numbers} for {counted(n, 'context')}.")
            masks = batch.masks or [None] * n
            shares = np.array(
                row_by_row(self._given_chance, zip(names, chances, masks, strict=True))
            )
            return Proposals(names, shares, batch.points, batch.masks, batch.notes)

    def _given_chance(self, row: tuple[Any, Any, Booleans | None]) -> float:
        """Return the checked probability of an arm that was chosen elsewhere, among a mask."""
        name, chance, mask = row
        arm, share = self._arms.number(name), propensity_of(chance)
        self._arms.chosen_from(arm, mask)
        return share

    def record_many(self, ids: Sequence[str], proposed: Proposals) -> None:
        """Store many decisions under ids of yours; if any is wrong, store none.

        The result is the same as calling `record` one by one.
        """
        with self._lock:
            arms, ledger = self._arms, self._ledger
            if not isinstance(proposed, Proposals):
                raise InvalidInput(
                    f"record_many takes what propose_many or proposals returned, got {proposed!r}."
                )
            listed = _new_ids(ids, len(proposed.arms))
            numbers = [arms.number(arm) for arm in proposed.arms]
            propensities = [propensity_of(p) for p in np.asarray(proposed.propensities).tolist()]
            points = proposed.points
            if getattr(points, "shape", None) != (len(listed), ledger.contexts.dimension):
                raise _other_point(points, ledger)
            masks = _masks_of(arms, numbers, proposed.masks)
            ledger.add_many(listed, numbers, propensities, points, masks, proposed.notes)

    # Pending decisions.

    def __contains__(self, id: object) -> bool:
        """Tell whether a decision of this id is stored."""
        return id in self._ledger.pending

    def decision(self, id: str) -> PendingDecision:
        """Return a stored decision with its rewards so far."""
        with self._lock:
            found = self._ledger.pending.get(id) if id.__class__ is str else None
            return self._pending(self._ledger.find(id_of(id)) if found is None else found)

    def decisions(self) -> Iterator[PendingDecision]:
        """Return all decisions that are stored now, the oldest first."""
        with self._lock:
            listed = list(map(self._pending, self._ledger.pending.values()))
        return iter(listed)

    @property
    def due(self) -> float | None:
        """When the oldest stored decision expires; None if none does."""
        with self._lock:
            return self._ledger.due

    def overdue(self, now: float) -> list[PendingDecision]:
        """Return the decisions that `tick` would remove at `now`, the oldest first."""
        time = checks.seconds("now", now)
        with self._lock:
            return list(map(self._pending, self._ledger.overdue(time)))

    def tick(self) -> int:
        """Remove the decisions that have expired (`wait`), and return how many.

        Recording and rewarding do this too; call it when neither happens for a while.
        """
        with self._lock:
            before = self._ledger.expired
            self._ledger.tick()
            return self._ledger.expired - before

    def forget(self, ids: Iterable[str]) -> list[PendingDecision]:
        """Remove decisions and their contexts before they expire; return those that were stored.

        What was learned from them stays. The recent contexts that `outlook` reads are removed too,
        those of all decisions.
        """
        with self._lock:
            ledger = self._ledger
            gone = [ledger.pending[id] for id in dict.fromkeys(ids) if id in ledger.pending]
            listed = list(map(self._pending, gone))
            for pending in gone:
                ledger.forget(pending)
            ledger.recent.clear()
            return listed

    def _pending(self, pending: Pending) -> PendingDecision:
        rewards = {
            objective.name: value
            for objective, value in zip(self.objectives, pending.rewards, strict=True)
            if value is not None
        }
        return PendingDecision(
            pending.id,
            self._arms.names[pending.arm],
            pending.propensity,
            rewards,
            pending.since,
            len(rewards) == len(pending.rewards),
        )

    # Counts.

    @property
    def explore(self) -> float:
        """The share of choices that are drawn uniformly."""
        return self._explore

    @property
    def retired(self) -> tuple[str, ...]:
        """The names of the arms that were retired."""
        with self._lock:
            arms = self._arms
            return tuple(arm for arm, on in zip(arms.names, arms.active, strict=True) if not on)

    @property
    def plays(self) -> dict[str, int]:
        """Per arm, the decisions and the rows of logs whose rewards were learned."""
        with self._lock:
            return dict(zip(self._arms.names, map(int, self._ledger.plays), strict=True))

    @property
    def waiting(self) -> int:
        """How many decisions are stored for their rewards."""
        return len(self._ledger.pending)

    @property
    def expired(self) -> int:
        """How many decisions expired (`wait`)."""
        return self._ledger.expired

    @property
    def dropped(self) -> int:
        """How many decisions were dropped because `keep` was reached."""
        return self._ledger.dropped

    @property
    def defaulted(self) -> int:
        """How many rewards did not come in time and took their objective's default."""
        return self._ledger.defaulted

    @property
    def outside(self) -> dict[str, int]:
        """How many rewards of each objective lay outside its range, and were clipped."""
        return self._ledger.outside

    # Snapshots.

    def packer(self) -> Callable[[Callable[[], None]], bytes]:
        """Take a snapshot and return a function that packs it, for another thread to call.

        The function calls what it is given now and then, for that thread to pause.
        """
        taken = self._snapshot()
        return lambda pause: saving.pack(*saving.contents_of(taken, pause), pause)

    def digest(self) -> str:
        """Return a hash of what was learned from decisions and rewards, as hex.

        Choosers of one definition that recorded the same decisions under the same ids and learned
        the same rewards, in the same order, have the same digest, whoever proposed the decisions.
        `choose` draws random ids, so choosers that made their own decisions differ. With a `wait`,
        the times must be the same too. Random states and the seed do not count; but a policy that
        draws while it learns (s-ucb1, cs-ucb1) learns the same only with the same seed.
        """
        return saving.digest(saving.contents_of(self._snapshot()))


def _new_id(id: Any) -> str:
    """Return the id of a decision to record: a text that is not empty."""
    if not isinstance(id, str) or not id:
        raise InvalidInput(f"the id of a decision must be a text, got {id!r}.")
    return id


def _mask_of(arms: Arms, mask: Any) -> Booleans | None:
    """Return the mask of a proposal; one that is of another chooser is refused."""
    if mask is None or (
        isinstance(mask, np.ndarray)
        and mask.dtype == np.bool_
        and mask.ndim == 1
        and len(mask) <= len(arms)
    ):
        return mask
    raise InvalidInput(
        f"mask must have True or False for each of {counted(len(arms), 'arm')}, got {mask!r}."
    )


def _other_point(point: Any, ledger: Ledger) -> InvalidInput:
    return InvalidInput(
        f"point must be an array of {ledger.contexts.dimension} coordinates, as propose returns "
        f"it, got {point!r}: the proposal is of another chooser."
    )


def _new_ids(ids: Any, n: int) -> list[str]:
    """Check n ids, which must differ, and return them."""
    listed = checks.listed(ids) if isinstance(ids, Sequence | np.ndarray) else None
    if listed is None:
        raise InvalidInput(f"ids must be a list of texts, got {ids!r}.")
    if len(listed) != n:
        raise InvalidInput(f"{there_are(len(listed), 'id')} for {counted(n, 'decision')}.")
    if not (set(map(type, listed)) <= {str} and all(listed)):
        row_by_row(_new_id, listed)
    if len(set(listed)) != n:
        twice = next(id for row, id in enumerate(listed) if id in listed[:row])
        raise InvalidInput(f"two decisions have the id {twice!r}.")
    return listed


def _masks_of(
    arms: Arms, numbers: Sequence[int], masks: Sequence[Booleans | None] | None
) -> list[Booleans | None]:
    """Return the mask to store with each decision."""
    if masks is None and arms.usual is None:
        return [None] * len(numbers)
    given = [None] * len(numbers) if masks is None else masks
    if len(given) != len(numbers):
        raise InvalidInput(
            f"{there_are(len(given), 'mask')} for {counted(len(numbers), 'decision')}."
        )
    return [
        arms.chosen_from(number, _mask_of(arms, mask))
        for number, mask in zip(numbers, given, strict=True)
    ]
