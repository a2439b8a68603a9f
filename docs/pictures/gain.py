"""Draws gain.svg of the README, and fills in its numbers: python -m docs.pictures.gain

The default beside single models and weighted sums, on the generated stand-in of the example
`language_models`: 1,785 prompts, in fifty random orders, learning included. Takes about half a
minute of one core. The numbers are written between <!-- gain --> and <!-- end --> of the pages.
"""

import logging
import re
from pathlib import Path

import numpy as np
from docs.pictures.svg import BLUE, DARK_GREY, GREY, INK, PALE, SHADE, box, dot, line, save, text
from examples.language_models import ARMS, OBJECTIVES, generated, route, route_by_sum

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md")
ORDERS = 50
PRICES = (1, 10, 100)
OURS = "lexbandit"
NAMES = {
    "best": "always the best model",
    "middle": "always the middle model",
    "cheapest": "always the cheapest model",
}

WIDTH, TOP, STEP = 790, 66, 30
LEFT = (230.0, 530.0)  # of the panels: quality, cost
WIDE = 190.0
LOWEST, HIGHEST = 0.76, 0.94

Outcome = tuple[float, float]


def played() -> dict[str, Outcome]:
    """Return the quality and the cost of 1,000 prompts of every strategy, on average."""
    contexts, outcomes = generated()
    received: dict[str, list[np.ndarray]] = {}
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(contexts))
        prompts, answers = [contexts[n] for n in order], outcomes[order]
        asked = {OURS: route(prompts, answers, seed)}
        for price in PRICES:
            asked[f"weighted sum, price {price}"] = route_by_sum(prompts, answers, seed, price)
        for name, arm in zip(reversed(NAMES), range(len(ARMS)), strict=True):
            asked[NAMES[name]] = np.full(len(order), arm)
        for name, arms in asked.items():
            means = answers[np.arange(len(order)), arms].mean(axis=0)
            received.setdefault(name, []).append(means * [1, 1000])
    averages = {name: np.mean(values, axis=0) for name, values in received.items()}
    return {name: (float(quality), float(cost)) for name, (quality, cost) in averages.items()}


def sentence(found: dict[str, Outcome]) -> str:
    """Return what the picture shows, in words."""
    quality, cost = found[OURS]
    best, dear = found[NAMES["best"]]
    tolerance = OBJECTIVES[0].tolerance
    inside = "less" if best - quality <= tolerance else "more"
    rivals = [
        name
        for name, (other, price) in found.items()
        if name != OURS and other > quality - 0.002 and price < cost
    ]
    named = [
        re.sub(r"price (\d+)$", r"price \1 (a dollar counts as \1 of quality)", name)
        for name in rivals
    ]
    count = {1: "One other costs", 2: "Two others cost"}.get(len(rivals), "Others cost")
    hindsight = (
        f" {count} less for about the same quality, if you are told beforehand that it is good "
        f"enough: {' and '.join(named)}. lexbandit has to find out, and that is what it pays for."
        if rivals
        else ""
    )
    return (
        f"Against always asking the best model it saves {1 - cost / dear:.0%} of the cost and "
        f"gives up {best - quality:.3f} of quality, {inside} than the {tolerance:g} that was "
        f"declared as good enough; learning is included.{hindsight}"
    )


def across(panel: int, value: float, most: float) -> float:
    """Return where a value stands: quality from LOWEST to HIGHEST, cost from 0 to `most`."""
    share = (value - LOWEST) / (HIGHEST - LOWEST) if panel == 0 else value / most
    return LEFT[panel] + WIDE * share


def draw(found: dict[str, Outcome]) -> None:
    """Draw one row a strategy: quality as a dot, beside the tolerance, and cost as a bar."""
    best, most = found[NAMES["best"]]
    order = [NAMES["best"], OURS, NAMES["middle"], NAMES["cheapest"]]
    order += [name for name in found if name.startswith("weighted")]
    bottom = TOP + STEP * len(order)
    lowest = across(0, best - OBJECTIVES[0].tolerance, most)
    marks = [
        text(LEFT[0], 22, "Quality of the answers", bold=True, size=15),
        text(LEFT[1], 22, "Cost of 1,000 prompts", bold=True, size=15),
        box(lowest, TOP - 18, across(0, best, most) - lowest, bottom - TOP + 14, fill=SHADE),
        text(
            lowest - 4, TOP - 24, "as good: within 0.02", size=12, color=DARK_GREY, anchor="middle"
        ),
        line(LEFT[0], bottom, LEFT[0] + WIDE, bottom, color=GREY),
        line(LEFT[1], TOP - 18, LEFT[1], bottom, color=GREY),
    ]
    for tick in (0.8, 0.85, 0.9):
        x = across(0, tick, most)
        marks += [
            line(x, TOP - 18, x, bottom, color=PALE),
            text(x, bottom + 18, f"{tick:g}", size=12, color=DARK_GREY, anchor="middle"),
        ]
    for n, name in enumerate(order):
        y = TOP + STEP * n
        quality, cost = found[name]
        ours = name == OURS
        ink = BLUE if ours else INK
        at = across(0, quality, most)
        marks += [
            text(LEFT[0] - 14, y + 5, name, anchor="end", bold=ours, color=ink),
            dot(at, y, color=BLUE if ours else GREY, radius=7 if ours else 5.5),
            text(LEFT[0] + WIDE + 10, y + 5, f"{quality:.3f}", size=13, bold=ours, color=ink),
            box(
                LEFT[1],
                y - 8,
                max(across(1, cost, most) - LEFT[1], 1.5),
                16,
                fill=BLUE if ours else GREY,
            ),
            text(across(1, cost, most) + 7, y + 5, f"${cost:.2f}", size=13, bold=ours, color=ink),
        ]
    title = f"Quality and cost of seven ways to choose a model. {sentence(found)}"
    save("gain.svg", marks, width=WIDTH, height=int(bottom) + 30, title=title)


def main() -> None:
    """Draw the picture and fill in the pages."""
    logging.getLogger("lexbandit").setLevel(logging.ERROR)  # of rewards outside their range
    found = played()
    for name, (quality, cost) in found.items():
        print(f"{name:26} quality {quality:.4f}, cost of 1,000 prompts ${cost:.2f}")
    draw(found)
    filled = f"<!-- gain -->{sentence(found)}<!-- end -->"
    for page in PAGES:
        words = page.read_text("utf-8")
        page.write_text(re.sub(r"<!-- gain -->.*?<!-- end -->", filled, words, flags=re.S), "utf-8")


if __name__ == "__main__":
    main()
