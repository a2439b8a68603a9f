"""Draws problem.svg and problem.png: how MOC-MAB decides in one cell.

The numbers are those of a policy that has learned: `policy.explain` after 40,000 logged rounds of
the multichannel environment with one channel. Run it from anywhere: python docs/pictures/problem.py
"""

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from lexbandit import make_environment, make_policy
from lexbandit.decisions import ArmReport
from lexbandit.policies.cells.moc_mab import LexicographicRule

HERE = Path(__file__).parent
RATES = [1.0, 0.5, 0.15, 0.05]
CONTEXT = [0.677]

# Okabe and Ito's colours: most eyes tell them apart, and the words do not rely on them.
GREEN, BLUE, VERMILION, SHADE = "#009E73", "#0072B2", "#D55E00", "#56B4E9"
GREY, DARK_GREY, INK = "#8C8C8C", "#5F5F5F", "#222222"
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
X = alt.X("x:Q", scale=alt.Scale(domain=[0, 0.4], nice=False))
Y = alt.Y("y:Q", scale=alt.Scale(domain=[0, 1.12], nice=False))

Place = dict[str, float]


def learned() -> tuple[tuple[ArmReport, ...], float]:
    """Return what a policy knows of each arm at CONTEXT, and its margin v.

    It learns from a log in which arms were drawn uniformly, so all arms are known equally well.
    """
    environment = make_environment("multichannel", gains=[0.25], rates=RATES)
    policy = make_policy("moc-mab", arms=4, dimension=1, horizon=200_000, scale=1 / 15)
    assert isinstance(policy, LexicographicRule)
    log = environment.rounds(40_000, seed=1)
    arms = np.random.default_rng(1).integers(4, size=len(log))
    for t, arm in enumerate(arms):
        policy.update(log.contexts[t], arm, log.outcomes[t, arm])
    return policy.explain(CONTEXT).arms, policy.margin


def at(*places: Place) -> Any:
    """Return a chart of these places, without a mark."""
    chart: Any = alt.Chart({"values": list(places)})
    return chart.encode(x=X, y=Y)


def lines(*places: Place, color: str, **style: Any) -> Any:
    """Return a segment from (x, y) to (x2, y2) for each place."""
    return at(*places).mark_rule(color=color, clip=True, **style).encode(x2="x2:Q", y2="y2:Q")


def words(text: str | list[str], x: float, y: float, color: str, **style: Any) -> Any:
    """Return text at (x, y)."""
    look = {"fontSize": 14, "align": "center", "baseline": "middle", "lineHeight": 18, **style}
    return at({"x": x, "y": y}).mark_text(text=text, color=color, font=FONT, **look)


def cross(report: ArmReport, color: str, size: int) -> Any:
    """Return an arm: its estimate, and its interval in both objectives."""
    (x, y), (u, w) = report.mean, report.width
    # The upper end in the dominant objective decides who is a candidate: it gets a tick.
    tick = {"x": x + u, "x2": x + u, "y": y - 0.022, "y2": y + 0.022}
    across = {"x": x - u, "x2": x + u, "y": y, "y2": y}
    along = {"x": x, "x2": x, "y": y - w, "y2": y + w}
    dot = at({"x": x, "y": y}).mark_point(filled=True, size=size, color=color, opacity=1)
    return lines(tick, across, along, color=color, strokeWidth=2.2) + dot


def region(floor: float) -> Any:
    """Return the place of the candidates, and its edge."""
    edge = {"x": floor, "x2": floor, "y": 0, "y2": 1.12}
    shade = at({**edge, "x2": 0.4}).mark_rect(color=SHADE, opacity=0.15)
    heading = words(
        ["Candidates: as good as the top arm,", "since their upper ends reach the line"],
        floor + 0.007,
        1.05,
        VERMILION,
        align="left",
        fontWeight="bold",
        fontSize=13,
    )
    shown = shade.encode(
        x=X.title("throughput, the dominant objective").axis(values=[0, 0.1, 0.2, 0.3]),
        y=Y.title("reliability, the second objective").axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
        x2="x2:Q",
        y2="y2:Q",
    )
    return shown + lines(edge, color=VERMILION, strokeWidth=2.2) + heading


def steps(lower: float, floor: float, height: float) -> Any:
    """Return how the edge is found: from the top arm's lower bound, 2v to the left."""
    y = 0.12
    down = {"x": lower, "x2": lower, "y": y - 0.02, "y2": height}
    left = {"x": floor, "x2": lower, "y": y, "y2": y}
    head = at({"x": floor + 0.003, "y": y}).mark_point(
        shape="triangle-left", size=60, filled=True, color=VERMILION, opacity=1
    )
    return (
        lines(down, color=BLUE, strokeDash=[4, 3], strokeWidth=1.3)
        + lines(left, color=VERMILION, strokeWidth=1.6)
        + head
        + words("less 2v", (floor + lower) / 2, y + 0.04, VERMILION)
        + words("its lower bound", lower + 0.006, y, BLUE, align="left")
    )


def key() -> Any:
    """Return what a cross means, in a frame: it is no arm of the cell."""
    x, y, u = 0.030, 0.12, 0.018
    frame = at({"x": 0.006, "x2": 0.192, "y": 0.05, "y2": 0.19})
    across = {"x": x - u, "x2": x + u, "y": y, "y2": y}
    tick = {"x": x + u, "x2": x + u, "y": y - 0.022, "y2": y + 0.022}
    text = ["an arm: estimate and width;", "the tick is its upper end"]
    return (
        frame.mark_rect(fill=None, stroke="#BBBBBB", cornerRadius=4).encode(x2="x2:Q", y2="y2:Q")
        + lines(across, tick, color=INK, strokeWidth=2.2)
        + at({"x": x, "y": y}).mark_point(filled=True, size=80, color=INK, opacity=1)
        + words(text, x + u + 0.006, y + 0.022, INK, align="left", fontSize=13, lineHeight=16)
    )


def picture() -> Any:
    """Return the chart."""
    (top, winner, third, fourth), margin = learned()
    assert winner.propensity == 1.0
    assert [arm.candidate for arm in (top, winner, third, fourth)] == [True, True, False, False]
    assert top.index[0] > winner.index[0]
    lower = top.mean[0] - top.width[0]
    floor = lower - 2 * margin

    (tx, ty), (wx, wy) = top.mean, winner.mean
    names = (
        words("Top arm: rate 1", tx, ty + 0.105, BLUE, fontWeight="bold")
        + words("highest upper end in the first", tx, ty + 0.06, BLUE)
        + words("Winner: rate 0.5", wx, wy + 0.115, GREEN, fontWeight="bold", fontSize=15)
        + words("best candidate in the second", wx, wy + 0.065, GREEN)
        + words("rate 0.15", third.mean[0], third.mean[1] - 0.065, DARK_GREY)
        + words("rate 0.05", fourth.mean[0], fourth.mean[1] + 0.065, DARK_GREY)
        + words(
            ["Out: far better in the second,", "but short of the line in the first"],
            floor / 2,
            0.66,
            DARK_GREY,
        )
        + key()
    )
    arms = (
        cross(fourth, GREY, 80)
        + cross(third, GREY, 80)
        + cross(top, BLUE, 100)
        + cross(winner, GREEN, 190)
    )
    axes = {"labelFontSize": 13, "titleFontSize": 14, "titlePadding": 8, "format": ".1f"}
    colours = {"titleColor": INK, "labelColor": INK, "domainColor": INK, "tickColor": INK}
    fonts = {"labelFont": FONT, "titleFont": FONT, "titleFontWeight": "normal"}
    return (
        (region(floor) + steps(lower, floor, ty) + arms + names)
        .properties(width=620, height=390, background="white", padding=8)
        .configure_axis(grid=False, **axes, **colours, **fonts)
        .configure_view(stroke=None)
    )


def main() -> None:
    """Write both files beside this one."""
    specification = picture().to_json()
    (HERE / "problem.svg").write_text(vl_convert.vegalite_to_svg(specification), "utf-8")
    (HERE / "problem.png").write_bytes(vl_convert.vegalite_to_png(specification, scale=2))


if __name__ == "__main__":
    main()
