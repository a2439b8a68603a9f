"""Epoch-Greedy on the dominant objective.

Channels 0 to D−1 are the objectives, with all that was observed. Channel D has the dominant
objective again, of the exploration rounds only: the greedy rounds decide by it.
`settings[EXPLORATIONS]` counts the exploration rounds so far, `settings[LEFT]` the greedy rounds
that are still to come in this epoch, in all cells together. LEFT = 0 means that the next round
explores.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.errors import InvalidInput
from lexbandit.kernels.arrays import Array
from lexbandit.kernels.cells import COUNT, MARKS, MEAN, Cells, cell_rule, observe
from lexbandit.kernels.jit import kernel, leaf
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import explanation_only, paper_grid
from lexbandit.policies.explain import drawn, likely, listed, objective
from lexbandit.policies.registry import register

EXPLORATIONS, LEFT = 0, 1


@kernel
def greedy_rounds(explorations: int, arms: int) -> int:
    """Return ⌊sqrt(n/(K ln n))⌋, the greedy rounds after the n-th exploration; 0 for n = 1."""
    if explorations <= 1:
        return 0
    return int(math.sqrt(explorations / (arms * math.log(explorations))))


@leaf
def mark(cells: Cells, slot: int, ceilings: Array, row: int) -> int:
    """Mark the arms of which one is played, uniformly; return how many there are.

    In a greedy round the allowed arms of the highest mean in the cell's exploration data; all
    allowed arms if there are no such data, and in a round of exploration.
    """
    stats = cells.stats
    explored = stats.shape[2] - 1
    best = -math.inf
    if cells.settings[LEFT] > 0.0:
        for arm in range(stats.shape[1]):
            if ceilings[row, arm] > 0.0 and stats[slot, arm, explored, COUNT] > 0.0:
                best = max(best, stats[slot, arm, explored, MEAN])
    size = 0
    for arm in range(stats.shape[1]):
        known = stats[slot, arm, explored, COUNT] > 0.0
        highest = known and stats[slot, arm, explored, MEAN] == best
        marked = ceilings[row, arm] > 0.0 and (best == -math.inf or highest)
        cells.work[MARKS, arm] = marked
        size += marked
    return size


@leaf
def prepare(cells: Cells, slot: int, arm: int, outcomes: Array, t: int, r: int) -> None:
    """Go on to the next round of the epoch; what it explores counts for the greedy rounds."""
    if cells.settings[LEFT] > 0.0:
        cells.settings[LEFT] -= 1.0
    else:
        if not math.isnan(outcomes[t, r, 0]):
            observe(cells, slot, outcomes.shape[2], arm, outcomes[t, r, 0])
        cells.settings[EXPLORATIONS] += 1.0
        cells.settings[LEFT] = greedy_rounds(
            int(cells.settings[EXPLORATIONS]), cells.plays.shape[1]
        )


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
    place in their order. So rewards that come late may swap rounds between the two. The twin
    is in tests/twins/related_cells.py.
    """

    _rule = cell_rule(mark=mark, prepare=prepare)

    def __init__(self, **cells: Any) -> None:
        super().__init__(extra_channels=1, settings=[0, 0], **cells)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        As for every policy on cells; the last channel has the dominant objective's exploration
        rounds, and there is one array more:

        epochs     int64[2]          exploration rounds so far, greedy rounds left in this epoch
        """
        return {**super().state(), "epochs": self._memory.cells.settings.astype(np.int64)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives and partition."""
        super().load_state(state)
        self._memory.cells.settings[:] = state["epochs"]

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        explorations, left = arrays["epochs"].tolist()
        rounds = int(arrays["plays"].sum())
        most = greedy_rounds(explorations, 1)
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
        left = int(self._memory.cells.settings[LEFT])
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


register(
    "epoch-greedy",
    EpochRule,
    "Epoch-Greedy on the dominant objective, on MOC-MAB's grid (Langford and Zhang, 2008).",
    partition=paper_grid,
    bound=explanation_only,
)
