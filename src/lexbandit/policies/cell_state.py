"""What a policy on cells keeps, to be written down, read again and added to another's."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound
from lexbandit.checks import Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels.random import seeded
from lexbandit.kernels.statistics import MARGIN, bound_row
from lexbandit.partitions import Partition
from lexbandit.policies.base import Policy, Prior
from lexbandit.policies.cell_memory import CellMemory
from lexbandit.policies.loading import arrays_like, check_counted, same_definition
from lexbandit.policies.priors import check_priors, refuse_other_priors


class CellState(Policy):
    """A policy with statistics in each cell of `partition`, and `bound` to read them."""

    _BY_CELL: tuple[str, ...] = ("cells", "plays", "counts", "sums", "spreads")

    def __init__(
        self,
        *,
        arms: int,
        objectives: int,
        partition: Partition,
        bound: Bound,
        seed: int,
        L: float = 1.0,
        alpha: float = 1.0,
        extra_channels: int = 0,
    ) -> None:
        super().__init__(arms=arms, dimension=partition.dimension, objectives=objectives)
        self.partition = partition
        self.bound = bound
        self.smoothness = L, alpha
        self._random = seeded(checks.whole("seed", seed, least=0))
        self._memory = CellMemory(
            arms=arms,
            channels=objectives + extra_channels,
            fields=bound.fields,
            rows_for=self._rows_for,
        )

    def _rows_for(self, keys: Integers) -> Floats:
        """Return what the kernels are told of cells: their bounds and margins, by level."""
        levels = np.array([self.partition.level_of(int(key)) for key in keys], np.int64)
        if not self.partition.refines:
            levels = np.zeros(1, np.int64)
        rows = {level: self._row(level) for level in set(levels.tolist())}
        return np.array([rows[level] for level in levels.tolist()])

    def _row(self, level: int) -> Floats:
        bound = self.bound
        if self.partition.refines:
            bound = bound.with_cells(self.partition.cells_at(level))
        L, alpha = self.smoothness
        return bound.coefficients(self.partition.margin(L=L, alpha=alpha, level=level))

    def _margin(self, slot: int) -> float:
        """Return v in the cell that has a slot of the memory."""
        bounds = self._memory.bounds
        return float(bounds[bound_row(bounds, slot), MARGIN])

    @property
    def _keeps_sums(self) -> bool:
        """Whether all that is kept of rewards is counts and sums of each objective."""
        return self._memory.channels == self.objectives

    def _check_rewards(self, name: str, rewards: Floats) -> None:
        """Refuse rewards that the bound is not valid for; NaN is "not observed"."""
        low, high = self.bound.rewards
        allowed = checks.REWARDS_ALLOWED
        if high < checks.LARGEST_REWARD:
            allowed = f"with this policy rewards lie in [{low:g}, {high:g}], or NaN if not observed"
        checks.refuse_first(name, rewards, (rewards < low) | (rewards > high), allowed)

    @property
    def visited_cells(self) -> int:
        """The number of cells in which something was learned: memory grows with it alone."""
        return self._memory.used - 1

    def add_arm(self, prior: Prior | None = None) -> int:
        """Add an arm; returns its number.

        The bounds of all arms are computed anew, since the paper's width depends on their number.
        A prior (means, weight) is, in every cell, as if `weight` rewards of these means had come,
        of the variance of rewards that are 0 or 1 where a bound asks for it. The weight is a whole
        number.
        """
        if not self._keeps_sums:
            self._refuse_prior(prior)
        means, weight = self._prior(prior)
        self.bound = self.bound.with_arms(self.arms + 1)
        self._memory.add_arm(weight, means)
        self._set_arms(self.arms + 1)
        return self.arms - 1

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        cells      int64[V]          the visited cells' keys
        plays      int64[V, K]       rounds in which each arm was played
        counts     int64[V, K, C]    observations per channel (objectives first)
        sums       float64[V, K, C]  their sums
        spreads    float64[V, K, C]  their squared errors of prediction, if the bound needs them
        priors     float64[K, 1+D]   weight and means each arm began with, in every cell; they are
                                     part of the counts, sums and spreads
        partition  int64[...]        what the keys mean, e.g. (d, m) of a grid
        random     uint64[2]         the random state
        """
        return {
            **self._memory.contents(),
            **self._definition(),
            "random": self._random.copy(),
        }

    def _definition(self) -> dict[str, np.ndarray]:
        """Return what says what the state's numbers mean; it must be equal to load a state."""
        return {"partition": self.partition.signature()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a policy with the same arms, objectives and partition.

        Scale, beta, horizon and even the rule may differ, since what was observed does not depend
        on them (but without `cells_per_side` another horizon gives another partition). Anything
        that does not fit is refused, and nothing changes.
        """
        arrays = self._checked(state)
        self._memory.restore(arrays)
        self.partition.restore(arrays["cells"], arrays["plays"].sum(axis=1))
        self._random = arrays["random"]

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        Plays, counts, sums and spreads are added cell by cell, priors counted once. The random
        state stays. Cells that are refined as contexts come depend on their order, so a tree cannot
        be merged. Spreads are errors of predictions, and each policy made its own: with a bound
        that uses them the widths hold, and differ a little from those of one stream.
        """
        if not self._keeps_sums or self.partition.refines:
            super().merge(state)
        arrays = self._checked(state)
        refuse_other_priors(self._memory.priors, arrays["priors"])
        self._memory.merge(arrays)

    def _checked(self, state: Any) -> dict[str, np.ndarray]:
        """Return a state's arrays; one that does not fit is refused."""
        arrays = arrays_like(state, self.state(), self._BY_CELL)
        self._check_state(arrays)
        return arrays

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        same_definition(arrays, self._definition())
        check_counted(arrays, "plays")
        keys, plays, counts, sums = (arrays[name] for name in ("cells", "plays", "counts", "sums"))
        full = ", below cells that were split" if self.partition.refines else ""
        checks.refuse_first(
            "state['cells']",
            keys,
            self.partition.impossible(keys, plays.sum(axis=1)),
            f"keys go from 0 to {self.partition.cells - 1}{full}",
        )
        if len(np.unique(keys)) != len(keys):
            raise InvalidInput("state['cells'] holds a cell twice.")
        # An objective is observed at most once a play, and at most one extra channel is credited.
        check_priors(arrays["priors"])
        told = counts - arrays["priors"][:, :1].astype(np.int64)
        extra = told[:, :, self.objectives :].sum(axis=2, keepdims=True)
        impossible = (told < 0) | (np.maximum(told, extra) > plays[:, :, np.newaxis])
        checks.refuse_first(
            "state['counts']", counts, impossible, "counts go from 0 to the plays of the arm"
        )
        wrong = ~np.isfinite(sums) | ((counts == 0) & (sums != 0))
        checks.refuse_first("state['sums']", sums, wrong, "sums are finite, and 0 without counts")
        if "spreads" in arrays:
            spreads = arrays["spreads"]
            wrong = ~(spreads >= 0) | (spreads > counts)
            checks.refuse_first(
                "state['spreads']", spreads, wrong, "spreads go from 0 to the counts"
            )
