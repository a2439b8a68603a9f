"""Draws waiting.svg of delayed-rewards.md. Run it: python docs/pictures/waiting.py."""

from svg import BLUE, DARK_GREY, GREEN, GREY, SHADE, VERMILION, box, dot, line, save, text

WIDTH, HEIGHT = 500, 232
START, END = 96.0, 418.0
CLICK, SPEND, RATING = 84.0, 124.0, 164.0


def main() -> None:
    """Draw a decision that waits for three rewards."""
    marks = [
        box(START, 50, END - START, 138, fill=SHADE),
        text(START, 22, "choose", color=GREEN, bold=True, anchor="middle"),
        text(END, 22, "the time is over", color=VERMILION, bold=True, anchor="middle"),
        text((START + END) / 2, 40, "wait", color=DARK_GREY, anchor="middle"),
        line(START, 30, START, 188, color=GREEN, width=2),
        line(END, 30, END, 188, color=VERMILION, width=2),
    ]
    for name, y, end in (("click", CLICK, 132), ("spend", SPEND, 262), ("rating", RATING, END)):
        marks += [
            text(8, y + 5, name, bold=True),
            line(START, y, end, y, color=GREY, dash="2 4"),
        ]
    marks += [
        dot(132, CLICK, color=BLUE, radius=6),
        text(144, CLICK + 5, "comes after a second", size=13),
        dot(262, SPEND, color=BLUE, radius=6),
        text(274, SPEND + 5, "comes after minutes", size=13),
        text(180, RATING - 7, "silence", size=13, color=DARK_GREY),
        dot(END, RATING, color=VERMILION, radius=6),
        text(END + 11, RATING + 5, "default", size=13, color=VERMILION),
        text(8, 216, "One decision, one play. Each reward is learned when it comes.", size=13.5),
    ]
    title = "A decision waits for three rewards: one comes soon, one late, one takes its default."
    save("waiting.svg", marks, width=WIDTH, height=HEIGHT, title=title)


if __name__ == "__main__":
    main()
