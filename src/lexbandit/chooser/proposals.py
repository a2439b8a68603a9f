"""What a chooser proposes and records: decisions that are not kept yet, and those that are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats
from lexbandit.chooser.arms import Arms
from lexbandit.chooser.ledger import Ledger
from lexbandit.chooser.waiting import Waiting
from lexbandit.contexts import Notes
from lexbandit.errors import InvalidInput, counted, there_are

# Mixtures and sums of probabilities may exceed 1 by rounding.
_CERTAIN = 1.0 + 1e-9


class Decision(NamedTuple):
    """A decision: the arm to play, the exact probability it had, and the id to reward it by."""

    id: str
    arm: str
    propensity: float


class Proposal(NamedTuple):
    """A decision that is not kept: the arm to play and the exact probability it had.

    `point` is the context as the policy sees it. `mask` says which arms were allowed; None is "all
    that can be chosen". `notes` has what of the context was taken otherwise than given.
    """

    arm: str
    propensity: float
    point: Floats
    mask: Booleans | None = None
    notes: Notes = ()


class Proposals(NamedTuple):
    """Many decisions that are not kept, in the order of the contexts; see `Proposal`.

    `masks` has one mask, or None, for each; None is None for all.
    """

    arms: list[str]
    propensities: Floats
    points: Floats
    masks: Sequence[Booleans | None] | None = None
    notes: Notes = ()


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision that is kept for its rewards.

    rewards    those told so far, by objective, in its own units
    since      when it was recorded, in seconds by the chooser's clock
    complete   whether the rewards of all objectives were told
    """

    id: str
    arm: str
    propensity: float
    rewards: dict[str, float]
    since: float
    complete: bool


def kept(arms: Arms, ledger: Ledger, waiting: Waiting) -> PendingDecision:
    """Return what is known of a decision that waits."""
    rewards = {
        objective.name: value
        for objective, value in zip(ledger.objectives, waiting.rewards, strict=True)
        if value is not None
    }
    return PendingDecision(
        waiting.id,
        arms.names[waiting.arm],
        waiting.propensity,
        rewards,
        waiting.since,
        len(rewards) == len(waiting.rewards),
    )


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


def fresh_id(id: Any) -> str:
    """Return the id of a decision to record: a text that is not empty."""
    if not isinstance(id, str) or not id:
        raise InvalidInput(f"the id of a decision must be a text, got {id!r}.")
    return id


def record(arms: Arms, ledger: Ledger, id: Any, proposal: Any) -> None:
    """Keep one decision under its id, after a look at every part of it."""
    fresh_id(id)
    if not isinstance(proposal, Proposal):
        raise InvalidInput(
            f"record takes what propose or proposal returned, got {proposal!r}; for many at once "
            "there is record_many."
        )
    arm = arms.place(proposal.arm)
    point = proposal.point
    if getattr(point, "shape", None) != (ledger.contexts.dimension,):
        raise _other_point(point, ledger)
    ledger.keep(
        id,
        arm,
        propensity_of(proposal.propensity),
        point,
        arms.chosen_from(arm, _mask_of(arms, proposal.mask)),
        proposal.notes,
    )


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


def record_many(arms: Arms, ledger: Ledger, ids: Any, proposals: Any) -> None:
    """Keep many decisions under their ids; nothing is kept if anything is wrong."""
    if not isinstance(proposals, Proposals):
        raise InvalidInput(
            f"record_many takes what propose_many or proposals returned, got {proposals!r}."
        )
    listed = _fresh_ids(ids, len(proposals.arms))
    places = [arms.place(arm) for arm in proposals.arms]
    propensities = [propensity_of(p) for p in np.asarray(proposals.propensities).tolist()]
    points = proposals.points
    if getattr(points, "shape", None) != (len(listed), ledger.contexts.dimension):
        raise _other_point(points, ledger)
    masks = _masks_of(arms, places, proposals.masks)
    ledger.keep_many(listed, places, propensities, points, masks, proposals.notes)


def _fresh_ids(ids: Any, n: int) -> list[str]:
    """Return n ids, all different."""
    listed = checks.listed(ids) if isinstance(ids, Sequence | np.ndarray) else None
    if listed is None:
        raise InvalidInput(f"ids must be a list of texts, got {ids!r}.")
    if len(listed) != n:
        raise InvalidInput(f"{there_are(len(listed), 'id')} for {counted(n, 'decision')}.")
    for row, id in enumerate(listed):
        if id.__class__ is not str or not id:
            try:
                fresh_id(id)
            except InvalidInput as error:
                raise InvalidInput(f"row {row}: {error}") from None
    if len(set(listed)) != n:
        twice = next(id for row, id in enumerate(listed) if id in listed[:row])
        raise InvalidInput(f"two decisions have the id {twice!r}.")
    return listed


def _masks_of(
    arms: Arms, places: Sequence[int], masks: Sequence[Booleans | None] | None
) -> list[Booleans | None]:
    """Return the mask to keep with each decision."""
    if masks is None and arms.standing is None:
        return [None] * len(places)
    given = [None] * len(places) if masks is None else masks
    if len(given) != len(places):
        raise InvalidInput(
            f"{there_are(len(given), 'mask')} for {counted(len(places), 'decision')}."
        )
    return [
        arms.chosen_from(place, _mask_of(arms, mask))
        for place, mask in zip(places, given, strict=True)
    ]
