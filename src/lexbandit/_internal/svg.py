"""Elements of SVG pictures: text, boxes, intervals; and HTML tables."""

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return elements on a white ground as the text of an SVG file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" role="img">'
        f'<title>{xml(title)}</title><rect width="{width}" height="{height}" fill="white"/>'
        f"{''.join(parts)}</svg>"
    )


def axis(x: float, end: float, y: float, low: float, high: float, ink: str) -> list[str]:
    """Return a horizontal axis from x to `end` with its two ends as numbers below it."""
    return [
        f'<line x1="{x}" x2="{end}" y1="{y}" y2="{y}" stroke="#999"/>',
        text(x, y + 13, f"{low:g}", fill=ink),
        text(end, y + 13, f"{high:g}", fill=ink, text_anchor="end"),
    ]


def interval(low: float, value: float, high: float, y: float, colour: str, *, thick: bool) -> str:
    """Return an interval and its estimate; one that is as good is thicker."""
    return (
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="{colour}" '
        f'stroke-width="{4 if thick else 2}" stroke-opacity="{0.9 if thick else 0.5}"/>'
        f'<circle cx="{value:.1f}" cy="{y}" r="4.5" fill="{colour}"/>'
    )


def rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a box."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'
    )


def text(
    x: float, y: float, words: str, longest: int | None = None, after: str = "", **style: str
) -> str:
    """Return text at a point; if it is shortened to `longest`, a tooltip has all of it."""
    shown = words if longest is None else short(words, longest)
    whole = "" if shown == words else f"<title>{xml(words)}</title>"
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x}" y="{y}"{attributes}>{whole}{xml(shown + after)}</text>'


def short(words: str, longest: int) -> str:
    """Return text, cut to a width of so many letters."""
    start = words[: longest + 1]  # no letter is less wide than one, and names may be long
    if wide(start) <= longest:
        return words
    words = start
    while wide(words) > longest - 1:
        words = words[:-1]
    return words + "…"


def wide(words: str) -> int:
    """Return the width of text in letters; wide characters, such as Chinese, count as two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in words)


def printable(words: str) -> str:
    """Replace characters that XML cannot hold: names may have any."""
    return "".join(c if c.isprintable() else "\ufffd" for c in words)


def xml(words: str) -> str:
    """Return text escaped for XML."""
    return escape(printable(words))


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without colours, for light and dark pages."""
    title = "".join(f"<th>{xml(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{xml(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{title}</tr></thead><tbody>{body}</tbody></table>"
