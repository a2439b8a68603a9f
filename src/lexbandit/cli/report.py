"""`lexbandit report DIR`: the report of a results folder."""

from pathlib import Path

import click

from lexbandit.bench.summary import write_summary
from lexbandit.cli.output import Printer, json_output, print_json, quiet, show_claims
from lexbandit.report import write_report


@click.command("report")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@quiet
@json_output
def command(directory: Path, quiet: bool, as_json: bool) -> None:
    """Write DIR/summary.json, DIR/report.html and DIR/figures from the runs in DIR."""
    printer = Printer(quiet=quiet, as_json=as_json)
    summary = write_summary(directory)
    page = write_report(directory)
    if as_json:
        print_json(summary)
    show_claims(summary, printer)
    printer.message(f"report: {page}")
