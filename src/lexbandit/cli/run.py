"""`lexbandit run STUDY.toml`: a study of one's own, or several that come with lexbandit."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import filter as matching
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.progress import Progress

from lexbandit.bench.executors import StudyOutcome, make_executor, run_study
from lexbandit.bench.run import sized
from lexbandit.bench.study import Study, packaged_studies, read_study
from lexbandit.bench.summary import write_summary
from lexbandit.cli.notices import missing
from lexbandit.cli.output import (
    Command,
    Printer,
    amount,
    joined,
    json_output,
    print_json,
    progress_bar,
    quiet,
    show_against,
    show_claims,
    show_policies,
    show_series,
    show_tolerance,
)
from lexbandit.errors import InvalidInput, nearest

_OPTIONS = [
    click.option(
        "--runs", type=click.IntRange(min=1), help="Replications, instead of the study's."
    ),
    click.option("--horizon", type=click.IntRange(min=1), help="Rounds, instead of the study's."),
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("results"),
        show_default=True,
        help="Results folder; finished runs found there are not done again.",
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), help="How many runs at once; by default all cores."
    ),
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


class RunOptions(NamedTuple):
    """How studies are run: at which size, where, and what is printed."""

    runs: int | None
    horizon: int | None
    out: Path
    workers: int | None
    executor: str
    cluster: str | None
    report: bool
    quiet: bool
    as_json: bool


def run_options(function: Command) -> Command:
    """Add the options of a command that runs studies; the function is given them as `options`."""
    return joined([*_OPTIONS, quiet, json_output], RunOptions, "options", function)


@click.command("run")
@click.argument("studies", nargs=-1, required=True, metavar="STUDY.toml...")
@run_options
def command(studies: tuple[str, ...], options: RunOptions) -> int:
    """Run studies: each a TOML file, or a name that `lexbandit list studies` shows.

    A name may stand for several: 'growth-*'. All go into one folder with one report.
    """
    paths = [path for name in studies for path in _paths_of(name)]
    found = [read_study(path) for path in dict.fromkeys(paths)]
    printer = Printer(quiet=options.quiet, as_json=options.as_json)
    summary, status = run_studies(found, options, printer)
    if summary:
        for results in (summary["experiments"] | summary.get("studies", {})).values():
            show_policies(results, printer)
            show_tolerance(results, printer)
            show_against(results, printer)
        show_series(summary, printer)
        show_claims(summary, printer)
    return status


def _paths_of(name: str) -> list[Path]:
    """Return the files of the packaged studies that a name or pattern stands for, or its own."""
    packaged = packaged_studies()
    path = Path(name)
    found = [packaged[known] for known in matching(packaged, name)]
    if found or path.suffix or path.parent.name or path.exists():
        return found or [path]
    raise InvalidInput(
        f"there is no file {name!r}, and no study of that name comes with lexbandit"
        f"{nearest(name, packaged)} `lexbandit list studies` shows them."
    )


@contextmanager
def _noting_finished_runs() -> Iterator[None]:
    """Add a note to an error of the disk: finished runs are still there."""
    try:
        yield
    except OSError as error:
        error.add_note("finished runs are kept")
        raise


@_noting_finished_runs()
def run_studies(
    studies: Sequence[Study], options: RunOptions, printer: Printer
) -> tuple[dict[str, Any], int]:
    """Run studies, write summary and report; return the summary and the exit status."""
    write_report = _report_writer() if options.report else None
    executor = make_executor(options.executor, workers=options.workers, cluster=options.cluster)
    failed = 0
    finished = 0
    with progress_bar(printer) as bar:
        for planned in studies:
            study = sized(planned, runs=options.runs, horizon=options.horizon)
            task = bar.add_task(study.title, total=None)
            try:
                outcome = run_study(
                    study,
                    options.out,
                    executor,
                    started=lambda done, total, task=task: bar.update(  # type: ignore[misc]
                        task, total=total, completed=done
                    ),
                    progress=lambda n, task=task: bar.advance(task, n),  # type: ignore[misc]
                )
            except KeyboardInterrupt:
                bar.stop()
                printer.error(
                    f"stopped. Finished runs are kept in {options.out}; "
                    "the same command goes on from there."
                )
                raise click.exceptions.Exit(130) from None
            _say_outcome(outcome, bar, printer)
            failed += len(outcome.failures)
            finished += outcome.finished
    summary: dict[str, Any] = {}
    if finished:
        summary = write_summary(options.out)
    else:
        printer.error("no run was finished; there is nothing to summarize.")
    if finished and write_report is not None:
        printer.message(f"report: {write_report(options.out)}")
    if options.as_json:
        print_json(summary)
    return summary, 1 if failed or not finished else 0


def _report_writer() -> Callable[[Path], Path]:
    """Return what writes a report; a package that it needs is missed before any run is played."""
    try:  # charts are slow to import, and not wanted without a report
        from lexbandit.report import write_report  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise missing(error, "bench", without="--no-report") from None
    return write_report


def _say_outcome(outcome: StudyOutcome, bar: Progress, printer: Printer) -> None:
    """Say in a line what became of a study, and in one more for each kind of failure."""
    parts = [f"{outcome.study.title}: {outcome.finished} of {outcome.planned} runs"]
    if outcome.found:
        parts.append(f"{outcome.found} of them found done")
    if outcome.stored:
        rate = outcome.policy_rounds / outcome.seconds
        parts.append(f"{outcome.seconds:.1f} s, {amount(rate)} policy-rounds/s")
    printer.message(", ".join(parts), through=bar.console)
    kinds: dict[str, list[int]] = {}
    for failure in outcome.failures:
        kinds.setdefault(failure.error, []).append(failure.run.number)
    for error, numbers in kinds.items():
        which = f"run {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} runs"
        printer.error(f"{outcome.study.name}, {which} failed: {error}")
    if outcome.failures and outcome.failures[0].details:
        printer.error(outcome.failures[0].details.rstrip())
