"""Options that several verbs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

quiet = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
json_output = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON to standard output, and nothing else there."
)

_WORK = [
    click.option("--runs", type=click.IntRange(min=1), help="Replications, not the study's."),
    click.option("--horizon", type=click.IntRange(min=1), help="Rounds, not the study's."),
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("results"),
        show_default=True,
        help="Results folder; finished runs found there are not done again.",
    ),
    click.option("--workers", type=click.IntRange(min=1), help="How many; by default all cores."),
    click.option(
        "--executor",
        type=click.Choice(["threads", "processes"]),
        default="threads",
        show_default=True,
        help="Where runs are played on this machine.",
    ),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Play on a Dask cluster: its scheduler's address, or 'local' to start one here.",
    ),
    click.option(
        "--report/--no-report", default=True, help="Whether to write the report and its figures."
    ),
]


def work(function: F) -> F:
    """Add the options of a verb that plays runs."""
    for option in reversed([*_WORK, quiet, json_output]):
        function = option(function)
    return function
