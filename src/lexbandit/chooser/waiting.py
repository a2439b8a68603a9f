"""Decisions that wait for their rewards: by id, bounded in number and, if wished, in time."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lexbandit.checks import Booleans, Floats
from lexbandit.errors import Contradiction, UnknownDecision


@dataclass(slots=True)
class Waiting:
    """A decision, and the rewards that came so far, in the objectives' own units (None: none yet).

    `learned`: the policy was told of the play. What has parts is replaced, never changed in place,
    so a snapshot needs no copies.
    """

    id: str
    arm: int
    point: Floats
    mask: Booleans | None
    propensity: float
    since: float
    rewards: tuple[float | None, ...]
    learned: bool = False


@dataclass
class WaitingRoom:
    """Holds the newest decisions by id, at most `room`; one leaves after `wait` seconds, if any.

    A decision stays when its rewards are complete, so that a repeated reward is recognised.
    `expired` and `dropped` count those that left for want of time and of room, complete or not.
    """

    room: int
    wait: float | None
    expired: int = 0
    dropped: int = 0
    held: "OrderedDict[str, Waiting]" = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self.held.values())

    def __contains__(self, id: object) -> bool:
        return id in self.held

    def drop(self) -> Waiting:
        """Let the oldest decision go for want of room; returns it."""
        _, oldest = self.held.popitem(last=False)
        self.dropped += 1
        return oldest

    def get(self, id: str) -> Waiting:
        """Return a decision; an unknown one is an error."""
        try:
            return self.held[id]
        except KeyError:
            raise UnknownDecision(
                f"no decision {id!r} waits for rewards: the id is wrong, or the decision is older "
                f"than the {self.room:,} that are kept"
                + ("." if self.wait is None else f" or than {self.wait:g} seconds.")
            ) from None

    def refuse(self, id: str) -> Contradiction:
        """Return the error for an id that is kept already."""
        return Contradiction(
            f"decision {id!r} is kept already: every decision needs an id of its own, and is "
            "recorded once."
        )

    def take(self, other: "WaitingRoom") -> None:
        """Take in copies of another room's decisions; the oldest of all come first."""
        both = sorted([*self, *(replace(one) for one in other)], key=lambda one: one.since)
        self.held = OrderedDict((one.id, one) for one in both[-self.room :])
        self.dropped += other.dropped + len(both) - len(self.held)
        self.expired += other.expired

    @property
    def due(self) -> float | None:
        """When the oldest decision's time is over."""
        if self.wait is None or not self.held:
            return None
        return next(iter(self.held.values())).since + self.wait

    def overdue(self, now: float) -> Iterator[Waiting]:
        """Yield the decisions whose time is over, the oldest first; they stay."""
        for waiting in self if self.wait is not None else ():
            if self.wait is None or waiting.since + self.wait > now:
                return
            yield waiting

    def leave(self, now: float) -> Iterator[Waiting]:
        """Yield the decisions whose time is over, and let them go, the oldest first."""
        while self.wait is not None and self.held:
            oldest = next(iter(self.held.values()))
            if oldest.since + self.wait > now:
                return
            self.held.popitem(last=False)
            self.expired += 1
            yield oldest
