"""Draws rooms.svg of architecture.md. Run it: python docs/pictures/rooms.py."""

from svg import BLUE, DARK_GREY, PALE, SHADE, box, save, text

WIDTH, HEIGHT, GAP = 760, 46, 8

# From the commands to the nouns: rows of rooms, each with what it holds and its share of the row.
ROWS = [
    [("cli", "commands", 1.0)],
    [("report", "pages, figures", 1.0), ("bench", "studies, runs, results", 1.3)],
    [("service", "http · dashboard · engine · maintenance · config · storage", 1.0)],
    [("logs", "evaluate, learn", 1.0)],
    [
        ("chooser", "users' words", 1.4),
        ("client", "HTTP", 1.0),
        ("gym, sklearn", "neighbours", 1.0),
    ],
    [
        ("policies", "cells · linear · balls · wrappers · related", 2.6),
        ("environments", "rounds", 1.2),
        ("metrics", "regret", 0.9),
        ("theory", "theorems", 0.9),
    ],
    [("bounds", "widths", 1.0), ("partitions", "cells", 1.0), ("features", "maps", 1.0)],
    [("kernels", "compiled functions: arrays in, arrays out", 1.0)],
    [("objectives, contexts, rounds, decisions, smoothness, registry", "the nouns", 1.0)],
    [("checks, errors, _internal", "what everything stands on", 1.0)],
]
ENTRANCES = {"chooser", "bench", "service", "logs"}


def main() -> None:
    """Draw the rooms as layers; those by which people enter are blue."""
    marks = []
    y = float(GAP)
    for row in ROWS:
        share = (WIDTH - GAP * (len(row) + 1)) / sum(part for _, _, part in row)
        x = float(GAP)
        for name, what, part in row:
            width = part * share
            entrance = name in ENTRANCES
            marks += [
                box(x, y, width, HEIGHT, fill=BLUE if entrance else PALE, round=6),
                box(
                    x + 1.5,
                    y + 1.5,
                    width - 3,
                    HEIGHT - 3,
                    fill=SHADE if entrance else "#F7F7F7",
                    round=5,
                ),
                text(x + width / 2, y + 19, name, anchor="middle", bold=True),
                text(x + width / 2, y + 36, what, anchor="middle", size=12, color=DARK_GREY),
            ]
            x += width + GAP
        y += HEIGHT + GAP
    title = "The rooms of the package: commands above, nouns below, imports point down."
    save("rooms.svg", marks, width=WIDTH, height=int(y), title=title)


if __name__ == "__main__":
    main()
