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
# The policies that are named, and on which side of its point a name stands.
NAMED = {
    "lex-thompson": "right",
    "lex-linucb": "left",
    "linucb (legendre, 1/10)": "above",
    "moc-mab": "right",
    "cd-ucb1": "right",
    "cp-ucb1": "right",
    "cs-ucb1": "right",
    "lex-tree": "left",
    "random": "left",
}
OURS = ("lex-linucb", "lex-thompson", "lex-tree")
CURVES = {
    "lex-thompson": BLUE,
    "lex-linucb": GREEN,
    "moc-mab": VERMILION,
    "staged-lex": GREY,
    "lex-tree": INK,
}
OBJECTIVES = ("first", "second", "third")


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
        self, left: float, across: tuple[float, float], up: tuple[float, float], *, log: bool
    ) -> None:
        self.left, self.top, self.wide, self.high = left, 50.0, 250.0, 240.0
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


def scatter(panel: Panel, name: str) -> list[str]:
    """Return a point for each policy but the oracle, whose regret is 0."""
    marks, names = [], []
    for label, first, second, *_ in rows(name):
        if label == "oracle":
            continue
        ours, side = short(label) in OURS, NAMED.get(short(label))
        x, y = panel.x(number(first)), panel.y(number(second))
        color = BLUE if ours else (INK if side else GREY)
        marks.append(dot(x, y, color=color, radius=5 if side else 3))
        if side:
            by, anchor = {"right": (9, "start"), "left": (-9, "end")}.get(side, (0, "middle"))
            up = 11 if side == "above" else -4
            names.append(
                text(
                    x + by,
                    y - up,
                    short(label),
                    size=11,
                    color=color,
                    anchor=anchor,
                    bold=ours,
                )
            )
    return marks + names


def draw_every_policy() -> None:
    """Draw evidence.svg: the regrets of every policy in both experiments."""
    one = Panel(70, (10, 100_000), (100, 30_000), log=True)
    two = Panel(440, (100, 1_000_000), (-320_000, 60_000), log=False)
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
    save("evidence.svg", marks, width=730, height=350, title=title)


def draw_growth() -> None:
    """Draw growth.svg: regret for each 1,000 rounds, by horizon, where the assumption holds."""
    ends = horizons("rates")
    found = {
        (row[0], row[1]): [number(cell) for cell in row[2 : 2 + len(ends)]] for row in rows("rates")
    }
    marks: list[str] = []
    for n, objective in enumerate(OBJECTIVES):
        panel = Panel(60 + 320 * n, (ends[0], ends[-1]), (0.001, 100), log=True)
        marks += panel.frame(f"{objective} objective", "horizon", (0.001, 0.01, 0.1, 1, 10, 100))
        for policy, color in CURVES.items():
            values = found[policy, objective]
            points = [
                (panel.x(horizon), panel.y(value))
                for horizon, value in zip(ends, values, strict=True)
                if value > 0
            ]
            marks.append(polyline(points, color=color, width=3 if policy == "lex-thompson" else 2))
    for n, (policy, color) in enumerate(CURVES.items()):
        x = 60 + 150 * n
        marks += [
            line(x, 362, x + 22, 362, color=color, width=3),
            text(x + 28, 366, policy, size=12),
        ]
    title = "Regret for each 1,000 rounds by the horizon, in each of three objectives."
    save("growth.svg", marks, width=1000, height=380, title=title)


def main() -> None:
    """Draw both."""
    draw_every_policy()
    draw_growth()


if __name__ == "__main__":
    main()
