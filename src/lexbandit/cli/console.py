"""What is printed, and where: results to standard output, all else to standard error."""

from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lexbandit.bench.results import as_json


class Voice:
    """Speaks unless it was asked to be quiet; with `as_json`, standard output is for JSON only."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet or as_json
        self.output = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def say(self, text: str, through: Console | None = None) -> None:
        """Say what is going on."""
        if not self.quiet:
            (through or self.errors).print(text, markup=False, soft_wrap=True)

    def error(self, text: str) -> None:
        """Say what went wrong, always."""
        self.errors.print(f"error: {text}", markup=False, soft_wrap=True)

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; columns of numbers stand right."""
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
