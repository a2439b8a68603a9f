"""The picture of an evaluation: intervals of differences, one panel an objective, as SVG."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lexbandit._internal.svg import axis, document, interval, printable, rect, short, text, wide

# Sizes in pixels: a letter is about 7 wide, in the widest of the usual fonts.
_ROW, _PANEL, _GAP, _LINE, _LETTER = 24, 270, 40, 16, 7
_LONGEST_LABEL, _LONGEST_OBJECTIVE = 34, 30

_BETTER, _WORSE, _OPEN, _BAND, _GREY = "#1f6fb2", "#b2431f", "#555", "#dbe9f6", "#999"


class Strip(NamedTuple):
    """One interval of a difference."""

    label: str
    low: float
    value: float
    high: float


class Panel(NamedTuple):
    """The intervals of one objective; within the tolerance below 0 the candidate is as good."""

    objective: str
    tolerance: float
    strips: Sequence[Strip]


def draw_evaluation(
    sentence: str, about: str, panels: Sequence[Panel], bars: Mapping[str, float], note: str
) -> str:
    """Return the picture, as the text of an SVG file; without a heading if `about` is empty.

    `bars` are numbers of rows, drawn to one scale below the panels, with a `note` beside them.
    """
    labels = [strip.label for strip in panels[0].strips]
    left = 24 + _LETTER * max(wide(short(label, _LONGEST_LABEL)) for label in labels)
    width = left + (_PANEL + _GAP) * len(panels)
    words = textwrap.wrap(printable(sentence), (width - 20) // _LETTER) if about else []
    top = 12 + _LINE * (len(words) + 1) if about else 0
    bottom = top + 44 + _ROW * len(labels)
    legend = bottom + 24
    below = legend + 16 + _LINE
    height = below + _LINE * (len(bars) + 1) + 8
    parts = [text(10, _LINE * (n + 1), line, fill="#222") for n, line in enumerate(words)]
    if about:
        y, longest = _LINE * (len(words) + 1), (width - 20) // _LETTER
        parts.append(text(10, y, about, longest, fill=_OPEN))
    for n, label in enumerate(labels):
        weight = "bold" if n == 0 else "normal"
        parts.append(text(10, _y(top, n) + 4, label, _LONGEST_LABEL, font_weight=weight))
    for i, panel in enumerate(panels):
        parts += _panel(panel, left + i * (_PANEL + _GAP), top)
    parts += [
        rect(10, legend - 9, 12, 12, _BAND),
        text(28, legend, "within the tolerance below 0: as good", fill=_OPEN),
    ]
    if len(labels) > 1:
        caution = "segments are exploratory: each interval holds by itself"
        parts.append(text(28, legend + _LINE, caution, fill=_OPEN))
    parts += _bars(bars, note, left, below + 8, width)
    return document(width, height, sentence, parts)


def _panel(panel: Panel, x: int, top: int) -> list[str]:
    """Return one objective's title, tolerance, intervals and axis."""
    bottom = top + 34 + _ROW * len(panel.strips)
    reach = _reach(panel)

    def across(value: float) -> float:
        return x + _PANEL * (0.5 + 0.5 * min(max(value / reach, -1.0), 1.0))

    parts = [text(x, top + 14, panel.objective, _LONGEST_OBJECTIVE, font_weight="bold")]
    start = across(-panel.tolerance)
    if panel.tolerance:
        parts.append(rect(start, top + 22, across(0.0) - start, bottom - top - 22, _BAND))
    zero = across(0.0)
    parts.append(
        f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="{top + 22}" y2="{bottom}" stroke="{_GREY}"/>'
    )
    for n, strip in enumerate(panel.strips):
        y = _y(top, n)
        if math.isnan(strip.value):
            parts.append(text(x, y + 4, "no rewards", fill=_GREY))
            continue
        colour = _BETTER if strip.low > 0.0 else _WORSE if strip.high < -panel.tolerance else _OPEN
        ends = across(strip.low), across(strip.value), across(strip.high)
        parts.append(interval(*ends, y, colour, thick=n == 0))
        parts += [_arrow(x - 2, y, -6, colour)] * (strip.low < -reach)
        parts += [_arrow(x + _PANEL + 2, y, 6, colour)] * (strip.high > reach)
    return [
        *parts,
        *axis(x, x + _PANEL, bottom, -reach, reach, _OPEN),
        text(zero, bottom + 13, "0", fill=_OPEN, text_anchor="middle"),
    ]


def _arrow(x: float, y: float, length: float, colour: str) -> str:
    """Return the point of an arrow: the interval goes on beyond the panel."""
    points = f"{x:.1f},{y - 4} {x + length:.1f},{y} {x:.1f},{y + 4}"
    return f'<polygon points="{points}" fill="{colour}" fill-opacity="0.6"/>'


def _reach(panel: Panel) -> float:
    """Return a round number that the whole interval of all rows, and most others, lie within."""
    first, *others = panel.strips
    wanted = [1.5 * panel.tolerance, abs(first.low), abs(first.high)]
    wanted += [abs(strip.value) for strip in others]
    most = max((w for w in wanted if math.isfinite(w)), default=0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= most * 0.999)


def _bars(bars: Mapping[str, float], note: str, left: int, y: int, width: int) -> list[str]:
    """Return one bar a number, all to one scale."""
    most = max([*bars.values(), 1.0])
    parts = []
    for n, (label, number) in enumerate(bars.items()):
        at = y + _LINE * n
        length = max((width - left - 180) * number / most, 1.0)
        parts += [
            text(10, at + 10, label),
            rect(left, at, length, 11, _OPEN if n == 0 else _BETTER),
            text(left + length + 6, at + 10, f"{number:,.0f}", fill=_OPEN),
        ]
    return [*parts, text(left, y + _LINE * len(bars) + 12, note, fill=_OPEN)]


def _y(top: int, row: int) -> int:
    return top + 38 + _ROW * row
