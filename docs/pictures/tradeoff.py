"""Draws tradeoff.svg of choosing-tolerance.md: what a tolerance gives up, and what it saves.

Exact, if everything were known: in each of three tasks the cheapest model within the tolerance of
the best is taken. Run it: python docs/pictures/tradeoff.py
"""

from svg import BLUE, DARK_GREY, GREEN, GREY, PALE, line, polyline, save, text

# The means of choosing-tolerance.md: llama-8b, mistral-large, gemini-pro.
QUALITY = {
    "code": (0.60, 0.88, 0.91),
    "maths": (0.40, 0.70, 0.92),
    "chat": (0.88, 0.90, 0.91),
}
PRICE = (0.0002, 0.002, 0.005)

WIDTH, HEIGHT = 500, 330
LEFT, RIGHT = 64.0, 420.0
MOST = 0.35
STEPS = 700


def outcome(tolerance: float) -> tuple[float, float]:
    """Return the quality given up and the share of the cost saved, on average over the tasks."""
    lost, spent = 0.0, 0.0
    for qualities in QUALITY.values():
        best = max(qualities)
        fine = [k for k in range(len(PRICE)) if qualities[k] >= best - tolerance - 1e-9]
        taken = min(fine, key=lambda k: PRICE[k])
        lost += (best - qualities[taken]) / len(QUALITY)
        spent += PRICE[taken] / len(QUALITY)
    return lost, 1.0 - spent / PRICE[-1]


def across(tolerance: float) -> float:
    """Return where a tolerance stands."""
    return LEFT + tolerance / MOST * (RIGHT - LEFT)


def panel(top: float, height: float, most: float, values: list[float], color: str) -> list[str]:
    """Return a curve over tolerances and its frame."""
    points = [
        (across(MOST * n / STEPS), top + height * (1 - value / most))
        for n, value in enumerate(values)
    ]
    corners = [
        one
        for n, one in enumerate(points)
        if n in (0, STEPS) or points[n - 1][1] != one[1] or points[n + 1][1] != one[1]
    ]
    return [
        line(LEFT, top + height, RIGHT, top + height, color=GREY),
        polyline(corners, color=color, width=2.6),
    ]


def main() -> None:
    """Draw both curves, one above the other."""
    curves = [outcome(MOST * n / STEPS) for n in range(STEPS + 1)]
    lost, saved = [one for one, _ in curves], [two for _, two in curves]
    assert all(value <= MOST * n / STEPS + 1e-9 for n, value in enumerate(lost))
    marks = [text(8, 20, "Cost saved", color=GREEN, bold=True, size=15)]
    for share in (0.0, 0.5, 1.0):
        y = 38 + 100 * (1 - share)
        marks += [
            line(LEFT, y, RIGHT, y, color=PALE),
            text(LEFT - 8, y + 4, f"{share:.0%}", size=12, color=DARK_GREY, anchor="end"),
        ]
    marks += panel(38, 100, 1.0, saved, GREEN)
    marks.append(text(8, 172, "Quality given up, on average", color=BLUE, bold=True, size=15))
    for value in (0.0, 0.1, 0.2):
        y = 190 + 80 * (1 - value / 0.2)
        marks += [
            line(LEFT, y, RIGHT, y, color=PALE),
            text(LEFT - 8, y + 4, f"{value:g}", size=12, color=DARK_GREY, anchor="end"),
        ]
    marks += panel(190, 80, 0.2, lost, BLUE)
    for tick in (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35):
        x = across(tick)
        marks += [
            line(x, 270, x, 275, color=GREY),
            text(x, 290, f"{tick:g}", size=12, color=DARK_GREY, anchor="middle"),
        ]
    marks.append(text((LEFT + RIGHT) / 2, 314, "tolerance of quality", size=13, anchor="middle"))
    marks += [
        text(RIGHT + 6, 38 + 100 * (1 - saved[-1]) + 5, f"{saved[-1]:.0%}", size=13, color=GREEN),
        text(
            RIGHT + 6, 190 + 80 * (1 - lost[-1] / 0.2) + 5, f"{lost[-1]:.2f}", size=13, color=BLUE
        ),
    ]
    title = "Cost saved and quality given up, by tolerance: both rise in steps."
    save("tradeoff.svg", marks, width=WIDTH, height=HEIGHT, title=title)


if __name__ == "__main__":
    main()
