"""Policies that restart in phases: each phase has a length and a new policy."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Floats, Integers
from lexbandit.decisions import PolicyDecision, PolicyExplanation, Reason
from lexbandit.errors import InvalidInput
from lexbandit.kernels.random import GOLDEN, mix
from lexbandit.policies.base import (
    MOST_PLAYS,
    Policy,
    Prior,
    array_of,
    mapping_of,
)
from lexbandit.rounds import Rounds

_ALL_64_BITS = 2**64 - 1


def phase_seed(seed: int, phase: int) -> int:
    """Return the seed of a phase's policy: the scrambled seed + (phase + 1) · the golden ratio."""
    return int(mix(np.uint64((seed + int(GOLDEN) * (phase + 1)) & _ALL_64_BITS)))


class PhasedPolicy(Policy):
    """Plays an inner policy for the rounds of its phase, then replaces it by a new one.

    The clock is the number of updates so far. A subclass says how long a phase is and makes its
    policy; `_make` may be called ahead of time, so that a phase that cannot be made is an error
    before anything changes. A subclass sets what these two need before it calls `__init__` here.
    """

    def __init__(self, *, arms: int, dimension: int, objectives: int, seed: int) -> None:
        super().__init__(arms=arms, dimension=dimension, objectives=objectives)
        self._seed = checks.whole("seed", seed, least=0) & _ALL_64_BITS
        self._rounds = 0
        self._begin(0, 0, self._fresh(0))

    @abstractmethod
    def _length(self, phase: int) -> int:
        """Return the number of rounds of a phase, counted from 0."""

    @abstractmethod
    def _make(self, phase: int, seed: int) -> Policy:
        """Return the policy of a phase, for the present number of arms."""

    @property
    def inner(self) -> Policy:
        """The policy of the present phase."""
        return self._inner

    @property
    def read_tolerances(self) -> Floats | None:
        """The tolerances of the policy of the present phase."""
        return self._inner.read_tolerances

    @property
    def learns_in_parts(self) -> bool:
        """False: the phase of a play may be over when further rewards come."""
        return False

    @property
    def phase(self) -> int:
        """The present phase, counted from 0."""
        return self._phase

    def reseed(self, seed: int) -> None:
        """Start another random stream in the present phase."""
        self._inner.reseed(seed)

    def _fresh(self, phase: int) -> Policy:
        return self._make(phase, phase_seed(self._seed, phase))

    def _begin(self, phase: int, start: int, inner: Policy) -> None:
        self._phase = phase
        self._start = start
        self._end = start + self._length(phase)
        self._inner = inner

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        return self._inner.select(context, allowed)

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; the clock goes on by one round."""
        ends = self._rounds + 1 == self._end
        following = self._fresh(self._phase + 1) if ends else None
        self._inner.update(context, arm, rewards, allowed)
        self._rounds += 1
        if following is not None:
            self._begin(self._phase + 1, self._rounds, following)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Refuse: the phase of the play may be over, and forgotten."""
        raise InvalidInput(
            f"{self.name} cannot learn the rewards of a play in parts: its phase may be over, and "
            "is forgotten then. Tell them together."
        )

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities."""
        return self._inner.select_many(contexts, allowed)

    def _check_rewards(self, name: str, rewards: Floats) -> None:
        self._inner._check_rewards(name, rewards)

    def replay(self, rounds: Rounds) -> Integers:
        """Cut the rounds where phases end, and let each phase's policy replay its part."""
        self._check_rounds(rounds)
        arms = np.empty(len(rounds), np.int64)
        ahead = self._following(len(rounds))
        done = 0
        while done < len(rounds):
            part = slice(done, done + min(self._end - self._rounds, len(rounds) - done))
            whole = part == slice(0, len(rounds))
            arms[part] = self._inner.replay(rounds if whole else rounds[part])
            self._rounds += part.stop - done
            done = part.stop
            if self._rounds == self._end:
                self._begin(self._phase + 1, self._rounds, ahead.pop(0))
        return arms

    def _following(self, rounds: int) -> list[Policy]:
        """Return the policies of the phases that begin within the next rounds, in order."""
        ahead: list[Policy] = []
        end = self._end
        while end <= self._rounds + rounds:
            phase = self._phase + 1 + len(ahead)
            ahead.append(self._fresh(phase))
            end += self._length(phase)
        return ahead

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
        """Say what the policy of this phase knows, and why it would choose an arm."""
        inner = self._inner.explain(context, allowed)
        round_ = self._rounds - self._start + 1
        where = f"Phase {self._phase}, round {round_} of {self._end - self._start}."
        template = inner.reason.template if isinstance(inner.reason, Reason) else inner.reason
        return replace(inner, policy=self.name, reason=Reason(f"{where} {template}"))

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm that nothing is known of, in this phase and all that follow."""
        self._refuse_prior(prior)
        added = self._inner.add_arm()
        self._set_arms(self.arms + 1)
        return added

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays of this phase's policy, and one more.

        phases  uint64[2]  the rounds so far, and the seed that the phases' seeds come from
        """
        clock = np.array([self._rounds, self._seed], np.uint64)
        return {**self._inner.state(), "phases": clock}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()`: the policy of its phase is made, and loads the rest."""
        if "phases" not in mapping_of(state):
            raise InvalidInput(f"state has no array 'phases'; it needs {', '.join(self.state())}.")
        clock = array_of("phases", state["phases"])
        if clock.shape != (2,) or clock.dtype.kind != "u" or clock[0] > MOST_PLAYS:
            raise InvalidInput(
                "state['phases'] must be uint64 of shape (2,), the rounds so far (at most 2^53) "
                f"and the seed, got {state['phases']!r}."
            )
        rounds, seed = int(clock[0]), int(clock[1])
        phase, start = 0, 0
        while start + self._length(phase) <= rounds:
            start += self._length(phase)
            phase += 1
        inner = self._make(phase, phase_seed(seed, phase))
        inner.load_state({name: state[name] for name in state if name != "phases"})
        self._rounds, self._seed = rounds, seed
        self._begin(phase, start, inner)
