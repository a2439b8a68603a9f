"""`lexbandit run STUDY.toml`: a study of one's own, or several that come with lexbandit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from lexbandit.bench.executors import Conducted, conduct, make_executor
from lexbandit.bench.run import sized
from lexbandit.bench.study import Study, packaged_studies, read_study
from lexbandit.bench.summary import write_summary
from lexbandit.cli import options
from lexbandit.cli.output import (
    Voice,
    amount,
    print_json,
    progress_bar,
    show_against,
    show_claims,
    show_policies,
    show_series,
    show_tolerance,
)


@click.command("run")
@click.argument("studies", nargs=-1, required=True, metavar="STUDY.toml...")
@options.work
def command(
    studies: tuple[str, ...],
    runs: int | None,
    horizon: int | None,
    out: Path,
    workers: int | None,
    executor: str,
    cluster: str | None,
    report: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run studies: each a TOML file, or a name that `lexbandit list studies` shows.

    A name may stand for several: 'growth-*'. All go into one folder with one report.
    """
    packaged = packaged_studies()
    paths = [
        path
        for name in studies
        for path in ([packaged[known] for known in matching(packaged, name)] or [Path(name)])
    ]
    found = [sized(read_study(path), runs=runs, horizon=horizon) for path in dict.fromkeys(paths)]
    voice = Voice(quiet=quiet, as_json=as_json)
    work = Work(out=out, workers=workers, executor=executor, cluster=cluster, report=report)
    summary, status = conduct_all(found, work, voice)
    if as_json:
        print_json(summary)
    if summary:
        for results in (summary["experiments"] | summary.get("studies", {})).values():
            show_policies(results, voice)
            show_tolerance(results, voice)
            show_against(results, voice)
        show_series(summary, voice)
        show_claims(summary, voice)
    return status


@dataclass(frozen=True)
class Work:
    """Where and how runs are played."""

    out: Path
    workers: int | None
    executor: str
    cluster: str | None
    report: bool = True


@contextmanager
def _runs_are_kept() -> Iterator[None]:
    """Say with an error of the disk what it left."""
    try:
        yield
    except OSError as error:
        error.add_note("finished runs are kept")
        raise


@_runs_are_kept()
def conduct_all(studies: Sequence[Study], work: Work, voice: Voice) -> tuple[dict[str, Any], int]:
    """Conduct studies, write summary and report; return the summary and the exit status."""
    executor = make_executor(work.executor, workers=work.workers, cluster=work.cluster)
    failed = 0
    finished = 0
    with progress_bar(voice) as bar:
        for study in studies:
            task = bar.add_task(study.title, total=None)
            try:
                conducted = conduct(
                    study,
                    work.out,
                    executor,
                    started=lambda done, total, task=task: bar.update(  # type: ignore[misc]
                        task, total=total, completed=done
                    ),
                    progress=lambda n, task=task: bar.advance(task, n),  # type: ignore[misc]
                )
            except KeyboardInterrupt:
                bar.stop()
                voice.error(
                    f"stopped. Finished runs are kept in {work.out}; "
                    "the same command goes on from there."
                )
                raise click.exceptions.Exit(130) from None
            _say_outcome(conducted, bar, voice)
            failed += len(conducted.failures)
            finished += conducted.finished
    if not finished:
        voice.error("no run was finished; there is nothing to summarize.")
        return {}, 1
    summary = write_summary(work.out)
    if work.report:
        voice.say(f"report: {_write_report(work.out)}")
    return summary, 1 if failed else 0


def _write_report(directory: Path) -> Path:
    # Charts are slow to import, and only wanted now.
    from lexbandit.report import write_report  # noqa: PLC0415

    return write_report(directory)


def _say_outcome(conducted: Conducted, bar: Progress, voice: Voice) -> None:
    """Say in a line what became of a study, and in one more for each kind of failure."""
    parts = [f"{conducted.study.title}: {conducted.finished} of {conducted.planned} runs"]
    if conducted.found:
        parts.append(f"{conducted.found} of them found done")
    if conducted.stored:
        rate = conducted.policy_rounds / conducted.seconds
        parts.append(f"{conducted.seconds:.1f} s, {amount(rate)} policy-rounds/s")
    voice.say(", ".join(parts), through=bar.console)
    kinds: dict[str, list[int]] = {}
    for failure in conducted.failures:
        kinds.setdefault(failure.error, []).append(failure.run.number)
    for error, numbers in kinds.items():
        which = f"run {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} runs"
        voice.error(f"{conducted.study.name}, {which} failed: {error}")
    if conducted.failures and conducted.failures[0].details:
        voice.error(conducted.failures[0].details.rstrip())
