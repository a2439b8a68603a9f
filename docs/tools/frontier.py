"""Write the tables and the picture of docs/choosing-a-policy.md from a results folder.

lexbandit run 'tolerance-*' --out DIR
python docs/tools/frontier.py DIR

Each table stands between <!-- NAME --> and <!-- end -->, and everything else of the page is left.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "choosing-a-policy.md"
DEFAULT = "lex-thompson"

Told = dict[str, Any]


def both(point: Told | None, *, errors: bool = False) -> str:
    """Return loss and missed as ratios, with their 95 % intervals if asked for."""
    if point is None:
        return ""
    told = []
    for found in (point["loss"], point["missed"]):
        text = "–" if found is None else f"{found['ratio']:.2f}"
        if errors and found is not None:
            text += f" ({found['low']:.2f}–{found['high']:.2f})"
        told.append(text)
    return " / ".join(told)


def named(label: str) -> str:
    """Return a policy and its setting: `lex-thompson` caution=2."""
    policy, _, setting = label.partition("@")
    return f"`{policy.partition(' (')[0]}` {setting}" if setting else f"`{policy}`"


def lines(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def overall(short: Told, long: Told) -> str:
    """A row a policy: the geometric means over all kinds, at every horizon."""
    later = long["horizons"][-1]
    rows = []
    for label in short["policies"]:
        # The long studies play sum-thompson at its own price, which is 1.
        same = "sum-thompson" if label.endswith("@price=1") else label
        at = [both(at["overall"][label]) for at in short["horizons"]]
        rows.append([named(label), *at, both(later["overall"].get(same))])
    horizons = [*(at["horizon"] for at in short["horizons"]), later["horizon"]]
    return lines(["loss / missed", *(f"T = {T:,}" for T in horizons)], rows)


def by_kind(short: Told, long: Told) -> str:
    """A row a kind: the default at three horizons, with 95 % intervals."""
    shown = [at for at in short["horizons"] if at["horizon"] in (1_000, 10_000)]
    shown.append(long["horizons"][-1])
    rows = [
        [kind, *(both(at["situations"][kind][DEFAULT], errors=True) for at in shown)]
        for kind in short["labels"]
    ]
    return lines(["kind: loss / missed", *(f"T = {at['horizon']:,}" for at in shown)], rows)


def clicks(long: Told) -> str:
    """Rare clicks after 20,000 rounds: the default and its rivals."""
    at = next(at for at in long["horizons"] if at["horizon"] == 20_000)["situations"]["clicks"]
    rows = [[named(label), both(at[label], errors=True)] for label in long["policies"]]
    return lines(["rare clicks, T = 20,000", "loss / missed"], rows)


def main(folder: Path) -> None:
    """Fill the page from a results folder."""
    series = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["series"]
    short, long = series["tolerance"], series["tolerance-long"]
    made = {
        "overall": overall(short, long),
        "kinds": by_kind(short, long),
        "clicks": clicks(long),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, text in made.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, found = block.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
        if found != 1:
            sys.exit(f"{PAGE.name} has {found} tables named {name}, there should be one.")
    PAGE.write_text(page, encoding="utf-8")
    shutil.copy(folder / "figures" / "series-tolerance.svg", DOCS / "pictures" / "frontier.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
