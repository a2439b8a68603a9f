"""What panels are made from, and the arithmetic of placing it; no drawing here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lexbandit.report.style import Look

Kind = Literal["linear", "log", "ordinal", "symlog"]
Row = dict[str, Any]

HEIGHT = 270
WIDTH = 400


@dataclass(frozen=True)
class Panel:
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
    panels: list[Panel]


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
    """Return the way from a value to a pixel from the high end of an axis, and back."""
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
            lambda place: math.copysign(c * math.expm1(abs(place)), place),
        )
    return float, float


def limits_of(lines: Sequence[Line], kind: Kind) -> tuple[float, float]:
    """Return the ends of the y axis: everything drawn, bands included, and a little air."""
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
    # The lower end of a band may fall a hair below 0 in the first rounds: not worth an axis.
    low = 0.0 if low > -0.02 * high else low
    air = 0.04 * ((high - low) or 1.0)
    return (low if low == 0.0 else low - air), high + air


def within(row: Row, low: float, high: float) -> Row:
    """Return the row with its values kept inside the panel (cheaper than clipping in the SVG)."""
    return row | {k: min(max(row[k], low), high) for k in ("y", "low", "high") if k in row}


def inside(rows: Sequence[Row], limits: tuple[float, float]) -> list[Row]:
    """Return the rows whose value lies within the panel; none if a line cannot be made of them."""
    kept = [row for row in rows if limits[0] <= row["y"] <= limits[1]]
    return kept if len(kept) > 1 else []


def padded(values: Sequence[float], axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis with all values and some air, even where there is only one."""
    forth, back = _bent(axis)
    low, high = forth(min(values)), forth(max(values))
    air = 0.07 * (high - low) or 1.0
    return back(low - air), back(high + air)


Box = tuple[float, float, float, float]


def apart(
    points: Sequence[tuple[float, float]],
    widths: Sequence[float],
    size: tuple[float, float],
    drawn: Sequence[Box] = (),
) -> list[tuple[float, float, int]]:
    """Return where names may begin, in pixels, and on which side of their points: 1 right, −1 left.

    Each name is put at the nearest of many places around its point where it covers neither another
    name nor a point nor what else is `drawn`; where there is none, at the one that covers fewest.
    On the left of a point it begins at its right end.
    """
    taken = [*((x - 7, y - 7, x + 7, y + 7) for x, y in points), *drawn]
    found = []
    for (x, y), width in zip(points, widths, strict=True):
        box, side = min(
            _places(x, y, width), key=lambda place: _cost(place[0], (x, y), taken, size)
        )
        taken.append(box)
        found.append((box[0] if side > 0 else box[2], (box[1] + box[3]) / 2, side))
    return found


def _places(x: float, y: float, width: float) -> list[tuple[Box, int]]:
    return [
        ((left, top - 7, left + width, top + 7), side)
        for step in (0.0, 8.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0, 120.0)
        for side in (1, -1)
        for turn in (0.0, -1.0, 1.0, -0.5, 0.5, -2.0, 2.0)
        for left in (x + 10 + step if side > 0 else x - 10 - step - width,)
        for top in (y + turn * step,)
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
    """Return where a logarithmic axis has ticks: at decades, or closer if those are few."""
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
