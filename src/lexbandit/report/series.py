"""Figures and tables of series: how regret grows, which policy when, and the frontier."""

import math
from html import escape
from typing import Any

from lexbandit.report.charts import (
    Axis,
    ChartPanel,
    Figure,
    Line,
    Row,
    frontier_panel,
    heat_panel,
    legend_panel,
    line_panel,
    padded,
)
from lexbandit.report.results import student_factor
from lexbandit.report.style import GREY, Look, in_order, looks_of, number_text, policy_name, table

Numbers = dict[str, Any]

# The larger this is, the more of the colour scale is for differences among good policies.
_BEND = 50.0


_TITLES = {
    "growth": "How regret grows with the horizon",
    "which": "Which policy when",
    "frontier": "The frontier",
}


def series_title(name: str, series: Numbers) -> str:
    """Return the heading of a series: its kind, and its name where that says more."""
    title = _TITLES[series["kind"]]
    return title if name == series["kind"] else f"{title}: {name}"


def series_figures(name: str, series: Numbers) -> list[Figure]:
    """Return the joint figures of a series."""
    if series["kind"] == "frontier":
        return frontier_figures(name, series)
    if series["kind"] == "growth":
        return [Figure(f"series-{name}", "Final regret against the horizon", *_growth(series))]
    return [Figure(f"series-{name}", "Regret by situation and policy", *_which(series))]


def series_table(series: Numbers) -> str:
    """Return the joint table of a series."""
    if series["kind"] == "frontier":
        return frontier_table(series)
    return _exponents(series) if series["kind"] == "growth" else _advice(series)


def _growth(series: Numbers) -> tuple[str, list[ChartPanel]]:
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


def _exponents(series: Numbers) -> str:
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
            theory = escape(line["theory"][i] or "–")
            rows.append([escape(policy_name(label)), escape(objective), *numbers, theory])
    return table(heads, rows, "results", numbers=(2, 3, 4))


def _with_error(value: float | None, error: float | None) -> str:
    text = "–" if value is None else f"{value:.3f}".replace("-", "−")
    return text if error is None else f"{text} <small>± {error:.3f}</small>"


def _which(series: Numbers) -> tuple[str, list[ChartPanel]]:
    situations = series["situations"]
    across = in_order(
        [p for situation in situations for p in situation["policies"] if p != "oracle"]
    )
    depth = max(len(situation["objectives"]) for situation in situations)
    panels = []
    for i in range(depth):
        shown = [situation for situation in situations if len(situation["objectives"]) > i]
        rows = [row for situation in shown for row in _cells(situation, i)]
        panels.append(
            heat_panel(
                f"Objective {i + 1}: regret per 1,000 rounds",
                rows,
                [policy_name(policy) for policy in across],
                [situation["label"] for situation in shown],
                about=f"Regret per 1,000 rounds by situation and policy, in objective {i + 1}: "
                + "; ".join(f"{p['label']}: {p['lowest'][i]} is lowest" for p in shown)
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


def _cells(situation: Numbers, i: int) -> list[Row]:
    found = {p: point for p, point in situation["policies"].items() if p != "oracle"}
    ends = [point["regret"][i] for point in found.values()]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0
    rows = []
    for policy, point in found.items():
        regret = point["regret"][i]
        error = point["standard_error"]
        half = math.nan if error is None else error[i] * student_factor(situation["runs"])
        rows.append(
            {
                "x": policy_name(policy),
                "y": situation["label"],
                "heat": math.log1p(_BEND * (regret - low) / span) / math.log1p(_BEND),
                "text": _per_thousand(regret, situation["horizon"]),
                "error": _per_thousand(half, situation["horizon"]),
                "lowest": situation["lowest"][i] == policy,
                "unbeaten": policy in situation["unbeaten"],
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


def _advice(series: Numbers) -> str:
    heads = ["Situation", "Rounds", "Lowest in each objective", "Nobody below in every objective"]
    rows = []
    for situation in series["situations"]:
        lowest = [
            f"{objective}: {policy_name(policy)}"
            for objective, policy in zip(situation["objectives"], situation["lowest"], strict=True)
        ]
        unbeaten = [policy_name(policy) for policy in situation["unbeaten"]]
        found = [situation["label"], "; ".join(lowest), ", ".join(unbeaten)]
        label, *others = map(escape, found)
        rows.append([label, f"{situation['horizon']:,}", *others])
    return table(heads, rows, "results", numbers=(1,))


_X = Axis("Loss beyond tolerance (ratio, log)", "log")
_Y = Axis("Missed in the last objective (ratio, log)", "log")
# With fewer runs than this, the bootstrap underestimates rare bad runs.
_FEW = 30
_SHORT = (Axis("loss", "log"), Axis("missed", "log"))


def frontier_figures(name: str, series: Numbers) -> list[Figure]:
    """Return one figure of all situations together, and one of each checkpoint by situation."""
    looks = _looks(series)
    floor, many = series["floor"], len(series["labels"])
    caption = (
        f"Each point is a policy; left and down is better. Both axes are ratios to "
        f"{series['baseline']}, which is where the dashed lines cross, in the same runs: the "
        f"geometric mean over {many} situation{'s' * (many > 1)}. Bars are 95 % intervals "
        f"(bootstrap over the {min(series['runs'])} runs of each). A line joins the settings of "
        f"one policy. Ratios under {floor:g} count as {floor:g}, and a situation counts only "
        "where the baseline loses something."
    )
    if min(series["runs"]) < _FEW:
        caption += (
            f" With fewer than {_FEW} runs the bars are too short: a rare bad run may be in none."
        )
    drawn = {at["horizon"]: _lines(at["overall"], series, looks) for at in series["horizons"]}
    limits = _limits([line for lines in drawn.values() for line in lines])
    overall = [
        frontier_panel(
            f"After {horizon:,} rounds",
            lines,
            _X,
            _Y,
            limits=limits,  # the same for all, so that panels can be compared
            about=f"Ratios after {horizon:,} rounds, overall: {_description(lines)}.",
            small=False,
        )
        for horizon, lines in drawn.items()
        if lines
    ]
    title = "Loss beyond tolerance against what was missed in the last objective"
    figures = [Figure(f"series-{name}", title, caption, overall)] if overall else []
    for at in series["horizons"]:
        panels = _by_situation(at, series, looks)
        if panels:
            figures.append(
                Figure(
                    f"series-{name}-{at['horizon']}",
                    f"By situation, after {at['horizon']:,} rounds",
                    "As above, one panel a situation: across, the loss beyond tolerance; up, what "
                    "was missed in the last objective. A situation in which the baseline loses "
                    "nothing in one of them has no panel.",
                    panels,
                )
            )
    return figures


def _by_situation(at: Numbers, series: Numbers, looks: dict[str, Look]) -> list[ChartPanel]:
    panels = []
    shown: list[Line] = []
    for label in series["labels"]:
        lines = _lines(at["situations"][label], series, looks)
        if lines:
            shown = max(shown, lines, key=len)
            about = f"{label}, after {at['horizon']:,} rounds: {_description(lines)}."
            panels.append(
                frontier_panel(
                    label, lines, *_SHORT, limits=_limits(lines), about=about, small=True
                )
            )
    return [*panels, legend_panel(shown)] if panels else []


def _limits(lines: list[Line]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: all points and bars, and at least from a half to 2."""
    rows = [row for line in lines for row in line.rows]
    across, up = (
        padded([0.5, 2.0, *(row[key] for row in rows for key in keys if key in row)], _X)
        for keys in (("x", "xlow", "xhigh"), ("y", "ylow", "yhigh"))
    )
    return across, up


def _looks(series: Numbers) -> dict[str, Look]:
    """Return a look for each policy; the baseline is grey."""
    looks = looks_of(in_order(list(series["policies"].values())))
    baseline = series["policies"][series["baseline"]]
    return looks | {baseline: Look(GREY, (1, 0), "circle")}


def _lines(points: Numbers, series: Numbers, looks: dict[str, Look]) -> list[Line]:
    """Return a line for each policy, with a row for each of its settings."""
    found: dict[str, list[Row]] = {}
    for label, point in points.items():
        if point["loss"] is not None and point["missed"] is not None:
            row = _row(point) | {"at": label.partition("@")[2]}
            found.setdefault(series["policies"][label], []).append(row)
    lines = []
    for policy, rows in found.items():
        name = policy_name(policy)
        for order, row in enumerate(rows):
            row |= {"order": order, "text": _text(name, rows, order)}
        lines.append(Line(name, looks[policy], rows))
    return lines


def _text(name: str, rows: list[Row], order: int) -> str:
    """Return what stands beside a point: the policy once, and the settings at a line's two ends."""
    if len(rows) == 1:
        return name
    if order == 0:
        return f"{name.partition(' (')[0]}: {rows[0]['at']}"
    return str(rows[order]["at"]) if order == len(rows) - 1 else ""


def _row(point: Numbers) -> Row:
    row: Row = {}
    for axis, measure in (("x", "loss"), ("y", "missed")):
        found = point[measure]
        row[axis] = found["ratio"]
        if found["low"] is not None:
            row |= {f"{axis}low": found["low"], f"{axis}high": found["high"]}
    return row


def _description(lines: list[Line]) -> str:
    return "; ".join(
        f"{line.name}{' ' + row['at'] if row['at'] else ''} {row['x']:.2f} and {row['y']:.2f}"
        for line in lines
        for row in line.rows
    )


def frontier_table(series: Numbers) -> str:
    """Return the ratios at every checkpoint, overall and, folded, by situation.

    A number is bold where its interval lies below those of all other policies.
    """
    columns = [
        (at["overall"], measure, f"{word}, T = {at['horizon']:,}")
        for at in series["horizons"]
        for measure, word in (("loss", "Loss"), ("missed", "Missed"))
    ]
    rows = [
        [escape(_name(label)), *(_cell(label, *column[:2]) for column in columns)]
        for label in series["policies"]
    ]
    heads = ["Policy", *(column[2] for column in columns)]
    text = table(heads, rows, "results", numbers=range(1, len(heads)))
    folded = "".join(_situations(at, series) for at in series["horizons"])
    return (
        f"{text}<p class=note>Ratios to {escape(policy_name(series['baseline']))}, geometric means "
        f"over {len(series['labels'])} situations, with 95 % intervals. Bold: the interval is "
        f"below that of every other policy.</p>{folded}"
    )


def _situations(at: Numbers, series: Numbers) -> str:
    """Return the ratios by situation at one checkpoint, folded."""
    rows = [
        [
            escape(situation),
            *(
                f"{_plain(point['loss'])} / {_plain(point['missed'])}"
                for point in (at["situations"][situation][label] for label in series["policies"])
            ),
        ]
        for situation in series["labels"]
    ]
    heads = ["Situation", *(_name(label) for label in series["policies"])]
    shown = table(heads, rows, "results", numbers=range(1, len(heads)))
    title = f"By situation, after {at['horizon']:,} rounds: loss / missed"
    return f"<details><summary>{title}</summary>{shown}</details>"


def _name(label: str) -> str:
    policy, _, at = label.partition("@")
    return f"{policy_name(policy)} · {at}" if at else policy_name(policy)


def _plain(found: Numbers | None) -> str:
    return "–" if found is None else f"{found['ratio']:.2f}"


def _cell(label: str, points: Numbers, measure: str) -> str:
    found = points[label][measure]
    if found is None or found["low"] is None:
        return _plain(found)
    others = [other[measure] for name, other in points.items() if name != label and other[measure]]
    text = _plain(found)
    if others and all(found["high"] < other["low"] for other in others):
        text = f"<b>{text}</b>"
    return f"{text} <small>{found['low']:.2f}–{found['high']:.2f}</small>"
