"""Decisions that wait for their rewards: by id, bounded in number and, if wished, in time."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lexbandit.checks import Booleans, Floats
from lexbandit.errors import UnknownDecision


@dataclass(slots=True)
class Waiting:
    """A decision, and the rewards that came so far, in the objectives' own units (None: none yet).

    `learned`: the policy was told of the play.
    """

    id: str
    arm: int
    point: Floats
    mask: Booleans | None
    propensity: float
    since: float
    rewards: list[float | None]
    learned: bool = False

    def copy(self) -> "Waiting":
        """Return a decision whose rewards are its own."""
        return replace(self, rewards=self.rewards.copy())


@dataclass
class WaitingRoom:
    """Holds at most `room` decisions, the newest; after `wait` seconds (None: never) one leaves.

    A decision stays when its rewards are complete, so that a repeated reward is recognised.
    `expired` and `dropped` count those that left for want of time and of room, complete or not.
    """

    room: int
    wait: float | None
    expired: int = 0
    dropped: int = 0
    _held: "OrderedDict[str, Waiting]" = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._held.values())

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def add(self, decision: Waiting) -> Waiting | None:
        """Take a decision in; returns the one that had to leave for it, if any."""
        left = None
        if len(self._held) >= self.room:
            _, left = self._held.popitem(last=False)
            self.dropped += 1
        self._held[decision.id] = decision
        return left

    def get(self, id: str) -> Waiting:
        """Return a decision; an unknown one is an error."""
        try:
            return self._held[id]
        except KeyError:
            raise UnknownDecision(
                f"no decision {id!r} waits for rewards: the id is wrong, or the decision is older "
                f"than the {self.room:,} that are kept"
                + ("." if self.wait is None else f" or than {self.wait:g} seconds.")
            ) from None

    def leave(self, now: float) -> Iterator[Waiting]:
        """Yield the decisions whose time is over, and let them go, the oldest first."""
        while self.wait is not None and self._held:
            oldest = next(iter(self._held.values()))
            if oldest.since + self.wait > now:
                return
            self._held.popitem(last=False)
            self.expired += 1
            yield oldest
