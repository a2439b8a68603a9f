"""Reading a results folder: each study's curves averaged over its runs, and what goes with them.

The only file of the report that imports polars.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lexbandit.bench.results import load_maps, load_runs, studies_in
from lexbandit.checks import Integers
from lexbandit.errors import InvalidInput
from lexbandit.report.numbers import ratio_text, student_factor
from lexbandit.report.results import ArmMap, Curve, Measure, Results, StudyResults


def read_results(directory: Path) -> Results:
    """Read what a results folder holds: studies, finished runs, maps, summary."""
    if not directory.is_dir():
        raise InvalidInput(f"{directory} is not a folder; a report needs a results folder.")
    runs = load_runs(directory)
    if runs.is_empty():
        raise InvalidInput(
            f"{directory} holds no finished run: a report needs study-NAME.json and "
            "runs/NAME-*.parquet, as `lexbandit reproduce` and `lexbandit run` write them."
        )
    maps = load_maps(directory)
    summary = _summary(directory / "summary.json")
    studies = []
    for frozen in studies_in(directory):
        name = str(frozen["name"])
        mine = runs.filter(pl.col("study") == name)
        if not mine.is_empty():
            studies.append(_study(frozen, summary, mine, maps.filter(pl.col("study") == name)))
    studies.sort(key=lambda study: (study.experiment is None, study.experiment or 0, study.slug))
    return Results(
        directory=directory,
        studies=studies,
        claims=list(summary.get("claims", [])),
        series=dict(summary.get("series", {})),
        versions=dict(summary.get("versions") or studies[0].frozen.get("versions") or {}),
    )


def _summary(path: Path) -> dict[str, Any]:
    """Return the summary; a folder of a user's own study may have none."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} must hold a JSON object, got {type(found).__name__}.")
    return found


def _study(
    frozen: dict[str, Any], summary: dict[str, Any], runs: pl.DataFrame, maps: pl.DataFrame
) -> StudyResults:
    name = str(frozen["name"])
    key = str(frozen.get("paper") or name)
    word = summary.get("experiments", {}).get(key) or summary.get("studies", {}).get(name)
    results = StudyResults(
        key=key,
        frozen=frozen,
        summary=word or {},
        curves=_curves(runs),
        arms=int(runs["arm_share"].list.len().max() or 0),  # type: ignore[arg-type]
    )
    best = [results.best(policy).label for policy in results.policies]
    return replace(results, maps=_maps(maps, best, results.arms))


def _curves(frame: pl.DataFrame) -> list[Curve]:
    depth = int(frame["reward"].list.len().max() or 1)  # type: ignore[arg-type]
    columns: list[pl.Expr] = []
    for name in ("regret", "reward", "tolerance_regret"):
        for i in range(depth):
            value = pl.col(name).cast(pl.List(pl.Float64)).list.get(i, null_on_oob=True)
            columns += [
                value.mean().alias(f"{name}{i}"),
                (value.std() / value.count().sqrt()).alias(f"{name}{i}_error"),
            ]
    pareto = pl.col("pareto_regret").cast(pl.Float64)
    means = (
        frame.group_by("label", "policy", "scale", "t", maintain_order=True)
        .agg(
            pl.len().alias("runs"),
            pl.col("seconds", "state_bytes").mean(),
            pareto.mean().alias("pareto_regret0"),
            (pareto.std() / pareto.count().sqrt()).alias("pareto_regret0_error"),
            *columns,
        )
        .sort("t", maintain_order=True)
    )
    return [_curve(rows, depth) for rows in means.partition_by("label", maintain_order=True)]


def _curve(rows: pl.DataFrame, depth: int) -> Curve:
    runs = int(rows["runs"][0])

    def measure(name: str, depth: int) -> Measure | None:
        mean = rows.select(f"{name}{i}" for i in range(depth)).to_numpy().astype(np.float64)
        error = rows.select(f"{name}{i}_error" for i in range(depth)).to_numpy()
        if not np.isfinite(mean).all():
            return None
        return Measure(mean, error.astype(np.float64) * student_factor(runs))

    reward = measure("reward", depth)
    if reward is None:
        raise InvalidInput(f"the runs of {rows['label'][0]} have checkpoints without rewards.")
    return Curve(
        policy=str(rows["policy"][0]),
        scale=ratio_text(rows["scale"][0]),
        label=str(rows["label"][0]),
        runs=runs,
        t=rows["t"].to_numpy().astype(np.int64),
        reward=reward,
        regret=measure("regret", depth),
        pareto_regret=measure("pareto_regret", 1),
        tolerance_regret=measure("tolerance_regret", depth),
        seconds=float(rows["seconds"][-1] or 0.0),
        state_bytes=rows["state_bytes"][-1],
    )


def _maps(frame: pl.DataFrame, labels: list[str], arms: int) -> ArmMap | None:
    frame = frame.filter(pl.col("label").is_in(labels))
    if frame.is_empty():
        return None
    side = 1 + int(frame.select(pl.max_horizontal(pl.max("x"), pl.max("y"))).item() or 0)
    played: dict[str, Integers] = {}
    optimal: Integers | None = None
    for rows in frame.partition_by("label", maintain_order=True):
        played[str(rows["label"][0])] = _counts(rows, "played", side, arms)
        if optimal is None and rows["optimal"].null_count() == 0:
            optimal = _counts(rows, "optimal", side, arms)
    return ArmMap(played, optimal)


def _counts(rows: pl.DataFrame, column: str, side: int, arms: int) -> Integers:
    total = np.zeros((side, side, arms), np.int64)
    counts = rows[column].cast(pl.List(pl.Int64)).list.to_array(arms).to_numpy()
    np.add.at(total, (rows["x"].to_numpy(), rows["y"].to_numpy()), counts)
    return total
