"""`lexbandit reproduce`: the paper's experiments, beside its claims."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from lexbandit.bench.study import Study, packaged_studies, read_study
from lexbandit.cli.output import Printer, progress_bar, show_claims, stages
from lexbandit.cli.run import RunOptions, run_options, run_studies
from lexbandit.logs import r6a as yahoo
from lexbandit.logs.recording import Recording

EXPERIMENTS = ("1", "2", "3")


@click.command("reproduce")
@click.argument("experiments", nargs=-1, metavar="[1] [2] [3]")
@click.option(
    "--r6a",
    multiple=True,
    metavar="PATH...",
    help="Yahoo! R6A files for Experiment 3, plain or gzip; without them its data are synthetic.",
)
@run_options
def command(experiments: tuple[str, ...], r6a: tuple[str, ...], options: RunOptions) -> int:
    """Run the paper's experiments (by default all three) and compare with its claims."""
    numbers, paths = _split_arguments(experiments, r6a)
    if paths and "3" not in numbers:
        raise click.UsageError("--r6a is for Experiment 3: lexbandit reproduce 3 --r6a PATH...")
    printer = Printer(quiet=options.quiet, as_json=options.as_json)
    studies = []
    for number in numbers:
        study = read_study(packaged_studies()[f"experiment-{number}"])
        studies.append(_with_files(study, paths, printer) if number == "3" and paths else study)
    summary, status = run_studies(studies, options, printer)
    if summary:
        show_claims(summary, printer)
    return status


def _split_arguments(arguments: Sequence[str], r6a: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Tell experiments from files: a shell makes `--r6a day*` into one option and arguments."""
    numbers = [argument for argument in arguments if argument in EXPERIMENTS]
    others = [argument for argument in arguments if argument not in EXPERIMENTS]
    if others and not r6a:
        raise click.UsageError(f"experiments are 1, 2 and 3, got {others[0]!r}.")
    return numbers or list(EXPERIMENTS), [Path(path) for path in (*r6a, *others)]


def _with_files(study: Study, paths: list[Path], printer: Printer) -> Study:
    """Return Experiment 3 on real files: as many rounds as they have rows."""
    with progress_bar(printer) as bar:
        prepared = yahoo.prepare(paths, yahoo.cache_folder(), stages(bar))
    recording = Recording.open(prepared)
    source = "synthetic" if recording.facts.get("source") == "synthetic" else "Yahoo! R6A"
    return replace(
        study,
        title=study.title.replace("synthetic", source),
        data=source,
        horizon=recording.rows,
        environment_parameters={**study.environment_parameters, "path": str(prepared)},
    )
