"""Parts of pictures as SVG: words, boxes, intervals; and tables as HTML."""

import unicodedata
from collections.abc import Sequence
from html import escape


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
    """Return words at a place; where they are shortened, a pointer on them shows them whole."""
    shown = words if longest is None else short(words, longest)
    whole = "" if shown == words else f"<title>{xml(words)}</title>"
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x}" y="{y}"{attributes}>{whole}{xml(shown + after)}</text>'


def short(words: str, longest: int) -> str:
    """Return words, cut where they are wider than so many letters."""
    start = words[: longest + 1]  # no letter is less wide than one, and names may be long
    if wide(start) <= longest:
        return words
    words = start
    while wide(words) > longest - 1:
        words = words[:-1]
    return words + "…"


def wide(words: str) -> int:
    """Return how many letters wide words are; Chinese ones count as two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in words)


def printable(words: str) -> str:
    """Return words as XML can hold them: names may have any characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in words)


def xml(words: str) -> str:
    """Return words with the characters escaped that mean something in XML."""
    return escape(printable(words))


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without colours of its own, so that it suits light and dark pages."""
    title = "".join(f"<th>{xml(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{xml(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{title}</tr></thead><tbody>{body}</tbody></table>"
