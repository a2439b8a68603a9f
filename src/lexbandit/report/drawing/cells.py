"""Squares of cells: maps of arms, and tables in colour."""

import altair as alt

from lexbandit.report.drawing.common import data_of, spec_of
from lexbandit.report.layout import Panel, Row
from lexbandit.report.style import ARM_COLOURS, ARM_INK, HEAT


def map_panel(title: str, rows: list[Row], arms: list[str], *, about: str, side: int) -> Panel:
    """Return a square of cells, each with the colour and the number of an arm."""
    colours = [ARM_COLOURS[arm % len(ARM_COLOURS)] for arm in range(len(arms))]
    inks = [ARM_INK[arm % len(ARM_INK)] for arm in range(len(arms))]
    places = [str(i) for i in range(side)]
    kept: dict[str, list[Row]] = {}
    base = alt.Chart(data_of(rows, kept))
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
    return Panel(title, spec_of(chart, kept), about, width=190, square=True)


def heat_panel(
    title: str, rows: list[Row], across: list[str], down: list[str], *, about: str
) -> Panel:
    """Return a table in colour: rows of `x`, `y`, `heat` from 0 (best) to 1, `text`, and two marks.

    `lowest` frames a cell; `unbeaten` makes its number bold.
    """
    kept: dict[str, list[Row]] = {}
    base = alt.Chart(data_of(rows, kept))
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
    told = [
        alt.Tooltip("y:N", title="Situation"),
        alt.Tooltip("x:N", title="Policy"),
        alt.Tooltip("text:N", title="Regret per 1,000 rounds"),
        alt.Tooltip("error:N", title="± (95 %)"),
    ]
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(x, y, colour, tooltip=told)
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
    return Panel(title, spec_of(chart, kept), about, width=max(300, 48 * len(across)), wide=True)
