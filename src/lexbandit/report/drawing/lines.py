"""Lines over time, horizons or scale factors."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from lexbandit.report.drawing.common import axis_of, data_of, scale_of, spec_of
from lexbandit.report.layout import (
    HEIGHT,
    Axis,
    Line,
    Panel,
    Row,
    inside,
    limits_of,
    pixels,
    within,
)
from lexbandit.report.numbers import spread

_LABEL_GAP = 13.5
_FAINT = "#9AA0A6"


def line_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> Panel:
    """Return lines with their bands, each named at its right end; faint ones are only told."""
    named = [line for line in lines if not line.faint]
    low, high = limits_of(named, y.kind)
    names = [line.name for line in named]
    room = 24 + 6.1 * max(len(name) for name in names)
    colours = [line.look.colour for line in named]
    dashes = [list(line.look.dash) for line in named]
    widths = [line.look.width for line in named]
    colour = alt.Color("name:N", legend=None, scale=alt.Scale(domain=names, range=colours))
    dash = alt.StrokeDash("name:N", legend=None, scale=alt.Scale(domain=names, range=dashes))
    width = alt.StrokeWidth(
        "name:N", legend=None, scale=alt.Scale(domain=names, range=widths, type="ordinal")
    )
    height = max(HEIGHT, round(_LABEL_GAP * len(names)) + 10)
    across = _x(x, room, named)
    up = alt.Y("y:Q", title=y.title, scale=scale_of(y, (low, high)), axis=axis_of(y, (low, high)))
    kept: dict[str, list[Row]] = {}
    drawn = (within(row, low, high) | {"name": line.name} for line in named for row in line.rows)
    base = alt.Chart(data_of(drawn, kept))
    layers = _faint_layers(
        [line for line in lines if line.faint], across, up, x, y, (low, high), kept
    )
    if any("low" in row for line in named if line.banded for row in line.rows):
        layers.append(
            base.mark_area(opacity=0.2).encode(
                across, alt.Y("low:Q", title=y.title), alt.Y2("high:Q"), colour
            )
        )
    layers.append(base.mark_line().encode(across, up, colour, dash, width))
    if any(line.marks for line in named):
        layers.append(
            base.mark_point(filled=True, size=55, opacity=1).encode(
                across, up, colour, _shape(named)
            )
        )
    layers.append(_hover(base, across, up, x, y))
    layers += _end_labels(named, across, up, colour, y, (low, high), height, kept)
    return Panel(title, spec_of(alt.layer(*layers, height=height), kept), about)


def _faint_layers(
    lines: Sequence[Line],
    across: alt.X,
    up: alt.Y,
    x: Axis,
    y: Axis,
    limits: tuple[float, float],
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    """Return thin grey lines, as far as they lie within the panel, that tell their names."""
    rows = [row | {"name": line.name} for line in lines for row in inside(line.rows, limits)]
    if not rows:
        return []
    base = alt.Chart(data_of(rows, kept))
    thin = base.mark_line(strokeWidth=1, color=_FAINT, opacity=0.7).encode(
        across, up, alt.Detail("name:N")
    )
    return [thin, _hover(base, across, up, x, y)]


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
    height: int,
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    """Return each line's name at its end, moved apart where ends are near, with a leader."""
    to_pixel, from_pixel = pixels(limits, y, height)
    ends = [within(line.rows[-1], *limits) for line in lines]
    places = spread(
        [to_pixel(end["y"]) for end in ends],
        gap=_LABEL_GAP,
        lowest=5.0,
        highest=height - 5.0,
    )
    rows = (
        {"x": end["x"], "y": end["y"], "name": line.name, "place": from_pixel(place)}
        for line, end, place in zip(lines, ends, places, strict=True)
    )
    base = alt.Chart(data_of(rows, kept))
    leader = base.mark_rule(x2Offset=16, strokeWidth=1).encode(
        across, up, alt.X2("x"), alt.Y2("place"), colour
    )
    text = base.mark_text(align="left", dx=19, fontSize=11, baseline="middle").encode(
        across, alt.Y("place:Q", title=y.title), alt.Text("name:N")
    )
    return [leader, text]


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
    limits = (0 if axis.kind == "linear" else min(ends), max(ends))
    marks = axis_of(axis, limits, grid=axis.kind == "log")
    return alt.X("x:Q", title=axis.title, scale=scale_of(axis, limits, range=across), axis=marks)


def _shape(lines: Sequence[Line]) -> alt.Shape:
    return alt.Shape(
        "name:N",
        legend=None,
        scale=alt.Scale(
            domain=[line.name for line in lines], range=[line.look.shape for line in lines]
        ),
    )
