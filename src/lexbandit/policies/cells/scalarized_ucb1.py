"""Scalarized UCB1, with and without contexts."""

from collections.abc import Sequence

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound, UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import scalarized as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.partitions import Partition, SingleCell
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, grid_for
from lexbandit.policies.explain import likely, listed
from lexbandit.policies.registry import REGISTRY

Weights = Sequence[Sequence[float]]


def default_weights(objectives: int) -> Floats:
    """Return the paper's weights [1, 0], [½, ½], [0, 1]: each objective alone, and all alike."""
    alone = np.eye(objectives)
    if objectives == 1:
        return alone
    return np.vstack([alone[:1], np.full((1, objectives), 1 / objectives), alone[1:]])


class ScalarizedRule(CellPolicy):
    """Scalarized UCB1 in every cell (Drugan and Nowé, 2013).

    One whole UCB1 instance per weight vector; each round one is drawn uniformly, decides, and
    alone learns the weighted sum of the rewards. `kernels.scalarized` says how `update` credits
    the instance without knowing which one decided.
    """

    _rule = cell_rule(choose=kernel.choose, shares=kernel.shares, learn=kernel.learn)

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        bound: Bound,
        seed: int,
        weights: Weights | None = None,
    ) -> None:
        if weights is None:
            self.weights = default_weights(objectives)
        else:
            self.weights = checks.floats("weights", weights, (None, objectives))
            wrong = ~((self.weights >= 0) & (self.weights <= 1e100))
            checks.refuse_first("weights", self.weights, wrong, "weights are at least 0")
            if not self.weights.any(axis=1).all() or not len(self.weights):
                raise InvalidInput("weights need at least one row, and a weight above 0 in each.")
        super().__init__(
            arms=arms,
            objectives=objectives,
            partition=partition,
            bound=bound,
            seed=seed,
            extra_channels=len(self.weights),
        )
        self._settings = np.array([objectives, *self.weights.ravel()])

    def _definition(self) -> dict[str, np.ndarray]:
        return {**super()._definition(), "weights": self.weights.copy()}

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        chosen = likely(shares)
        return np.asarray(shares > 0), (
            f"{listed(chosen)}: highest index of the weighted rewards of one of "
            f"{len(self.weights)} weight vectors, one of which is drawn uniformly."
        )


@REGISTRY.register("cs-ucb1")
def cs_ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    alpha: float = 1.0,
    scale: float = 1.0,
    cells_per_side: Sides = None,
    weights: Weights | None = None,
    seed: int = 0,
) -> ScalarizedRule:
    """CS-UCB1: Scalarized UCB1 in each cell of MOC-MAB's grid."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    return ScalarizedRule(
        arms=arms,
        objectives=objectives,
        partition=grid,
        bound=UCB1Bound(arms=arms, scale=scale),
        weights=weights,
        seed=seed,
    )


@REGISTRY.register("s-ucb1")
def s_ucb1(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    scale: float = 1.0,
    weights: Weights | None = None,
    seed: int = 0,
) -> ScalarizedRule:
    """S-UCB1: Scalarized UCB1, without contexts (Drugan and Nowé, 2013)."""
    return ScalarizedRule(
        arms=arms,
        objectives=objectives,
        partition=SingleCell(dimension),
        bound=UCB1Bound(arms=arms, scale=scale),
        weights=weights,
        seed=seed,
    )
