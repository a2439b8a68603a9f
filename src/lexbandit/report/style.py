"""The look of policies, arms, numbers and tables: Okabe–Ito colours, and dashes for print."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from lexbandit.bench.summary import PAPER_NAMES

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
GREY, YELLOW = "#7F7F7F", "#F0E442"
# Further colours for other policies, of other lightness and visible on white and black.
CRIMSON, OLIVE, TEAL, VIOLET = "#C2185B", "#999933", "#2A9D8F", "#8E6BBF"

# Arms of a map: neighbours in this order differ most for every kind of colour vision.
ARM_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY)
# The ink of an arm's mark on its colour.
ARM_INK = ("#FFFFFF", "#000000", "#FFFFFF", "#000000", "#000000", "#FFFFFF", "#000000", "#FFFFFF")
# From best to worst; dark text is readable on all of them.
HEAT = ("#7CC5A9", "#F7F3E3", "#F0A37C")

_STAR = "M0,.5L.6,.8L.5,.1L1,-.3L.3,-.4L0,-1L-.3,-.4L-1,-.3L-.5,.1L-.6,.8L0,.5Z"
_HEXAGON = "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z"

# Up to so many policies all have named lines; of more, only those with a look of their own.
_MANY = 10


@dataclass(frozen=True)
class Look:
    """How one policy is drawn, everywhere in the report."""

    colour: str
    dash: tuple[int, ...]
    shape: str
    width: float = 1.8


_PAPER = {
    "moc-mab": Look(BLUE, (1, 0), "circle", 2.8),
    "cd-ucb1": Look(VERMILLION, (8, 3), "square"),
    "cp-ucb1": Look(GREEN, (4, 2), "triangle-up"),
    "cs-ucb1": Look(PURPLE, (10, 3, 2, 3), "diamond"),
    "p-ucb1": Look(ORANGE, (2, 2), "triangle-down"),
    "s-ucb1": Look(SKY, (6, 2, 2, 2, 2, 2), "cross"),
}
_BEYOND = {
    "lex-linucb": Look(CRIMSON, (1, 0), _STAR, 2.8),
    "lex-thompson": Look(CRIMSON, (5, 2), "cross"),
    "staged-lex": Look(TEAL, (1, 0), "diamond", 2.2),
    "lex-tree": Look(OLIVE, (1, 0), "triangle-up", 2.2),
}
# Policies for cost subsidy, and simple baselines.
_RIVALS = {
    "cs-ts": Look(ORANGE, (1, 0), "triangle-up"),
    "cs-ucb": Look(BLUE, (1, 0), "square"),
    "cs-etc": Look(SKY, (4, 2), "triangle-down"),
    "pe-cs": Look(GREEN, (1, 0), "diamond"),
    "sum-thompson": Look(VIOLET, (1, 0), _HEXAGON),
    "thompson": Look(OLIVE, (1, 0), "triangle-right"),
}
_OTHERS = (
    (GREY, (1, 0), "triangle-right"),
    (ORANGE, (1, 0), "triangle-left"),
    (GREEN, (1, 0), _HEXAGON),
    (PURPLE, (3, 3), "circle"),
    (VERMILLION, (2, 4), "diamond"),
    (SKY, (1, 0), "square"),
    (BLUE, (4, 4), "cross"),
    (GREY, (5, 2), "triangle-up"),
)
# Variants and wrappers of a policy have its colour and, in turn, one of these.
_VARIANTS: tuple[tuple[tuple[int, ...], str], ...] = (
    ((6, 2), "square"),
    ((2, 2), "diamond"),
    ((8, 2, 2, 2), "triangle-up"),
    ((4, 4), "triangle-down"),
    ((1, 3), "cross"),
    ((10, 4), "triangle-right"),
)


def looks_of(policies: list[str]) -> dict[str, Look]:
    """Return a look for each policy name: the known ones have fixed ones, others in turn."""
    known = _PAPER | _BEYOND | _RIVALS
    looks: dict[str, Look] = {}
    others = 0
    variants = 0
    for policy in policies:
        family = _family(policy)
        if policy in known:
            looks[policy] = known[policy]
        elif family is not None:
            dash, shape = _VARIANTS[variants % len(_VARIANTS)]
            looks[policy] = Look(known[family].colour, dash, shape)
            variants += 1
        else:
            colour, dash, shape = _OTHERS[others % len(_OTHERS)]
            looks[policy] = Look(colour, dash, shape)
            others += 1
    return looks


def leading(policies: list[str]) -> list[str]:
    """Return the policies whose lines are named: all, or of many those with a look of their own."""
    if len(policies) <= _MANY:
        return policies
    known = _PAPER | _BEYOND
    return [policy for policy in policies if policy in known or _family(policy)] or policies


def many(policies: list[str]) -> bool:
    """Tell whether there are too many policies for a legend."""
    return len(policies) > _MANY


def _family(policy: str) -> str | None:
    """Return the known policy that "moc-mab (KL)" or "doubling(moc-mab)" is a variant of."""
    words = policy.replace("(", " ").replace(")", " ").replace(",", " ").split()
    return next((word for word in words if word in _PAPER | _BEYOND and word != policy), None)


def in_order(policies: list[str]) -> list[str]:
    """Return the names with the paper's six first, in its order, then the others as they came."""
    seen = list(dict.fromkeys(policies))
    return [p for p in _PAPER if p in seen] + [p for p in seen if p not in _PAPER]


def policy_name(policy: str) -> str:
    """Return how a policy is written in text: the paper's, and their variants, as there."""
    name, space, variant = policy.partition(" ")
    return f"{PAPER_NAMES[name]}{space}{variant}" if name in PAPER_NAMES else policy


def rounded(value: float) -> float | None:
    """Return `value` to five significant digits, None if it is no number: JSON has no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def ratio_text(scale: float | None) -> str:
    """Return a scale factor as the paper writes it: 1, 1/5, 1/15; "" for a policy without one."""
    if scale is None or not math.isfinite(scale):
        return ""
    fraction = Fraction(scale).limit_denominator(1000)
    close = math.isclose(float(fraction), scale, rel_tol=1e-9)
    return str(fraction) if close and fraction > 0 else f"{scale:g}"


def number_text(value: float | None) -> str:
    """Return a number for people: 123,456 from a hundred on, three significant digits below."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        text = f"{value:,.0f}"
    elif abs(value) >= 10:
        text = f"{value:.1f}"
    elif value == int(value):
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return text.replace("-", "−")


def percent_text(share: float) -> str:
    """Return a share as whole per cent, without saying 100 % or 0 % of what is only near."""
    if 0.995 <= share < 1:
        return "over 99 %"
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def time_text(seconds: float | None) -> str:
    """Return a time for people."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def bytes_text(size: float | None) -> str:
    """Return a size of memory for people."""
    if size is None or not math.isfinite(size):
        return "–"
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{number_text(round(size, 1))} {unit}"
        size /= 1000
    return f"{number_text(size)} GB"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    kind: str = "plain",
    numbers: Iterable[int] = (),
    naming: int = 0,
) -> str:
    """Return a table of cells in HTML; the column `naming` has the heads of its rows.

    Numbers are aligned right. A cell that begins with "<td" is taken as it is.
    """
    right = set(numbers)

    def cell(i: int, text: str, tag: str, scope: str) -> str:
        style = " class=number" if i in right else ""
        return text if text.startswith("<td") else f"<{tag}{scope}{style}>{text}</{tag}>"

    top = "".join(cell(i, escape(head), "th", " scope=col") for i, head in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(
            cell(i, text, *(("th", " scope=row") if i == naming else ("td", "")))
            for i, text in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f"<div class=scroll tabindex=0><table class={kind}><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
