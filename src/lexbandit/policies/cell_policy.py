"""A rule on a partition: what the cells remember is shared, the rule says which arm to play."""

from abc import abstractmethod
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.decisions import ArmReport, Decision, Explanation, Reason
from lexbandit.kernels import statistics
from lexbandit.kernels.ties import ceilings_of
from lexbandit.kernels.updating import DONE, OUT_OF_RANGE
from lexbandit.kernels.updating import amend as amend_kernel
from lexbandit.kernels.updating import update as update_kernel
from lexbandit.kernels.updating import update_many as update_many_kernel
from lexbandit.policies.base import no_such_play
from lexbandit.policies.cell_state import CellState
from lexbandit.policies.levels import Levels
from lexbandit.rounds import Rounds


class CellPolicy(CellState):
    """A rule that decides in each cell of `partition` by that cell's statistics and `bound`.

    A subclass is a rule: it supplies `_select`, `_replay`, `_shares` and `_reason`, and says by how
    many objectives it ranks arms. Channels beyond the objectives are the subclass's own. `L` and
    `alpha` say how smooth the means are, for the rules that use the cells' margins.
    """

    _ranked: int = 0

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

    def amend(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        """Learn further rewards of a play that was told by `update`; NaN means "not these".

        Where cells are refined, it is a play in the finest cell around `context` in which one of
        the arm waits for these rewards: mostly that of the play itself.
        """
        if not self._keeps_sums:
            super().amend(context, arm, rewards, allowed)
        _, key = self._place(context)
        values = self._rewards(rewards)
        number = self._arm(arm)
        if allowed is not None:
            self._ceilings(allowed)
        answer = self._amend(key, number, values)
        while answer != DONE:
            if answer == OUT_OF_RANGE:
                self._check_rewards("rewards", values)
            key = self.partition.above(key)
            if key < 0:
                raise no_such_play(number, values)
            answer = self._amend(key, number, values)

    def _amend(self, key: int, arm: int, rewards: Floats) -> int:
        memory = self._memory
        return amend_kernel(
            key,
            memory.table,
            memory.plays,
            memory.stats,
            arm,
            rewards,
            memory.priors[arm, 0],
            memory.bounds,
            self._ranked,
        )

    def select_many(self, contexts: Any, allowed: Any = None) -> tuple[Integers, Floats]:
        """Return the arms to play in contexts[n, d] and their probabilities: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        ceilings = self._no_ceiling if masks is None else ceilings_of(masks)
        return self._select_many(points, self.partition.locate_all(points), ceilings)

    def _select_many(
        self, contexts: Floats, keys: Integers, ceilings: Floats
    ) -> tuple[Integers, Floats]:
        """Return the arms to play in the cells `keys` and their exact probabilities.

        This loop is the meaning; a rule may bring a compiled one.
        """
        arms, propensities = np.empty(len(keys), np.int64), np.empty(len(keys))
        for t, key in enumerate(keys.tolist()):
            mine = ceilings if len(ceilings) == 1 else ceilings[t : t + 1]
            arms[t], propensities[t] = self._select(contexts[t], key, mine)
        return arms, propensities

    def update_many(self, contexts: Any, arms: Any, rewards: Any, allowed: Any = None) -> None:
        """Learn rewards[n, D] of arms[n] played in contexts[n, d]: one compiled loop."""
        points, masks = self._many(contexts, allowed)
        played, values = self._played(len(points), arms, rewards)
        keys = self.partition.enter_all(points)
        slots = self._memory.visit(keys)
        if type(self)._update is CellPolicy._update:
            memory = self._memory
            update_many_kernel(
                slots, memory.plays, memory.stats, played, values, memory.bounds, self._ranked
            )
            return
        for t, key in enumerate(keys.tolist()):
            ceilings = self._no_ceiling if masks is None else ceilings_of(masks[t : t + 1])
            self._update(key, int(played[t]), values[t], ceilings)

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

    def _propensities_checked(self, point: Floats, allowed: Booleans | None) -> Floats:
        _, key = self._place(point)
        return self._shares(point, self._memory.slot(key), self._ceilings(allowed))

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
                observations=tuple(
                    int(n - self._memory.priors[arm, 0]) for n in cell[:, statistics.COUNT, arm]
                ),
                mean=tuple(cell[:, statistics.MEAN, arm].tolist()),
                width=tuple(widths[:, arm].tolist()),
                index=tuple(cell[:, statistics.INDEX, arm].tolist()),
                candidate=bool(candidates[arm]),
                propensity=float(shares[arm]),
                prior=int(self._memory.priors[arm, 0]),
            )
            for arm in range(self.arms)
        )
        levels = self._levels(slot, ceilings)
        return Explanation(
            self.name,
            key,
            reports,
            Reason(reason),
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
