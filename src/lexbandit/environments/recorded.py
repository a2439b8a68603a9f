"""What a recording is: rounds that happened once, replayed in their order."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from lexbandit.checks import Floats, whole
from lexbandit.environments.base import Environment, Seed
from lexbandit.errors import InvalidInput
from lexbandit.rounds import Rounds


class Recorded(Environment):
    """A finite recording of `rows` rounds: every stream replays them in order, whatever its seed.

    A subclass says how to read them. Where the means are not known, rounds have none and `means`
    refuses.
    """

    rows: int

    @abstractmethod
    def _read(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield contexts[n, d] and outcomes[n, K, D] from the beginning, in pieces of any size."""

    def stream(self, horizon: int, *, seed: Seed, block: int = 65_536) -> Iterator[Rounds]:
        """Return the first `horizon` rounds in blocks of at most `block`: memory stays flat."""
        if whole("horizon", horizon, least=1) > self.rows:
            raise InvalidInput(
                f"horizon is {horizon}, but {self.name} is a recording of {self.rows} rounds."
            )
        return super().stream(horizon, seed=seed, block=block)

    def _blocks(
        self, left: int, block: int, contexts: np.random.Generator, rewards: np.random.Generator
    ) -> Iterator[Rounds]:
        held_contexts = np.empty((0, self.dimension))
        held_outcomes = np.empty((0, self.arms, self.objectives))
        for read_contexts, read_outcomes in self._read():
            points, outcomes = read_contexts, read_outcomes
            if len(held_contexts):
                points = np.concatenate([held_contexts, points])
                outcomes = np.concatenate([held_outcomes, outcomes])
            start = 0
            while left and len(points) - start >= min(block, left):
                part = slice(start, start + min(block, left))
                yield Rounds(points[part], outcomes[part], self._known_means(points[part]))
                left -= part.stop - start
                start = part.stop
            if not left:
                return
            held_contexts, held_outcomes = points[start:], outcomes[start:]

    def _known_means(self, contexts: Floats) -> Floats | None:
        """Return means[n, K, D] if they are known, else None."""
        return None

    def _means(self, contexts: Floats) -> Floats:
        means = self._known_means(contexts)
        if means is None:
            raise InvalidInput(f"the means of {self.name} are not known: it is a recording.")
        return means

    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        raise NotImplementedError("a recording draws nothing")

    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        raise NotImplementedError("a recording draws nothing")
