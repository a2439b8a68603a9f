"""The baseline that learns nothing."""

import numpy as np

from lexbandit.checks import Booleans, Floats
from lexbandit.kernels.cells import cell_rule, mark_allowed
from lexbandit.policies.cells.base import CellPolicy
from lexbandit.policies.cells.grid import explanation_only, one_cell
from lexbandit.policies.registry import register


class UniformRule(CellPolicy):
    """Any allowed arm, with equal probability. Rewards are recorded, for `explain` only."""

    _rule = cell_rule(mark=mark_allowed)

    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        return np.asarray(ceilings[0] > 0), "Any allowed arm, drawn uniformly."


register(
    "random",
    UniformRule,
    "Any arm, drawn uniformly: the baseline without learning.",
    partition=one_cell,
    bound=explanation_only,
)
