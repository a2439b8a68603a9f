"""Write the tables of docs/beyond.md from a results folder: python docs/tools/evidence.py DIR.

Each table stands between <!-- NAME --> and <!-- end -->, and everything else of the page is left.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "beyond.md"


def number(value: float) -> str:
    """Return a whole number with a proper minus."""
    return f"{value:,.0f}".replace("-", "−")


def with_error(point: dict[str, Any], i: int) -> str:
    """Return the regret in objective i with its standard error."""
    text = number(point["regret"][i])
    error = point["standard_error"]["regret"]
    return text if error is None else f"{text} ± {number(error[i])}"


def points(study: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every policy at the scale of its least dominant regret, the least first."""
    chosen = []
    for name, every in study["policies"].items():
        best = study["best_scale"][name]["by_regret"]
        label = name if best == "-" else f"{name} at {best}"
        chosen.append((label, every[best]))
    return sorted(chosen, key=lambda pair: float(pair[1]["regret"][0]))


def of_study(study: dict[str, Any], *, memory: bool = False) -> str:
    """A row a policy: regret in each objective."""
    names = study["objectives"]
    head = ["policy", *(f"regret, {name}" for name in names), *(["state"] if memory else [])]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for label, point in points(study):
        cells = [f"`{label}`", *(with_error(point, i) for i in range(len(names)))]
        if memory:
            cells.append(f"{point['state_bytes'] / 1024:,.1f} KiB")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def of_growth(series: dict[str, Any]) -> str:
    """A row a policy and objective: regret for 1,000 rounds, fitted and proved exponents."""
    horizons = next(iter(series["lines"].values()))["horizons"]
    head = [f"T = {T:,}" for T in horizons]
    head = ["policy", "objective", *head, "exponent", "between the last two", "proved"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for label, line in series["lines"].items():
        for i, objective in enumerate(series["objectives"]):
            fit = line["exponents"][i] or {}
            cells = [f"`{label}`", objective]
            for T, regret in zip(line["horizons"], line["regret"], strict=True):
                cells.append(f"{1000 * regret[i] / T:.3g}".replace("-", "−"))
            for value, error in (("exponent", "standard_error"), ("last", "last_error")):
                cells.append(power(fit.get(value), fit.get(error)))
            lines.append(f"| {' | '.join(cells)} | {line['theory'][i] or '–'} |")
    return "\n".join(lines)


def power(value: float | None, error: float | None) -> str:
    """An exponent with its error; a dash where regret is not positive."""
    if value is None:
        return "–"
    text = f"{value:.2f}".replace("-", "−")
    return text if error is None else f"{text} ± {error:.2f}"


def tables(summary: dict[str, Any]) -> dict[str, str]:
    """Every table by its name; only those whose studies were run."""
    studies = summary["studies"]
    made = {}
    for name in ("beyond-1", "beyond-2", "objectives", "objectives-without", "periodic", "bounds"):
        if name in studies:
            made[name] = of_study(studies[name])
    for name in ("tree", "tree-memory-1", "tree-memory-2", "tree-memory-3"):
        if name in studies:
            made[name] = of_study(studies[name], memory=True)
    for name, series in summary.get("series", {}).items():
        if series.get("kind") == "growth":
            made[name] = of_growth(series)
    return made


def main(directory: str) -> None:
    """Fill the page from DIR/summary.json."""
    summary = json.loads((Path(directory) / "summary.json").read_text())
    page = PAGE.read_text()
    for name, table in tables(summary).items():
        pattern = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"{PAGE} has no place for {name}: <!-- {name} --> ... <!-- end -->")
        text = f"<!-- {name} -->\n{table}\n<!-- end -->"
        page = pattern.sub(lambda _, text=text: text, page)  # type: ignore[misc]
    PAGE.write_text(page)
    drawing = PAGE.parent / "pictures" / "evidence.py"
    subprocess.run([sys.executable, str(drawing)], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
