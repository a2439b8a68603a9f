"""Draws tied.svg, early.svg and tolerance.svg of how-it-decides.md.

All numbers are of a policy `lex-thompson` that learns in a simulation with a fixed seed: estimates,
draws, reaches and bands are those by which it decides, and who is played is asked of it. The words
in the pictures are checked against that. Run it: python docs/pictures/decides.py
"""

import math
from dataclasses import dataclass

import numpy as np
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
    dot,
    line,
    polyline,
    save,
    text,
)

from lexbandit import make_policy
from lexbandit.kernels.random import normal
from lexbandit.policies.linear.lex_thompson import LexThompsonRule

WIDTH = 500
LEFT, RIGHT = 118, 476
ROW = 40
ARMS = ("gemini-pro", "mistral-large", "llama-8b")
QUALITY, NOISE = (0.915, 0.90, 0.80), 0.05
CENTS, VARIATION = (1.6, 0.9, 0.25), 0.1
DEAREST = 2.0
HERE = np.array([0.5])
# Picked so that one run shows every case that the pages explain; few runs do.
SEED = 1375


def learner(tolerance: float) -> LexThompsonRule:
    """Return the policy, with a tolerance on quality and none on cost."""
    policy = make_policy(
        "lex-thompson", arms=len(ARMS), dimension=1, tolerance=[tolerance, 0], seed=SEED
    )
    assert isinstance(policy, LexThompsonRule)
    return policy


class Simulation:
    """Requests in one context; rewards are quality, and the share of the highest cost saved."""

    def __init__(self, policy: LexThompsonRule) -> None:
        self.policy = policy
        self.random = np.random.default_rng(SEED)

    def reward(self, arm: int) -> None:
        """Let the policy learn the rewards of an arm."""
        quality = self.random.normal(QUALITY[arm], NOISE)
        cost = self.random.normal(CENTS[arm], VARIATION)
        self.policy.update(HERE, arm, [quality, 1 - cost / DEAREST])

    def serve(self, requests: int) -> None:
        """Let the policy decide, and learn from it."""
        for _ in range(requests):
            self.reward(self.policy.select(HERE).arm)


@dataclass(frozen=True)
class Seen:
    """One decision: by arm what it was made from, and what came of it; costs are in cents."""

    means: list[float]
    spreads: list[float]
    draws: list[float]
    reaches: list[float]
    leader: int
    edge: float
    stays: tuple[bool, ...]
    costs: list[float]
    cost_spreads: list[float]
    cost_draws: dict[int, float]
    winner: int
    probabilities: list[float]


def watch(policy: LexThompsonRule) -> Seen:
    """Return the policy's next decision: it is made here, with the draws that it is made from."""
    _, looks = policy._see(HERE)
    probabilities = policy.propensities(HERE).tolist()
    random = policy._random.copy()
    draws = [
        float(m + s * normal(random)) for m, s in zip(looks.means[0], looks.spreads[0], strict=True)
    ]
    leader = int(np.argmax(draws))
    edge = draws[leader] - float(looks.bands[0])
    stays = tuple(
        bool(arm == leader or reach >= edge) for arm, reach in enumerate(looks.reaches[0])
    )
    left = [arm for arm, inside in enumerate(stays) if inside]
    last = {arm: looks.means[1, arm] for arm in left}
    if len(left) > 1:
        last = {arm: m + looks.spreads[1, arm] * normal(random) for arm, m in last.items()}
    winner = policy.select(HERE).arm
    assert winner == max(last, key=lambda arm: last[arm]), "the policy decides by another rule"
    return Seen(
        looks.means[0].tolist(),
        looks.spreads[0].tolist(),
        draws,
        looks.reaches[0].tolist(),
        leader,
        edge,
        stays,
        (DEAREST * (1 - looks.means[1])).tolist(),
        (DEAREST * looks.spreads[1]).tolist(),
        {arm: DEAREST * (1 - z) for arm, z in last.items()},
        winner,
        probabilities,
    )


def across(value: float, ends: tuple[float, float]) -> float:
    """Return where a value stands between the left and the right end."""
    return LEFT + (value - ends[0]) / (ends[1] - ends[0]) * (RIGHT - LEFT)


def axis(y: float, ends: tuple[float, float], ticks: list[float], unit: str = "") -> list[str]:
    """Return an axis below a panel; `ends` are its left and right values."""
    marks = [line(LEFT, y, RIGHT, y, color=GREY)]
    for tick in ticks:
        x = across(tick, ends)
        marks += [
            line(x, y, x, y + 4, color=GREY),
            text(x, y + 18, f"{tick:g}{unit}", size=12, color=DARK_GREY, anchor="middle"),
        ]
    return marks


def bell(
    mean: float, spread: float, y: float, ends: tuple[float, float], color: str, height: float
) -> str:
    """Return the density of a draw, as a line above y."""
    steps = [k / 3 for k in range(-8, 9)]
    points = [(across(mean + z * spread, ends), y - height * math.exp(-z * z / 2)) for z in steps]
    return polyline([p for p in points if LEFT <= p[0] <= RIGHT], color=color, width=1)


def diamond(x: float, y: float) -> str:
    """Return the mark of a draw."""
    return f'<path d="M{x:.1f} {y - 6:.1f}l5 6l-5 6l-5 -6Z" fill="{VERMILION}" stroke="white"/>'


def reach(mean: float, end: float, y: float, ends: tuple[float, float], color: str) -> str:
    """Return a line from the estimate to how far the arm may reach, with an end mark."""
    x, x2 = across(mean, ends), across(end, ends)
    if x2 > RIGHT:
        return arrow(x, y, RIGHT, y, color=color, width=2.4)
    return line(x, y, x2, y, color=color, width=2.4) + line(
        x2, y - 5, x2, y + 5, color=color, width=2.4
    )


def colour(seen: Seen, arm: int) -> str:
    """Return green for the arm that is played, blue for those that stay, grey for the others."""
    return GREEN if arm == seen.winner else BLUE if seen.stays[arm] else GREY


def quality_row(
    seen: Seen, arm: int, y: float, ends: tuple[float, float], color: str, height: float = 18
) -> list[str]:
    """Return an arm's name, the density of its draw, its estimate with its reach, and its draw."""
    return [
        text(8, y + 5, ARMS[arm], color=color, bold=color == GREEN),
        bell(seen.means[arm], seen.spreads[arm], y, ends, color, height),
        reach(seen.means[arm], seen.reaches[arm], y, ends, color),
        dot(across(seen.means[arm], ends), y, color=color),
        diamond(across(seen.draws[arm], ends), y + 10),
    ]


def tied(seen: Seen) -> None:
    """Draw one decision: the draws and the band in quality, then the draws in cost."""
    assert seen.leader == 0
    assert seen.stays == (True, True, False)
    assert seen.winner == 1
    assert seen.means[1] < seen.edge, "the reach should be what lets it stay"
    ends = (0.74, 1.03)
    first, second = 68, 356
    bottom = first + 2 * ROW + 26
    edge, top = across(seen.edge, ends), across(seen.draws[0], ends)
    marks = [
        text(8, 22, "First: quality", bold=True, size=16),
        text(RIGHT, 22, "better", color=DARK_GREY, anchor="end", size=13),
        arrow(RIGHT - 78, 17.5, RIGHT - 46, 17.5, color=DARK_GREY),
        box(edge, 34, RIGHT - edge, bottom - 34, fill=SHADE),
        line(edge, 34, edge, bottom + 42, color=VERMILION, width=2),
        # It stops for the number of a tick.
        line(top, first, top, bottom + 4, color=VERMILION, width=1.3, dash="4 3"),
        line(top, bottom + 23, top, bottom + 42, color=VERMILION, width=1.3, dash="4 3"),
        arrow(top, bottom + 32, edge, bottom + 32, color=VERMILION),
        text(top + 6, bottom + 36, "highest draw", color=VERMILION, size=13),
        text(edge - 8, bottom + 36, "less the tolerance", color=VERMILION, size=13, anchor="end"),
        *axis(bottom, ends, [0.75, 0.8, 0.85, 0.9, 0.95, 1]),
    ]
    for arm in range(3):
        color = BLUE if seen.stays[arm] else GREY
        marks += quality_row(seen, arm, first + arm * ROW, ends, color)
    for arm, word in ((1, "reaches it: stays"), (2, "does not: out")):
        y = first + arm * ROW + 15  # below the end of the curve
        marks.append(text(RIGHT - 6, y, word, color=DARK_GREY, size=12.5, anchor="end"))
    key = bottom + 66
    marks += [
        dot(14, key - 4, color=INK),
        text(24, key, "estimate", size=12.5),
        line(88, key - 4, 116, key - 4, color=INK, width=2.4),
        line(116, key - 9, 116, key + 1, color=INK, width=2.4),
        text(124, key, "how far it may reach", size=12.5),
        diamond(266, key - 4),
        text(276, key, "draw, from the curve above", size=12.5),
        text(8, second - 56, "Then, among those that stay: cost", bold=True, size=16),
        text(RIGHT, second - 56, "cheaper", color=DARK_GREY, anchor="end", size=13),
        arrow(RIGHT - 92, second - 60.5, RIGHT - 60, second - 60.5, color=DARK_GREY),
    ]
    cents = (DEAREST, 0.0)
    for arm, y in ((0, second - 12), (1, second - 12 + ROW)):
        color = colour(seen, arm)
        marks += [
            text(8, y + 5, ARMS[arm], color=color, bold=color == GREEN),
            bell(seen.costs[arm], seen.cost_spreads[arm], y, cents, color, 18),
            dot(across(seen.costs[arm], cents), y, color=color),
            diamond(across(seen.cost_draws[arm], cents), y + 10),
        ]
    marks += [
        text(RIGHT - 6, second - 7 + ROW, "best: played", color=GREEN, bold=True, anchor="end"),
        *axis(second + 2 * ROW - 32, cents, [2, 1.5, 1, 0.5, 0], " ct"),
    ]
    title = "Two of three arms are as good in quality; the cheaper of the two is played."
    save("tied.svg", marks, width=WIDTH, height=second + 2 * ROW - 6, title=title)


def panel(
    y: float, heading: str, saying: list[str], seen: Seen, ends: tuple[float, float]
) -> list[str]:
    """Return the quality of one decision with its heading, probabilities and what follows."""
    top, bottom = y + 20, y + 20 + 3 * 30 + 4
    edge = max(across(seen.edge, ends), LEFT)
    marks = [
        text(8, y + 6, heading, bold=True, size=15),
        box(edge, top, RIGHT - edge, bottom - top, fill=SHADE),
        line(edge, top, edge, bottom, color=VERMILION, width=2),
        line(LEFT, bottom, RIGHT, bottom, color=PALE),
    ]
    for arm, share in enumerate(seen.probabilities):
        at, color = top + 20 + arm * 30, colour(seen, arm)
        marks += quality_row(seen, arm, at, ends, color, height=13)
        shown = f"{share:.2f}" if 0.005 <= share < 0.995 else "< 0.01" if share < 0.5 else "> 0.99"
        bold = color == GREEN
        marks.append(text(WIDTH + 64, at + 5, shown, color=color, anchor="end", bold=bold))
    for n, words in enumerate(saying):
        marks.append(text(8, bottom + 20 + n * 18, words, size=13.5))
    return marks


def early(moments: list[Seen]) -> None:
    """Draw three decisions of one run: after 6, 26 and 1,000."""
    stages = [
        (
            "After 6 decisions",
            [
                "Little is known: estimates are unsure, so draws vary and arms reach far. All",
                "three may be as good, and the cheapest is the most likely.",
            ],
            (True, True, True),
            2,
        ),
        (
            "After 26",
            [
                "llama-8b does not get to the band of most draws any more. Between the other",
                "two cost decides.",
            ],
            (True, True, False),
            1,
        ),
        (
            "After 1,000",
            [
                "What is played often is known well. gemini-pro and llama-8b had few tries, so",
                "they reach further above their estimates than before: neither is given up.",
            ],
            (True, True, False),
            1,
        ),
    ]
    marks = [text(WIDTH + 64, 22, "probability", size=12, color=DARK_GREY, anchor="end")]
    y = 16.0
    for seen, (heading, saying, stays, winner) in zip(moments, stages, strict=True):
        assert (seen.stays, seen.winner) == (stays, winner), (heading, seen)
        assert int(np.argmax(seen.probabilities)) == winner, (heading, seen)
        marks += panel(y, heading, saying, seen, (0.74, 1.03))
        y += 190
    before, after = moments[1:]
    for arm in (0, 2):
        assert after.reaches[arm] - after.means[arm] > before.reaches[arm] - before.means[arm]
    title = "Three decisions of one run: at first all may be as good, later two of three."
    save("early.svg", marks, width=WIDTH + 72, height=int(y - 12), title=title)


def tolerances() -> None:
    """Draw the same estimates under three tolerances."""
    stages = [
        (0.0, ["The band is narrow and shrinks with time: gemini-pro alone, the dearest."], 0),
        (0.02, ["mistral-large is close enough: it stays, and is cheaper."], 1),
        (0.15, ["All three are close enough: the cheapest, llama-8b, is played."], 2),
    ]
    marks = [text(WIDTH + 64, 22, "probability", size=12, color=DARK_GREY, anchor="end")]
    y = 16.0
    for tolerance, saying, winner in stages:
        simulation = Simulation(learner(tolerance))
        for arm in list(range(3)) * 200:
            simulation.reward(arm)
        seen = watch(simulation.policy)
        assert seen.winner == winner, (tolerance, seen)
        assert seen.probabilities[winner] > 0.8, (tolerance, seen)
        marks += panel(y, f"tolerance = {tolerance:g}", saying, seen, (0.74, 0.96))
        y += 170
    title = (
        "The same estimates: tolerance 0 plays the best, 0.02 the middle one, 0.15 the cheapest."
    )
    save("tolerance.svg", marks, width=WIDTH + 72, height=int(y - 10), title=title)


def main() -> None:
    """Draw the three pictures."""
    simulation = Simulation(learner(0.02))
    moments: dict[int, Seen] = {}
    served = 0
    for decisions in (6, 10, 26, 1000):
        simulation.serve(decisions - served)
        moments[decisions] = watch(simulation.policy)
        simulation.reward(moments[decisions].winner)
        served = decisions + 1
    tied(moments[10])
    early([moments[6], moments[26], moments[1000]])
    tolerances()


if __name__ == "__main__":
    main()
