"""Panels of the report as Vega-Lite: lines, planes, maps and tables in colour, with their names."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self

import altair as alt

from lexbandit.report.style import ARM_COLOURS, ARM_INK, HEAT, Look, rounded

Kind = Literal["linear", "log", "ordinal", "symlog"]
Row = dict[str, Any]

HEIGHT = 270
WIDTH = 400


@dataclass(frozen=True)
class ChartPanel:
    """One Vega-Lite view with its title and, for people who cannot see it, what it shows."""

    title: str
    spec: dict[str, Any]
    description: str
    width: int = WIDTH
    square: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure: `name` is its file's, `caption` says what to see."""

    name: str
    title: str
    caption: str
    panels: list[ChartPanel]


@dataclass(frozen=True)
class Line:
    """One line of a panel: rows of x, y and, where there is a band, low and high.

    A faint line is there for comparison: thin, grey, and without a name at its end.
    """

    name: str
    look: Look
    rows: list[Row]
    banded: bool = True
    marks: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its title and how values are laid out along it.

    "symlog" is linear up to about `constant` on both sides of 0 and logarithmic beyond.
    """

    title: str
    kind: Kind = "linear"
    values: tuple[str, ...] = ()
    constant: float = 1.0


def pixels(
    limits: tuple[float, float], axis: Axis, size: float
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return functions from a value to pixels below the high end of an axis, and back."""
    forth, back = _bent(axis)
    low, high = forth(limits[0]), forth(limits[1])
    return (
        lambda value: size * (high - forth(value)) / (high - low),
        lambda pixel: back(high - (high - low) * pixel / size),
    )


def _bent(axis: Axis) -> tuple[Callable[[float], float], Callable[[float], float]]:
    c = axis.constant
    if axis.kind == "log":
        return math.log, math.exp
    if axis.kind == "symlog":
        return (
            lambda value: math.copysign(math.log1p(abs(value) / c), value),
            lambda position: math.copysign(c * math.expm1(abs(position)), position),
        )
    return float, float


def limits_of(lines: Sequence[Line], kind: Kind) -> tuple[float, float]:
    """Return the ends of the y axis: all that is drawn, bands included, and a margin."""
    values = [
        value
        for line in lines
        for row in line.rows
        for value in (row["y"], *((row.get("low"), row.get("high")) if line.banded else ()))
        if value is not None and (kind != "log" or value > 0)
    ]
    low, high = min(values), max(values)
    if kind == "log":
        return max(low, high / 1e7) / 1.15, high * 1.3
    # A band that ends just below 0 in the first rounds does not move the axis below 0.
    low = 0.0 if low > -0.02 * high else low
    air = 0.04 * ((high - low) or 1.0)
    return (low if low == 0.0 else low - air), high + air


def within(row: Row, low: float, high: float) -> Row:
    """Return the row with its values clipped to the panel: an SVG with clip paths is larger."""
    return row | {k: min(max(row[k], low), high) for k in ("y", "low", "high") if k in row}


def inside(rows: Sequence[Row], limits: tuple[float, float]) -> list[Row]:
    """Return the rows whose value lies within the panel; none if a line cannot be made of them."""
    visible = [row for row in rows if limits[0] <= row["y"] <= limits[1]]
    return visible if len(visible) > 1 else []


def padded(values: Sequence[float], axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis: all values and a margin, even if there is only one value."""
    forth, back = _bent(axis)
    low, high = forth(min(values)), forth(max(values))
    air = 0.07 * (high - low) or 1.0
    return back(low - air), back(high + air)


Box = tuple[float, float, float, float]
Limits = tuple[tuple[float, float], tuple[float, float]]

_LETTER = 5.7  # the width of a letter of a name, in pixels
_BESIDE = 5.0  # the room on both sides of a name


def apart(
    points: Sequence[tuple[float, float]],
    widths: Sequence[float],
    size: tuple[float, float],
    drawn: Sequence[Box] = (),
) -> list[tuple[float, float, int]]:
    """Return where names begin, in pixels, and on which side of their points: 1 right, −1 left.

    Each name gets the nearest of many positions around its point at which it covers no other name,
    no point and nothing else that is `drawn`; if all cover something, the one that covers least. A
    name on the left of its point begins at its right end.
    """
    taken = [*((x - 7, y - 7, x + 7, y + 7) for x, y in points), *drawn]
    found = []
    for (x, y), width in zip(points, widths, strict=True):
        box, side = min(
            _candidates(x, y, width), key=lambda one: _cost(one[0], (x, y), taken, size)
        )
        taken.append((box[0] - _BESIDE, box[1], box[2] + _BESIDE, box[3]))
        found.append((box[0] if side > 0 else box[2], (box[1] + box[3]) / 2, side))
    return found


def _candidates(x: float, y: float, width: float) -> list[tuple[Box, int]]:
    return [
        ((left, top - 7, left + width, top + 7), side)
        for step in (0.0, 8.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0, 120.0)
        for side in (1, -1)
        for slope in (0.0, -1.0, 1.0, -0.5, 0.5, -2.0, 2.0)
        for left in (x + 10 + step if side > 0 else x - 10 - step - width,)
        for top in (y + slope * step,)
    ]


def _cost(
    box: Box, point: tuple[float, float], taken: Sequence[Box], size: tuple[float, float]
) -> float:
    out = box[0] < 0 or box[1] < 0 or box[2] > size[0] or box[3] > size[1]
    hits = sum(_overlap(box, other) for other in taken)
    far = min(abs(box[0] - point[0]), abs(box[2] - point[0])) + abs(box[1] + 7 - point[1])
    return 100_000.0 * out + 1_000.0 * hits + far


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def ticks(limits: tuple[float, float], axis: Axis) -> list[float]:
    """Return the ticks of a logarithmic axis: decades, or closer if there are few of them."""
    low, high = limits
    if axis.kind == "symlog":
        largest = max(abs(low), abs(high))
        sizes = [m for m in _decades(axis.constant, largest, (1,)) if m <= largest]
        return [v for v in (*(-m for m in reversed(sizes)), 0.0, *sizes) if low <= v <= high]
    found: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5)):
        marks = _decades(low, high, steps)
        found = [mark for mark in marks if low <= mark * (1 + 1e-9) and mark <= high * (1 + 1e-9)]
        if len(found) >= 3:
            break
    return found


def _decades(low: float, high: float, steps: tuple[int, ...]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps]


VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
# The least room between the numbers of an axis, in pixels: on a phone some are left out.
_BETWEEN_TICKS = 8
_SHORT = "datum.value == 0 ? '0' : abs(datum.value) < 1 ? format(datum.value, '~g') : "
_LABEL_EXPR = _SHORT + "replace(format(datum.value, '~s'), 'G', 'B')"


def axis_of(
    axis: Axis, limits: tuple[float, float] | None = None, *, grid: bool = True
) -> alt.Axis:
    """Return an axis with few ticks and short numbers."""
    short: dict[str, Any] = {
        "labelExpr": _LABEL_EXPR,
        "labelOverlap": True,
        "labelSeparation": _BETWEEN_TICKS,
        "grid": grid,
    }
    if axis.kind == "linear" or limits is None:
        return alt.Axis(tickCount=5, **short)
    return alt.Axis(values=ticks(limits, axis), **short)


def scale_of(axis: Axis, limits: tuple[float, float], **given: Any) -> alt.Scale:
    """Return a scale that ends at `limits`."""
    kinds: dict[str, Any] = {"symlog": {"type": "symlog", "constant": axis.constant}}
    kind = kinds.get(axis.kind, {"type": axis.kind})
    return alt.Scale(**kind, domain=list(limits), nice=False, **given)


class _Panel:
    """A panel in the making: its layers, and the rows that they draw."""

    def __init__(self) -> None:
        self._datasets: dict[str, list[Row]] = {}

    def chart(self, rows: Iterable[Row]) -> alt.Chart:
        """Return a chart of rows, rounded to what a picture can show.

        It refers to them by name: Altair would validate every row of every layer otherwise.
        """
        short = [
            {k: rounded(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows
        ]
        name = "rows-" + hashlib.sha256(json.dumps(short).encode()).hexdigest()[:12]
        self._datasets[name] = short
        return alt.Chart(alt.NamedData(name=name))

    def done(
        self, title: str, chart: alt.LayerChart | alt.FacetChart, about: str, **given: Any
    ) -> ChartPanel:
        """Return the panel with a chart as Vega-Lite, and its rows.

        The tests check it against Vega-Lite's schema: that takes longer than to draw it.
        """
        spec: dict[str, Any] = chart.to_dict(validate=False)
        return ChartPanel(title, spec | {"datasets": self._datasets}, about, **given)


class _Plane(_Panel):
    """A panel with numbers along two axes, and the channels of these."""

    def __init__(self, x: Axis, y: Axis, across: alt.X, up: alt.Y) -> None:
        super().__init__()
        self.x, self.y = x, y
        self.across, self.up = across, up

    @classmethod
    def within(cls, x: Axis, y: Axis, limits: Limits) -> Self:
        """Return a plane whose axes end at the limits."""
        left_right, down_up = limits
        across = alt.X(
            "x:Q", title=x.title, axis=axis_of(x, left_right), scale=scale_of(x, left_right)
        )
        up = alt.Y("y:Q", title=y.title, axis=axis_of(y, down_up), scale=scale_of(y, down_up))
        return cls(x, y, across, up)


_LABEL_GAP = 13.5
_FAINT = "#9AA0A6"


def line_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> ChartPanel:
    """Return lines with their bands, named at their right ends; faint ones have tooltips only."""
    named = [line for line in lines if not line.faint]
    low, high = limits_of(named, y.kind)
    names = [line.name for line in named]
    margin = 24 + 6.1 * max(len(name) for name in names)
    dashes = [list(line.look.dash) for line in named]
    widths = [line.look.width for line in named]
    colour, shape = _channels(named, legend=None)
    dash = alt.StrokeDash("name:N", legend=None, scale=alt.Scale(domain=names, range=dashes))
    width = alt.StrokeWidth(
        "name:N", legend=None, scale=alt.Scale(domain=names, range=widths, type="ordinal")
    )
    height = max(HEIGHT, round(_LABEL_GAP * len(names)) + 10)
    across = _line_x(x, margin, named)
    up = alt.Y("y:Q", title=y.title, scale=scale_of(y, (low, high)), axis=axis_of(y, (low, high)))
    plane = _Plane(x, y, across, up)
    drawn = (
        within(row, low, high) | {"name": line.name}
        for line in named
        for row in line.rows
        # A logarithmic axis ends seven decades down: a line begins where it comes in from below.
        if y.kind != "log" or row["y"] >= low or row is line.rows[-1]
    )
    base = plane.chart(drawn)
    layers = _faint_layers(plane, [line for line in lines if line.faint], (low, high))
    if any("low" in row for line in named if line.banded for row in line.rows):
        layers.append(
            base.mark_area(opacity=0.2).encode(
                across, alt.Y("low:Q", title=y.title), alt.Y2("high:Q"), colour
            )
        )
    layers.append(base.mark_line().encode(across, up, colour, dash, width))
    if any(line.marks for line in named):
        layers.append(
            base.mark_point(filled=True, size=55, opacity=1).encode(across, up, colour, shape)
        )
    layers.append(_hover(plane, base))
    layers += _end_labels(plane, named, colour, (low, high), height)
    return plane.done(title, alt.layer(*layers, height=height), about)


def _faint_layers(
    plane: _Plane, lines: Sequence[Line], limits: tuple[float, float]
) -> list[alt.Chart]:
    """Return thin grey lines, as far as they lie within the panel, with tooltips."""
    rows = [row | {"name": line.name} for line in lines for row in inside(line.rows, limits)]
    if not rows:
        return []
    base = plane.chart(rows)
    thin = base.mark_line(strokeWidth=1, color=_FAINT, opacity=0.7).encode(
        plane.across, plane.up, alt.Detail("name:N")
    )
    return [thin, _hover(plane, base)]


def _hover(plane: _Plane, base: alt.Chart) -> alt.Chart:
    """Return invisible points with tooltips, large enough for a finger."""
    x, y = plane.x, plane.y
    first = alt.Tooltip("x:N", title=x.title)
    if x.kind != "ordinal":
        first = alt.Tooltip("x:Q", title=x.title, format=",")
    hidden: alt.Chart = base.mark_point(opacity=0, size=120, filled=True)
    return hidden.encode(
        plane.across,
        plane.up,
        tooltip=[
            alt.Tooltip("name:N", title="Policy"),
            first,
            alt.Tooltip("y:Q", title=y.title, format=",.4~r"),
            alt.Tooltip("low:Q", title="95 % from", format=",.4~r"),
            alt.Tooltip("high:Q", title="95 % to", format=",.4~r"),
        ],
    )


def _end_labels(
    plane: _Plane,
    lines: Sequence[Line],
    colour: alt.Color,
    limits: tuple[float, float],
    height: int,
) -> list[alt.Chart]:
    """Return each line's name at its end, moved apart where ends are near, with a leader."""
    to_pixel, from_pixel = pixels(limits, plane.y, height)
    ends = [within(line.rows[-1], *limits) for line in lines]
    positions = spread(
        [to_pixel(end["y"]) for end in ends],
        gap=_LABEL_GAP,
        lowest=5.0,
        highest=height - 5.0,
    )
    rows = (
        {"x": end["x"], "y": end["y"], "name": line.name, "position": from_pixel(position)}
        for line, end, position in zip(lines, ends, positions, strict=True)
    )
    base = plane.chart(rows)
    leader = base.mark_rule(x2Offset=16, strokeWidth=1).encode(
        plane.across, plane.up, alt.X2("x"), alt.Y2("position"), colour
    )
    text = base.mark_text(align="left", dx=19, fontSize=11, baseline="middle").encode(
        plane.across, alt.Y("position:Q", title=plane.y.title), alt.Text("name:N")
    )
    return [leader, text]


def _line_x(axis: Axis, margin: float, lines: Sequence[Line]) -> alt.X:
    """Return the x channel, with a margin for the names at its right end."""
    across: list[Any] = [0, {"expr": f"width - {margin:.0f}"}]
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


_LABELLED_WIDTH, _LABELLED_HEIGHT = 680, 500


def path_panel(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, about: str) -> ChartPanel:
    """Return points in the plane of two objectives, one a scale, joined by policy.

    A row whose `best` is true has a large mark; `text` names a point.
    """
    legend = alt.Legend(orient="bottom", columns=3, symbolSize=90, symbolOpacity=1)
    colour, shape = _channels(lines, title=None, legend=legend)
    across = alt.X("x:Q", title=x.title, axis=axis_of(x), scale=alt.Scale(nice=True))
    up = alt.Y("y:Q", title=y.title, axis=axis_of(y), scale=alt.Scale(nice=True))
    plane = _Plane(x, y, across, up)
    layers = _paths(plane, lines, colour, shape)
    return plane.done(title, alt.layer(*layers, height=HEIGHT + 60), about, width=560)


def labelled_panel(
    title: str,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    below: tuple[float, float] | None,
    about: str,
) -> ChartPanel:
    """Return the plane of `path_panel` for many policies: names beside the points, no legend.

    What is left of and under `below` is tinted.
    """
    rows = [row for line in lines for row in line.rows]
    limits = (padded([row["x"] for row in rows], x), padded([row["y"] for row in rows], y))
    colour, shape = _channels(lines, legend=None)
    plane = _Plane.within(x, y, limits)
    layers: list[alt.Chart] = []
    if below is not None:
        corner: Row = {"x": limits[0][0], "y": limits[1][0], "x2": below[0], "y2": below[1]}
        tint = plane.chart([corner]).mark_rect(opacity=0.16, color="#009E73")
        layers.append(tint.encode(plane.across, plane.up, alt.X2("x2"), alt.Y2("y2")))
    best = [next(r for r in line.rows if r["best"]) | {"text": line.name} for line in lines]
    size = (_LABELLED_WIDTH, _LABELLED_HEIGHT)
    leaders, *names = _names_beside(plane, best, limits, size)
    layers += [leaders, *_paths(plane, lines, colour, shape), *names]
    chart = alt.layer(*layers, height=_LABELLED_HEIGHT)
    return plane.done(title, chart, about, width=_LABELLED_WIDTH, wide=True)


def _channels(lines: Sequence[Line], **given: Any) -> tuple[alt.Color, alt.Shape]:
    names = [line.name for line in lines]
    colours = alt.Scale(domain=names, range=[line.look.colour for line in lines])
    shapes = alt.Scale(domain=names, range=[line.look.shape for line in lines])
    return alt.Color("name:N", scale=colours, **given), alt.Shape("name:N", scale=shapes, **given)


def _paths(
    plane: _Plane, lines: Sequence[Line], colour: alt.Color, shape: alt.Shape
) -> list[alt.Chart]:
    base = plane.chart(row | {"name": line.name} for line in lines for row in line.rows)
    joined = base.mark_line(strokeWidth=1, opacity=0.55).encode(
        plane.across, plane.up, alt.Detail("name:N"), colour, alt.Order("order:Q")
    )
    points = base.mark_point(filled=True, opacity=1, strokeWidth=1).encode(
        plane.across,
        plane.up,
        colour,
        shape,
        alt.Size("best:N", legend=None, scale=alt.Scale(domain=[False, True], range=[35, 150])),
        tooltip=[
            alt.Tooltip("name:N", title="Policy"),
            alt.Tooltip("text:N", title="Scale"),
            alt.Tooltip("x:Q", title=plane.x.title, format=",.4~r"),
            alt.Tooltip("y:Q", title=plane.y.title, format=",.4~r"),
        ],
    )
    return [joined, points]


def map_panel(title: str, rows: list[Row], arms: list[str], *, about: str, side: int) -> ChartPanel:
    """Return a square of cells, each with the colour and the number of an arm."""
    colours = [ARM_COLOURS[arm % len(ARM_COLOURS)] for arm in range(len(arms))]
    inks = [ARM_INK[arm % len(ARM_INK)] for arm in range(len(arms))]
    positions = [str(i) for i in range(side)]
    panel = _Panel()
    base = panel.chart(rows)
    bare = alt.Axis(labels=False, ticks=False, domain=False, titlePadding=4)
    across = alt.X("x:O", sort=positions, title="feature 1", axis=bare)
    up = alt.Y("y:O", sort=positions[::-1], title="feature 2", axis=bare)
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
    return panel.done(title, chart, about, width=190, square=True)


def heat_panel(
    title: str, rows: list[Row], across: list[str], down: list[str], *, about: str
) -> ChartPanel:
    """Return a table in colour: rows of `x`, `y`, `heat` from 0 (best) to 1, `text`, and two marks.

    `lowest` frames a cell; `unbeaten` makes its number bold.
    """
    panel = _Panel()
    base = panel.chart(rows)
    x = alt.X(
        "x:O",
        sort=across,
        title=None,
        axis=alt.Axis(labelAngle=-40, orient="top", domain=False, ticks=False, labelLimit=150),
    )
    y = alt.Y(
        "y:O", sort=down, title=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=240)
    )
    colour = alt.Color("heat:Q", legend=None, scale=alt.Scale(domain=[0, 0.5, 1], range=list(HEAT)))
    tooltip = [
        alt.Tooltip("y:N", title="Situation"),
        alt.Tooltip("x:N", title="Policy"),
        alt.Tooltip("text:N", title="Regret per 1,000 rounds"),
        alt.Tooltip("error:N", title="± (95 %)"),
    ]
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(x, y, colour, tooltip=tooltip)
    frames = (
        base.transform_filter("datum.lowest")
        .mark_rect(filled=False, stroke="#000000", strokeWidth=2.2)
        .encode(x, y)
    )
    plain = (
        base.transform_filter("!datum.unbeaten")
        .mark_text(fontSize=10, color="#1b1f24")
        .encode(x, y, alt.Text("text:N"))
    )
    bold = (
        base.transform_filter("datum.unbeaten")
        .mark_text(fontSize=10.5, fontWeight="bold", color="#000000")
        .encode(x, y, alt.Text("text:N"))
    )
    chart = alt.layer(cells, frames, plain, bold, height=30 * len(down))
    return panel.done(title, chart, about, width=max(300, 48 * len(across)), wide=True)


_SIZE, _SMALL = (480, 400), (190, 190)


def frontier_panel(
    title: str,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    limits: Limits,
    about: str,
    small: bool,
) -> ChartPanel:
    """Return points with bars from `xlow` to `xhigh` and `ylow` to `yhigh`, joined by line.

    Dashed lines are at 1 on both axes, which end at `limits`. In a large panel the `text` of a row
    stands beside its point. A small one has no names; see `legend_panel`.
    """
    size = _SMALL if small else _SIZE
    rows = [row | {"name": line.name} for line in lines for row in line.rows]
    colour, shape = _channels(lines, legend=None)
    plane = _Plane.within(x, y, limits)
    across, up = plane.across, plane.up
    one = plane.chart([{"x": 1.0, "y": 1.0}])
    rule = one.mark_rule(strokeDash=[4, 4], strokeWidth=1, opacity=0.55)
    base = plane.chart(rows)
    bars = base.mark_rule(strokeWidth=1.2 if small else 1.6, opacity=0.45)
    layers = [rule.encode(across), rule.encode(up), *_error_bars(plane, bars, colour)]
    layers += [
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
        layers += _names_beside(plane, rows, limits, size, framed=True)
    chart = alt.layer(*layers, height=size[1])
    return plane.done(title, chart, about, width=size[0], square=small)


def _error_bars(plane: _Plane, bars: alt.Chart, colour: alt.Color) -> list[alt.Chart]:
    """Return the bars of both axes, for the rows that have them."""
    return [
        bars.transform_filter("isValid(datum.xlow)").encode(
            alt.X("xlow:Q", title=plane.x.title), alt.X2("xhigh"), plane.up, colour
        ),
        bars.transform_filter("isValid(datum.ylow)").encode(
            plane.across, alt.Y("ylow:Q", title=plane.y.title), alt.Y2("yhigh"), colour
        ),
    ]


def legend_panel(lines: Sequence[Line]) -> ChartPanel:
    """Return a panel of the same size as small ones that names every mark."""
    rows: list[Row] = [{"name": line.name, "x": 0.0, "y": float(n)} for n, line in enumerate(lines)]
    names = [line.name for line in lines]
    panel = _Panel()
    base = panel.chart(rows)
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.0], nice=False))
    last = max(8.0, float(len(lines)))
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[last, -1.0], nice=False))
    marks = base.mark_point(filled=True, opacity=1, size=60).encode(
        across, up, *_channels(lines, legend=None)
    )
    words = base.mark_text(align="left", dx=9, fontSize=11).encode(across, up, alt.Text("name:N"))
    chart = alt.layer(marks, words, height=_SMALL[1])
    about = f"The marks: {', '.join(names)}."
    return panel.done("Policies", chart, about, width=_SMALL[0], square=True)


def _along(start: tuple[float, float], end: tuple[float, float]) -> list[Box]:
    """Return small boxes that cover a straight line, one every 6 pixels."""
    steps = max(1, round(math.dist(start, end) / 6))
    shares = [n / steps for n in range(1, steps)]
    points = [[a + share * (b - a) for a, b in zip(start, end, strict=True)] for share in shares]
    return [(x - 3, y - 3, x + 3, y + 3) for x, y in points]


def _obstacles(
    rows: Sequence[Row],
    points: Sequence[tuple[float, float]],
    from_left: Callable[[float], float],
    from_top: Callable[[float], float],
) -> list[Box]:
    """Return what names may not cover: the lines at 1, the error bars and the joining lines."""
    left, top = from_left(1.0), from_top(1.0)
    width, height = _SIZE
    drawn: list[Box] = [(left, 0.0, left, float(height)), (0.0, top, float(width), top)]
    for row, (right, down) in zip(rows, points, strict=True):
        if "xlow" in row:
            drawn.append((from_left(row["xlow"]), down - 1, from_left(row["xhigh"]), down + 1))
        if "ylow" in row:
            drawn.append((right - 1, from_top(row["yhigh"]), right + 1, from_top(row["ylow"])))
    joined = [
        pair
        for pair in pairwise(zip(rows, points, strict=True))
        if pair[0][0]["name"] == pair[1][0]["name"]
    ]
    return drawn + [box for (_, start), (_, end) in joined for box in _along(start, end)]


def _names_beside(
    plane: _Plane,
    rows: Sequence[Row],
    limits: Limits,
    size: tuple[int, int],
    *,
    framed: bool = False,
) -> list[alt.Chart]:
    """Return leaders, and the labels of rows beside their points, where nothing is covered.

    Rows without a label only keep labels away. So do, if the panel is `framed`, its lines at 1,
    error bars and joining lines.
    """
    width, height = size
    from_right, to_x = pixels(limits[0], plane.x, width)
    from_top, to_y = pixels(limits[1], plane.y, height)
    points = [(width - from_right(row["x"]), from_top(row["y"])) for row in rows]
    drawn = _obstacles(rows, points, lambda x: width - from_right(x), from_top) if framed else []
    order = sorted(range(len(rows)), key=lambda n: not rows[n]["text"])
    positions = apart(
        [points[n] for n in order], [_LETTER * len(rows[n]["text"]) for n in order], size, drawn
    )
    found: list[Row] = [
        {"x": rows[n]["x"], "y": rows[n]["y"], "text": rows[n]["text"], "side": side}
        | {"at": to_x(width - begin), "up": to_y(down)}
        for n, (begin, down, side) in zip(order, positions, strict=True)
        if rows[n]["text"]
    ]
    leaders = plane.chart(found).mark_rule(strokeWidth=0.7, opacity=0.6)
    layers = [leaders.encode(plane.across, plane.up, alt.X2("at"), alt.Y2("up"))]
    beside = alt.X("at:Q", title=plane.x.title), alt.Y("up:Q", title=plane.y.title)
    for side in (1, -1):
        there = [row for row in found if row["side"] == side]
        if there:
            names = plane.chart(there).mark_text(
                align="left" if side > 0 else "right", dx=2 * side, fontSize=11
            )
            layers.append(names.encode(*beside, alt.Text("text:N")))
    return layers


def spread(positions: Sequence[float], *, gap: float, lowest: float, highest: float) -> list[float]:
    """Return the positions, moved as little as needed to be `gap` apart between two ends.

    Neighbours that are too near form a group, which is centred on its members.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups: list[list[int]] = []
    starts: list[float] = []
    for i in order:
        groups.append([i])
        starts.append(min(max(positions[i], lowest), highest))
        while len(groups) > 1 and starts[-2] + gap * len(groups[-2]) > starts[-1]:
            joining = groups.pop()
            groups[-1] += joining
            starts.pop()
            members = groups[-1]
            middle = sum(positions[j] for j in members) / len(members)
            start = middle - gap * (len(members) - 1) / 2
            starts[-1] = max(lowest, min(start, highest - gap * (len(members) - 1)))
    moved = [0.0] * len(positions)
    for start, members in zip(starts, groups, strict=True):
        for offset, j in enumerate(members):
            moved[j] = start + gap * offset
    return moved
