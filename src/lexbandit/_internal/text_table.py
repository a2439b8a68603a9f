"""Tables of plain text."""

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Return rows of cells as lines: the first `left` columns begin at the left, others end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if j < left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
