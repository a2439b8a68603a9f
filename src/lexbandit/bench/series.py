"""Series: studies of one results folder that share a figure and a table.

[series]
name = "growth"        studies with the same name belong together
kind = "growth"        or "which" or "frontier"
label = "10^4 rounds"  what this study is called in it; by default its title
baseline = "random"    for a frontier: the label of the policy that all are compared with

growth    one environment and the same policies at several horizons: how final regret grows
which     one situation a study, the same policies in each: which policy to use when
frontier  one situation with tolerances a study, the same policies in each: what was lost beyond
          tolerance against what was missed in the last objective
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl

from lexbandit.checks import Floats
from lexbandit.environments import REGISTRY as ENVIRONMENTS
from lexbandit.errors import unknown_name
from lexbandit.metrics.regret import log_log_fit
from lexbandit.policies import REGISTRY as POLICIES
from lexbandit.theory import finer_cells

Numbers = dict[str, Any]
Refuse = Callable[[tuple[str | int, ...], Exception | str], NoReturn]

KINDS = ("growth", "which", "frontier")
_KEYS = ("name", "kind", "label", "baseline")


@dataclass(frozen=True)
class StudySeries:
    """The [series] table of a study."""

    name: str
    kind: str
    label: str
    baseline: str | None = None


def series_from(given: Any, title: str, refuse: Refuse) -> StudySeries:
    """Return the checked [series] of a study called `title`; `refuse` takes the key's path."""
    if not isinstance(given, dict):
        refuse(("series",), f"series must be a table, got {given!r}.")
    for key in given:
        if key not in _KEYS:
            refuse(("series", key), unknown_name("key of a series", key, _KEYS))
    values = {"label": title, **given}
    wanted = [key for key in _KEYS if key != "baseline" or values.get("kind") == "frontier"]
    for key in values:
        if key not in wanted:
            refuse(("series", key), f"only a frontier has a {key}.")
    for key in wanted:
        if key not in values:
            refuse(("series",), f"a series needs a {key}.")
        if not isinstance(values[key], str) or not values[key]:
            refuse(("series", key), f"{key} must be text, got {values[key]!r}.")
    if values["kind"] not in KINDS:
        refuse(("series", "kind"), unknown_name("kind of series", values["kind"], KINDS))
    return StudySeries(**values)


def series_in(studies: Iterable[tuple[Numbers, Numbers]], runs: pl.DataFrame) -> Numbers:
    """Return the data of all series, by name, from frozen studies and their parts of the summary.

    Studies without known means have no regret to show, and in a frontier those without tolerances
    have none either. In a series, studies of another kind than the first are left out.
    """
    found: dict[str, list[tuple[Numbers, Numbers]]] = {}
    for frozen, results in studies:
        series = frozen.get("series")
        if series and _shown(series["kind"], results):
            members = found.setdefault(series["name"], [])
            if not members or members[0][0]["series"]["kind"] == series["kind"]:
                members.append((frozen, results))
    shown = {}
    for name, members in found.items():
        kind = members[0][0]["series"]["kind"]
        if kind == "frontier":
            part = frontier_of(members, runs)
        elif kind == "growth":
            part = growth_of(members)
        else:
            part = {"situations": [_situation(*member) for member in members]}
        shown[name] = {"kind": kind, **part}
    return shown


def _shown(kind: str, results: Numbers) -> bool:
    """Tell whether a study has the regret that a kind of series shows."""
    if kind == "frontier":
        points = [point for points in results["policies"].values() for point in points.values()]
        return all("tolerance_regret" in point for point in points)
    return all(best["by_regret"] is not None for best in results["best_scale"].values())


def _situation(frozen: Numbers, results: Numbers) -> Numbers:
    """Return each policy's regret in a situation, where its dominant regret is best.

    lowest    for each objective, the policy of least regret
    unbeaten  the policies that no other one beats in every objective
    """
    policies = {}
    for policy, points in results["policies"].items():
        at = results["best_scale"][policy]["by_regret"]
        point = points[at]
        policies[policy] = {
            "at": at,
            "regret": point["regret"],
            "standard_error": point["standard_error"]["regret"],
        }
    # The oracle knows the means, so it is no choice in practice.
    real = {policy: entry["regret"] for policy, entry in policies.items() if policy != "oracle"}
    depth = len(results["objectives"])
    return {
        "study": frozen["name"],
        "label": frozen["series"]["label"],
        "horizon": results["horizon"],
        "runs": results["runs"],
        "objectives": results["objectives"],
        "policies": policies,
        "lowest": [min(real, key=lambda policy: real[policy][i]) for i in range(depth)],
        "unbeaten": [
            policy
            for policy, regret in real.items()
            if not any(below(other, regret) for other in real.values())
        ],
    }


def below(ours: list[float], theirs: list[float]) -> bool:
    """Tell whether a regret is below another in every objective."""
    return all(a < b for a, b in zip(ours, theirs, strict=True))


def growth_of(members: list[tuple[Numbers, Numbers]]) -> Numbers:
    """Return final regrets by horizon, and their exponents, for every label of a growth series.

    Studies whose objectives are not those of the first are left out.
    """
    objectives = members[0][1]["objectives"]
    joined = sorted(
        (pair for pair in members if pair[1]["objectives"] == objectives),
        key=lambda pair: int(pair[1]["horizon"]),
    )
    lines: dict[str, Numbers] = {}
    for frozen, results in joined:
        entries = {entry["label"]: entry for entry in frozen["policies"]}
        for policy, points in results["policies"].items():
            for at, point in points.items():
                label = f"{policy}@{at}" if f"{policy}@{at}" in entries else policy
                line = lines.setdefault(
                    label,
                    {"policy": policy, "horizons": [], "regret": [], "standard_error": []}
                    | {"runs": [], "theory": _theory(frozen, entries[label], len(objectives))},
                )
                line["horizons"].append(results["horizon"])
                line["regret"].append(point["regret"])
                line["standard_error"].append(point["standard_error"]["regret"])
                line["runs"].append(point["runs"])
    for line in lines.values():
        line["exponents"] = [
            fitted(
                line["horizons"],
                [regret[i] for regret in line["regret"]],
                [math.nan if error is None else error[i] for error in line["standard_error"]],
            )
            for i in range(len(objectives))
        ]
    return {"objectives": objectives, "studies": [p[0]["name"] for p in joined], "lines": lines}


def fitted(horizons: list[int], regrets: list[float], errors: list[float]) -> Numbers | None:
    """Return the least-squares slope of ln regret against ln T, with its standard error.

    The error measures how far the points are from a line; with two points there is none. `exponent`
    is None where a regret is not positive and has no logarithm. `last` is the slope between the two
    largest horizons, and `last_error` what the standard errors of their mean regrets make of it
    (the runs are independent), None where there was one run only, NaN in `errors`. None altogether
    where there are fewer than two horizons, or one of the last two regrets is not positive.
    """
    if len(horizons) < 2 or horizons[-1] == horizons[-2] or min(regrets[-2:]) <= 0:
        return None
    step = math.log(horizons[-1] / horizons[-2])
    blur = math.hypot(*(e / r for e, r in zip(errors[-2:], regrets[-2:], strict=True)))
    last = {
        "last": math.log(regrets[-1] / regrets[-2]) / step,
        "last_error": None if math.isnan(blur) else blur / step,
    }
    if min(regrets) <= 0:
        return {"exponent": None, "standard_error": None, **last}
    slope, error = log_log_fit(horizons, regrets)
    return {"exponent": slope, "standard_error": error, **last}


def _theory(frozen: Numbers, entry: Numbers, objectives: int) -> list[str | None]:
    """Return what is proved of a policy's exponent, for each objective; None where nothing is."""
    # The doubling trick keeps the exponent of what it wraps.
    name = str(entry.get("name")).removeprefix("doubling(").removesuffix(")")
    rate = RATES.get(name)
    if rate is None or "dimension" not in frozen:
        return [None] * objectives
    given = entry["parameters"]
    if float(given.get("scale", 1.0)) < 1.0:  # narrower widths have no guarantee
        return [None] * objectives
    # MOC-MAB's rule needs no λ for two objectives.
    lam = float(given.get("lam", POLICIES.parameters(name)["lam"].default))
    if (objectives > 2 or name == "staged-lex") and lam < _true_lam(frozen["environment"]):
        return [None] * objectives
    alpha, d = float(given.get("alpha", 1.0)), int(frozen["dimension"])
    cells = given.get("cells_per_side")
    if cells is not None:  # the rates are for a number of cells that grows with the horizon
        finer = finer_cells(horizon=int(frozen["horizon"]), alpha=alpha, dimension=d)
        if name != "moc-mab" or cells != finer:
            return [None] * objectives
        return [_staged(alpha, d, i) if i == 0 else "1 (linear)" for i in range(objectives)]
    return [rate(alpha, d, i) for i in range(objectives)]


def _true_lam(environment: Numbers) -> float:
    """Return the λ that an environment declares; 0 if it declares none."""
    name, given = environment["name"], environment["parameters"]
    known = ENVIRONMENTS.parameters(name) if name in ENVIRONMENTS else {}
    if "assumption" not in known:
        return 0.0
    return float(given.get("assumption", known["assumption"].default))


Rate = Callable[[float, int, int], str]


def _grid(alpha: float, d: int, _: int) -> str:
    return f"(2α+d)/(3α+d) = {(2 * alpha + d) / (3 * alpha + d):.3f}"


def _staged(alpha: float, d: int, _: int) -> str:
    return f"(α+d)/(2α+d) = {(alpha + d) / (2 * alpha + d):.3f}"


# What docs/theory.md proves, for the means that it assumes; of the tree, for contexts anywhere.
RATES: dict[str, Rate] = {"moc-mab": _grid, "lex-tree": _grid, "staged-lex": _staged}


# A policy that loses less than this share of what the baseline loses counts as losing this share:
# a logarithm needs a positive number, and one study alone should not decide the average.
FLOOR = 0.01

_RESAMPLES = 1000
_MEASURES = ("loss", "missed")


def frontier_of(members: list[tuple[Numbers, Numbers]], runs: pl.DataFrame) -> Numbers:
    """Return every policy's tolerance regret beside the baseline's, study by study and overall.

    loss    what was lost beyond tolerance in all objectives but the last, added up
    missed  what was missed in the last objective

    Each is a ratio of sums over runs, never under `FLOOR`; overall it is the geometric mean of the
    studies' ratios. `low` and `high` are a 95 % interval by the bootstrap: runs are drawn anew
    within each study, the same for policy and baseline (percentiles of 1,000). They are null for
    one run. A ratio is null where the baseline loses nothing. Studies without the baseline, and
    checkpoints and policies that not all studies have, are left out.
    """
    baseline = members[0][0]["series"]["baseline"]
    compared = [frozen for frozen, _ in members if frozen["series"]["baseline"] == baseline]
    tables = [runs.filter(pl.col("study") == frozen["name"]) for frozen in compared]
    labels = _common([table["label"].unique(maintain_order=True).to_list() for table in tables])
    horizons = sorted(_common([table["t"].unique().to_list() for table in tables]))
    logarithms = np.array(
        [_log_ratios(table, labels, horizons, baseline, n) for n, table in enumerate(tables)]
    )
    names = [str(frozen["series"]["label"]) for frozen in compared]
    with np.errstate(invalid="ignore"):
        counted = np.isfinite(logarithms).sum(axis=0)
        overall = np.nansum(logarithms, axis=0) / np.where(counted, counted, np.nan)
    return {
        "baseline": baseline,
        "floor": FLOOR,
        "studies": [str(frozen["name"]) for frozen in compared],
        "labels": names,
        "runs": [table["run"].n_unique() for table in tables],
        "policies": {label: label.partition("@")[0] for label in labels},
        "horizons": [
            {
                "horizon": horizon,
                "overall": _points(overall[:, :, h], labels),
                "situations": {
                    name: _points(found[:, :, h], labels)
                    for name, found in zip(names, logarithms, strict=True)
                },
            }
            for h, horizon in enumerate(horizons)
        ],
    }


def _common(lists: list[list[Any]]) -> list[Any]:
    """Return what all lists hold, in the order of the first."""
    return [item for item in lists[0] if all(item in other for other in lists)]


def _log_ratios(
    table: pl.DataFrame, labels: list[str], horizons: list[int], base: str, seed: int
) -> Floats:
    """Return logarithms of ratios, float[1 + resamples, labels, horizons, 2]; NaN for none.

    The first row is that of all runs. With a single run the resamples are NaN.
    """
    rows = table.filter(pl.col("label").is_in(labels) & pl.col("t").is_in(horizons))
    rows = rows.sort("run", "label", "t")
    regrets = np.array(rows["tolerance_regret"].to_list())
    sums = np.stack([regrets[:, :-1].sum(axis=1), regrets[:, -1]], axis=1)
    n = rows["run"].n_unique()
    ordered = sums.reshape(n, len(labels), len(horizons), 2)
    ordered = ordered[:, [sorted(labels).index(label) for label in labels]]
    random = np.random.default_rng(seed)
    weights = np.ones((1 + _RESAMPLES, n))
    weights[1:] = random.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES)
    totals = np.einsum("rn,nlhm->rlhm", weights, ordered)
    bases = totals[:, [labels.index(base)]]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(np.maximum(totals / bases, FLOOR))
    ratios[np.broadcast_to(bases == 0.0, ratios.shape)] = np.nan
    if n == 1:
        ratios[1:] = np.nan
    return np.asarray(ratios)


def _points(found: Floats, labels: list[str]) -> Numbers:
    """Return each label's ratios with their intervals from logarithms[1 + resamples, labels, 2]."""
    return {
        label: {measure: _interval(found[:, place, m]) for m, measure in enumerate(_MEASURES)}
        for place, label in enumerate(labels)
    }


def _interval(logarithms: Floats) -> dict[str, float | None] | None:
    if math.isnan(logarithms[0]):
        return None
    resampled = logarithms[1:][np.isfinite(logarithms[1:])]
    low, high = np.percentile(resampled, [2.5, 97.5]) if len(resampled) else (math.nan, math.nan)
    values = {"ratio": logarithms[0], "low": low, "high": high}
    return {
        key: None if math.isnan(value) else float(math.exp(value)) for key, value in values.items()
    }
