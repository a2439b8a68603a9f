"""The baseline that knows everything."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels import optimality
from lexbandit.kernels.ties import ceilings_of
from lexbandit.policies.cells.grid import explanation_only, one_cell
from lexbandit.policies.cells.random import UniformRule
from lexbandit.policies.registry import register
from lexbandit.rounds import Rounds

MeansFunction = Callable[[Floats], Any]


class OracleRule(UniformRule):
    """A lexicographically optimal arm of the true means: the paper's benchmark (Section III-B).

    `replay` reads the means of the rounds; `select` and `explain` ask `means(contexts)`, such as
    an environment's. No other policy may see means. Rewards are recorded, for `explain` only.
    """

    def __init__(self, *, means: MeansFunction | None = None, **cells: Any) -> None:
        if means is not None and not callable(means):
            raise InvalidInput(
                f"means must be a function such as environment.means, got {means!r}."
            )
        super().__init__(**cells)
        self._means = means

    def _means_at(self, context: Floats) -> Floats:
        if self._means is None:
            raise InvalidInput(
                "the oracle can select only if it is given the means: "
                'make_policy("oracle", ..., means=environment.means).'
            )
        means = self._means(context[np.newaxis])
        checked = checks.floats("means", means, (1, self.arms, self.objectives))
        checks.refuse_first("means", checked, ~np.isfinite(checked), "means must be finite")
        return np.asarray(checked[0])

    def _optimal(self, context: Floats, ceilings: Floats) -> Floats:
        """Return the ceilings that allow the optimal ones of the allowed arms alone."""
        means = self._means_at(context)[np.newaxis]
        return ceilings_of(optimality.optimal_arms(means, ceilings))

    def _select(self, point: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        return super()._select(point, key, self._optimal(point, ceilings))

    def _select_many(
        self, points: Floats, keys: Integers, ceilings: Floats
    ) -> tuple[Integers, Floats]:
        optimal = [
            self._optimal(point, ceilings[t if len(ceilings) > 1 else 0][np.newaxis])
            for t, point in enumerate(points)
        ]
        allowed = np.concatenate([*optimal, np.empty((0, self.arms))])
        return super()._select_many(points, keys, allowed)

    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        assert rounds.means is not None  # _check_rounds has seen to it
        allowed = ceilings_of(optimality.optimal_arms(rounds.means, ceilings))
        return super()._replay(slots, rounds, allowed)

    def _check_rounds(self, rounds: Rounds) -> None:
        super()._check_rounds(rounds)
        if rounds.means is None:
            raise InvalidInput("the oracle needs rounds with means, these have none.")

    def _shares(self, context: Floats, slot: int, ceilings: Floats) -> Floats:
        return super()._shares(context, slot, self._optimal(context, ceilings))

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return np.asarray(shares > 0), "Lexicographically optimal by the true means."


register(
    "oracle",
    OracleRule,
    "The optimal arm by the true means: what perfect knowledge would get.",
    partition=one_cell,
    bound=explanation_only,
)
