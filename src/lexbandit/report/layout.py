"""What panels are made from, and the arithmetic of placing it; no drawing here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lexbandit.report.style import Look

Kind = Literal["linear", "log", "ordinal"]
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


@dataclass(frozen=True)
class Line:
    """One line of a panel: rows of x, y and, where there is a band, low and high."""

    name: str
    look: Look
    rows: list[Row]
    banded: bool = True
    marks: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its title and how values are laid out along it."""

    title: str
    kind: Kind = "linear"
    values: tuple[str, ...] = ()


def pixels(
    limits: tuple[float, float], kind: Kind
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return the way from a value to a pixel from the top, and back."""
    forth, back = (math.log, math.exp) if kind == "log" else (float, float)
    low, high = forth(limits[0]), forth(limits[1])
    return (
        lambda value: HEIGHT * (high - forth(value)) / (high - low),
        lambda pixel: back(high - (high - low) * pixel / HEIGHT),
    )


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


def ticks(limits: tuple[float, float]) -> list[float]:
    """Return where a logarithmic axis has ticks: at decades, or closer if those are few."""
    low, high = limits
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5)):
        marks = [step * 10.0**power for power in powers for step in steps]
        found = [mark for mark in marks if low <= mark * (1 + 1e-9) and mark <= high * (1 + 1e-9)]
        if len(found) >= 3:
            break
    return found
