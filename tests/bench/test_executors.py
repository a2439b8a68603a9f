"""Every executor gives the same results; what dies is reported or played again."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from bench.studies import OWN, SMALL, small
from lexbandit import InvalidInput
from lexbandit.bench import executors
from lexbandit.bench.executors import (
    Dask,
    Executor,
    Failure,
    Processes,
    Threads,
    cores,
    make_executor,
    run_study,
)
from lexbandit.bench.results import load_runs
from lexbandit.bench.run import Played, Run, plan

SLOW = OWN.replace('"mine.py:Coins"\nchance = 0.8', '"mine.py:slow"\nseconds = 0.3').replace(
    "runs = 4", "runs = 8"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A real cluster of two worker processes on the loopback."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running.scheduler_address


@pytest.mark.parametrize(("workers", "threads"), [(1, 1), (3, 1), (4, 2), (8, 4)])
def test_spare_workers_share_out_the_policies_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, threads: int
) -> None:
    given: list[int] = []

    def attempt(run: Run, *, threads: int, **_: object) -> Failure:
        given.append(threads)
        return Failure(run, "not played")

    monkeypatch.setattr(executors, "attempt", attempt)
    two = plan(small(tmp_path, SMALL))[:2]
    assert len(list(Threads(workers).play(two, lambda _: None))) == 2
    assert given == [threads, threads]


def results_of(executor: Executor, folder: Path, text: str) -> pl.DataFrame:
    told: list[int] = []
    study = small(folder, text)
    outcome = run_study(study, folder / "out", executor, progress=told.append)
    assert outcome.failures == []
    assert sum(told) == sum(run.policy_rounds for run in plan(study))
    return load_runs(folder / "out").drop("seconds")


@pytest.mark.parametrize("text", [SMALL, OWN], ids=["compiled", "own"])
def test_every_executor_gives_the_same_results(tmp_path: Path, cluster: str, text: str) -> None:
    expected = results_of(Threads(1), tmp_path / "one", text)
    assert expected.equals(results_of(Threads(8), tmp_path / "many", text))
    assert expected.equals(results_of(Processes(2), tmp_path / "processes", text))
    assert expected.equals(results_of(Dask(cluster, 2), tmp_path / "dask", text))


def test_a_worker_killed_mid_study_loses_nothing(tmp_path: Path, cluster: str) -> None:
    from distributed import Client

    expected = results_of(Threads(8), tmp_path / "threads", SLOW)
    with Client(cluster, set_as_default=False) as client:
        before = client.run(os.getpid)
        killed: list[int] = []

        def kill_after_the_first(_: int) -> None:
            if not killed:
                killed.append(next(iter(before.values())))
                os.kill(killed[0], signal.SIGKILL)

        study = small(tmp_path / "dask", SLOW)
        outcome = run_study(
            study, tmp_path / "dask" / "out", Dask(cluster, 2), progress=kill_after_the_first
        )
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    assert outcome.failures == []
    assert outcome.stored == 8
    assert expected.equals(load_runs(tmp_path / "dask" / "out").drop("seconds"))


def test_an_error_on_a_cluster_is_reported(tmp_path: Path, cluster: str) -> None:
    runs = plan(small(tmp_path, OWN.replace("Coins", "Broken")))
    reports = list(Dask(cluster, 2).play(runs, lambda _: None))
    assert {r.error for r in reports if isinstance(r, Failure)} == {
        "RuntimeError: the sensor is gone"
    }
    assert len(reports) == 4


@pytest.mark.slow
def test_a_cluster_of_its_own(tmp_path: Path) -> None:
    expected = results_of(Threads(1), tmp_path / "one", OWN)
    assert expected.equals(results_of(Dask("local", 2), tmp_path / "dask", OWN))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_no_cluster_there(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from lexbandit.bench import dask_cluster

    monkeypatch.setattr(dask_cluster, "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(InvalidInput, match="no Dask scheduler answers"):
        list(Dask(address, 1).play(plan(small(tmp_path, OWN)), lambda _: None))


def test_a_process_that_dies_is_reported(tmp_path: Path) -> None:
    study = small(tmp_path, OWN.replace('"mine.py:Stubborn"\narm = 1', '"mine.py:suicide"'))
    reports = list(Processes(1).play(plan(study), lambda _: None))
    assert len(reports) == 4
    assert all(isinstance(r, Failure) and "died" in r.error for r in reports)


@pytest.mark.parametrize("executor", [Threads(2), Processes(2)])
def test_closing_stops_what_is_under_way(tmp_path: Path, executor: Executor) -> None:
    text = SLOW.replace("runs = 8", "runs = 100").replace("seconds = 0.3", "seconds = 0.1")
    threads = threading.active_count()
    reports = executor.play(plan(small(tmp_path, text)), lambda _: None)
    assert isinstance(next(reports), Played)
    begin = time.monotonic()
    reports.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 5
    assert threading.active_count() <= threads + 1


def test_executors_by_name() -> None:
    assert isinstance(make_executor(), Threads)
    assert isinstance(make_executor("processes", workers=2), Processes)
    assert isinstance(make_executor(cluster="local"), Dask)
    assert cores() >= 1
    with pytest.raises(InvalidInput, match="did you mean 'threads'"):
        make_executor("thread")
    with pytest.raises(InvalidInput, match="workers"):
        make_executor(workers=0)
