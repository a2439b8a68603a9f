"""`lexbandit compare DIR DIR`: two results folders side by side."""

from pathlib import Path
from typing import Any

import click

from lexbandit.bench.comparison import compare
from lexbandit.bench.summary import NOTABLE
from lexbandit.cli.output import Printer, json_output, print_json

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command("compare")
@click.argument("first", metavar="DIR", type=_FOLDER)
@click.argument("second", metavar="DIR", type=_FOLDER)
@click.option("--all", "everything", is_flag=True, help="Show equal rows as well.")
@json_output
def command(first: Path, second: Path, everything: bool, as_json: bool) -> None:
    """Compare what each policy reached in two results folders, in standard errors."""
    rows = compare(first, second)
    if as_json:
        print_json(rows)
        return
    shown = [row for row in rows if everything or not row["same"]]
    printer = Printer()
    if shown:
        head = ("study", "policy", "measure", "first.", "second.", "difference.", "errors.")
        printer.table(f"{first} → {second}", head, [_cells(row) for row in shown])
    notable = sum(row["errors"] is not None and abs(row["errors"]) > NOTABLE for row in rows)
    same = sum(row["same"] for row in rows)
    printer.output.print(
        f"{len(rows)} numbers: {same} the same, {notable} differ by more than {NOTABLE} standard "
        "errors (of numbers that differ by chance, one in 20 does)."
    )


def _cells(row: dict[str, Any]) -> list[str]:
    errors = "-" if row["errors"] is None else f"{row['errors']:+.1f}"
    return [
        row["study"],
        f"{row['policy']} {row['at']}",
        f"{row['measure']}: {row['objective']}",
        f"{row['first']:.1f}",
        f"{row['second']:.1f}",
        f"{row['difference']:+.1f}",
        errors,
    ]
