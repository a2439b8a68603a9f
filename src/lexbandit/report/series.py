"""Studies that are seen together: how regret grows, which policy when, and the frontier."""

import math
from html import escape
from typing import Any

from lexbandit.report.drawing import heat_panel, line_panel
from lexbandit.report.frontier import frontier_figures, frontier_table
from lexbandit.report.layout import Axis, Figure, Line, Panel, Row
from lexbandit.report.numbers import number_text, student_factor
from lexbandit.report.style import in_order, looks_of, policy_name
from lexbandit.report.tables import table

Told = dict[str, Any]

# How much of the colours is for differences among good policies: the more, the larger this is.
_BEND = 50.0


_TITLES = {
    "growth": "How regret grows with the horizon",
    "which": "Which policy when",
    "frontier": "The frontier",
}


def series_title(name: str, series: Told) -> str:
    """Return the heading of a series: its kind, and its name where that says more."""
    title = _TITLES[series["kind"]]
    return title if name == series["kind"] else f"{title}: {name}"


def series_figures(name: str, series: Told) -> list[Figure]:
    """Return the joint figures of a series."""
    if series["kind"] == "frontier":
        return frontier_figures(name, series)
    if series["kind"] == "growth":
        return [Figure(f"series-{name}", "Final regret against the horizon", *_growth(series))]
    return [Figure(f"series-{name}", "Regret by situation and policy", *_which(series))]


def series_table(series: Told) -> str:
    """Return the joint table of a series."""
    if series["kind"] == "frontier":
        return frontier_table(series)
    return _exponents(series) if series["kind"] == "growth" else _advice(series)


def _growth(series: Told) -> tuple[str, list[Panel]]:
    names = list(series["lines"])
    looks = looks_of(in_order(names))
    panels = []
    for i, objective in enumerate(series["objectives"]):
        lines = []
        for label, line in series["lines"].items():
            rows = [
                _point(T, regret[i], error and error[i], runs)
                for T, regret, error, runs in zip(
                    *(line[key] for key in ("horizons", "regret", "standard_error", "runs")),
                    strict=True,
                )
                if regret[i] > 0
            ]
            fit = line["exponents"][i]
            power = fit and fit["exponent"]
            text = policy_name(label) + ("" if power is None else f" T^{power:.2f}")
            if rows:
                lines.append(Line(text, looks[label], rows, marks=True))
        if lines:
            panels.append(
                line_panel(
                    f"{objective[:1].upper()}{objective[1:]} (objective {i + 1})",
                    lines,
                    Axis("Horizon T (log)", "log"),
                    Axis("Regret after T rounds (log)", "log"),
                    about=f"Final regret against the horizon, in {objective}.",
                )
            )
    caption = (
        "Each mark is the mean final regret of a study of its own: policies that plan for a "
        "horizon are told it. A line of slope p means that regret grows as T^p. Exponents are "
        "least-squares slopes over all horizons, ± how far the marks are from a line; between the "
        "last two, ± what the runs leave open. Bands: 95 % confidence intervals of the mean."
    )
    return caption, panels


def _point(horizon: int, mean: float, error: float | None, runs: int) -> Row:
    row: Row = {"x": horizon, "y": mean}
    if error is None:
        return row
    half = error * student_factor(runs)
    return row | {"low": max(mean - half, mean / 100), "high": mean + half}


def _exponents(series: Told) -> str:
    heads = ["Policy", "Objective", "Regret at the largest T", "Fitted exponent"]
    heads += ["Between the last two T", "Proved, up to logarithms"]
    rows = []
    for label, line in series["lines"].items():
        for i, objective in enumerate(series["objectives"]):
            fit = line["exponents"][i] or {}
            numbers = [
                number_text(line["regret"][-1][i]),
                _with_error(fit.get("exponent"), fit.get("standard_error")),
                _with_error(fit.get("last"), fit.get("last_error")),
            ]
            rows.append(
                f"<tr><th scope=row>{escape(policy_name(label))}</th><td>{escape(objective)}</td>"
                + "".join(f"<td class=number>{cell}</td>" for cell in numbers)
                + f"<td>{escape(line['theory'][i] or '–')}</td></tr>"
            )
    return table(heads, rows, "results", numbers=(2, 3, 4))


def _with_error(value: float | None, error: float | None) -> str:
    text = "–" if value is None else f"{value:.3f}".replace("-", "−")
    return text if error is None else f"{text} <small>± {error:.3f}</small>"


def _which(series: Told) -> tuple[str, list[Panel]]:
    situations = series["situations"]
    across = in_order([p for place in situations for p in place["policies"] if p != "oracle"])
    depth = max(len(place["objectives"]) for place in situations)
    panels = []
    for i in range(depth):
        places = [place for place in situations if len(place["objectives"]) > i]
        rows = [row for place in places for row in _cells(place, i)]
        panels.append(
            heat_panel(
                f"Objective {i + 1}: regret per 1,000 rounds",
                rows,
                [policy_name(policy) for policy in across],
                [place["label"] for place in places],
                about=f"Regret per 1,000 rounds by situation and policy, in objective {i + 1}: "
                + "; ".join(f"{p['label']}: {p['lowest'][i]} is lowest" for p in places)
                + ".",
            )
        )
    caption = (
        "A row is a situation, a column a policy at its defaults. Numbers are regret per 1,000 "
        "rounds; colours compare within a row, from the lowest (green) to the highest. A frame "
        "marks the lowest of its row. Bold: no other policy is below it in every objective. Read "
        "the first objective first: a low second regret can be bought with a high first one."
    )
    return caption, panels


def _cells(place: Told, i: int) -> list[Row]:
    found = {p: told for p, told in place["policies"].items() if p != "oracle"}
    ends = [told["regret"][i] for told in found.values()]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0
    rows = []
    for policy, told in found.items():
        regret = told["regret"][i]
        error = told["standard_error"]
        half = math.nan if error is None else error[i] * student_factor(place["runs"])
        rows.append(
            {
                "x": policy_name(policy),
                "y": place["label"],
                "heat": math.log1p(_BEND * (regret - low) / span) / math.log1p(_BEND),
                "text": _per_thousand(regret, place["horizon"]),
                "error": _per_thousand(half, place["horizon"]),
                "lowest": place["lowest"][i] == policy,
                "unbeaten": policy in place["unbeaten"],
            }
        )
    return rows


def _per_thousand(regret: float, horizon: int) -> str:
    if math.isnan(regret):
        return "–"
    value = 1000 * regret / horizon
    text = (
        f"{value:.0f}"
        if abs(value) >= 100
        else f"{value:.2g}"
        if abs(value) < 1
        else f"{value:.1f}"
    )
    return text.replace("-", "−")


def _advice(series: Told) -> str:
    heads = ["Situation", "Rounds", "Lowest in each objective", "Nobody below in every objective"]
    rows = []
    for place in series["situations"]:
        lowest = [
            f"{objective}: {policy_name(policy)}"
            for objective, policy in zip(place["objectives"], place["lowest"], strict=True)
        ]
        unbeaten = [policy_name(policy) for policy in place["unbeaten"]]
        rows.append(
            f"<tr><th scope=row>{escape(place['label'])}</th>"
            f"<td class=number>{place['horizon']:,}</td>"
            f"<td>{escape('; '.join(lowest))}</td><td>{escape(', '.join(unbeaten))}</td></tr>"
        )
    return table(heads, rows, "results", numbers=(1,))
