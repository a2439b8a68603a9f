"""The plan of a study: frozen runs. A run is one replication with every policy and grid point."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lexbandit.bench.study import Component, Entry, Study
from lexbandit.checks import whole

# Raise this when a policy, environment or metric computes something else than before: finished
# runs are then done anew. tests/bench/test_semantics.py fails when that was forgotten.
SEMANTICS = 2


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
            parameters["path"] = self.data  # what the file holds, not where it lies
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
    spaced in the logarithm (for growth exponents). A list is kept as far as it goes.
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
