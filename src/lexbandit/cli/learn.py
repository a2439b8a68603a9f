"""`lexbandit learn LOG... --like FILE --to FILE.lexbandit`: let a chooser learn from a log."""

from collections import Counter
from pathlib import Path

import click

from lexbandit.chooser import Chooser
from lexbandit.cli.log_options import LogOptions, check_folder, log_options
from lexbandit.cli.output import Printer, json_output, print_json, quiet
from lexbandit.contexts import noted
from lexbandit.errors import InvalidInput
from lexbandit.logs.learning import WEIGHTS
from lexbandit.logs.log import Log


@click.command("learn")
@click.option(
    "--to",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write the chooser to, such as router.lexbandit.",
)
@click.option(
    "--weigh",
    type=click.Choice(WEIGHTS),
    help="Learn as if arms had been drawn uniformly: by 1/propensity, or doubly robust.",
)
@log_options
@quiet
@json_output
def command(source: LogOptions, path: Path, weigh: str | None, quiet: bool, as_json: bool) -> None:
    """Let a chooser learn from a log, and save it; --like says what it is.

    LOG is one or more Parquet, CSV or JSON-lines files, a pattern such as 'logs/*.parquet', or the
    storage of a service. A saved chooser learns in addition to what it knows; the file it was in
    stays as it is unless --to names it. Arms that a service added are added to the chooser.
    """
    check_folder("--to", path)
    chooser = source.chooser()
    if chooser is None:
        raise InvalidInput(
            "--like FILE says which chooser learns: a saved one (.lexbandit) or a decision point "
            "of a service's configuration (.toml)."
        )
    log = source.read(chooser)
    added = _add_arms(chooser, log)
    known = {name: Counter(counts) for name, counts in chooser.contexts.counts.items()}
    with source.executor() as executor:
        rows = chooser.learn(log, weigh=weigh, executor=executor)
    chooser.save(path)
    # Of this log: a saved chooser has counts of its own.
    otherwise = {
        name: dict(Counter(counts) - known[name])
        for name, counts in chooser.contexts.counts.items()
    }
    if as_json:
        outcome = {"rows": log.rows, "learned": rows, "added": added, "contexts": otherwise}
        print_json(outcome | {"path": str(path)})
    new = f" New arms: {', '.join(added)}." if added else ""
    printer = Printer(quiet=quiet, as_json=as_json)
    printer.message(
        f"learned {rows:,} of {log.rows:,} rows, those with a reward; {path} is the chooser.{new}"
    )
    if taken := noted(otherwise):
        printer.message(taken)


def _add_arms(chooser: Chooser, log: Log) -> list[str]:
    """Add the arms that the log has and the chooser has not; those retired there are retired."""
    added = [arm for arm in log.arms if arm not in chooser._arms.numbers]
    for arm in added:
        chooser.add_arm(arm)
        if arm in log.retired:
            chooser.retire_arm(arm)
    return added
