"""Plan the runs of a study, and play them.

A run is one replication with every policy and grid point: one stream of rounds serves them all.
"""

import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit import checks
from lexbandit.bench.study import Component, Entry, Study
from lexbandit.checks import Booleans, Floats, Integers, whole
from lexbandit.errors import InvalidInput
from lexbandit.kernels.optimality import optimal_arms
from lexbandit.kernels.tally import map_first, map_played, record
from lexbandit.kernels.ties import ceilings_of
from lexbandit.metrics import Tally, Truth
from lexbandit.rounds import Rounds

# Increase this when a policy, environment or metric computes other numbers than before, so that
# finished runs are repeated. tests/bench/test_semantics.py fails if it should have been increased.
SEMANTICS = 9


def seed_of(*names: object) -> int:
    """Return a seed of 64 bits from names: the same names give the same seed everywhere."""
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(frozen=True)
class Run:
    """All that determines one replication. It can be pickled and played on any machine."""

    study: str
    number: int
    seed: int
    horizon: int
    objectives: int
    checkpoints: tuple[int, ...]
    environment: Component
    environment_parameters: dict[str, Any]
    data: str | None
    entries: tuple[Entry, ...]
    tolerances: tuple[float, ...] | None = None
    """What the study says; by default the environment's own hold."""
    own_world: bool = False
    """Whether the run's environment is another than that of the study's other runs."""

    @property
    def stream_seed(self) -> int:
        """The seed of the rounds."""
        return seed_of(self.seed, self.study, self.environment.name, self.number)

    def policy_seed(self, entry: Entry) -> int:
        """Return the seed with which a policy breaks ties."""
        return seed_of(self.seed, self.study, self.environment.name, self.number, entry.label)

    @property
    def policy_rounds(self) -> int:
        """The work in this run: rounds times policies."""
        return self.horizon * len(self.entries)

    @cached_property
    def key(self) -> str:
        """A hash of all that determines the results: the name of their file."""
        parameters = dict(self.environment_parameters)
        if self.data is not None:
            parameters["path"] = self.data  # the content of the file, not its path
        identity = {
            "semantics": SEMANTICS,
            "study": self.study,
            "number": self.number,
            "seed": self.seed,
            "horizon": self.horizon,
            "objectives": self.objectives,
            "checkpoints": self.checkpoints,
            "environment": [self.environment.identity(), parameters],
            "entries": [
                [entry.label, entry.policy.identity(), entry.parameters] for entry in self.entries
            ],
        }
        if self.tolerances is not None:
            identity["tolerances"] = self.tolerances
        text = json.dumps(identity, sort_keys=True, default=str)
        return f"{self.study}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def checkpoints_for(horizon: int, wanted: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers of rounds that end with the horizon.

    A number n asks for about n of them, half evenly spaced (for curves over time) and half evenly
    spaced in the logarithm (for growth exponents). A list is cut at the horizon.
    """
    if isinstance(wanted, tuple):
        return (*(t for t in wanted if t < horizon), horizon)
    half = max(1, wanted // 2)
    even = np.linspace(horizon / half, horizon, half)
    growing = np.geomspace(min(10, horizon), horizon, half)
    marks = np.union1d(np.rint(even), np.rint(growing)).astype(int).tolist()
    return tuple(sorted({*(t for t in marks if 1 <= t < horizon), horizon}))


def sized(study: Study, *, runs: int | None = None, horizon: int | None = None) -> Study:
    """Return the study with another number of runs or another horizon."""
    if runs is not None:
        study = replace(study, runs=whole("runs", runs, least=1))
    if horizon is not None:
        study = replace(study, horizon=whole("horizon", horizon, least=1))
    return study


def plan(study: Study) -> list[Run]:
    """Return the runs of a study."""
    parameters = dict(study.environment_parameters)
    # A recording is asked for as many rows as will be played.
    if "rows" in study.environment.parameters() and "rows" not in parameters:
        parameters["rows"] = study.horizon
    path = parameters.get("path")
    data = _fingerprint(Path(path)) if isinstance(path, str) else None
    marks = checkpoints_for(study.horizon, study.checkpoints)
    return [
        Run(
            study=study.name,
            number=number,
            seed=study.seed,
            horizon=study.horizon,
            objectives=len(study.objectives),
            checkpoints=marks,
            environment=study.environment,
            environment_parameters=parameters | _world(study, number),
            data=data,
            entries=study.entries,
            tolerances=study.tolerances,
            own_world=study.worlds_from is not None,
        )
        for number in range(study.runs)
    ]


def _world(study: Study, number: int) -> dict[str, int]:
    return {} if study.worlds_from is None else {"world": study.worlds_from + number}


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


# Rounds in a block. Small enough that a block stays in the processor's cache while all policies
# replay it, large enough that the Python code around a block takes no noticeable time.
BLOCK = 8_192

# Cells per side of the map of chosen arms.
MAP_SIDE = 10


class Stopped(Exception):
    """The run was asked to stop; its results are discarded."""


@dataclass(frozen=True)
class Curve:
    """What one policy did, one row a checkpoint; None where the means are not known.

    regret float[c, D], pareto_regret float[c], reward float[c, D] (received), expected_reward
    float[c, D], arm_share float[c, K], seconds float[c] (processor time of its replay);
    played int[MAP_SIDE², K] over the last half of the run, where contexts have two features;
    state_bytes is the size of the arrays of the policy's `state()` at the end, None if it has none.
    tolerance_regret float[c, D] is None too if there are no tolerances.
    """

    entry: Entry
    regret: Floats | None
    pareto_regret: Floats | None
    reward: Floats
    expected_reward: Floats | None
    arm_share: Floats
    seconds: Floats
    state_bytes: int | None
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
            block = _RoundBlock(rounds, done, run.horizon, tolerances, mapped=optimal is not None)
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


class _RoundBlock:
    """A block of rounds with data that all policies need, computed once."""

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
    """One policy of a run and its measurements."""

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
            if value is not None
            and key not in entry.parameters  # the study's own settings take precedence
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

    def play(self, block: _RoundBlock) -> None:
        """Replay a block and record rewards, regret and time."""
        before = time.thread_time()
        played = self.policy.replay(block.rounds)
        spent = time.thread_time() - before
        # A user's policy may return anything; the code below relies on valid arms.
        arms = checks.arms_of(played, rounds=len(block.rounds), arms_known=block.rounds.arms)
        self.clock.append((block.done + len(arms), self.clock[-1][1] + spent))
        if block.truth is not None:
            self.tally = self.tally or Tally(self.marks, objectives=self.objectives)
            self.tally.add(block.truth, arms, block.observed(arms))
        record(block.rounds.outcomes, arms, block.done, self.totals, self.marks, self.notes)
        if self.played is not None and block.cells is not None:
            map_played(block.cells, arms, block.map_from, self.played)

    def curve(self) -> Curve:
        """Return the measurements. Time is interpolated linearly within a block."""
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
            state_bytes=self._state_bytes(),
            played=self.played,
            tolerance_regret=known.tolerance_regret if known and self.tolerant else None,
        )

    def _state_bytes(self) -> int | None:
        if not self.policy.has_state:
            return None
        return sum(np.asarray(part).nbytes for part in self.policy.state().values())


def _new_map(run: Run, environment: Any) -> Integers | None:
    # Maps are summed over runs, so all runs must have the same environment.
    if environment.dimension != 2 or run.own_world:
        return None
    return np.zeros((MAP_SIDE**2, environment.arms), np.int64)
