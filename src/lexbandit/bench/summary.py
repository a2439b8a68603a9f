"""DIR/summary.json: what every policy reached at every scale, and what the paper claims."""

import math
from pathlib import Path
from typing import Any

import polars as pl

from lexbandit.bench.against import against_paper
from lexbandit.bench.claims import claims_of, held_at_one_scale
from lexbandit.bench.results import as_json, load_runs, studies_in, write
from lexbandit.bench.series import series_in
from lexbandit.bench.versions import versions
from lexbandit.errors import InvalidInput

Numbers = dict[str, Any]

# The key of a policy that has no scale and no other parameter of a grid.
PLAIN = "-"


def summarize(directory: Path) -> Numbers:
    """Return the summary of a results folder.

    Numbers are means over runs at the horizon, with standard errors (null for one run). regret
    and pareto_regret are null where the true means are not known; reward is what was received.
    tolerance_regret is there where tolerances are given.
    """
    runs = load_runs(directory)
    if runs.is_empty():
        raise InvalidInput(f"{directory} holds no finished run.")
    experiments: Numbers = {}
    studies: Numbers = {}
    claims: list[Numbers] = []
    seen: list[tuple[Numbers, Numbers]] = []
    for study in studies_in(directory):
        rows = runs.filter((pl.col("study") == study["name"]) & (pl.col("t") == study["horizon"]))
        if rows.is_empty():
            continue
        told = _study(study, rows)
        seen.append((study, told))
        if study["paper"] is None:
            studies[study["name"]] = told
        else:
            experiments[str(study["paper"])] = told
            claims += claims_of(study["paper"], told)
            told["claims_at_one_scale"] = held_at_one_scale(study["paper"], told)
    summary: Numbers = {"experiments": experiments, "claims": claims, "versions": versions()}
    series = series_in(seen, runs)
    return summary | {key: part for key, part in (("studies", studies), ("series", series)) if part}


def write_summary(directory: Path) -> Numbers:
    """Write and return the summary of a results folder."""
    summary = summarize(directory)
    write(directory / "summary.json", as_json(summary))
    return summary


def _study(study: Numbers, rows: pl.DataFrame) -> Numbers:
    policies: dict[str, Numbers] = {}
    for (policy, label), group in rows.group_by(["policy", "label"], maintain_order=True):
        point = str(label).partition("@")[2] or PLAIN
        policies.setdefault(str(policy), {})[point] = _point(group, study["horizon"])
    told = {
        "title": study["title"],
        "data": study["data"],
        "horizon": study["horizon"],
        "runs": rows["run"].n_unique(),
        "objectives": study["objectives"],
        "environment": study["environment"],
        "policies": policies,
        "best_scale": {name: best_of(points) for name, points in policies.items()},
        "seconds": float(rows["seconds"].sum()),
    }
    rivals = against_paper(told)
    return told if rivals is None else told | {"against_paper": rivals}


def _point(group: pl.DataFrame, horizon: int) -> Numbers:
    names = ("regret", "reward", "tolerance_regret")
    vectors = {name: _mean_and_error(group[name].to_list()) for name in names}
    pareto, pareto_error = _mean_and_error(
        [None if x is None else [x] for x in group["pareto_regret"].to_list()]
    )
    point: Numbers = {
        "regret": vectors["regret"][0],
        "pareto_regret": pareto[0] if pareto else None,
        "reward": vectors["reward"][0],
        "standard_error": {
            "regret": vectors["regret"][1],
            "pareto_regret": pareto_error[0] if pareto_error else None,
            "reward": vectors["reward"][1],
        },
        "state_bytes": group["state_bytes"].mean(),
        "runs": group.height,
        "horizon": horizon,
    }
    if vectors["tolerance_regret"][0] is not None:
        point["tolerance_regret"] = vectors["tolerance_regret"][0]
        point["standard_error"]["tolerance_regret"] = vectors["tolerance_regret"][1]
    return point


def _mean_and_error(
    values: list[list[float] | None],
) -> tuple[list[float] | None, list[float] | None]:
    """Return mean and standard error, component by component, of one vector a run."""
    known = [vector for vector in values if vector is not None]
    n = len(known)
    if n < len(values):
        return None, None
    means = [math.fsum(parts) / n for parts in zip(*known, strict=True)]
    if n == 1:
        return means, None
    errors = [
        math.sqrt(math.fsum((x - mean) ** 2 for x in parts) / (n - 1) / n)
        for parts, mean in zip(zip(*known, strict=True), means, strict=True)
    ]
    return means, errors


def best_of(points: dict[str, Numbers]) -> dict[str, str | None]:
    """Return the point of least dominant regret, and that of most dominant reward."""
    known = [name for name, point in points.items() if point["regret"] is not None]
    return {
        "by_regret": min(known, key=lambda name: points[name]["regret"][0]) if known else None,
        "by_reward": max(points, key=lambda name: points[name]["reward"][0]),
    }
