"""The kinds of panel a figure is made of.

The only file that imports Altair. A panel is one Vega-Lite view, so that the page can fit it to
its column.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from lexbandit.report.layout import HEIGHT, Axis, Line, Panel, Row, limits_of, pixels, ticks, within
from lexbandit.report.numbers import rounded, spread
from lexbandit.report.style import ARM_COLOURS, ARM_INK

_LABEL_GAP = 13.5
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
_SHORT = "datum.value == 0 ? '0' : abs(datum.value) < 1 ? format(datum.value, '~g') : "
_LABEL_EXPR = _SHORT + "replace(format(datum.value, '~s'), 'G', 'B')"


def line_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> Panel:
    """Return lines with their bands, each named at its right end."""
    low, high = limits_of(lines, y.kind)
    names = [line.name for line in lines]
    room = 24 + 6.1 * max(len(name) for name in names)
    colour = alt.Color(
        "name:N", legend=None, scale=alt.Scale(domain=names, range=[li.look.colour for li in lines])
    )
    dash = alt.StrokeDash(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=names, range=[list(li.look.dash) for li in lines]),
    )
    width = alt.StrokeWidth(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=names, range=[li.look.width for li in lines], type="ordinal"),
    )
    across = _x(x, room, lines)
    scale = alt.Scale(type="log" if y.kind == "log" else "linear", domain=[low, high], nice=False)
    up = alt.Y("y:Q", title=y.title, scale=scale, axis=_axis(y, (low, high)))
    kept: dict[str, list[Row]] = {}
    drawn = (within(row, low, high) | {"name": line.name} for line in lines for row in line.rows)
    base = alt.Chart(_data(drawn, kept))
    layers: list[alt.Chart] = []
    if any("low" in row for line in lines if line.banded for row in line.rows):
        layers.append(
            base.mark_area(opacity=0.2).encode(
                across, alt.Y("low:Q", title=y.title), alt.Y2("high:Q"), colour
            )
        )
    layers.append(base.mark_line().encode(across, up, colour, dash, width))
    if any(line.marks for line in lines):
        layers.append(
            base.mark_point(filled=True, size=55, opacity=1).encode(
                across, up, colour, _shape(lines)
            )
        )
    layers.append(_hover(base, across, up, x, y))
    layers += _end_labels(lines, across, up, colour, y, (low, high), kept)
    return Panel(title, _spec(alt.layer(*layers, height=HEIGHT), kept), about)


def _hover(base: alt.Chart, across: alt.X, up: alt.Y, x: Axis, y: Axis) -> alt.Chart:
    """Return invisible points, large enough for a finger, that tell the numbers."""
    first = alt.Tooltip("x:N", title=x.title)
    if x.kind != "ordinal":
        first = alt.Tooltip("x:Q", title=x.title, format=",")
    hidden: alt.Chart = base.mark_point(opacity=0, size=120, filled=True)
    return hidden.encode(
        across,
        up,
        tooltip=[
            alt.Tooltip("name:N", title="Policy"),
            first,
            alt.Tooltip("y:Q", title=y.title, format=",.4~r"),
            alt.Tooltip("low:Q", title="95 % from", format=",.4~r"),
            alt.Tooltip("high:Q", title="95 % to", format=",.4~r"),
        ],
    )


def _end_labels(
    lines: Sequence[Line],
    across: alt.X,
    up: alt.Y,
    colour: alt.Color,
    y: Axis,
    limits: tuple[float, float],
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    """Return each line's name at its end, moved apart where ends are near, with a leader."""
    to_pixel, from_pixel = pixels(limits, y.kind)
    ends = [within(line.rows[-1], *limits) for line in lines]
    places = spread(
        [to_pixel(end["y"]) for end in ends],
        gap=_LABEL_GAP,
        lowest=5.0,
        highest=HEIGHT - 5.0,
    )
    rows = (
        {"x": end["x"], "y": end["y"], "name": line.name, "place": from_pixel(place)}
        for line, end, place in zip(lines, ends, places, strict=True)
    )
    base = alt.Chart(_data(rows, kept))
    leader = base.mark_rule(x2Offset=16, strokeWidth=1).encode(
        across, up, alt.X2("x"), alt.Y2("place"), colour
    )
    text = base.mark_text(align="left", dx=19, fontSize=11, baseline="middle").encode(
        across, alt.Y("place:Q", title=y.title), alt.Text("name:N")
    )
    return [leader, text]


def _axis(axis: Axis, limits: tuple[float, float] | None = None, *, grid: bool = True) -> alt.Axis:
    short: dict[str, Any] = {"labelExpr": _LABEL_EXPR, "labelOverlap": True, "grid": grid}
    if axis.kind != "log" or limits is None:
        return alt.Axis(tickCount=5, **short)
    return alt.Axis(values=ticks(limits), **short)


def _x(axis: Axis, room: float, lines: Sequence[Line]) -> alt.X:
    """Return the x channel, with room for the names at its right end."""
    across: list[Any] = [0, {"expr": f"width - {room:.0f}"}]
    if axis.kind == "ordinal":
        return alt.X(
            "x:O",
            title=axis.title,
            sort=list(axis.values),
            scale=alt.Scale(range=across, type="point", padding=0.3),
            axis=alt.Axis(labelAngle=0, grid=False),
        )
    ends = [line.rows[i]["x"] for line in lines for i in (0, -1)]
    start = 0 if axis.kind == "linear" else min(ends)
    scale = alt.Scale(
        type="log" if axis.kind == "log" else "linear",
        range=across,
        domain=[start, max(ends)],
        nice=False,
    )
    ticks = _axis(axis, (start, max(ends)), grid=axis.kind == "log")
    return alt.X("x:Q", title=axis.title, scale=scale, axis=ticks)


def _shape(lines: Sequence[Line]) -> alt.Shape:
    return alt.Shape(
        "name:N",
        legend=None,
        scale=alt.Scale(
            domain=[line.name for line in lines], range=[line.look.shape for line in lines]
        ),
    )


def path_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> Panel:
    """Return points in the plane of two objectives, one a scale, joined by policy.

    A row whose `best` is true has a large mark; `text` names a point.
    """
    domain = [line.name for line in lines]
    keys: dict[str, Any] = {
        "title": None,
        "legend": alt.Legend(orient="bottom", columns=3, symbolSize=90, symbolOpacity=1),
    }
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=domain, range=[line.look.colour for line in lines]),
        **keys,
    )
    shape = alt.Shape(
        "name:N", scale=alt.Scale(domain=domain, range=[line.look.shape for line in lines]), **keys
    )
    across = alt.X("x:Q", title=x.title, axis=_axis(x), scale=alt.Scale(nice=True))
    up = alt.Y("y:Q", title=y.title, axis=_axis(y), scale=alt.Scale(nice=True))
    kept: dict[str, list[Row]] = {}
    drawn = (row | {"name": line.name} for line in lines for row in line.rows)
    base = alt.Chart(_data(drawn, kept))
    tooltip = [
        alt.Tooltip("name:N", title="Policy"),
        alt.Tooltip("text:N", title="Scale"),
        alt.Tooltip("x:Q", title=x.title, format=",.4~r"),
        alt.Tooltip("y:Q", title=y.title, format=",.4~r"),
    ]
    joined = base.mark_line(strokeWidth=1, opacity=0.55).encode(
        across, up, alt.Detail("name:N"), colour, alt.Order("order:Q")
    )
    points = base.mark_point(filled=True, opacity=1, strokeWidth=1).encode(
        across,
        up,
        colour,
        shape,
        alt.Size("best:N", legend=None, scale=alt.Scale(domain=[False, True], range=[35, 150])),
        tooltip=tooltip,
    )
    chart = alt.layer(joined, points, height=HEIGHT + 60)
    return Panel(title, _spec(chart, kept), about, width=560)


def map_panel(title: str, rows: list[Row], arms: list[str], *, about: str, side: int) -> Panel:
    """Return a square of cells, each with the colour and the number of an arm."""
    colours = [ARM_COLOURS[arm % len(ARM_COLOURS)] for arm in range(len(arms))]
    inks = [ARM_INK[arm % len(ARM_INK)] for arm in range(len(arms))]
    places = [str(i) for i in range(side)]
    kept: dict[str, list[Row]] = {}
    base = alt.Chart(_data(rows, kept))
    bare = alt.Axis(labels=False, ticks=False, domain=False, titlePadding=4)
    across = alt.X("x:O", sort=places, title="feature 1", axis=bare)
    up = alt.Y("y:O", sort=places[::-1], title="feature 2", axis=bare)
    cells = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        across,
        up,
        alt.Color("arm:O", legend=None, scale=alt.Scale(domain=arms, range=colours)),
        tooltip=[
            alt.Tooltip("arm:N", title="Arm"),
            alt.Tooltip("share:Q", title="Share", format=".0%"),
        ],
    )
    marks = base.mark_text(fontSize=9).encode(
        across,
        up,
        alt.Text("arm:N"),
        alt.Color("arm:O", legend=None, scale=alt.Scale(domain=arms, range=inks)),
    )
    chart = alt.layer(cells, marks, height=190).resolve_scale(color="independent")
    return Panel(title, _spec(chart, kept), about, width=190, square=True)


def _data(rows: Iterable[Row], kept: dict[str, list[Row]]) -> alt.NamedData:
    """Keep rows for a chart, in the few digits that a picture can show; return their name.

    By name, since Altair would walk through every row of every layer to check it.
    """
    short = [{k: rounded(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    name = "rows-" + hashlib.sha256(json.dumps(short).encode()).hexdigest()[:12]
    kept[name] = short
    return alt.NamedData(name=name)


def _spec(chart: alt.LayerChart | alt.FacetChart, kept: dict[str, list[Row]]) -> dict[str, Any]:
    found: dict[str, Any] = chart.to_dict()
    return found | {"datasets": kept}
