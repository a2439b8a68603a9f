"""A few marks as SVG text, for the pictures of the guide: small files, no library.

Colours are Okabe and Ito's: most eyes tell them apart, and the words do not rely on them.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

GREEN, BLUE, VERMILION, SHADE = "#007A5A", "#0072B2", "#C34A00", "#E3F2FB"
GREY, DARK_GREY, INK, PALE = "#8C8C8C", "#5F5F5F", "#222222", "#DDDDDD"
FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
HERE = Path(__file__).parent


def text(
    x: float,
    y: float,
    words: str,
    *,
    color: str = INK,
    size: float = 14,
    anchor: str = "start",
    bold: bool = False,
) -> str:
    """Return words at (x, y), the base line."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size:g}" '
        f'text-anchor="{anchor}"{weight}>{escape(words)}</text>'
    )


def line(
    x: float, y: float, x2: float, y2: float, *, color: str = INK, width: float = 1, dash: str = ""
) -> str:
    """Return a segment from (x, y) to (x2, y2)."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{x:.1f} {y:.1f}L{x2:.1f} {y2:.1f}" stroke="{color}" '
        f'stroke-width="{width:g}" fill="none"{dashes}/>'
    )


def polyline(points: Sequence[tuple[float, float]], *, color: str, width: float = 2) -> str:
    """Return a line through points."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<path d="M{path}" stroke="{color}" stroke-width="{width:g}" fill="none" '
        'stroke-linejoin="round"/>'
    )


def box(x: float, y: float, width: float, height: float, *, fill: str, round: float = 0) -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{round:g}" fill="{fill}"/>'
    )


def dot(x: float, y: float, *, color: str, radius: float = 5) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'


def interval(x: float, low: float, high: float, y: float, *, color: str, bold: bool = False) -> str:
    """Return an estimate at x and its interval from low to high, with end marks."""
    width = 3.2 if bold else 2.2
    return (
        line(low, y, high, y, color=color, width=width)
        + line(low, y - 5, low, y + 5, color=color, width=width)
        + line(high, y - 5, high, y + 5, color=color, width=width)
        + dot(x, y, color=color, radius=6 if bold else 5)
    )


def arrow(x: float, y: float, x2: float, y2: float, *, color: str, width: float = 1.6) -> str:
    """Return a horizontal or vertical segment with a head at its end."""
    across = y == y2
    sign = 1 if (x2 > x if across else y2 > y) else -1
    back = (x2 - 7 * sign, y2) if across else (x2, y2 - 7 * sign)
    side = (0.0, 4.0) if across else (4.0, 0.0)
    head = (
        f'<path d="M{x2:.1f} {y2:.1f}L{back[0] + side[0]:.1f} {back[1] + side[1]:.1f}'
        f'L{back[0] - side[0]:.1f} {back[1] - side[1]:.1f}Z" fill="{color}"/>'
    )
    return line(x, y, *back, color=color, width=width) + head


def save(name: str, marks: Sequence[str], *, width: int, height: int, title: str) -> None:
    """Write a picture beside this file."""
    body = "\n".join(marks)
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{escape(FONT)}">\n'
        f"<title>{escape(title)}</title>\n"
        f"{box(0, 0, width, height, fill='white')}\n{body}\n</svg>\n",
        "utf-8",
    )
