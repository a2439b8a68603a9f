"""A rule on a partition: what the cells remember is shared, the rule says which arm to play."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, Decision, Explanation
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.kernels import statistics
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.kernels.updating import DONE
from lexbandit.kernels.updating import update as update_kernel
from lexbandit.partitions import Partition
from lexbandit.policies.base import Policy
from lexbandit.policies.cell_memory import CellMemory
from lexbandit.policies.levels import Levels
from lexbandit.rounds import Rounds

# Counts are kept as doubles, which are exact up to here.
_MOST_PLAYS = 2**53


def _as_array(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"state[{name!r}] must be an array, got {value!r}.") from error


class CellPolicy(Policy):
    """A rule that decides in each cell of `partition` by that cell's statistics and `bound`.

    A subclass is a rule: it supplies `_select`, `_replay`, `_shares` and `_reason`, and says by how
    many objectives it ranks arms. Channels beyond the objectives are the subclass's own. `L` and
    `alpha` say how smooth the means are, for the rules that use the cells' margins.
    """

    _ranked: int = 0
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

    @abstractmethod
    def _select(self, context: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        """Return the arm to play in the cell `key` and its exact probability."""

    @abstractmethod
    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        """Run the compiled loop on rounds whose cells have these slots."""

    @abstractmethod
    def _shares(self, context: Floats, slot: int, ceilings: Floats) -> Floats:
        """Return the exact probability of every arm."""

    @abstractmethod
    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        """Return which arms are candidates, and in a sentence why the likely ones are chosen."""

    def select(self, context: Any, allowed: Any = None) -> Decision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point, key = self._place(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        return Decision._make(self._select(point, key, ceilings))

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under. Only Scalarized UCB1 has a use for it.
        """
        _, key = self._place(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        if self._update(key, number, values, ceilings) != DONE:
            self._check_rewards("rewards", values)
            self._memory.visit(np.array([key]))
            self._update(key, number, values, ceilings)
        self.partition.arrived(key)

    def _check_rewards(self, name: str, rewards: Floats) -> None:
        """Refuse rewards that the bound is not valid for; NaN is not one."""
        low, high = self.bound.rewards
        allowed = checks.REWARDS_ALLOWED
        if high < checks.LARGEST_REWARD:
            allowed = f"with this policy rewards lie in [{low:g}, {high:g}], or NaN if not observed"
        checks.refuse_first(name, rewards, (rewards < low) | (rewards > high), allowed)

    def _update(self, key: int, arm: int, rewards: Floats, ceilings: Floats) -> int:
        """Record in the cell's slot; nothing is done, and the answer is not DONE, if it can't."""
        memory = self._memory
        return update_kernel(
            key, memory.table, memory.plays, memory.stats, arm, rewards, memory.bounds, self._ranked
        )

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        ceilings = self._no_ceiling
        if rounds.allowed is not None:
            ceilings = ceilings_of(rounds.allowed)
        if self.bound.rewards[1] < checks.LARGEST_REWARD:
            self._check_rewards("outcomes", rounds.outcomes)
        keys = self.partition.enter_all(rounds.contexts)
        if (keys < 0).any():  # possible only if the arrays were edited after they were checked
            checks.in_unit_cube("contexts", rounds.contexts)
        return self._replay(self._memory.visit(keys), rounds, ceilings)

    def _place(self, context: Any) -> tuple[Floats, int]:
        """Return the context, checked, and the key of its cell."""
        point = self._context(context)
        key = self.partition.locate(point)
        if key < 0:
            checks.in_unit_cube("context", point)
        return point, key

    def explain(self, context: Any, allowed: Any = None) -> Explanation:
        """Say what is known of every arm in the cell of `context`, and why one would be chosen."""
        point, key = self._place(context)
        ceilings = self._ceilings(allowed)
        slot = self._memory.slot(key)
        shares = self._shares(point, slot, ceilings)
        candidates, reason = self._reason(slot, ceilings, shares)
        cell, widths = self._cell(slot)
        reports = tuple(
            ArmReport(
                arm=arm,
                allowed=bool(ceilings[0, arm] > 0),
                plays=int(self._memory.plays[slot, arm]),
                observations=tuple(int(n) for n in cell[:, statistics.COUNT, arm]),
                mean=tuple(cell[:, statistics.MEAN, arm].tolist()),
                width=tuple(widths[:, arm].tolist()),
                index=tuple(cell[:, statistics.INDEX, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
            )
            for arm in range(self.arms)
        )
        levels = self._levels(slot, ceilings)
        return Explanation(
            self.name,
            key,
            reports,
            reason[0].upper() + reason[1:],
            levels.told() if levels else (),
            bool(levels and levels.unsure),
        )

    def _levels(self, slot: int, ceilings: Floats) -> Levels | None:
        """Return what a lexicographic rule finds at each objective; None for other rules."""
        return None

    def _cell(self, slot: int) -> tuple[Floats, Floats]:
        """Return a copy of a cell's statistics, indices brought up to date, and the full widths."""
        memory = self._memory
        cell = memory.stats[slot : slot + 1, : self.objectives].copy()
        row = statistics.bound_row(memory.bounds, slot)
        bounds = memory.bounds[row : row + 1].copy()
        for i in range(self.objectives):
            statistics.rank_all(cell, 0, i, bounds)
        widths = cell[0, :, statistics.WIDTH].copy()
        if self.bound.fields == statistics.PLAIN_FIELDS:
            for i in range(self.objectives):
                widths[i] *= statistics.channel_growth(cell, 0, i, bounds)
        return cell[0], widths

    @property
    def visited_cells(self) -> int:
        """The number of cells in which something was learned: memory grows with it alone."""
        return self._memory.used - 1

    def add_arm(self) -> int:
        """Add an arm that nothing is known of; returns its number.

        The bounds of all arms are computed anew, since the paper's width depends on their number.
        """
        self.bound = self.bound.with_arms(self.arms + 1)
        self._memory.add_arm()
        self._set_arms(self.arms + 1)
        return self.arms - 1

    def state(self) -> dict[str, np.ndarray]:
        """Return all that was learned, and the random state, as copies in plain arrays.

        cells      int64[V]          the visited cells' keys
        plays      int64[V, K]       rounds in which each arm was played
        counts     int64[V, K, C]    observations per channel (objectives first)
        sums       float64[V, K, C]  their sums
        spreads    float64[V, K, C]  their squared errors of prediction, if the bound needs them
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
        if not isinstance(state, Mapping):
            raise InvalidInput(f"load_state takes what state() returns, got {state!r}.")
        wanted = self.state()
        for name in state:
            if name not in wanted:
                raise unknown_name("state array", name, wanted)
        for name in wanted:
            if name not in state:
                raise InvalidInput(f"state has no array {name!r}; it needs {', '.join(wanted)}.")
        visited = _as_array("cells", state["cells"]).size
        arrays: dict[str, np.ndarray] = {}
        for name, like in wanted.items():
            array = _as_array(name, state[name])
            by_cell = name in self._BY_CELL
            shape = (visited, *like.shape[1:]) if by_cell else like.shape
            if array.shape != shape or array.dtype.kind != like.dtype.kind:
                raise InvalidInput(
                    f"state[{name!r}] must be {like.dtype} of shape {shape}, "
                    f"got {array.dtype} of shape {array.shape}."
                )
            arrays[name] = np.array(array, like.dtype)
        self._check_state(arrays)
        self._memory.restore(arrays)
        self.partition.restore(arrays["cells"], arrays["plays"].sum(axis=1))
        self._random = arrays["random"]

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        for name, mine in self._definition().items():
            if (mine != arrays[name]).any():
                raise InvalidInput(
                    f"state[{name!r}] is {arrays[name].tolist()}, of this policy {mine.tolist()}: "
                    "the state means something else."
                )
        keys, plays, counts, sums = (arrays[name] for name in ("cells", "plays", "counts", "sums"))
        wrong = (plays < 0) | (plays > _MOST_PLAYS)
        checks.refuse_first("state['plays']", plays, wrong, "plays are at least 0, at most 2^53")
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
        extra = counts[:, :, self.objectives :].sum(axis=2, keepdims=True)
        impossible = (counts < 0) | (np.maximum(counts, extra) > plays[:, :, np.newaxis])
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
