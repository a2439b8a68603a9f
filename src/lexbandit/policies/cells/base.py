"""A rule on a partition: statistics of cells are shared, the rule says which arm to play."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bounds import Bound
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, PolicyDecision, PolicyExplanation, Reason
from lexbandit.errors import InvalidInput
from lexbandit.kernels import cells as kernel
from lexbandit.kernels.random import seeded
from lexbandit.kernels.ties import ceilings_of
from lexbandit.partitions import Partition
from lexbandit.policies.base import (
    Policy,
    Prior,
    arrays_like,
    check_counted,
    check_priors,
    no_such_play,
    refuse_other_priors,
    same_definition,
)
from lexbandit.policies.levels import Levels
from lexbandit.rounds import Rounds

_FIRST_SLOTS = 64

RowsFor = Callable[[Integers], Floats]


class CellMemory:
    """Plays and statistics by slot, and the table that finds a cell's slot.

    The arrays are those of `kernels.cells`; they grow with the cells visited, not with m^d. Slot 0
    stands for every cell that was never visited, slots 1 to `used`−1 for the visited ones in order
    of first visit. `rows_for` returns the rows of `bounds` for cells by their keys; one row, if all
    cells are alike. priors[arm] is (weight, means…) of what an arm began with in every cell,
    visited or not: it is part of the statistics as if it had been observed, and is stored so that
    it can be subtracted again.
    """

    def __init__(
        self, *, arms: int, channels: int, fields: int, rows_for: RowsFor, settings: Floats
    ) -> None:
        self._rows_for = rows_for
        self.used = 1
        self.keys: Integers = np.full(_FIRST_SLOTS, -1, np.int64)
        self.table: Integers = np.zeros((2 * _FIRST_SLOTS, 2), np.int64)
        self.priors: Floats = np.zeros((arms, 1 + channels))
        self._use(
            kernel.empty_cells(_FIRST_SLOTS, arms, channels, fields, rows_for(self.keys), settings)
        )

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.cells.plays.shape[1])

    def _use(self, cells: kernel.Cells) -> None:
        """Go on with these cells; single decisions take their arrays one by one: it is quicker."""
        self.cells = cells
        self.arrays = cells[:-1]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return int(self.cells.indices.shape[1])

    def slot(self, key: int) -> int:
        """Return the slot of a cell, 0 if it was never visited."""
        return int(kernel.slot_of(self.table, key))

    def visit(self, keys: Integers) -> Integers:
        """Return the slots of a block of cells; new cells get the next slots."""
        slots = np.empty(len(keys), np.int64)
        known = self.used
        start = 0
        while start < len(keys):
            self.used, done = kernel.visit(
                self.table, self.keys, self.used, keys[start:], slots[start:]
            )
            start += done
            if start < len(keys):
                self._grow()
        bounds = self.cells.bounds
        if len(bounds) > 1 and self.used > known:
            bounds[known : self.used] = self._rows_for(self.keys[known : self.used])
        return slots

    def _grow(self) -> None:
        """Double the number of slots."""
        old = len(self.keys)
        new = 2 * old
        keys = np.full(new, -1, np.int64)
        keys[:old] = self.keys
        table = np.zeros((2 * new, 2), np.int64)
        kernel.insert(table, keys, 1, self.used)
        self.keys, self.table = keys, table
        growing = ["plays", "totals", "stats", "indices"]
        if len(self.cells.bounds) > 1:
            growing.append("bounds")
        grown = {name: _with_copies(getattr(self.cells, name), old) for name in growing}
        self._use(self.cells._replace(**grown))

    def add_arm(self, weight: int, means: Floats) -> None:
        """Add an arm that was never played anywhere; `rows_for` knows of it already.

        In every cell it begins as if `weight` rewards of these means had come.
        """
        prior = np.zeros(1 + self.channels)
        prior[0] = weight
        prior[1 : 1 + len(means)] = means
        self.priors = np.vstack([self.priors, prior])
        old, slots, fields = self.cells, len(self.keys), self.cells.stats.shape[3]
        rows = self._rows_for(self.keys)
        self._use(
            kernel.empty_cells(slots, self.arms + 1, self.channels, fields, rows, old.settings)
        )
        self.cells.plays[:, :-1] = old.plays
        self.cells.stats[:, :-1] = old.stats
        for field, value in self._prior_sums(self.priors[-1:]).items():
            self.cells.stats[:, -1, :, field] = value[0]
        kernel.derive(self.cells, 0, slots)

    def _prior_sums(self, priors: Floats) -> dict[int, Floats]:
        """Return by field what priors[n, 1 + channels] add to statistics, as (n, channels)."""
        weights, means = priors[:, :1], priors[:, 1:]
        sums = {kernel.COUNT: np.broadcast_to(weights, means.shape), kernel.SUM: weights * means}
        if self.cells.stats.shape[3] > kernel.PLAIN_FIELDS:
            sums[kernel.SPREAD] = weights * np.maximum(means * (1.0 - means), 0.0)
        return sums

    def merge(self, contents: dict[str, np.ndarray]) -> None:
        """Add checked contents of other rounds; priors are counted once."""
        slots = self.visit(contents["cells"])
        self.cells.plays[slots] += contents["plays"]
        names = {kernel.COUNT: "counts", kernel.SUM: "sums", kernel.SPREAD: "spreads"}
        for field, value in self._prior_sums(self.priors).items():
            self.cells.stats[slots, :, :, field] += contents[names[field]] - value
        kernel.derive(self.cells, 1, self.used)

    def contents(self) -> dict[str, np.ndarray]:
        """Return copies of what is known, visited cells only: axes are (cell, arm, channel)."""
        visited = slice(1, self.used)
        stats = self.cells.stats[visited]
        contents = {
            "cells": self.keys[visited].copy(),
            "plays": self.cells.plays[visited].astype(np.int64),
            "counts": stats[..., kernel.COUNT].astype(np.int64),
            "sums": stats[..., kernel.SUM].copy(),
        }
        if self.cells.stats.shape[3] > kernel.PLAIN_FIELDS:
            contents["spreads"] = stats[..., kernel.SPREAD].copy()
        contents["priors"] = self.priors.copy()
        return contents

    def restore(self, contents: dict[str, np.ndarray]) -> None:
        """Replace everything by checked contents."""
        fresh = CellMemory(
            arms=self.arms,
            channels=self.channels,
            fields=self.cells.stats.shape[3],
            rows_for=self._rows_for,
            settings=self.cells.settings,
        )
        fresh.priors = contents["priors"]
        for field, value in fresh._prior_sums(fresh.priors).items():
            fresh.cells.stats[..., field] = value
        kernel.derive(fresh.cells, 0, len(fresh.keys))
        fresh.visit(contents["cells"])
        visited = slice(1, fresh.used)
        fresh.cells.plays[visited] = contents["plays"]
        stats = fresh.cells.stats[visited]
        stats[..., kernel.COUNT] = contents["counts"]
        stats[..., kernel.SUM] = contents["sums"]
        if "spreads" in contents:
            stats[..., kernel.SPREAD] = contents["spreads"]
        kernel.derive(fresh.cells, 1, fresh.used)
        self.__dict__.update(fresh.__dict__)


def _with_copies(array: Floats, more: int) -> Floats:
    """Return the array with `more` rows, copies of its first: cells that nobody visited."""
    return np.concatenate([array, np.repeat(array[:1], more, axis=0)])


class CellPolicy(Policy):
    """A rule that decides in each cell of `partition` by that cell's statistics and `bound`.

    A subclass is a rule: `_rule` has its compiled functions (see `kernels.cells`), which read the
    numbers in `settings`; `_reason` explains. The rule ranks arms by the indices of the first
    `ranked` objectives, which are updated for it. Channels beyond the objectives are the
    subclass's own. `L` and `alpha` say how smooth the means are, for the rules that use the cells'
    margins.
    """

    _rule: tuple[kernel.Loops, ...]

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
        settings: Sequence[float] = (),
        ranked: int = 0,
    ) -> None:
        super().__init__(arms=arms, dimension=partition.dimension, objectives=objectives)
        self.partition = partition
        self.bound = bound
        self.smoothness = L, alpha
        self._ranked = ranked
        self._sides = partition.sides
        self._locates = not len(self._sides)
        self._random = seeded(checks.whole("seed", seed, least=0))
        # The loops of `_rule`, as in a `CellRule`; a policy is pickled without them.
        self._loops_at = 0 if bound.fields == kernel.PLAIN_FIELDS else 1
        self._memory = CellMemory(
            arms=arms,
            channels=objectives + extra_channels,
            fields=bound.fields,
            rows_for=self._rows_for,
            settings=np.array(settings, np.float64),
        )

    @property
    def _loops(self) -> kernel.Loops:
        return self._rule[self._loops_at]

    @abstractmethod
    def _reason(self, slot: int, ceilings: Floats, shares: Floats) -> tuple[Booleans, str]:
        """Return which arms are candidates, and in a sentence why the likely ones are chosen."""

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        """Return the arm to play in `context`, among those where `allowed[arm]` is True."""
        point = self._context(context)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        key = self._key(point) if self._locates else 0
        decision = self._select(point, key, ceilings)
        if decision[0] < 0:
            checks.in_unit_cube("context", point)
        return tuple.__new__(PolicyDecision, decision)  # in half the time of PolicyDecision(...)

    def _select(self, point: Floats, key: int, ceilings: Floats) -> tuple[int, float]:
        """Return the arm to play and its exact probability; arm −1 if `point` is outside.

        `key` counts only if the partition has no `sides`.
        """
        memory = self._memory
        return self._rule[self._loops_at].select.call(  # type: ignore[no-any-return]
            point, self._sides, key, ceilings, self._random, memory.table, *memory.arrays
        )

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn the rewards of an arm played in `context`; NaN means "not observed".

        `allowed` is the mask the arm was selected under. Only Scalarized UCB1 has a use for it.
        """
        point = self._context(context)
        key = self._key(point) if self._locates else 0
        values = self._rewards(rewards)
        number = self._arm(arm)
        ceilings = self._no_ceiling if allowed is None else self._ceilings(allowed)
        answer = self._update(point, key, number, values, ceilings)
        if answer != kernel.DONE:
            if answer == kernel.OUTSIDE:
                checks.in_unit_cube("context", point)
            self._check_rewards("rewards", values)
            self._memory.visit(np.array([self.partition.locate(point)]))
            self._update(point, key, number, values, ceilings)
        if self._locates:
            self.partition.arrived(key)

    def _update(self, point: Floats, key: int, arm: int, rewards: Floats, ceilings: Floats) -> int:
        """Record in the cell's slot; nothing is done, and the answer is not DONE, if it can't."""
        memory = self._memory
        return self._rule[self._loops_at].update.call(  # type: ignore[no-any-return]
            point,
            self._sides,
            key,
            arm,
            rewards,
            self._ranked,
            ceilings,
            self._random,
            memory.table,
            *memory.arrays,
        )

    def _key(self, point: Floats) -> int:
        """Return the key of a cell, where the kernels do not find it themselves."""
        key = self.partition.locate(point)
        if key < 0:
            checks.in_unit_cube("context", point)
        return key

    def _keys(self, points: Floats, *, arrive: bool = False) -> Integers:
        """Return the keys of cells; where cells are refined, contexts may `arrive` there."""
        if not self._locates:
            return kernel.grid_keys(points, self._sides)
        return self.partition.enter_all(points) if arrive else self.partition.locate_all(points)

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that `update` recorded; NaN means "not these".

        Where cells are refined, it is a play in the finest cell around `context` in which one of
        the arm waits for these rewards: mostly that of the play itself.
        """
        if not self.learns_in_parts:
            super().amend(context, arm, rewards, allowed)
        _, key = self._place(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._amend(key, number, values)
        while answer != kernel.DONE:
            if answer == kernel.OUT_OF_RANGE:
                self._check_rewards("rewards", values)
            key = self.partition.above(key)
            if key < 0:
                raise no_such_play(number, values)
            answer = self._amend(key, number, values)

    def _amend(self, key: int, arm: int, rewards: Floats) -> int:
        memory = self._memory
        prior = memory.priors[arm, 0]
        return kernel.amend(key, arm, rewards, prior, self._ranked, memory.table, memory.cells)

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        ceilings = self._no_ceiling if masks is None else ceilings_of(masks)
        return self._select_many(points, self._keys(points), ceilings)

    def _select_many(
        self, _points: Floats, keys: Integers, ceilings: Floats
    ) -> tuple[Integers, Floats]:
        """Return the arms to play in the cells `keys` and their exact probabilities."""
        memory = self._memory
        return self._loops.select_many(keys, ceilings, self._random, memory.table, memory.cells)

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        memory = self._memory
        slots = memory.visit(self._keys(points, arrive=True))
        self._loops.update_many(
            slots,
            memory.keys,
            played,
            values,
            self._ranked,
            self._no_ceiling if masks is None else ceilings_of(masks),
            self._random,
            memory.cells,
        )

    def replay(self, rounds: Rounds) -> Integers:
        """Select, observe and update for each round in order: one compiled loop."""
        self._check_rounds(rounds)
        ceilings = self._no_ceiling
        if rounds.allowed is not None:
            ceilings = ceilings_of(rounds.allowed)
        if self.bound.rewards[1] < checks.LARGEST_REWARD:
            self._check_rewards("outcomes", rounds.outcomes)
        keys = self._keys(rounds.contexts, arrive=True)
        if (keys < 0).any():  # possible only if the arrays were edited after they were checked
            checks.in_unit_cube("contexts", rounds.contexts)
        return self._replay(self._memory.visit(keys), rounds, ceilings)

    def _replay(self, slots: Integers, rounds: Rounds, ceilings: Floats) -> Integers:
        """Run the compiled loop on rounds whose cells have these slots."""
        memory = self._memory
        return self._loops.replay(
            slots,
            memory.keys,
            rounds.outcomes,
            self._ranked,
            ceilings,
            self._random,
            memory.cells,
        )

    def _shares(self, _context: Floats, slot: int, ceilings: Floats) -> Floats:
        """Return the exact probability of every arm in the cell of a slot."""
        return self._loops.shares(self._memory.cells, slot, ceilings, 0)

    def _place(self, context: Any) -> tuple[Floats, int]:
        """Return the context, checked, and the key of its cell."""
        point = self._context(context)
        key = self.partition.locate(point)
        if key < 0:
            checks.in_unit_cube("context", point)
        return point, key

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        _, key = self._place(point)
        return self._shares(point, self._memory.slot(key), self._ceilings(allowed))

    def explain(self, context: Any, allowed: Any = None) -> PolicyExplanation:
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
                plays=int(cell.plays[0, arm]),
                observations=tuple(
                    int(n - self._memory.priors[arm, 0])
                    for n in cell.stats[0, arm, : self.objectives, kernel.COUNT]
                ),
                mean=tuple(cell.stats[0, arm, : self.objectives, kernel.MEAN].tolist()),
                width=tuple(widths[arm].tolist()),
                index=tuple(cell.indices[0, : self.objectives, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
                prior=int(self._memory.priors[arm, 0]),
            )
            for arm in range(self.arms)
        )
        levels = self._levels(slot, ceilings)
        return PolicyExplanation(
            self.name,
            key,
            reports,
            Reason(reason),
            levels.reported() if levels else (),
            bool(levels and levels.unsure),
        )

    def _levels(self, slot: int, ceilings: Floats) -> Levels | None:
        """Return what a lexicographic rule finds at each objective; None for other rules."""
        return None

    def _cell(self, slot: int) -> tuple[kernel.Cells, Floats]:
        """Return a copy of a cell, indices brought up to date, and the full widths[K, D]."""
        cells = self._memory.cells
        row = slot if len(cells.bounds) > 1 else 0
        one, bounds = slice(slot, slot + 1), cells.bounds[row : row + 1].copy()
        plays, totals, stats, indices = (array[one].copy() for array in cells[:4])
        cell = kernel.Cells(plays, totals, stats, indices, bounds, cells.settings, cells.work)
        widths = cell.stats[0, :, : self.objectives, kernel.WIDTH].copy()
        kernel.derive(cell, 0, 1)
        for i in range(self.objectives):
            if self.bound.fields == kernel.PLAIN_FIELDS:
                widths[:, i] *= kernel.channel_growth(cell, 0, i)
            else:
                widths[:, i] = cell.stats[0, :, i, kernel.WIDTH]
        return cell, widths

    def _rows_for(self, keys: Integers) -> Floats:
        """Return the bounds and margins of cells, as the kernels read them."""
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
        bounds = self._memory.cells.bounds
        return float(bounds[slot if len(bounds) > 1 else 0, kernel.MARGIN])

    @property
    def _keeps_sums(self) -> bool:
        """Whether all that is stored of rewards is counts and sums of each objective."""
        return self._memory.channels == self.objectives

    @property
    def learns_in_parts(self) -> bool:
        """Whether only counts and sums are stored, in a cell that the context gives for sure."""
        return self._keeps_sums and not self.partition.draws

    @property
    def plays_by_arm(self) -> list[int]:
        """How often each arm was played, in all cells together."""
        counts: list[int] = self._memory.contents()["plays"].sum(axis=0).tolist()
        return counts

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
        self._random = arrays["random"]
        arrivals = arrays["plays"].sum(axis=1)
        self.partition.restore(arrays["cells"], arrivals, int(self._random[1]))

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what another policy of the same definition learned on rounds of its own: its state().

        Plays, counts, sums and spreads are added cell by cell, priors counted once. The random
        state stays. Cells that are refined as contexts come depend on their order, so a tree cannot
        be merged, nor a grid that draws. Spreads are errors of predictions, and each policy made
        its own: with a bound that uses them the widths hold, and differ a little from those of one
        stream.
        """
        if not self._keeps_sums or self.partition.counts_arrivals:
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
        observed = counts - arrays["priors"][:, :1].astype(np.int64)
        extra = observed[:, :, self.objectives :].sum(axis=2, keepdims=True)
        impossible = (observed < 0) | (np.maximum(observed, extra) > plays[:, :, np.newaxis])
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

    def _check_marks(self, arrays: dict[str, np.ndarray], marked: str) -> None:
        """Refuse a last channel that does not mark arms, by a count of 1, that are `marked`."""
        last = np.arange(self._memory.channels) == self._memory.channels - 1
        for name, most in (("counts", 1), ("sums", 0)):
            checks.refuse_first(
                f"state[{name!r}]",
                arrays[name],
                last & (np.abs(arrays[name]) > most),
                f"the last channel tells which arms {marked}: counts of 0 or 1, sums of 0",
            )
