"""The results folder. Files of runs are written atomically.

DIR/study-NAME.json             the study as it was run, and the names of its runs' files
DIR/runs/NAME-HASH.parquet      one row per policy, grid point and checkpoint
DIR/runs/NAME-HASH.map.parquet  for contexts of two features: arms played and optimal by cell
DIR/summary.json                written by `summary.py`
"""

import io
import json
import math
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lexbandit._internal.files import written_whole
from lexbandit.bench.run import MAP_SIDE, SEMANTICS, Curve, Played, Run
from lexbandit.bench.study import Study
from lexbandit.environments import Environment
from lexbandit.errors import InvalidInput

# Rounds of the first run that are sampled to describe the environment.
_SAMPLED = 10_000

_VECTOR = pl.List(pl.Float64)
_COUNTS = pl.List(pl.Int64)
SCHEMA: dict[str, Any] = {
    "study": pl.String,
    "run": pl.Int64,
    "policy": pl.String,
    "scale": pl.Float64,
    "label": pl.String,
    "t": pl.Int64,
    "regret": _VECTOR,
    "pareto_regret": pl.Float64,
    "reward": _VECTOR,
    "expected_reward": _VECTOR,
    "arm_share": _VECTOR,
    "seconds": pl.Float64,
    "state_bytes": pl.Int64,
    "tolerance_regret": _VECTOR,
}
MAP_SCHEMA: dict[str, Any] = {
    "study": pl.String,
    "run": pl.Int64,
    "label": pl.String,
    "x": pl.Int64,
    "y": pl.Int64,
    "played": _COUNTS,
    "optimal": _COUNTS,
}


class Folder:
    """A results folder that can be written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            write(self.runs / ".writable", b"")
            (self.runs / ".writable").unlink()
        except OSError as error:
            raise InvalidInput(f"cannot write to {path}: {error.strerror}.") from error

    def file(self, run: Run) -> Path:
        """Return where a run's results are, or will be."""
        return self.runs / f"{run.key}.parquet"

    def has(self, run: Run) -> bool:
        """Tell whether a run is finished: its file exists and can be read."""
        file = self.file(run)
        try:
            return file.exists() and SCHEMA.keys() <= pl.read_parquet_schema(file).keys()
        except (pl.exceptions.PolarsError, OSError):
            return False

    def store(self, played: Played) -> Path:
        """Write a run's files; the main one comes last, since it marks the run as finished."""
        file = self.file(played.run)
        if played.optimal is not None:
            write(file.with_suffix(".map.parquet"), _parquet(_map(played)))
        write(file, _parquet(_table(played)))
        return file

    def sweep(self) -> None:
        """Remove the unfinished files of this process after an interruption."""
        for file in self.runs.glob(f"{_unfinished()}*"):
            file.unlink(missing_ok=True)

    def store_study(self, study: Study, runs: Iterable[Run]) -> None:
        """Write a description of the study, for the report."""
        planned = list(runs)
        first = planned[0]
        content = {
            "name": study.name,
            "title": study.title,
            "about": study.about,
            "data": study.data,
            "paper": study.paper,
            "environment": {
                "name": study.environment.name,
                "parameters": _plain(first) | _worlds(study),
            },
            **_facts(first),
            "policies": [
                {
                    "policy": entry.variant,
                    "label": entry.label,
                    "name": entry.policy.short,
                    "parameters": _sayable(entry.parameters),
                }
                for entry in study.entries
            ],
            "series": None if study.series is None else asdict(study.series),
            "grid": sorted({e.label.partition("@")[2] for e in study.entries} - {""}),
            "horizon": study.horizon,
            "runs": study.runs,
            "seed": study.seed,
            "objectives": list(study.objectives),
            "checkpoints": list(first.checkpoints),
            "semantics": SEMANTICS,
            "versions": versions(),
            "files": [self.file(run).name for run in planned],
        }
        write(self.path / f"study-{study.name}.json", as_json(content))


def _facts(run: Run) -> dict[str, Any]:
    """Return what the report shows of the environment."""
    try:
        environment = run.environment.build(run.environment_parameters)
    except Exception:  # every run will fail in the same way, and be reported
        return {}
    names = [str(name) for name in getattr(environment, "arm_names", ())]
    tolerances = environment.tolerances if run.tolerances is None else run.tolerances
    facts = {"dimension": environment.dimension, "arm_names": names, "tolerances": tolerances}
    if run.own_world:
        return {}
    return {key: fact for key, fact in facts.items() if fact} | _degenerate(run, environment)


def _degenerate(run: Run, environment: Environment) -> dict[str, float]:
    """Return the share of contexts in which two of three or more objectives decide."""
    if run.objectives < 3 or environment.rows is not None:
        return {}
    rounds = environment.rounds(min(run.horizon, _SAMPLED), seed=run.stream_seed)
    return {"degenerate_share": float(environment.degenerate(rounds.means).mean())}


def _unfinished() -> str:
    """Return the prefix of this process's unfinished files."""
    return f".{os.getpid()}-"


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, and flush it to disk."""
    with written_whole(path, mode=0o644, prefix=_unfinished()) as beside:
        beside.write_bytes(content)


def as_json(content: Any) -> bytes:
    """Return JSON as it is written to files: indented, no NaN."""
    return (json.dumps(content, indent=2, allow_nan=False, default=str) + "\n").encode()


def studies_in(directory: Path) -> list[dict[str, Any]]:
    """Return the descriptions of the studies in a results folder, by name."""
    found = []
    for path in sorted(directory.glob("study-*.json")):
        try:
            found.append(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise InvalidInput(f"{path} is damaged: {error}.") from error
    return found


def load_runs(directory: Path) -> pl.DataFrame:
    """Return the finished runs of the studies in a results folder, in the columns of `SCHEMA`.

    Files in the folder that belong to another size or version of a study are left alone.
    """
    return _load(directory, ".parquet", SCHEMA)


def load_maps(directory: Path) -> pl.DataFrame:
    """Return the maps of arms of a results folder, in the columns of `MAP_SCHEMA`.

    optimal counts the first optimal arm of a round where several are.
    """
    return _load(directory, ".map.parquet", MAP_SCHEMA)


def _load(directory: Path, suffix: str, schema: dict[str, Any]) -> pl.DataFrame:
    files = [
        directory / "runs" / f"{name.removesuffix('.parquet')}{suffix}"
        for study in studies_in(directory)
        for name in study.get("files", [])
    ]
    tables = []
    for file in files:
        if file.exists():
            try:
                tables.append(pl.read_parquet(file))
            except (pl.exceptions.PolarsError, OSError) as error:
                raise InvalidInput(f"{file} cannot be read: {error}; remove it.") from error
    return pl.concat([pl.DataFrame(schema=schema), *tables], how="diagonal")


def _plain(run: Run) -> dict[str, Any]:
    """Return the environment's parameters; a data file by its name, not by where it lies."""
    content = dict(run.environment_parameters)
    if run.data is not None:
        content["path"] = Path(content["path"]).name
        content["data"] = run.data
    return _sayable(content)


def _worlds(study: Study) -> dict[str, str]:
    """Return the range of worlds, if every run plays another one."""
    first = study.worlds_from
    return {} if first is None else {"world": f"{first} to {first + study.runs - 1}"}


def _sayable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with infinity as text, since JSON has none."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in parameters.items()
    }


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _table(played: Played) -> pl.DataFrame:
    return pl.concat(_rows(played.run, curve) for curve in played.curves)


def _rows(run: Run, curve: Curve) -> pl.DataFrame:
    n = len(run.checkpoints)
    columns = {
        "study": [run.study] * n,
        "run": [run.number] * n,
        "policy": [curve.entry.variant] * n,
        "scale": [curve.entry.scale] * n,
        "label": [curve.entry.label] * n,
        "t": list(run.checkpoints),
        "regret": _listed(curve.regret, n),
        "pareto_regret": _listed(curve.pareto_regret, n),
        "reward": _listed(curve.reward, n),
        "expected_reward": _listed(curve.expected_reward, n),
        "arm_share": _listed(curve.arm_share, n),
        "seconds": _listed(curve.seconds, n),
        "state_bytes": [None] * (n - 1) + [curve.state_bytes],
        "tolerance_regret": _listed(curve.tolerance_regret, n),
    }
    return pl.DataFrame(columns, schema=SCHEMA)


def _listed(values: np.ndarray | None, n: int) -> list[Any]:
    return [None] * n if values is None else values.tolist()


def _map(played: Played) -> pl.DataFrame:
    assert played.optimal is not None
    cells = np.arange(MAP_SIDE**2)
    tables = []
    for curve in played.curves:
        assert curve.played is not None
        columns = {
            "study": [played.run.study] * len(cells),
            "run": [played.run.number] * len(cells),
            "label": [curve.entry.label] * len(cells),
            "x": (cells // MAP_SIDE).tolist(),
            "y": (cells % MAP_SIDE).tolist(),
            "played": curve.played.tolist(),
            "optimal": played.optimal.tolist(),
        }
        tables.append(pl.DataFrame(columns, schema=MAP_SCHEMA))
    return pl.concat(tables)


def versions() -> dict[str, str]:
    """Return the versions of lexbandit, Python and numerical packages."""
    found = {"python": platform.python_version()}
    for package in ("lexbandit", "numpy", "numba", "polars"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
