"""Series: studies of one results folder that are seen together, in one figure and one table.

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

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import polars as pl

from lexbandit.bench.frontier import frontier_of
from lexbandit.bench.growth import growth_of
from lexbandit.errors import InvalidInput, unknown_name

Numbers = dict[str, Any]
Refuse = Callable[[tuple[str | int, ...], Exception], NoReturn]

KINDS = ("growth", "which", "frontier")
_KEYS = ("name", "kind", "label", "baseline")


@dataclass(frozen=True)
class Series:
    """What a study says of the series it belongs to."""

    name: str
    kind: str
    label: str
    baseline: str | None = None


def series_from(given: Any, title: str, refuse: Refuse) -> Series:
    """Return the checked [series] of a study called `title`; `refuse` is told the place."""
    if not isinstance(given, dict):
        refuse(("series",), InvalidInput(f"series must be a table, got {given!r}."))
    for key in given:
        if key not in _KEYS:
            refuse(("series", key), unknown_name("key of a series", key, _KEYS))
    values = {"label": title, **given}
    wanted = [key for key in _KEYS if key != "baseline" or values.get("kind") == "frontier"]
    for key in values:
        if key not in wanted:
            refuse(("series", key), InvalidInput(f"only a frontier has a {key}."))
    for key in wanted:
        if key not in values:
            refuse(("series",), InvalidInput(f"a series needs a {key}."))
        if not isinstance(values[key], str) or not values[key]:
            refuse(("series", key), InvalidInput(f"{key} must be text, got {values[key]!r}."))
    if values["kind"] not in KINDS:
        refuse(("series", "kind"), unknown_name("kind of series", values["kind"], KINDS))
    return Series(**values)


def series_in(studies: Iterable[tuple[Numbers, Numbers]], runs: pl.DataFrame) -> Numbers:
    """Return what the series show, by name, from frozen studies and their parts of the summary.

    Studies without known means have no regret to show, and in a frontier those without tolerances
    have none either. In a series, studies of another kind than the first are left out.
    """
    found: dict[str, list[tuple[Numbers, Numbers]]] = {}
    for frozen, told in studies:
        series = frozen.get("series")
        if series and _shown(series["kind"], told):
            members = found.setdefault(series["name"], [])
            if not members or members[0][0]["series"]["kind"] == series["kind"]:
                members.append((frozen, told))
    shown = {}
    for name, members in found.items():
        kind = members[0][0]["series"]["kind"]
        if kind == "frontier":
            part = frontier_of(members, runs)
        else:
            part = growth_of(members) if kind == "growth" else which_of(members)
        shown[name] = {"kind": kind, **part}
    return shown


def _shown(kind: str, told: Numbers) -> bool:
    """Tell whether a study has the regret that a kind of series shows."""
    if kind == "frontier":
        points = [point for points in told["policies"].values() for point in points.values()]
        return all("tolerance_regret" in point for point in points)
    return all(best["by_regret"] is not None for best in told["best_scale"].values())


def which_of(members: list[tuple[Numbers, Numbers]]) -> Numbers:
    """Return, situation by situation, each policy's regret where its dominant regret is best.

    lowest    for each objective, the policy of least regret
    unbeaten  the policies to which no other is below in every objective
    """
    return {"situations": [_situation(frozen, told) for frozen, told in members]}


def _situation(frozen: Numbers, told: Numbers) -> Numbers:
    policies = {}
    for policy, points in told["policies"].items():
        at = told["best_scale"][policy]["by_regret"]
        point = points[at]
        policies[policy] = {
            "at": at,
            "regret": point["regret"],
            "standard_error": point["standard_error"]["regret"],
        }
    # Who knows the means is no choice that anybody has.
    real = {policy: entry["regret"] for policy, entry in policies.items() if policy != "oracle"}
    depth = len(told["objectives"])
    return {
        "study": frozen["name"],
        "label": frozen["series"]["label"],
        "horizon": told["horizon"],
        "runs": told["runs"],
        "objectives": told["objectives"],
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
