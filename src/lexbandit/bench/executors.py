"""Play the runs of a study: on threads, on processes of this machine, or on a Dask cluster.

`executor.play(runs, progress)` yields the result of each run, in any order. The caller writes the
results, so workers need no shared folder; all executors give the same results.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexbandit.bench.results import Folder
from lexbandit.bench.run import Played, Run, Stopped, plan, play
from lexbandit.bench.study import Study
from lexbandit.checks import whole
from lexbandit.errors import InvalidInput, unknown_name

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    run: Run
    error: str
    details: str = ""


Report = Played | Failure


class Executor(ABC):
    """Plays runs somewhere."""

    @abstractmethod
    def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
        """Yield a report for each run as it ends; `progress` is called with policy-rounds done.

        Closing the iterator, or an exception in it, stops what is under way.
        """


def attempt(
    run: Run,
    *,
    threads: int = 1,
    stop: Callable[[], bool] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Play a run; an error becomes a report of it."""
    try:
        return play(run, threads=threads, stop=stop, progress=progress)
    except Stopped:
        return Failure(run, "stopped")
    except InvalidInput as error:
        return Failure(run, str(error))
    except Exception as error:
        return Failure(run, f"{type(error).__name__}: {error}", traceback.format_exc())


class Threads(Executor):
    """Threads of this process: the compiled loops release the interpreter's lock."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
        """Play as many runs at once as there are workers; spare workers share out the policies."""
        stop = threading.Event()
        threads = max(1, self.workers // max(1, len(runs)))
        pool = ThreadPoolExecutor(max_workers=self.workers)
        try:
            futures = {
                pool.submit(attempt, run, threads=threads, stop=stop.is_set, progress=progress): run
                for run in runs
            }
            yield from _as_they_end(futures)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


class Processes(Executor):
    """Processes of this machine: for policies and environments that are not compiled."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
        """Play each run in a process; a process that dies fails the runs it leaves undone."""
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        pool = ProcessPoolExecutor(
            max_workers=min(self.workers, max(1, len(runs))),
            mp_context=context,
            initializer=_start_process,
            initargs=(stop,),
        )
        try:
            futures = {pool.submit(_attempt_in_process, run): run for run in runs}
            for report in _as_they_end(futures):
                progress(report.run.policy_rounds)
                yield report
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


_stop: Any = None


def _start_process(stop: Any) -> None:
    global _stop  # noqa: PLW0603  (a process of the pool has no other place to keep it)
    _stop = stop
    # Ctrl-C reaches every process of a terminal; the one that started them says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that started it was killed: nobody else would end it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt_in_process(run: Run) -> Report:
    return attempt(run, stop=_stop.is_set)


def _as_they_end(futures: dict[Future[Report], Run]) -> Iterator[Report]:
    waiting = set(futures)
    while waiting:
        # A bounded wait keeps Ctrl-C prompt.
        ended, waiting = wait_for(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in ended:
            try:
                yield future.result()
            except BrokenProcessPool:
                yield Failure(futures[future], "the process playing it died")


class Dask(Executor):
    """A Dask cluster: `address` of its scheduler, or "local" for one on this machine.

    A run whose worker dies is played again by another, up to Dask's `allowed-failures`.
    """

    def __init__(self, address: str, workers: int) -> None:
        self.address = address
        self.workers = workers

    def play(self, runs: Sequence[Run], progress: Progress) -> Iterator[Report]:
        """Play each run as one task of the cluster."""
        from lexbandit.bench.dask_cluster import connected  # noqa: PLC0415

        with connected(self.address, self.workers) as ended:
            for run, outcome in ended(attempt, runs):
                report = outcome if isinstance(outcome, Played | Failure) else _lost(run, outcome)
                progress(run.policy_rounds)
                yield report


def _lost(run: Run, error: object) -> Failure:
    return Failure(run, f"the cluster could not play it: {type(error).__name__}: {error}")


EXECUTORS = ("threads", "processes", "dask")


def make_executor(
    name: str = "threads", *, workers: int | None = None, cluster: str | None = None
) -> Executor:
    """Return an executor by name; `cluster` alone means Dask."""
    count = cores() if workers is None else whole("workers", workers, least=1)
    if cluster is not None or name == "dask":
        return Dask(cluster or "local", count)
    if name == "threads":
        return Threads(count)
    if name == "processes":
        return Processes(count)
    raise unknown_name("executor", name, EXECUTORS)


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Started = Callable[[int, int], None]


@dataclass
class StudyOutcome:
    """The result of running a study: how many runs were found, stored and failed."""

    study: Study
    planned: int
    found: int
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    policy_rounds: int = 0

    @property
    def finished(self) -> int:
        """The number of runs with results."""
        return self.found + self.stored


def run_study(
    study: Study,
    directory: Path,
    executor: Executor,
    *,
    started: Started = lambda _done, _total: None,
    progress: Progress = lambda _policy_rounds: None,
) -> StudyOutcome:
    """Play the unfinished runs of a study; after an interruption, finished runs remain.

    `started` is called with the policy-rounds found done and those of the whole study. A failed run
    is reported and not stored; an error of the disk stops the study.
    """
    folder = Folder(directory)
    runs = plan(study)
    folder.store_study(study, runs)
    missing = [run for run in runs if not folder.has(run)]
    outcome = StudyOutcome(study, planned=len(runs), found=len(runs) - len(missing))
    work = sum(run.policy_rounds for run in runs)
    started(work - sum(run.policy_rounds for run in missing), work)
    if not missing:
        return outcome
    begin = time.monotonic()
    reports = executor.play(missing, progress)
    try:
        for report in reports:
            if isinstance(report, Failure):
                outcome.failures.append(report)
            else:
                folder.store(report)
                outcome.stored += 1
                outcome.policy_rounds += report.run.policy_rounds
    finally:
        reports.close()  # type: ignore[attr-defined]
        folder.sweep()
    outcome.seconds = time.monotonic() - begin
    return outcome
