"""Points in the plane of two objectives."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from lexbandit.report.drawing.common import axis_of, data_of, scale_of, spec_of
from lexbandit.report.layout import HEIGHT, Axis, Line, Panel, Row, apart, padded, pixels

_LABELLED_WIDTH, _LABELLED_HEIGHT = 680, 500


def path_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> Panel:
    """Return points in the plane of two objectives, one a scale, joined by policy.

    A row whose `best` is true has a large mark; `text` names a point.
    """
    legend = alt.Legend(orient="bottom", columns=3, symbolSize=90, symbolOpacity=1)
    colour, shape = _channels(lines, title=None, legend=legend)
    across = alt.X("x:Q", title=x.title, axis=axis_of(x), scale=alt.Scale(nice=True))
    up = alt.Y("y:Q", title=y.title, axis=axis_of(y), scale=alt.Scale(nice=True))
    kept: dict[str, list[Row]] = {}
    layers = _paths(lines, across, up, colour, shape, (x, y), kept)
    chart = alt.layer(*layers, height=HEIGHT + 60)
    return Panel(title, spec_of(chart, kept), about, width=560)


def labelled_panel(
    title: str,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    below: tuple[float, float] | None,
    about: str,
) -> Panel:
    """Return the plane of `path_panel` for many policies: names beside the points, no legend.

    What is left of and under `below` is tinted.
    """
    rows = [row for line in lines for row in line.rows]
    limits = (padded([row["x"] for row in rows], x), padded([row["y"] for row in rows], y))
    colour, shape = _channels(lines, legend=None)
    across = alt.X("x:Q", title=x.title, axis=axis_of(x, limits[0]), scale=scale_of(x, limits[0]))
    up = alt.Y("y:Q", title=y.title, axis=axis_of(y, limits[1]), scale=scale_of(y, limits[1]))
    kept: dict[str, list[Row]] = {}
    layers: list[alt.Chart] = []
    if below is not None:
        corner: Row = {"x": limits[0][0], "y": limits[1][0], "x2": below[0], "y2": below[1]}
        tint = alt.Chart(data_of([corner], kept)).mark_rect(opacity=0.16, color="#009E73")
        layers.append(tint.encode(across, up, alt.X2("x2"), alt.Y2("y2")))
    leaders, *names = _names(lines, across, up, (x, y), limits, kept)
    layers += [leaders, *_paths(lines, across, up, colour, shape, (x, y), kept), *names]
    chart = alt.layer(*layers, height=_LABELLED_HEIGHT)
    return Panel(title, spec_of(chart, kept), about, width=_LABELLED_WIDTH, wide=True)


def _channels(lines: Sequence[Line], **given: Any) -> tuple[alt.Color, alt.Shape]:
    names = [line.name for line in lines]
    colours = alt.Scale(domain=names, range=[line.look.colour for line in lines])
    shapes = alt.Scale(domain=names, range=[line.look.shape for line in lines])
    return alt.Color("name:N", scale=colours, **given), alt.Shape("name:N", scale=shapes, **given)


def _paths(
    lines: Sequence[Line],
    across: alt.X,
    up: alt.Y,
    colour: alt.Color,
    shape: alt.Shape,
    axes: tuple[Axis, Axis],
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    base = alt.Chart(data_of((r | {"name": li.name} for li in lines for r in li.rows), kept))
    joined = base.mark_line(strokeWidth=1, opacity=0.55).encode(
        across, up, alt.Detail("name:N"), colour, alt.Order("order:Q")
    )
    points = base.mark_point(filled=True, opacity=1, strokeWidth=1).encode(
        across,
        up,
        colour,
        shape,
        alt.Size("best:N", legend=None, scale=alt.Scale(domain=[False, True], range=[35, 150])),
        tooltip=[
            alt.Tooltip("name:N", title="Policy"),
            alt.Tooltip("text:N", title="Scale"),
            alt.Tooltip("x:Q", title=axes[0].title, format=",.4~r"),
            alt.Tooltip("y:Q", title=axes[1].title, format=",.4~r"),
        ],
    )
    return [joined, points]


def _names(
    lines: Sequence[Line],
    across: alt.X,
    up: alt.Y,
    axes: tuple[Axis, Axis],
    limits: tuple[tuple[float, float], tuple[float, float]],
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    """Return each policy's name beside its large mark, where there is room, and a leader to it."""
    from_top, to_y = pixels(limits[1], axes[1], _LABELLED_HEIGHT)
    from_right, to_x = pixels(limits[0], axes[0], _LABELLED_WIDTH)
    marks = [(line.name, next(row for row in line.rows if row["best"])) for line in lines]
    points = [(_LABELLED_WIDTH - from_right(row["x"]), from_top(row["y"])) for _, row in marks]
    places = apart(
        points, [5.6 * len(name) for name, _ in marks], (_LABELLED_WIDTH, _LABELLED_HEIGHT)
    )
    rows: list[Row] = [
        {"x": row["x"], "y": row["y"], "name": name, "side": side}
        | {"at": to_x(_LABELLED_WIDTH - left), "up": to_y(top)}
        for (name, row), (left, top, side) in zip(marks, places, strict=True)
    ]
    kinds = {side: [row for row in rows if row["side"] == side] for side in (1, -1)}
    leader = (
        alt.Chart(data_of(rows, kept))
        .mark_rule(strokeWidth=0.7, opacity=0.6)
        .encode(across, up, alt.X2("at"), alt.Y2("up"))
    )
    texts = [
        alt.Chart(data_of(kind, kept))
        .mark_text(align="left" if side > 0 else "right", dx=2 * side, fontSize=11)
        .encode(
            alt.X("at:Q", title=axes[0].title),
            alt.Y("up:Q", title=axes[1].title),
            alt.Text("name:N"),
        )
        for side, kind in kinds.items()
        if kind
    ]
    return [leader, *texts]
