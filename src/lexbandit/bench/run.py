"""Play one run: one stream of rounds serves every policy and grid point."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bench.plan import Run
from lexbandit.bench.study import Entry
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.kernels.optimality import optimal_arms
from lexbandit.kernels.tally import map_first, map_played, record
from lexbandit.kernels.ties import ceilings_of
from lexbandit.metrics import Tally, Truth
from lexbandit.rounds import Rounds

# Rounds in a block. Small enough that a block stays in the processor's cache while all policies
# replay it, large enough that the Python around a block does not show.
BLOCK = 8_192

# Cells per side of the map of chosen arms.
MAP_SIDE = 10


class Stopped(Exception):
    """The run was asked to stop; nothing of it is kept."""


@dataclass(frozen=True)
class Curve:
    """What one policy did, one row a checkpoint; None where the means are not known.

    regret float[c, D], pareto_regret float[c], reward float[c, D] (received), expected_reward
    float[c, D], arm_share float[c, K], seconds float[c] (processor time of its replay);
    played int[MAP_SIDE², K] over the last half of the run, where contexts have two features;
    state_bytes is the size of the arrays of the policy's `state()` at the end. tolerance_regret
    float[c, D] is None too where nobody says tolerances.
    """

    entry: Entry
    regret: Floats | None
    pareto_regret: Floats | None
    reward: Floats
    expected_reward: Floats | None
    arm_share: Floats
    seconds: Floats
    state_bytes: int
    played: Integers | None
    tolerance_regret: Floats | None = None


@dataclass(frozen=True)
class Played:
    """A finished run. `optimal` int[MAP_SIDE², K] goes with the curves' `played`."""

    run: Run
    curves: tuple[Curve, ...]
    optimal: Integers | None


def play(
    run: Run,
    *,
    threads: int = 1,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """Play a run. With several `threads`, they share the policies; the results are the same."""
    environment = run.environment.build(run.environment_parameters)
    if environment.objectives != run.objectives:
        raise InvalidInput(
            f"the study names {run.objectives} objectives, "
            f"{run.environment.name} has {environment.objectives}."
        )
    tolerances = environment.tolerances if run.tolerances is None else run.tolerances
    players = [_Player(run, entry, environment, tolerances) for entry in run.entries]
    optimal = _new_map(run, environment)
    done = 0
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for rounds in environment.stream(run.horizon, seed=run.stream_seed, block=BLOCK):
            block = _Block(rounds, done, run.horizon, tolerances, mapped=optimal is not None)
            if optimal is not None:
                block.map_optimal(optimal)
            if threads == 1:
                for player in players:
                    _refuse_to_go_on(stop)
                    player.play(block)
            else:
                _refuse_to_go_on(stop)
                list(pool.map(lambda player, block=block: player.play(block), players))
            done += len(rounds)
            if progress is not None:
                progress(len(rounds) * len(players))
    if done != run.horizon:
        raise InvalidInput(
            f"{run.environment.name} ended after {done} rounds, the horizon is {run.horizon}."
        )
    return Played(run, tuple(player.curve() for player in players), optimal)


def _refuse_to_go_on(stop: Callable[[], bool] | None) -> None:
    if stop is not None and stop():
        raise Stopped


class _Block:
    """A block of rounds with what all players need of it, worked out once."""

    def __init__(
        self, rounds: Rounds, done: int, horizon: int, tolerances: Any, *, mapped: bool
    ) -> None:
        self.rounds = rounds
        self.done = done
        self.truth: Truth | None = None
        if rounds.means is not None:
            self.truth = Truth(rounds.means, rounds.allowed, tolerances)
        self.gaps = self.truth is not None and bool(np.isnan(rounds.outcomes).any())
        # The map covers the last half of the run, when the policies have learned.
        self.map_from = min(max(horizon // 2 - done, 0), len(rounds))
        self.cells: Integers | None = None
        if mapped and self.map_from < len(rounds):
            sides = np.minimum((rounds.contexts * MAP_SIDE).astype(np.int64), MAP_SIDE - 1)
            self.cells = sides[:, 0] * MAP_SIDE + sides[:, 1]

    def observed(self, arms: Integers) -> Booleans | None:
        """Return which rewards of the played arms were observed; None where all were."""
        if not self.gaps:
            return None
        return ~np.isnan(self.rounds.outcomes[np.arange(len(arms)), arms])

    def map_optimal(self, counts: Integers) -> None:
        """Count the optimal arm of every round; of several, the first."""
        if self.cells is None or self.rounds.means is None:
            return
        allowed = self.rounds.allowed
        mask = np.ones((1, counts.shape[1]), np.bool_) if allowed is None else allowed
        marked = optimal_arms(self.rounds.means, ceilings_of(mask))
        map_first(self.cells, marked, self.map_from, counts)


class _Player:
    """One policy of a run and all that is noted of it."""

    def __init__(
        self, run: Run, entry: Entry, environment: Any, tolerances: tuple[float, ...] | None
    ) -> None:
        self.entry = entry
        problem = {
            "arms": environment.arms,
            "dimension": environment.dimension,
            "objectives": environment.objectives,
            "horizon": run.horizon,
            "seed": run.policy_seed(entry),
        }
        known = {"tolerance": tolerances, "layout": environment.layout or None}
        problem |= {
            key: value
            for key, value in known.items()
            if value is not None and key not in entry.parameters  # what a study sets counts
        }
        self.policy = entry.policy.build(entry.parameters, problem)
        self.tolerant = tolerances is not None
        self.objectives = environment.objectives
        self.marks = np.array(run.checkpoints, np.int64)
        self.tally: Tally | None = None
        self.totals = np.zeros(environment.objectives + environment.arms)
        self.notes = np.full((len(self.marks), len(self.totals)), np.nan)
        self.played = _new_map(run, environment)
        self.clock = [(0, 0.0)]

    def play(self, block: _Block) -> None:
        """Replay a block and note what came of it."""
        before = time.thread_time()
        played = self.policy.replay(block.rounds)
        spent = time.thread_time() - before
        # A user's policy may return anything; what follows trusts it.
        arms = checks.arms_of(played, rounds=len(block.rounds), arms_known=block.rounds.arms)
        self.clock.append((block.done + len(arms), self.clock[-1][1] + spent))
        if block.truth is not None:
            self.tally = self.tally or Tally(self.marks, objectives=self.objectives)
            self.tally.add(block.truth, arms, block.observed(arms))
        record(block.rounds.outcomes, arms, block.done, self.totals, self.marks, self.notes)
        if self.played is not None and block.cells is not None:
            map_played(block.cells, arms, block.map_from, self.played)

    def curve(self) -> Curve:
        """Return all that was noted. The time within a block is taken as even."""
        known = self.tally if self.tally and self.tally.rounds == self.marks[-1] else None
        rounds, seconds = zip(*self.clock, strict=True)
        return Curve(
            entry=self.entry,
            regret=known.regret if known else None,
            pareto_regret=known.pareto_regret if known else None,
            reward=self.notes[:, : self.objectives],
            expected_reward=known.reward if known else None,
            arm_share=self.notes[:, self.objectives :] / self.marks[:, np.newaxis],
            seconds=np.interp(self.marks, rounds, seconds),
            state_bytes=sum(np.asarray(part).nbytes for part in self.policy.state().values()),
            played=self.played,
            tolerance_regret=known.tolerance_regret if known and self.tolerant else None,
        )


def _new_map(run: Run, environment: Any) -> Integers | None:
    if environment.dimension != 2 or run.own_world:  # maps are added over the runs
        return None
    return np.zeros((MAP_SIDE**2, environment.arms), np.int64)
