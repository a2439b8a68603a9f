"""Conduct a study: play the runs that are not finished and store each as it ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lexbandit.bench.executors import Executor, Failure
from lexbandit.bench.plan import plan
from lexbandit.bench.results import Folder
from lexbandit.bench.study import Study

Started = Callable[[int, int], None]
Progress = Callable[[int], None]


@dataclass
class Conducted:
    """What became of a study."""

    study: Study
    planned: int
    found: int
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    policy_rounds: int = 0

    @property
    def finished(self) -> int:
        """The runs whose results are there."""
        return self.found + self.stored


def conduct(
    study: Study,
    directory: Path,
    executor: Executor,
    *,
    started: Started = lambda _done, _total: None,
    progress: Progress = lambda _policy_rounds: None,
) -> Conducted:
    """Play every run of a study that is not finished yet; stopping at any time loses no other.

    `started` is told the policy-rounds found done and those of the whole study. A failed run is
    reported and never stored; a failure to store stops the study, since the next would fail too.
    """
    folder = Folder(directory)
    runs = plan(study)
    folder.store_study(study, runs)
    missing = [run for run in runs if not folder.has(run)]
    conducted = Conducted(study, planned=len(runs), found=len(runs) - len(missing))
    work = sum(run.policy_rounds for run in runs)
    started(work - sum(run.policy_rounds for run in missing), work)
    if not missing:
        return conducted
    begin = time.monotonic()
    reports = executor.play(missing, progress)
    try:
        for report in reports:
            if isinstance(report, Failure):
                conducted.failures.append(report)
            else:
                folder.store(report)
                conducted.stored += 1
                conducted.policy_rounds += report.run.policy_rounds
    finally:
        reports.close()  # type: ignore[attr-defined]
        folder.sweep()
    conducted.seconds = time.monotonic() - begin
    return conducted
