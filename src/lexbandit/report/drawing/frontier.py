"""Points with error bars on two logarithmic axes, and the legend of many such panels."""

import math
from collections.abc import Sequence
from itertools import pairwise

import altair as alt

from lexbandit.report.drawing.common import axis_of, data_of, scale_of, spec_of
from lexbandit.report.layout import Axis, Box, Line, Panel, Row, apart, pixels

Limits = tuple[tuple[float, float], tuple[float, float]]

_SIZE, _SMALL = (480, 400), (190, 190)
_LETTER = 5.7  # the width of a letter of a name, in pixels


def frontier_panel(
    title: str,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    limits: Limits,
    about: str,
    small: bool,
) -> Panel:
    """Return points with bars from `xlow` to `xhigh` and `ylow` to `yhigh`, joined by line.

    Dashed lines are at 1 on both axes, which end at `limits`. In a large panel the `text` of a row
    stands beside its point. A small one has no names; see `legend_panel`.
    """
    size = _SMALL if small else _SIZE
    rows = [row | {"name": line.name} for line in lines for row in line.rows]
    names = [line.name for line in lines]
    colour = alt.Color(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=names, range=[line.look.colour for line in lines]),
    )
    shape = alt.Shape(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=names, range=[line.look.shape for line in lines]),
    )
    across = alt.X("x:Q", title=x.title, axis=axis_of(x, limits[0]), scale=scale_of(x, limits[0]))
    up = alt.Y("y:Q", title=y.title, axis=axis_of(y, limits[1]), scale=scale_of(y, limits[1]))
    kept: dict[str, list[Row]] = {}
    one = alt.Chart(data_of([{"x": 1.0, "y": 1.0}], kept))
    rule = one.mark_rule(strokeDash=[4, 4], strokeWidth=1, opacity=0.55)
    base = alt.Chart(data_of(rows, kept))
    bars = base.mark_rule(strokeWidth=1.2 if small else 1.6, opacity=0.45)
    layers = [
        rule.encode(across),
        rule.encode(up),
        bars.transform_filter("isValid(datum.xlow)").encode(
            alt.X("xlow:Q", title=x.title), alt.X2("xhigh"), up, colour
        ),
        bars.transform_filter("isValid(datum.ylow)").encode(
            across, alt.Y("ylow:Q", title=y.title), alt.Y2("yhigh"), colour
        ),
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(
            across, up, alt.Detail("name:N"), colour, alt.Order("order:Q")
        ),
        base.mark_point(filled=True, opacity=1, size=40 if small else 90).encode(
            across,
            up,
            colour,
            shape,
            tooltip=[
                alt.Tooltip("name:N", title="Policy"),
                alt.Tooltip("at:N", title="Setting"),
                alt.Tooltip("x:Q", title=x.title, format=".3~r"),
                alt.Tooltip("y:Q", title=y.title, format=".3~r"),
            ],
        ),
    ]
    if not small:
        layers += _names(rows, across, up, (x, y), limits, kept)
    chart = alt.layer(*layers, height=size[1])
    return Panel(title, spec_of(chart, kept), about, width=size[0], square=small)


def legend_panel(lines: Sequence[Line]) -> Panel:
    """Return a panel of the same size as small ones that names every mark."""
    rows: list[Row] = [{"name": line.name, "x": 0.0, "y": float(n)} for n, line in enumerate(lines)]
    names = [line.name for line in lines]
    kept: dict[str, list[Row]] = {}
    base = alt.Chart(data_of(rows, kept))
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.0], nice=False))
    last = max(8.0, float(len(lines)))
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[last, -1.0], nice=False))
    marks = base.mark_point(filled=True, opacity=1, size=60).encode(
        across,
        up,
        alt.Color(
            "name:N",
            legend=None,
            scale=alt.Scale(domain=names, range=[line.look.colour for line in lines]),
        ),
        alt.Shape(
            "name:N",
            legend=None,
            scale=alt.Scale(domain=names, range=[line.look.shape for line in lines]),
        ),
    )
    texts = base.mark_text(align="left", dx=9, fontSize=11).encode(across, up, alt.Text("name:N"))
    chart = alt.layer(marks, texts, height=_SMALL[1])
    about = f"The marks: {', '.join(names)}."
    return Panel("Policies", spec_of(chart, kept), about, width=_SMALL[0], square=True)


def _along(start: tuple[float, float], end: tuple[float, float]) -> list[Box]:
    """Return small boxes that cover a straight line, one every 6 pixels."""
    steps = max(1, round(math.dist(start, end) / 6))
    shares = [n / steps for n in range(1, steps)]
    points = [[a + share * (b - a) for a, b in zip(start, end, strict=True)] for share in shares]
    return [(x - 3, y - 3, x + 3, y + 3) for x, y in points]


def _names(
    rows: Sequence[Row],
    across: alt.X,
    up: alt.Y,
    axes: tuple[Axis, Axis],
    limits: Limits,
    kept: dict[str, list[Row]],
) -> list[alt.Chart]:
    """Return the texts of rows beside their points, where there is room, and leaders to them."""
    width, height = _SIZE
    from_right, to_x = pixels(limits[0], axes[0], width)
    from_top, to_y = pixels(limits[1], axes[1], height)
    points = [(width - from_right(row["x"]), from_top(row["y"])) for row in rows]
    left, top = width - from_right(1.0), from_top(1.0)
    drawn = [(left, 0.0, left, float(height)), (0.0, top, float(width), top)]
    for row, (right, down) in zip(rows, points, strict=True):
        if "xlow" in row:
            ends = (width - from_right(row[key]) for key in ("xlow", "xhigh"))
            drawn.append((next(ends), down - 1, next(ends), down + 1))
        if "ylow" in row:
            drawn.append((right - 1, from_top(row["yhigh"]), right + 1, from_top(row["ylow"])))
    joined = [
        pair
        for pair in pairwise(zip(rows, points, strict=True))
        if pair[0][0]["name"] == pair[1][0]["name"]
    ]
    drawn += [box for (_, start), (_, end) in joined for box in _along(start, end)]
    # Rows without a text take the place of their point only.
    order = sorted(range(len(rows)), key=lambda n: not rows[n]["text"])
    places = apart(
        [points[n] for n in order],
        [_LETTER * len(rows[n]["text"]) for n in order],
        (width, height),
        drawn,
    )
    found: list[Row] = [
        {"x": rows[n]["x"], "y": rows[n]["y"], "text": rows[n]["text"], "side": side}
        | {"at": to_x(width - begin), "up": to_y(down)}
        for n, (begin, down, side) in zip(order, places, strict=True)
        if rows[n]["text"]
    ]
    leaders = (
        alt.Chart(data_of(found, kept))
        .mark_rule(strokeWidth=0.7, opacity=0.6)
        .encode(across, up, alt.X2("at"), alt.Y2("up"))
    )
    texts = [
        alt.Chart(data_of([row for row in found if row["side"] == side], kept))
        .mark_text(align="left" if side > 0 else "right", dx=2 * side, fontSize=11)
        .encode(
            alt.X("at:Q", title=axes[0].title),
            alt.Y("up:Q", title=axes[1].title),
            alt.Text("text:N"),
        )
        for side in (1, -1)
        if any(row["side"] == side for row in found)
    ]
    return [leaders, *texts]
