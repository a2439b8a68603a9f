"""Write the tables of the evidence from results folders: python docs/tools/evidence.py DIR...

The regrets of every run of docs/beyond.md go into docs/assets/evidence.json, and its tables are
made from there: the test of the page's claims reads the same file. The readings of Experiment 2 go
into docs/reproduction.md, the two numbers of cells into docs/theory.md. Each table stands between
<!-- NAME --> and <!-- end -->, and everything else of a page is left. Policies of one study may be
in several folders, if they were played apart on the same streams.
"""

import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "beyond.md"
FIGURES = DOCS / "assets" / "evidence.json"

# Studies whose tables are on other pages, made from a summary.
ELSEWHERE = ("reading-", "cells-")

# The policy of a study that paired differences are taken from.
REFERENCES = {
    "beyond-1": "lex-linucb",
    "beyond-2-pairs": "lex-linucb",
    "bounds": "moc-mab",
    "objectives": "lex-linucb",
    "objectives-without": "lex-linucb",
    "periodic": "moc-mab",
    "tree": "moc-mab (anytime)",
    "tree-memory-1": "moc-mab (anytime)",
    "tree-memory-2": "moc-mab (anytime)",
    "tree-memory-3": "moc-mab (anytime)",
}
WITH_MEMORY = ("tree", "tree-memory-1", "tree-memory-2", "tree-memory-3")

# Where a fit has the slope between the last two horizons, and its error.
LAST = ("last", "last_error")

Regrets = list[list[float]]


def number(value: float) -> str:
    """Return a whole number with a proper minus."""
    return f"{round(value):,}".replace("-", "−")


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    known = list(values)
    mean = math.fsum(known) / len(known)
    spread = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    return mean, math.sqrt(spread / len(known))


def with_error(values: Iterable[float]) -> str:
    """Return the mean with its standard error, in words."""
    mean, error = mean_and_error(values)
    return f"{number(mean)} ± {number(error)}"


def difference(ours: Regrets, theirs: Regrets, i: int, factor: float = 1.0) -> list[float]:
    """Return run by run our regret in objective i less `factor` times theirs: the same streams."""
    return [a[i] - factor * b[i] for a, b in zip(ours, theirs, strict=True)]


def of_study(study: dict[str, Any], *, reference: str = "", memory: bool = False) -> str:
    """A row a policy, the least dominant regret first: regret in each objective.

    With a reference, also the paired differences from it.
    """
    names, regret = study["objectives"], study["regret"]
    head = ["policy", *(f"regret, {name}" for name in names)]
    head += [f"less that of `{reference}`, {name}" for name in names] if reference else []
    head += ["state"] if memory else []
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for label in sorted(regret, key=lambda label: math.fsum(run[0] for run in regret[label])):
        cells = [f"`{label}`"]
        cells += [with_error(run[i] for run in regret[label]) for i in range(len(names))]
        if reference:
            cells += [
                "–"
                if label == reference
                else with_error(difference(regret[label], regret[reference], i))
                for i in range(len(names))
            ]
        if memory:
            cells.append(f"{study['state_bytes'][label] / 1024:,.1f} KiB")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def of_growth(series: dict[str, Any]) -> str:
    """A row a policy and objective: regret for 1,000 rounds, fitted and proved exponents.

    With two horizons the fit is the slope between them, and stands there once.
    """
    horizons = next(iter(series["lines"].values()))["horizons"]
    slopes = {"exponent": ("exponent", "standard_error"), "between the last two": LAST}
    if len(horizons) == 2:
        slopes = {"exponent": LAST}
    head = ["policy", "objective", *(f"T = {T:,}" for T in horizons), *slopes, "proved"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for label, line in series["lines"].items():
        for i, objective in enumerate(series["objectives"]):
            fit = line["exponents"][i] or {}
            cells = [f"`{label}`", objective]
            for T, regret in zip(line["horizons"], line["regret"], strict=True):
                cells.append(f"{1000 * regret[i] / T:.3g}".replace("-", "−"))
            for value, error in slopes.values():
                cells.append(power(fit.get(value), fit.get(error)))
            lines.append(f"| {' | '.join(cells)} | {line['theory'][i] or '–'} |")
    return "\n".join(lines)


def power(value: float | None, error: float | None) -> str:
    """An exponent with its error; a dash where regret is not positive."""
    if value is None:
        return "–"
    text = f"{value:.2f}".replace("-", "−")
    return text if error is None else f"{text} ± {error:.2f}"


def figures_in(directory: Path) -> dict[str, Any]:
    """Return what the studies of a results folder found, run by run, at their horizons."""
    import polars as pl  # noqa: PLC0415  the tests of this file do without

    from lexbandit.bench.results import load_runs, studies_in  # noqa: PLC0415

    runs = load_runs(directory)
    found: dict[str, Any] = {}
    for study in studies_in(directory):
        if study["name"].startswith(ELSEWHERE):
            continue
        rows = runs.filter((pl.col("study") == study["name"]) & (pl.col("t") == study["horizon"]))
        if rows.is_empty():
            continue
        regret: dict[str, Regrets] = {}
        state: dict[str, float] = {}
        for (label,), group in rows.sort("run").group_by(["label"], maintain_order=True):
            name = str(label).replace("@", " at ")
            regret[name] = [[round(x, 1) for x in run] for run in group["regret"].to_list()]
            state[name] = round(float(group["state_bytes"].mean() or 0.0), 1)  # type: ignore[arg-type]
        found[study["name"]] = {
            "horizon": study["horizon"],
            "runs": rows["run"].n_unique(),
            "objectives": study["objectives"],
            "regret": regret,
            "state_bytes": state,
            "series": (study.get("series") or {}).get("name", ""),
        }
    return found


def merged(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures with those of a folder added: other policies of a study stay."""
    for name, study in found.items():
        before = known.get(name)
        if before and before["runs"] == study["runs"]:
            for part in ("regret", "state_bytes"):
                study[part] = before[part] | study[part]
        known[name] = study
    return known


def tables(figures: dict[str, Any], series: dict[str, Any]) -> dict[str, str]:
    """Every table by its name, from the figures of runs and the series of a summary.

    Studies of a series have one table together.
    """
    made = {
        name: of_study(study, reference=REFERENCES.get(name, ""), memory=name in WITH_MEMORY)
        for name, study in figures.items()
        if not study.get("series")
    }
    for name, lines in series.items():
        if lines.get("kind") == "growth":
            made[name] = of_growth(lines)
    return made


def of_cells(summary: dict[str, Any]) -> str:
    """A row a horizon and number of cells: the regrets with their standard errors."""
    from lexbandit.smoothness import cells_per_side_for  # noqa: PLC0415  as above

    head = ["T", "m", "first regret", "second regret", "Pareto regret"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in summary["series"]["cells"]["studies"]:
        study = summary["studies"][name]
        T = study["horizon"]
        for words, label, smoothings in (
            ("Theorem 2", "moc-mab (m of Theorem 2)", 3),
            ("finer", "moc-mab (finer m)", 2),
        ):
            m = cells_per_side_for(horizon=T, alpha=1.0, dimension=1, smoothings=smoothings)
            point = study["policies"][label]["-"]
            found = [*point["regret"], point["pareto_regret"]]
            errors = point["standard_error"]
            errors = [*errors["regret"], errors["pareto_regret"]]
            cells = [
                f"{number(value)} ± {error:{'.1f' if error < 1 else '.0f'}}"
                for value, error in zip(found, errors, strict=True)
            ]
            lines.append(f"| {T:,} | {words}: {m} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fill(page: Path, made: dict[str, str]) -> None:
    """Put tables into their places on a page."""
    text = page.read_text("utf-8")
    for name, table in made.items():
        pattern = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        if not pattern.search(text):
            sys.exit(f"{page} has no place for {name}: <!-- {name} --> ... <!-- end -->")
        filled = f"<!-- {name} -->\n{table}\n<!-- end -->"
        text = pattern.sub(lambda _, filled=filled: filled, text)  # type: ignore[misc]
    page.write_text(text, "utf-8")


def fill_other_pages(directory: Path, summary: dict[str, Any]) -> None:
    """Fill the table of readings, and that of the two numbers of cells with its picture."""
    sys.path.insert(0, str(DOCS.parent))
    from benchmarks import readings  # noqa: PLC0415  as above

    if any(name.startswith("reading-2-") for name in summary.get("studies", {})):
        table = readings.table(summary, ["objective 1", "free"])
        fill(DOCS / "reproduction.md", {"readings": table})
    if "cells" in summary.get("series", {}):
        fill(DOCS / "theory.md", {"cells": of_cells(summary)})
        drawn = directory / "figures" / "series-cells.svg"
        if drawn.exists():
            shutil.copy(drawn, DOCS / "pictures" / "cells.svg")


def main(directories: list[str]) -> None:
    """Fill the pages from results folders; later ones add to earlier ones."""
    figures: dict[str, Any] = {}
    if FIGURES.exists():
        figures = json.loads(FIGURES.read_text("utf-8"))
    series: dict[str, Any] = {}
    fresh: dict[str, Any] = {}
    for directory in map(Path, directories):
        fresh = merged(fresh, figures_in(directory))
        if (directory / "summary.json").exists():
            summary = json.loads((directory / "summary.json").read_text("utf-8"))
            series |= summary.get("series", {})
            fill_other_pages(directory, summary)
    figures |= fresh
    series.pop("cells", None)
    fill(PAGE, tables(figures, series))
    lines = [f"{json.dumps(name)}: {json.dumps(figures[name])}" for name in sorted(figures)]
    FIGURES.write_text("{" + ",\n".join(lines) + "}\n", "utf-8")
    drawing = DOCS / "pictures" / "evidence.py"
    subprocess.run([sys.executable, str(drawing)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
