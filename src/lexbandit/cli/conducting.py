"""Conduct studies with progress shown, and say what came of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft
from rich.text import Text

from lexbandit.bench.conduct import Conducted, conduct
from lexbandit.bench.executors import make_executor
from lexbandit.bench.study import Study
from lexbandit.bench.summary import write_summary
from lexbandit.cli.console import Voice


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
            _tell(conducted, bar, voice)
            failed += len(conducted.failures)
            finished += conducted.finished
    if not finished:
        voice.error("no run was finished; there is nothing to summarize.")
        return {}, 1
    summary = write_summary(work.out)
    if work.report:
        voice.say(f"report: {_report(work.out)}")
    return summary, 1 if failed else 0


def _report(directory: Path) -> Path:
    # Charts are slow to import, and only wanted now.
    from lexbandit.report import write_report  # noqa: PLC0415

    return write_report(directory)


def _tell(conducted: Conducted, bar: Progress, voice: Voice) -> None:
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


def amount(number: float) -> str:
    """Return a large number in few characters: 6.4 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return f"{number:.0f}"


class Rate(ProgressColumn):
    """What is done a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Show the recent speed."""
        speed = task.finished_speed or task.speed
        return Text(f"{amount(speed)} {self._unit}/s" if speed else "", style="cyan")


@contextmanager
def progress_bar(voice: Voice, unit: str = "policy-rounds") -> Iterator[Progress]:
    """Show progress on standard error, if that is a terminal and nobody asked for silence."""
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%")]
    shown = voice.errors.is_terminal and not voice.quiet
    with Progress(
        *columns, Rate(unit), TimeLeft(compact=True), console=voice.errors, disable=not shown
    ) as bar:
        yield bar


def stages(bar: Progress) -> Callable[[str, int, int], None]:
    """Return a function that shows the progress of named stages, such as reading files."""
    tasks: dict[str, Any] = {}

    def told(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total)
        bar.update(tasks[stage], completed=done, total=total)

    return told
