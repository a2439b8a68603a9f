"""Print results to standard output and everything else to standard error.

The options that several commands share are here too.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft
from rich.table import Table
from rich.text import Text

from lexbandit.bench.results import as_json
from lexbandit.bench.summary import AGREEMENTS
from lexbandit.cli.notices import compile_notices

Command = Callable[..., Any]

quiet = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
json_output = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON to standard output, and nothing else there."
)


def joined(
    options: Sequence[Callable[[Command], Command]],
    kind: Callable[..., Any],
    name: str,
    function: Command,
) -> Command:
    """Add options to a command, which is given them as one argument: a named tuple of a kind."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        values = {field: given.pop(field) for field in kind._fields}  # type: ignore[attr-defined]
        return function(**{name: kind(**values)}, **given)

    wrapped: Command = command
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


class Printer:
    """Prints messages unless `quiet`; with `as_json`, standard output is for JSON only."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet or as_json
        self.output = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def message(self, text: str, through: Console | None = None) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            (through or self.errors).print(text, markup=False, soft_wrap=True)

    def error(self, text: str) -> None:
        """Print an error, even if quiet."""
        self.errors.print(f"error: {text}", markup=False, soft_wrap=True)

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table with numbers aligned right."""
        if self.quiet:
            return
        table = Table(title=Text(title), title_justify="left", title_style="bold", box=None)
        for column in head:
            numeric = column.endswith((".", "%")) or column in ("paper", "ours")
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        self.output.print(table)
        self.output.print()


def print_json(content: Any) -> None:
    """Print JSON as it is written to files."""
    click.echo(as_json(content).decode(), nl=False)


def amount(number: float) -> str:
    """Return a large number in few characters: 6.4 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return f"{number:.0f}"


class Rate(ProgressColumn):
    """A column with the speed per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Show the recent speed."""
        speed = task.finished_speed or task.speed
        return Text(f"{amount(speed)} {self._unit}/s" if speed else "", style="cyan")


@contextmanager
def progress_bar(printer: Printer, unit: str = "policy-rounds") -> Iterator[Progress]:
    """Show progress on standard error if that is a terminal, unless quiet.

    That kernels are compiled is printed there too: nothing else happens for a while then.
    """
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%")]
    shown = printer.errors.is_terminal and not printer.quiet
    notices = nullcontext() if printer.quiet else compile_notices(err=True)
    with (
        Progress(
            *columns, Rate(unit), TimeLeft(compact=True), console=printer.errors, disable=not shown
        ) as bar,
        notices,
    ):
        yield bar


def stages(bar: Progress) -> Callable[[str, int, int], None]:
    """Return a function that shows the progress of named stages, such as reading files."""
    tasks: dict[str, Any] = {}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total)
        bar.update(tasks[stage], completed=done, total=total)

    return show


def show_claims(summary: dict[str, Any], printer: Printer) -> None:
    """Print the paper's claims beside ours."""
    claims = summary["claims"]
    if not claims:
        return
    rows = [
        (
            claim["experiment"],
            claim["claim"] + (f" [{claim['data']} data]" if claim["data"] else ""),
            _percentage(claim["paper"], claim["unit"]),
            _percentage(claim["ours"], claim["unit"]),
            f"holds {AGREEMENTS[claim['agreement']]}" if claim["holds"] else "FAILS",
        )
        for claim in claims
    ]
    held = sum(claim["holds"] for claim in claims)
    title = f"Claims of the paper: {held} of {len(claims)} hold"
    printer.table(title, ("exp.", "claim", "paper", "ours", "verdict"), rows)


def show_policies(results: dict[str, Any], printer: Printer) -> None:
    """Print what every policy reached at the point of the grid where it did best."""
    objectives = results["objectives"]
    known = all(best["by_regret"] is not None for best in results["best_scale"].values())
    by = "by_regret" if known else "by_reward"
    head = ["policy", "at"]
    if known:
        head += [f"regret: {name}, %" for name in objectives]
    head += [f"reward: {name}, %" for name in objectives]
    rows = []
    for policy, points in results["policies"].items():
        at = results["best_scale"][policy][by]
        point = points[at]
        shown = (point["regret"] if known else []) + point["reward"]
        rows.append([policy, at, *(f"{100 * value / point['horizon']:.3f}" for value in shown)])
    what = "dominant regret" if known else "dominant reward"
    title = f"{results['title']}: per 100 rounds, each policy where its {what} is best"
    printer.table(title, head, rows)


def show_tolerance(results: dict[str, Any], printer: Printer) -> None:
    """Print what every policy lost beyond tolerance and missed, at every point of the grid."""
    *first, last = results["objectives"]
    rows = [
        [
            policy if at == "-" else f"{policy} · {at}",
            *(f"{100 * value / point['horizon']:.3f}" for value in point["tolerance_regret"]),
        ]
        for policy, points in results["policies"].items()
        for at, point in points.items()
        if "tolerance_regret" in point
    ]
    if rows:
        head = ["policy", *(f"lost beyond tolerance: {name}, %" for name in first)]
        title = f"{results['title']}: tolerance regret per 100 rounds"
        printer.table(title, [*head, f"missed: {last}, %"], rows)


def show_against(results: dict[str, Any], printer: Printer) -> None:
    """Print which policies are below the algorithms of the paper in every objective."""
    rows = [
        [
            row["policy"],
            *(f"{value:,.0f}" for value in row["regret"]),
            *(_percentage(value, "%") for value in row["reward"]),
            "all" if row["beats_all"] else ", ".join(row["beats"]) or "none",
        ]
        for row in results.get("against_paper", [])
    ]
    if rows:
        names = results["objectives"]
        head = ["policy", *(f"regret: {name}." for name in names)]
        head += [f"reward above CD-UCB1: {name}, %" for name in names]
        title = (
            f"{results['title']}: which algorithms of the paper have more regret in each objective"
        )
        printer.table(title, [*head, "below"], rows)


def show_series(summary: dict[str, Any], printer: Printer) -> None:
    """Print exponents of growth series, lowest policies of situations, ratios of frontiers."""
    for name, series in summary.get("series", {}).items():
        if series["kind"] == "growth":
            rows = [
                (label, objective, _exponent(line["exponents"][i]), line["theory"][i] or "-")
                for label, line in series["lines"].items()
                for i, objective in enumerate(series["objectives"])
            ]
            printer.table(f"{name}: exponents", ("policy", "objective", "fitted", "theory"), rows)
        elif series["kind"] == "frontier":
            _show_frontier(name, series, printer)
        else:
            found = [
                (place["label"], ", ".join(place["lowest"]), ", ".join(place["unbeaten"]))
                for place in series["situations"]
            ]
            head = ("situation", "lowest, by objective", "not beaten in every objective")
            printer.table(f"{name}: which policy when", head, found)


def _show_frontier(name: str, series: dict[str, Any], printer: Printer) -> None:
    """Print each policy's two ratios, overall, at every checkpoint."""
    rows = [
        [
            label.partition(" (")[0] + " " + label.partition("@")[2] if "@" in label else label,
            *(
                " / ".join("-" if found is None else f"{found['ratio']:.2f}" for found in both)
                for both in (at["overall"][label].values() for at in series["horizons"])
            ),
        ]
        for label in series["policies"]
    ]
    head = ["policy: loss / missed", *(f"T = {at['horizon']:,}" for at in series["horizons"])]
    title = f"{name}: ratios to {series['baseline']}, geometric mean over {len(series['labels'])}"
    printer.table(title, head, rows)


def _exponent(fit: dict[str, Any] | None) -> str:
    if fit is None or fit["exponent"] is None:
        return "-"
    error = "" if fit["standard_error"] is None else f" ± {fit['standard_error']:.3f}"
    return f"{fit['exponent']:.3f}{error}"


def _percentage(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f} %" if unit == "%" else f"{value:g}"
