"""Epoch-Greedy on the dominant objective."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit.bounds import UCB1Bound
from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels import epochs as kernel
from lexbandit.kernels.cell_loops import cell_rule
from lexbandit.kernels.statistics import COUNT
from lexbandit.partitions import Partition
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import Sides, grid_for
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.registry import REGISTRY


class EpochRule(CellPolicy):
    """Epoch-Greedy (Langford and Zhang, 2008), whose policies give each cell one arm.

    An epoch is one round in which an allowed arm is drawn uniformly, and then s(n) rounds of the
    greedy policy, with n the exploration rounds so far:

        s(n) = ⌊sqrt(n / (K ln n))⌋,   s(1) = 0.

    The greedy policy plays, in each cell, the arm of the highest mean in the dominant objective,
    of the exploration rounds only; ties uniformly, and uniformly any allowed arm in a cell without
    such data. The paper ranks arms by the importance-weighted sum of rewards, K times the sum;
    the mean is its self-normalised version, with less variance.

    The clock is the number of updates: whether an update counts as exploration is decided by its
    place in their order. So rewards that come late may swap rounds between the two.
    """

    _rule = cell_rule(prepare=kernel.prepare, mark=kernel.mark, learn=kernel.learn)

    def __init__(
        self, *, arms: int, objectives: int, partition: Partition, bound: UCB1Bound, seed: int
    ) -> None:
        super().__init__(
            arms=arms,
            objectives=objectives,
            partition=partition,
            bound=bound,
            seed=seed,
            extra_channels=1,
        )
        self._settings = np.zeros(2)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        As for every policy on cells; the last channel has the dominant objective's exploration
        rounds, and there is one array more:

        epochs     int64[2]          exploration rounds so far, greedy rounds left in this epoch
        """
        return {**super().state(), "epochs": self._settings.astype(np.int64)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives and partition."""
        super().load_state(state)
        self._settings = np.array(state["epochs"], np.float64)

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        explorations, left = arrays["epochs"].tolist()
        rounds = int(arrays["plays"].sum())
        most = kernel.greedy_rounds(explorations, 1)
        if not 0 <= explorations <= rounds or not 0 <= left <= most:
            raise InvalidInput(
                f"state['epochs'] is {[explorations, left]}; after {rounds} rounds there were 0 to "
                f"{rounds} explorations, and at most {most} greedy rounds follow the last."
            )
        explored = int(arrays["counts"][:, :, self.objectives].sum())
        if explored > explorations:
            raise InvalidInput(
                f"state['counts'] has {explored} observations of exploration rounds in its last "
                f"channel; state['epochs'] says there were {explorations} such rounds."
            )

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        left = int(self._settings[kernel.LEFT])
        if left == 0:
            reason = "A round of exploration: any allowed arm, drawn uniformly."
        elif not self._memory.cells.stats[slot, ceilings[0] > 0, self.objectives, COUNT].any():
            reason = "A greedy round, but nothing explored here: any allowed arm, drawn uniformly."
        else:
            chosen = likely(shares)
            reason = (
                f"A greedy round ({left} left): {listed(chosen)}, the highest mean in "
                f"{objective(0)} over this cell's rounds of exploration{drawn(chosen)}."
            )
        return np.asarray(shares > 0), reason


@REGISTRY.register("epoch-greedy")
def epoch_greedy(
    *,
    arms: int,
    dimension: int,
    objectives: int = 2,
    horizon: int,
    alpha: float = 1.0,
    cells_per_side: Sides = None,
    seed: int = 0,
) -> EpochRule:
    """Epoch-Greedy on the dominant objective, on MOC-MAB's grid (Langford and Zhang, 2008)."""
    grid = grid_for(
        dimension=dimension, horizon=horizon, alpha=alpha, cells_per_side=cells_per_side
    )
    bound = UCB1Bound(arms=arms)  # for `explain` only: this rule has no use for widths
    return EpochRule(arms=arms, objectives=objectives, partition=grid, bound=bound, seed=seed)
