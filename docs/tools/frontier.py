"""Write the tables and the picture of docs/choosing-a-policy.md from a results folder.

lexbandit run 'tolerance-*' --out DIR
python docs/tools/frontier.py DIR

Each table stands between <!-- NAME --> and <!-- end -->, and everything else of the page is left,
as are the tables of a series that the folder does not have.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from evidence import fill

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "choosing-a-policy.md"
DEFAULT = "lex-thompson"

Numbers = dict[str, Any]


def both(point: Numbers | None, *, errors: bool = False) -> str:
    """Return loss and missed as ratios, with their 95 % intervals if asked for."""
    if point is None:
        return ""
    ratios = []
    for found in (point["loss"], point["missed"]):
        text = "–" if found is None else f"{found['ratio']:.2f}"
        if errors and found is not None:
            text += f" ({found['low']:.2f}–{found['high']:.2f})"
        ratios.append(text)
    return " / ".join(ratios)


def named(label: str) -> str:
    """Return a policy and its setting: `lex-thompson` caution=2."""
    policy, _, setting = label.partition("@")
    return f"`{policy.partition(' (')[0]}` {setting}" if setting else f"`{policy}`"


def lines(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def overall(series: Numbers) -> str:
    """A row a policy: the geometric means over all kinds, at every horizon."""
    rows = [
        [named(label), *(both(at["overall"][label]) for at in series["horizons"])]
        for label in series["policies"]
    ]
    return lines(["loss / missed", *(f"T = {at['horizon']:,}" for at in series["horizons"])], rows)


def by_kind(series: Numbers, horizons: tuple[int, ...]) -> str:
    """A row a kind: the default with 95 % intervals, and its geometric means."""
    shown = [at for at in series["horizons"] if at["horizon"] in horizons]
    rows = [
        [kind, *(both(at["situations"][kind][DEFAULT], errors=True) for at in shown)]
        for kind in series["labels"]
    ]
    rows.append(["*all kinds*", *(both(at["overall"][DEFAULT], errors=True) for at in shown)])
    return lines(["kind: loss / missed", *(f"T = {at['horizon']:,}" for at in shown)], rows)


def clicks(long: Numbers) -> str:
    """Rare clicks after 20,000 rounds: the default and its rivals."""
    at = next(at for at in long["horizons"] if at["horizon"] == 20_000)["situations"]["clicks"]
    rows = [[named(label), both(at[label], errors=True)] for label in long["policies"]]
    return lines(["rare clicks, T = 20,000", "loss / missed"], rows)


def main(folder: Path) -> None:
    """Fill the tables whose series a results folder has."""
    series = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["series"]
    made = {}
    if "tolerance" in series:
        short = series["tolerance"]
        made |= {"overall": overall(short), "kinds": by_kind(short, (1_000, 10_000))}
        shutil.copy(folder / "figures" / "series-tolerance.svg", DOCS / "pictures" / "frontier.svg")
    if "tolerance-long" in series:
        long = series["tolerance-long"]
        made |= {"long": by_kind(long, (100_000,)), "clicks": clicks(long)}
    fill(PAGE, made)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
