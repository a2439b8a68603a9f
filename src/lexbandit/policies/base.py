"""What a policy is: it decides and learns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.decisions import Decision, Explanation
from lexbandit.errors import InvalidInput
from lexbandit.kernels.ties import ceilings_of
from lexbandit.rounds import Rounds

_MOST_ARMS = 10**7


class Policy(ABC):
    """Decides and learns for `arms` arms, `objectives` objectives, `dimension` context features.

    `select` changes nothing but the random state, and `update` needs only what it is told: rewards
    may come late, in any order, for any arm, or never.
    """

    def __init__(self, *, arms: int, dimension: int, objectives: int) -> None:
        self.name = type(self).__name__  # make_policy sets the one it was made by
        self._set_arms(checks.whole("arms", arms, least=1, most=_MOST_ARMS))
        self.dimension = checks.whole("dimension", dimension, least=1)
        self.objectives = checks.whole("objectives", objectives, least=1)
        self._context_shape = (self.dimension,)
        self._reward_shape = (self.objectives,)

    def _set_arms(self, arms: int) -> None:
        self.arms = arms
        self._no_ceiling = np.full((1, arms), np.inf)

    @abstractmethod
    def select(self, context: Any, allowed: Any = None) -> Decision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""

    @abstractmethod
    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under. Only Scalarized UCB1 has a use for it.
        """

    @abstractmethod
    def explain(self, context: Any, allowed: Any = None) -> Explanation:
        """Say what is known of every arm in `context`, and why one would be chosen."""

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy that knows the same things; refuses any other."""

    @abstractmethod
    def add_arm(self) -> int:
        """Add an arm that nothing is known of; returns its number."""

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order, from the present state on.

        Returns the arms played. This loop is the meaning; policies bring a compiled one.
        """
        self._check_rounds(rounds)
        arms = np.empty(len(rounds), np.int64)
        for t in range(len(rounds)):
            context = rounds.contexts[t]
            mask = () if rounds.allowed is None else (rounds.allowed[t],)
            arm = self.select(context, *mask).arm
            self.update(context, arm, rounds.outcomes[t, arm], *mask)
            arms[t] = arm
        return arms

    def __repr__(self) -> str:
        return (
            f"<{self.name}: {self.arms} arms, {self.objectives} objectives, "
            f"{self.dimension} context features>"
        )

    # The doors. They are on the path of every decision, so the usual case comes first and the
    # words for the other cases are found only when they are needed.

    def _context(self, context: Any) -> Floats:
        """Return the context in its proper shape; whether it lies in [0,1]^d is for the caller."""
        try:
            array = np.ascontiguousarray(context, np.float64)
            if array.shape == self._context_shape:
                return array
        except (TypeError, ValueError, OverflowError):
            pass
        return checks.floats("context", context, self._context_shape)

    def _rewards(self, rewards: Any) -> Floats:
        """Return the rewards in their proper shape; whether they are finite is for the caller."""
        try:
            array = np.ascontiguousarray(rewards, np.float64)
            if array.shape == self._reward_shape:
                return array
        except (TypeError, ValueError, OverflowError):
            pass
        return checks.floats("rewards", rewards, self._reward_shape)

    def _arm(self, arm: Any) -> int:
        try:
            number = index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < self.arms or arm is True or arm is False:
            raise InvalidInput(
                f"arm must be a whole number from 0 to {self.arms - 1}, got {arm!r}."
            )
        return number

    def _ceilings(self, allowed: Any) -> Floats:
        """Return the mask of allowed arms as the kernels read it; None allows all."""
        if allowed is None:
            return self._no_ceiling
        mask = checks.allowed_arms(allowed, (self.arms,))
        return ceilings_of(mask[np.newaxis])

    def _check_rounds(self, rounds: Rounds) -> None:
        if not isinstance(rounds, Rounds):
            raise InvalidInput(f"replay takes lexbandit.Rounds, got {type(rounds).__name__}.")
        mine = {"arms": self.arms, "objectives": self.objectives, "dimension": self.dimension}
        for what, number in mine.items():
            if getattr(rounds, what) != number:
                raise InvalidInput(
                    f"{what} of the rounds is {getattr(rounds, what)}, of the policy {number}."
                )
