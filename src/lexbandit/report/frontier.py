"""The frontier: what was lost beyond tolerance against what was missed in the last objective."""

from html import escape
from typing import Any

from lexbandit.report.drawing import frontier_panel, legend_panel
from lexbandit.report.layout import Axis, Figure, Line, Panel, Row, padded
from lexbandit.report.style import GREY, Look, in_order, looks_of, policy_name
from lexbandit.report.tables import table

Told = dict[str, Any]

_X = Axis("Loss beyond tolerance (ratio, log)", "log")
_Y = Axis("Missed in the last objective (ratio, log)", "log")
# Fewer runs than this say little about rare bad ones, and so does the bootstrap from them.
_FEW = 30
_SHORT = (Axis("loss", "log"), Axis("missed", "log"))


def frontier_figures(name: str, series: Told) -> list[Figure]:
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
            about=f"Ratios after {horizon:,} rounds, overall: {_told(lines)}.",
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


def _by_situation(at: Told, series: Told, looks: dict[str, Look]) -> list[Panel]:
    panels = []
    shown: list[Line] = []
    for label in series["labels"]:
        lines = _lines(at["situations"][label], series, looks)
        if lines:
            shown = max(shown, lines, key=len)
            about = f"{label}, after {at['horizon']:,} rounds: {_told(lines)}."
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


def _looks(series: Told) -> dict[str, Look]:
    """Return a look for each policy; the baseline is grey, for it is what others are beside."""
    looks = looks_of(in_order(list(series["policies"].values())))
    baseline = series["policies"][series["baseline"]]
    return looks | {baseline: Look(baseline, GREY, (1, 0), "circle")}


def _lines(points: Told, series: Told, looks: dict[str, Look]) -> list[Line]:
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


def _row(point: Told) -> Row:
    row: Row = {}
    for axis, measure in (("x", "loss"), ("y", "missed")):
        found = point[measure]
        row[axis] = found["ratio"]
        if found["low"] is not None:
            row |= {f"{axis}low": found["low"], f"{axis}high": found["high"]}
    return row


def _told(lines: list[Line]) -> str:
    return "; ".join(
        f"{line.name}{' ' + row['at'] if row['at'] else ''} {row['x']:.2f} and {row['y']:.2f}"
        for line in lines
        for row in line.rows
    )


def frontier_table(series: Told) -> str:
    """Return the ratios at every checkpoint, overall and, folded, by situation.

    A number is bold where its interval lies below those of all other policies.
    """
    places = [
        (at["overall"], measure, f"{word}, T = {at['horizon']:,}")
        for at in series["horizons"]
        for measure, word in (("loss", "Loss"), ("missed", "Missed"))
    ]
    rows = [
        f"<tr><th scope=row>{escape(_name(label))}</th>"
        + "".join(f"<td class=number>{_cell(label, *place[:2])}</td>" for place in places)
        + "</tr>"
        for label in series["policies"]
    ]
    heads = ["Policy", *(place[2] for place in places)]
    text = table(heads, rows, "results", numbers=range(1, len(heads)))
    folded = "".join(_situations(at, series) for at in series["horizons"])
    return (
        f"{text}<p class=note>Ratios to {escape(policy_name(series['baseline']))}, geometric means "
        f"over {len(series['labels'])} situations, with 95 % intervals. Bold: the interval is "
        f"below that of every other policy.</p>{folded}"
    )


def _situations(at: Told, series: Told) -> str:
    """Return the ratios by situation at one checkpoint, folded."""
    rows = [
        f"<tr><th scope=row>{escape(situation)}</th>"
        + "".join(
            f"<td class=number>{_plain(point['loss'])} / {_plain(point['missed'])}</td>"
            for point in (at["situations"][situation][label] for label in series["policies"])
        )
        + "</tr>"
        for situation in series["labels"]
    ]
    heads = ["Situation", *(_name(label) for label in series["policies"])]
    shown = table(heads, rows, "results", numbers=range(1, len(heads)))
    title = f"By situation, after {at['horizon']:,} rounds: loss / missed"
    return f"<details><summary>{title}</summary>{shown}</details>"


def _name(label: str) -> str:
    policy, _, at = label.partition("@")
    return f"{policy_name(policy)} · {at}" if at else policy_name(policy)


def _plain(found: Told | None) -> str:
    return "–" if found is None else f"{found['ratio']:.2f}"


def _cell(label: str, points: Told, measure: str) -> str:
    found = points[label][measure]
    if found is None or found["low"] is None:
        return _plain(found)
    others = [other[measure] for name, other in points.items() if name != label and other[measure]]
    text = _plain(found)
    if others and all(found["high"] < other["low"] for other in others):
        text = f"<b>{text}</b>"
    return f"{text} <small>{found['low']:.2f}–{found['high']:.2f}</small>"
