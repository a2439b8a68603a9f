"""Draws evidence.svg and growth.svg from the tables of beyond.md: python docs/pictures/evidence.py

`docs/tools/evidence.py`, which fills those tables, draws them too.
"""

import math
import re

from svg import (
    BLUE,
    DARK_GREY,
    GREEN,
    GREY,
    HERE,
    INK,
    PALE,
    VERMILION,
    dot,
    line,
    polyline,
    save,
    text,
)

PAGE = HERE.parent / "beyond.md"
# The policies that are named, in the order in which their names find a place.
NAMED = (
    "lex-thompson",
    "lex-linucb",
    "moc-mab",
    "cd-ucb1",
    "cp-ucb1",
    "cs-ucb1",
    "lex-tree",
    "linucb (legendre, 1/10)",
    "random",
)
OURS = ("lex-linucb", "lex-thompson", "lex-tree")
CURVES = {
    "lex-thompson": BLUE,
    "lex-linucb": GREEN,
    "moc-mab": VERMILION,
    "staged-lex": GREY,
    "lex-tree": INK,
}
# In the second objective moc-mab's curve is nearly that of lex-tree, and shows below it.
WIDTHS = {"lex-thompson": 3.0, "moc-mab": 5.0, "lex-tree": 1.5}
OBJECTIVES = ("first", "second", "third")

# Left, top, right and bottom.
Box = tuple[float, float, float, float]


def table(name: str) -> list[str]:
    """Return the lines of a table of the page."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found, name
    return found[1].strip().splitlines()


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table of the page, without its head."""
    cells = [line.strip("| ").split("|") for line in table(name)[2:]]
    return [[cell.strip().strip("`") for cell in row] for row in cells]


def horizons(name: str) -> list[float]:
    """Return the horizons of a table of growth, which follow the policy and the objective."""
    return [float(T.replace(",", "")) for T in re.findall(r"T = ([\d,]+)", table(name)[0])]


def number(cell: str) -> float:
    """Return the number that a cell begins with."""
    return float(cell.split(" ± ", maxsplit=1)[0].replace(",", "").replace("−", "-"))


def short(label: str) -> str:
    """Return a policy's name without its scale factor."""
    return label.split(" at ", maxsplit=1)[0]


class Panel:
    """Axes from `low` to `high`, at `left`; across is logarithmic, up too if `log`."""

    def __init__(
        self,
        left: float,
        across: tuple[float, float],
        up: tuple[float, float],
        *,
        log: bool,
        wide: float = 250.0,
        high: float = 240.0,
    ) -> None:
        self.left, self.top, self.wide, self.high = left, 50.0, wide, high
        self.across, self.up, self.log = across, up, log

    def x(self, value: float) -> float:
        """Return where a value stands across."""
        low, high = map(math.log10, self.across)
        return self.left + self.wide * (math.log10(max(value, self.across[0])) - low) / (high - low)

    def y(self, value: float) -> float:
        """Return where a value stands up."""
        scaled = math.log10 if self.log else float
        low, high = scaled(self.up[0]), scaled(self.up[1])
        at = scaled(max(value, self.up[0]))
        return self.top + self.high * (1 - (at - low) / (high - low))

    def frame(self, title: str, x: str, ups: tuple[float, ...]) -> list[str]:
        """Return the axes: a tick for each power of ten across, and `ups`."""
        bottom, right = self.top + self.high, self.left + self.wide
        marks = [text(self.left - 40, 24, title, bold=True, size=15)]
        for value in ups:
            at = self.y(value)
            words = f"{value:,.0f}" if abs(value) >= 1 or value == 0 else f"{value:g}"
            marks += [
                line(self.left, at, right, at, color=PALE),
                text(self.left - 6, at + 4, words, size=11, color=DARK_GREY, anchor="end"),
            ]
        first, last = (round(math.log10(end)) for end in self.across)
        for power in range(first, last + 1):
            at = self.x(10.0**power)
            marks += [
                line(at, bottom, at, bottom + 5, color=GREY),
                text(at, bottom + 18, f"{10**power:,}", size=11, color=DARK_GREY, anchor="middle"),
            ]
        marks.append(line(self.left, bottom, right, bottom, color=GREY))
        middle = (self.left + right) / 2
        return [*marks, text(middle, bottom + 38, x, size=12, anchor="middle")]


def overlap(a: Box, b: Box) -> bool:
    """Return whether two boxes share area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def place(x: float, y: float, words: str, taken: list[Box], within: Box) -> Box:
    """Return a free box for words near (x, y): beside the point, or the nearest one around it."""
    wide, high = 7.2 * len(words), 13.0
    for distance in (8, 14, 22, 32, 44, 58, 74):
        for degrees in (0, 180, 270, 90, 30, 330, 150, 210, 60, 300, 120, 240):
            along, down = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
            middle = x + along * (distance + wide / 2), y + down * (distance + high / 2)
            box = (
                middle[0] - wide / 2,
                middle[1] - high / 2,
                middle[0] + wide / 2,
                middle[1] + high / 2,
            )
            inside = within[0] <= box[0] and box[2] <= within[2]
            inside = inside and within[1] <= box[1] and box[3] <= within[3]
            if inside and not any(overlap(box, other) for other in taken):
                return box
    raise ValueError(f"no place for {words!r}: draw the panel larger")


def scatter(panel: Panel, name: str) -> list[str]:
    """Return a point for each policy but the oracle, whose regret is 0, and the names."""
    points = {
        short(label): (panel.x(number(first)), panel.y(number(second)))
        for label, first, second, *_ in rows(name)
        if label != "oracle"
    }
    marks = [dot(x, y, color=GREY, radius=3) for x, y in points.values()]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in points.values()]
    within = (panel.left, panel.top, panel.left + panel.wide, panel.top + panel.high)
    for words in (words for words in NAMED if words in points):
        x, y = points[words]
        ours = words in OURS
        color = BLUE if ours else INK
        box = place(x, y, words, taken, within)
        taken.append(box)
        near = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
        if math.dist((x, y), near) > 12:
            marks.append(line(x, y, *near, color=color))
        middle = (box[0] + box[2]) / 2
        marks.append(dot(x, y, color=color, radius=5))
        marks.append(
            text(middle, box[3] - 3, words, size=11, color=color, anchor="middle", bold=ours)
        )
    return marks


def draw_every_policy() -> None:
    """Draw evidence.svg: the regrets of every policy in both experiments."""
    one = Panel(70, (10, 100_000), (100, 30_000), log=True, wide=380, high=300)
    two = Panel(570, (100, 1_000_000), (-320_000, 60_000), log=False, wide=380, high=300)
    marks = [
        *one.frame(
            "Experiment 1: second regret",
            "regret in the first objective",
            (100, 1e3, 1e4),
        ),
        *scatter(one, "beyond-1"),
        *two.frame(
            "Experiment 2: second regret",
            "regret in the first objective",
            (-300_000, -200_000, -100_000, 0),
        ),
        *scatter(two, "beyond-2"),
    ]
    title = "Regret in the first objective against that in the second, for every policy."
    save("evidence.svg", marks, width=1000, height=410, title=title)


def draw_growth() -> None:
    """Draw growth.svg: regret for each 1,000 rounds, by horizon, where the assumption holds."""
    ends = horizons("rates")
    found = {
        (row[0], row[1]): [number(cell) for cell in row[2 : 2 + len(ends)]] for row in rows("rates")
    }
    marks: list[str] = []
    for n, objective in enumerate(OBJECTIVES):
        panel = Panel(60 + 335 * n, (ends[0], ends[-1]), (0.001, 100), log=True)
        marks += panel.frame(
            f"{objective}: regret for 1,000 rounds", "horizon", (0.001, 0.01, 0.1, 1, 10, 100)
        )
        for policy, color in CURVES.items():
            values = found[policy, objective]
            points = [
                (panel.x(horizon), panel.y(value))
                for horizon, value in zip(ends, values, strict=True)
                if value > 0
            ]
            marks.append(polyline(points, color=color, width=WIDTHS.get(policy, 2)))
    for n, (policy, color) in enumerate(CURVES.items()):
        x = 60 + 150 * n
        marks += [
            line(x, 362, x + 22, 362, color=color, width=3),
            text(x + 28, 366, policy, size=12),
        ]
    title = "Regret for each 1,000 rounds by the horizon, in each of three objectives."
    save("growth.svg", marks, width=1020, height=380, title=title)


def main() -> None:
    """Draw both."""
    draw_every_policy()
    draw_growth()


if __name__ == "__main__":
    main()
