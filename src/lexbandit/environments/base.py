"""What an environment is: a seeded source of rounds that knows its own truth."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, whole
from lexbandit.errors import counted
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of
from lexbandit.rounds import Rounds

_MOST_AT_ONCE = 10**9

Seed = int | Sequence[int]  # one number, or several that name a stream together, e.g. (study, run)


class Environment(ABC):
    """A seeded source of rounds with `arms` arms, `objectives` objectives, `dimension` features.

    A subclass says how contexts are drawn, what the means are, and how rewards are drawn. Each
    stream has one generator for contexts and one for rewards, read round by round, so a stream
    does not depend on the size of its blocks.
    """

    name: str
    arms: int
    objectives: int
    dimension: int
    rows: int | None = None
    """How many rounds there are; None if they never end. See `Recorded`."""
    layout: tuple[tuple[str, int], ...] = ()
    """What the coordinates are: ("number", 1) each, ("category", n) a one-hot; () all numbers."""
    tolerances: tuple[float, ...] | None = None
    """How much less of each objective is as good, 0 for the last; None if not declared."""

    def __init_subclass__(cls) -> None:
        """An environment is called as its class is, until `make_environment` names it."""
        cls.name = cls.__name__

    @abstractmethod
    def _contexts(self, n: int, random: np.random.Generator) -> Floats:
        """Draw contexts[n, d]."""

    def _contexts_after(self, done: int, n: int, random: np.random.Generator) -> Floats:
        """Draw the contexts of rounds done + 1 to done + n; only one with a clock overrides it."""
        return self._contexts(n, random)

    @abstractmethod
    def _means(self, contexts: Floats) -> Floats:
        """Return means[n, K, D] for checked contexts; planted ties are exactly equal."""

    @abstractmethod
    def _outcomes(self, contexts: Floats, means: Floats, random: np.random.Generator) -> Floats:
        """Draw outcomes[n, K, D]."""

    def rounds(self, n: int, *, seed: Seed) -> Rounds:
        """Return the first n rounds of the stream of `seed`, as one block."""
        n = whole("n", n, least=1, most=_MOST_AT_ONCE)
        return next(self.stream(n, seed=seed, block=n))

    def stream(self, horizon: int, *, seed: Seed, block: int = 65_536) -> Iterator[Rounds]:
        """Return `horizon` rounds in blocks of at most `block`: memory stays flat."""
        horizon = whole("horizon", horizon, least=1)
        block = whole("block", block, least=1)
        entropy = [whole("seed", s, least=0) for s in ([seed] if np.ndim(seed) == 0 else seed)]  # type: ignore[union-attr]
        contexts, rewards = (
            np.random.default_rng(child) for child in np.random.SeedSequence(entropy).spawn(2)
        )
        return self._blocks(horizon, block, contexts, rewards)

    def _blocks(
        self, left: int, block: int, contexts: np.random.Generator, rewards: np.random.Generator
    ) -> Iterator[Rounds]:
        done = 0
        while left > 0:
            n = min(block, left)
            drawn = self._contexts_after(done, n, contexts)
            points = checks.floats("contexts", drawn, (n, self.dimension))
            means = self._checked(self._means(points))
            yield Rounds(points, self._outcomes(points, means, rewards), means)
            left -= n
            done += n

    def means(self, contexts: Any) -> Floats:
        """Return the expected rewards means[n, K, D] at contexts[n, d]."""
        points = checks.floats("contexts", contexts, (None, self.dimension))
        checks.in_unit_cube("contexts", points)
        return self._checked(self._means(points))

    def optimal_arms(self, means: Any) -> Booleans:
        """Return bool[n, K]: the lexicographically optimal arms, by exact equality of means."""
        checked = self._checked(means)
        return optimality.optimal_arms(checked, ceilings_of(np.ones((1, self.arms), np.bool_)))

    def pareto_front(self, means: Any) -> Booleans:
        """Return bool[n, K]: the arms that no other arm dominates (Definition 1)."""
        checked = self._checked(means)
        return optimality.pareto_front(checked, ceilings_of(np.ones((1, self.arms), np.bool_)))

    def degenerate(self, means: Any) -> Booleans:
        """Return bool[n]: where the first two objectives decide which arms are optimal.

        The paper's degenerate case A*_2(x) = A*_D(x), Section VI-B: the arms that are
        lexicographically optimal in the first two objectives are optimal in all.
        """
        checked = self._checked(means)
        everyone = ceilings_of(np.ones((1, self.arms), np.bool_))
        two = optimality.optimal_arms(np.ascontiguousarray(checked[:, :, :2]), everyone)
        return np.asarray((two == optimality.optimal_arms(checked, everyone)).all(axis=1))

    def _checked(self, means: Any) -> Floats:
        array = checks.floats("means", means, (None, self.arms, self.objectives))
        checks.refuse_first("means", array, ~np.isfinite(array), "means must be finite")
        return array

    def __repr__(self) -> str:
        return (
            f"<{self.name}: {counted(self.arms, 'arm')}, {counted(self.objectives, 'objective')}, "
            f"{counted(self.dimension, 'context feature')}>"
        )
