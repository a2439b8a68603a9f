"""The pictures of the examples, in Altair. The only file here that imports it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.helpers import Comparison
from lexbandit.errors import InvalidInput

try:
    import altair as alt
except ImportError as error:
    raise InvalidInput(
        "the pictures need Altair and vl-convert: pip install 'lexbandit[examples]'."
    ) from error

OURS = "#0072B2"
OTHER = "#6b6f76"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F7F7F")
_INK = "#1b1f24"

_HALO: dict[str, Any] = {"stroke": "white", "strokeWidth": 4}

Rows = list[dict[str, Any]]


def trade_off(
    comparison: Comparison,
    *,
    title: str,
    x: str,
    y: str,
    ours: Sequence[str] = ("lexbandit",),
    without: Sequence[str] = (),
    log: bool = False,
    domain: tuple[float, float] | None = None,
    sides: dict[str, str] | None = None,
    joined: Sequence[str] = (),
    labels: dict[str, str] | None = None,
    height: int = 300,
    standard_errors: bool = False,
) -> Any:
    """Return one point a strategy: the second objective across, the first upwards.

    Bars are the standard deviations between the seeds, or the `standard_errors` of the means.
    `sides` says on which side of its point a name stands (right, left, above, below); `joined`
    strategies are joined by a line, in this order; `labels` are other names for some. Those of
    `without` are in the table only.
    """
    rows: Rows = []
    for name in (name for name in comparison.values if name not in without):
        second, first = comparison.mean(name, 1), comparison.mean(name, 0)
        share = len(comparison.values[name]) ** -0.5 if standard_errors else 1.0
        across_by, up_by = share * comparison.spread(name, 1), share * comparison.spread(name, 0)
        rows.append(
            {
                "name": (labels or {}).get(name, name),
                "x": second,
                "y": first,
                "left": second - across_by,
                "right": second + across_by,
                "low": first - up_by,
                "high": first + up_by,
                "ours": name in ours,
                "side": (sides or {}).get(name, "right"),
                "order": list(joined).index(name) if name in joined else -1,
            }
        )
    base = _chart(rows)
    scale = alt.Scale(zero=False, nice=domain is None, padding=20, type="log" if log else "linear")
    if domain:
        scale.domain = list(domain)
    axis = alt.Axis(tickCount=5, format="~g" if log else alt.Undefined)
    if log:
        axis.values = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 3)]
    across = alt.X("x:Q", title=x, scale=scale, axis=axis)
    up = alt.Y("y:Q", title=y, scale=alt.Scale(zero=False, nice=True, padding=30))
    colour = alt.Color(
        "ours:N", legend=None, scale=alt.Scale(domain=[True, False], range=[OURS, OTHER])
    )
    size = alt.Size("ours:N", legend=None, scale=alt.Scale(domain=[True, False], range=[150, 60]))
    bars = [
        base.mark_rule(opacity=0.6).encode(alt.X("left:Q", title=x), alt.X2("right"), up, colour),
        base.mark_rule(opacity=0.6).encode(across, alt.Y("low:Q", title=y), alt.Y2("high"), colour),
    ]
    lines = []
    if joined:
        line = base.transform_filter("datum.order >= 0").mark_line(
            color=OTHER, strokeWidth=1, strokeDash=[4, 3]
        )
        lines = [line.encode(across, up, alt.Order("order:Q"))]
    # A name stands where the bar on its side ends.
    places: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "right": (alt.X("right:Q", title=x), up, {"align": "left", "dx": 11}),
        "left": (alt.X("left:Q", title=x), up, {"align": "right", "dx": -11}),
        "above": (across, alt.Y("high:Q", title=y), {"align": "center", "dy": -14}),
        "below": (across, alt.Y("low:Q", title=y), {"align": "center", "dy": 15}),
    }

    def names(**back: Any) -> list[Any]:
        return [
            base.transform_filter(f"datum.side == '{side}'")
            .mark_text(baseline="middle", fontSize=11, **place, **back)
            .encode(at, height, alt.Text("name:N"), colour)
            for side, (at, height, place) in places.items()
        ]

    points = base.mark_point(filled=True, opacity=1).encode(across, up, colour, size)
    # White behind the letters, so that a line below them does not disturb; it hides no bar.
    layers = [*lines, *names(**_HALO), *bars, *names(), points]
    return alt.layer(*layers).properties(title=title, width=380, height=height)


def shares(
    rows: Rows, *, title: str, x: str, y: str, order: Sequence[str], names: Sequence[str]
) -> Any:
    """Return stacked bars: in each place `x` (in `order`), the share that every arm was chosen."""
    return (
        _chart(rows)
        .mark_bar()
        .encode(
            alt.X("x:N", sort=list(order), title=x, axis=alt.Axis(labelAngle=0)),
            alt.Y("share:Q", title=y, axis=alt.Axis(format="%", tickCount=5), stack="zero"),
            _arm_colours(names),
            alt.Order("order:Q"),
        )
        .properties(title=title, width=380, height=300)
    )


def areas(
    rows: Rows, *, title: str, x: str, y: str, names: Sequence[str], powers: bool = False
) -> Any:
    """Return stacked areas over a number `x`: the share that every arm was chosen.

    With `powers`, x is a logarithm to the base 10 and is labelled with the number itself.
    """
    axis = alt.Axis(grid=False, tickCount=6)
    if powers:
        axis = alt.Axis(
            grid=False,
            values=[0, 0.477, 1, 1.477, 2, 2.477],
            labelExpr="format(round(pow(10, datum.value)), ',')",
        )
    return (
        _chart(rows)
        .mark_area(interpolate="monotone", opacity=0.9)
        .encode(
            alt.X("x:Q", title=x, scale=alt.Scale(nice=False), axis=axis),
            alt.Y("share:Q", title=y, axis=alt.Axis(format="%", tickCount=5), stack="zero"),
            _arm_colours(names),
            alt.Order("order:Q"),
        )
        .properties(title=title, width=380, height=300)
    )


def arm_map(
    chosen: Sequence[Sequence[str]],
    *,
    title: str,
    x: str,
    y: str,
    largest: float,
    names: Sequence[str],
    colours: Sequence[str] = COLOURS,
) -> Any:
    """Return a map of two features from 0 to `largest`: chosen[row][column] is the arm's name."""
    rows: Rows = []
    for n, row in enumerate(chosen):
        start = 0
        for end in range(1, len(row) + 1):  # neighbours with the same arm become one rectangle
            if end == len(row) or row[end] != row[start]:
                corners = {"x1": start, "x2": end, "y1": n, "y2": n + 1}
                scaled = {k: round(v * largest / len(row), 6) for k, v in corners.items()}
                rows.append({**scaled, "arm": row[start]})
                start = end
    colour = _arm_colours(names, colours, columns=2)
    across = alt.X("x1:Q", title=x, scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    up = alt.Y("y1:Q", title=y, scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    # The edge in the colour of the arm closes the hairlines between rectangles.
    edge = alt.Stroke("arm:N", legend=None, scale=_arm_scale(names, colours))
    return (
        _chart(rows)
        .mark_rect(strokeWidth=0.7)
        .encode(across, alt.X2("x2"), up, alt.Y2("y2"), colour, edge)
        .properties(title=title, width=300, height=300)
    )


def _chart(rows: Rows) -> Any:
    return alt.Chart.from_dict({"data": {"values": rows}, "mark": "point"})


def _arm_scale(names: Sequence[str], colours: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(colours[: len(names)]))


def _arm_colours(
    names: Sequence[str], colours: Sequence[str] = COLOURS, columns: int | None = None
) -> alt.Color:
    columns = columns or (2 if len(names) == 4 else 3)
    legend = alt.Legend(orient="bottom", columns=columns, labelLimit=220)
    return alt.Color("arm:N", title=None, scale=_arm_scale(names, colours), legend=legend)


def stacked(chosen: dict[Any, dict[str, float]], names: Sequence[str]) -> Rows:
    """Return rows for `shares` and `areas` from shares by place and arm."""
    return [
        {"x": place, "arm": name, "share": by_arm.get(name, 0.0), "order": n}
        for place, by_arm in chosen.items()
        for n, name in enumerate(names)
    ]


def save(title: str, panels: Sequence[Any], out: Path | str) -> Path:
    """Write the panels side by side to a file, SVG or PNG by its ending."""
    path = Path(out)
    if path.suffix not in (".svg", ".png"):
        raise InvalidInput(f"a picture is written as .svg or .png, got {path.name!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart = (
        alt.hconcat(*panels, spacing=36)
        .resolve_scale(
            color="independent",
            stroke="independent",
            size="independent",
            x="independent",
            y="independent",
        )
        .properties(
            title=alt.TitleParams(title, fontSize=16, anchor="start", offset=14),
            padding=16,
            background="white",
        )
        .configure(font="Arial, sans-serif")
        .configure_axis(
            labelColor=_INK,
            titleColor=_INK,
            titleFontWeight="normal",
            titleFontSize=12,
            labelFontSize=11,
            gridColor=_INK,
            gridOpacity=0.1,
        )
        .configure_title(color=_INK, fontSize=13, fontWeight=600, anchor="start")
        .configure_legend(labelColor=_INK, labelFontSize=11)
        .configure_view(stroke=None)
    )
    chart.save(str(path), **({"scale_factor": 2} if path.suffix == ".png" else {}))
    return path
