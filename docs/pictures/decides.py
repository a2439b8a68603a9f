"""Draws tied.svg, early.svg and tolerance.svg of how-it-decides.md.

The intervals are made up. Which arms are tied, which one wins and why is computed here by the rule
the page tells, so a picture cannot disagree with it. Run it: python docs/pictures/decides.py
"""

from dataclasses import dataclass

from svg import (
    BLUE,
    DARK_GREY,
    GREEN,
    GREY,
    INK,
    PALE,
    SHADE,
    VERMILION,
    arrow,
    box,
    interval,
    line,
    save,
    text,
)

WIDTH = 500
LEFT, RIGHT = 118, 476
ROW = 34
ARMS = ("gemini-pro", "mistral-large", "llama-8b")


@dataclass(frozen=True)
class Arm:
    """What is known of an arm: quality in [0, 1] and cost in cents, each mean and half-width."""

    name: str
    quality: tuple[float, float]
    cost: tuple[float, float]


@dataclass(frozen=True)
class Outcome:
    """What the rule makes of the arms."""

    top: int
    edge: float
    tied: tuple[bool, ...]
    winner: int
    learning: bool


def decide(arms: list[Arm], *, tolerance: float, known: float) -> Outcome:
    """Return the outcome: the top arm, the edge, the tied arms and the winner."""
    upper = [mean + width for mean, width in (arm.quality for arm in arms)]
    top = upper.index(max(upper))
    mean, width = arms[top].quality
    edge = mean - width - tolerance
    tied = tuple(value >= edge for value in upper)
    hopes = [
        arm.cost[0] - arm.cost[1] if inside else float("inf")
        for arm, inside in zip(arms, tied, strict=True)
    ]
    learning = width > known
    return Outcome(top, edge, tied, top if learning else hopes.index(min(hopes)), learning)


def axis(y: float, ends: tuple[float, float], ticks: list[float], unit: str) -> list[str]:
    """Return an axis below a panel; `ends` are its left and right values."""
    marks = [line(LEFT, y, RIGHT, y, color=GREY)]
    for tick in ticks:
        x = across(tick, ends)
        label = f"{tick:g}{unit}"
        marks += [
            line(x, y, x, y + 4, color=GREY),
            text(x, y + 18, label, size=12, color=DARK_GREY, anchor="middle"),
        ]
    return marks


def across(value: float, ends: tuple[float, float]) -> float:
    """Return where a value stands between the left and the right end."""
    return LEFT + (value - ends[0]) / (ends[1] - ends[0]) * (RIGHT - LEFT)


def row(
    arm: Arm,
    known: tuple[float, float],
    y: float,
    ends: tuple[float, float],
    color: str,
    bold: bool,
) -> list[str]:
    """Return an arm's name and its interval."""
    mean, width = known
    low, high = across(mean - width, ends), across(mean + width, ends)
    return [
        text(8, y + 5, arm.name, color=color, bold=bold),
        interval(across(mean, ends), low, high, y, color=color, bold=bold),
    ]


def colour(outcome: Outcome, k: int) -> str:
    """Return green for the winner, blue for the tied, grey for the others."""
    return GREEN if k == outcome.winner else BLUE if outcome.tied[k] else GREY


LEARNED = [
    Arm("gemini-pro", (0.915, 0.022), (1.6, 0.12)),
    Arm("mistral-large", (0.900, 0.018), (0.9, 0.10)),
    Arm("llama-8b", (0.800, 0.030), (0.25, 0.10)),
]
QUALITY = (0.74, 0.96)
COST = (2.0, 0.0)


def tied() -> None:
    """Draw the rule's two steps."""
    tolerance = 0.02
    outcome = decide(LEARNED, tolerance=tolerance, known=0.05)
    assert outcome.tied == (True, True, False)
    assert outcome.winner == 1
    first, second = 62, 300
    edge = across(outcome.edge, QUALITY)
    mean, width = LEARNED[0].quality
    lower = across(mean - width, QUALITY)
    bottom = first + 3 * ROW
    marks = [
        text(8, 22, "First: quality", bold=True, size=16),
        text(RIGHT, 22, "better", color=DARK_GREY, anchor="end", size=13),
        arrow(RIGHT - 78, 17.5, RIGHT - 46, 17.5, color=DARK_GREY),
        box(edge, 34, RIGHT - edge, bottom - 34, fill=SHADE),
        line(edge, 34, edge, bottom + 42, color=VERMILION, width=2),
        line(lower, first, lower, bottom + 42, color=BLUE, width=1.3, dash="4 3"),
        arrow(lower, bottom + 32, edge, bottom + 32, color=VERMILION),
        text(lower + 6, bottom + 36, "its lower end", color=BLUE, size=13),
        text(edge - 8, bottom + 36, "less the tolerance", color=VERMILION, size=13, anchor="end"),
        *axis(bottom, QUALITY, [0.75, 0.8, 0.85, 0.9, 0.95], ""),
    ]
    for k, arm in enumerate(LEARNED):
        marks += row(
            arm, arm.quality, first + k * ROW, QUALITY, BLUE if outcome.tied[k] else GREY, False
        )
    marks += [
        text(
            across(0.80, QUALITY),
            first + 2 * ROW - 13,
            "does not reach the line: out",
            color=DARK_GREY,
            size=13,
            anchor="middle",
        ),
        text(8, second - 52, "Then, among those that reach the line: cost", bold=True, size=16),
        text(RIGHT, second - 26, "cheaper", color=DARK_GREY, anchor="end", size=13),
        arrow(RIGHT - 92, second - 30.5, RIGHT - 60, second - 30.5, color=DARK_GREY),
        *axis(second + 2 * ROW, COST, [2, 1.5, 1, 0.5, 0], " ct"),
    ]
    for k, arm in enumerate(LEARNED[:2]):
        marks += row(arm, arm.cost, second + k * ROW, COST, colour(outcome, k), k == outcome.winner)
    winner = across(LEARNED[1].cost[0], COST)
    marks.append(text(winner + 44, second + ROW + 5, "is chosen", color=GREEN, bold=True))
    title = "Two of three arms are as good in quality; the cheaper of the two is chosen."
    save("tied.svg", marks, width=WIDTH, height=second + 2 * ROW + 30, title=title)


def stage(
    y: float,
    heading: str,
    saying: list[str],
    arms: list[Arm],
    ends: tuple[float, float],
    *,
    tolerance: float = 0.02,
    known: float = 0.05,
) -> tuple[list[str], Outcome]:
    """Return one panel of quality with its heading and what follows from it."""
    outcome = decide(arms, tolerance=tolerance, known=known)
    top, bottom = y + 18, y + 18 + 3 * 28 + 8
    marks = [text(8, y + 6, heading, bold=True, size=15)]
    if not outcome.learning:
        edge = max(across(outcome.edge, ends), LEFT)
        marks += [
            box(edge, top, RIGHT - edge, bottom - top, fill=SHADE),
            line(edge, top, edge, bottom, color=VERMILION, width=2),
        ]
    marks.append(line(LEFT, bottom, RIGHT, bottom, color=PALE))
    for k, arm in enumerate(arms):
        shown = GREY if outcome.learning and k != outcome.winner else colour(outcome, k)
        marks += row(arm, arm.quality, top + 18 + k * 28, ends, shown, k == outcome.winner)
    for n, words in enumerate(saying):
        marks.append(text(8, bottom + 20 + n * 18, words, size=13.5, color=INK))
    return marks, outcome


def early() -> None:
    """Draw what happens as more is learned."""
    costs = [arm.cost for arm in LEARNED]
    ends = (0.45, 1.25)
    stages = [
        (
            "After a few choices",
            [
                "The intervals are wide. The arm that could be the best is played,",
                "to learn about it. Cost is not looked at yet.",
            ],
            [(0.86, 0.24), (0.84, 0.30), (0.80, 0.22)],
            1,
        ),
        (
            "After some dozens",
            [
                "The best arm is known well enough to compare with. The others may",
                "still be as good, as far as is known: the cheapest of them is chosen.",
            ],
            [(0.90, 0.06), (0.89, 0.08), (0.80, 0.09)],
            2,
        ),
        (
            "After some hundreds",
            [
                "llama-8b is now known to be worse and is out. Between the other two",
                "cost decides.",
            ],
            [(0.915, 0.022), (0.900, 0.018), (0.800, 0.030)],
            1,
        ),
    ]
    marks: list[str] = []
    y = 16.0
    for n, (heading, saying, known, winner) in enumerate(stages):
        arms = [Arm(*one) for one in zip(ARMS, known, costs, strict=True)]
        drawn, outcome = stage(
            y, heading, saying, arms, ends if n == 0 else (0.62, 1.02), known=0.10
        )
        assert (outcome.winner, outcome.learning) == (winner, n == 0), (heading, outcome)
        marks += drawn
        y += 186
    title = "Wide intervals: explore. Narrower: all may be as good. Narrow: two are tied."
    save("early.svg", marks, width=WIDTH, height=int(y - 8), title=title)


def tolerances() -> None:
    """Draw the same intervals under three tolerances."""
    known = [(0.915, 0.006), (0.899, 0.005), (0.820, 0.006)]
    arms = [Arm(n, k, a.cost) for n, k, a in zip(ARMS, known, LEARNED, strict=True)]
    stages = [
        (
            0.0,
            [
                "Only what cannot be told apart from the best counts as tied:",
                "gemini-pro alone, the dearest.",
            ],
            0,
        ),
        (0.02, ["mistral-large is close enough: tied, and cheaper."], 1),
        (0.10, ["All three are close enough: the cheapest, llama-8b, is chosen."], 2),
    ]
    marks: list[str] = []
    y = 16.0
    for tolerance, saying, winner in stages:
        drawn, outcome = stage(
            y, f"tolerance = {tolerance:g}", saying, arms, (0.74, 0.96), tolerance=tolerance
        )
        assert outcome.winner == winner, (tolerance, outcome)
        marks += drawn
        y += 150 + 18 * len(saying)
    title = "The same three intervals: tolerance 0 chooses the best, 0.1 the cheapest."
    save("tolerance.svg", marks, width=WIDTH, height=int(y - 8), title=title)


if __name__ == "__main__":
    tied()
    early()
    tolerances()
