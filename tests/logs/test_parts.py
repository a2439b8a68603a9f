"""Parts of a log, on threads and on a cluster: the result is the same to the last bit."""

import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from lexbandit.bench.dask_cluster import executor as cluster_executor
from lexbandit.logs import evaluate as evaluating
from lexbandit.logs import learning, reward_model
from logs.made import CONTEXT, chooser, frame, log_of

pytestmark = pytest.mark.compiled

# The reward model learns from the first rows, here 65,536; what follows is read in parts.
FIRST = 65_536
ROWS = 210_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One log as one file, two and eight."""
    folder = tmp_path_factory.mktemp("log")
    table = frame(ROWS).drop("id", "tokens")
    for count in (1, 2, 8):
        edges = np.linspace(0, ROWS, count + 1).astype(int).tolist()
        for n in range(count):
            table[edges[n] : edges[n + 1]].write_parquet(folder / f"of-{count}-{n}.parquet")
    return folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_model, "ROWS", FIRST)
    monkeypatch.setattr(evaluating, "_BLOCKS", 1)
    monkeypatch.setattr(learning, "_BLOCKS", 1)


def of(files: Path, count: int) -> lb.Log:
    return log_of(str(files / f"of-{count}-*.parquet"), context=CONTEXT[1:])


def evaluated(log: lb.Log, executor: Executor | None = None) -> lb.Evaluation:
    return lb.evaluate(log, "always:medium", executor=executor)


def learned(log: lb.Log, executor: Executor | None = None) -> dict[str, np.ndarray]:
    made = chooser(context=[])
    made.learn(log, executor=executor)
    return made.policy.state()


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_files_and_threads_do_not_matter(files: Path) -> None:
    expected, state = evaluated(of(files, 1)), learned(of(files, 1))
    assert expected.rows == ROWS
    for count in (2, 8):
        with ThreadPoolExecutor(count) as threads:
            assert evaluated(of(files, count), threads) == expected
            same(learned(of(files, count), threads), state)


class Pickling(ThreadPoolExecutor):
    """What it is given goes through pickle, and so does what comes back, as on a cluster."""

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Any:
        sent = pickle.dumps((task, given, named))
        return super().submit(_done_elsewhere, sent)


def _done_elsewhere(sent: bytes) -> Any:
    task, given, named = pickle.loads(sent)
    return pickle.loads(pickle.dumps(task(*given, **named)))


def test_parts_can_be_sent(files: Path) -> None:
    log = of(files, 1)
    with Pickling(1) as executor:
        assert evaluated(log, executor) == evaluated(log)
        same(learned(log, executor), learned(log))


@pytest.fixture
def cluster() -> Iterator[str]:
    """A real cluster of two worker processes on the loopback."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running.scheduler_address


@pytest.mark.slow
def test_a_cluster_whose_worker_is_killed_gives_the_same(files: Path, cluster: str) -> None:
    from distributed import Client

    expected, state = evaluated(of(files, 1)), learned(of(files, 1))
    killed: list[int] = []
    with Client(cluster, set_as_default=False) as client, cluster_executor(cluster, 2) as executor:
        before = list(client.run(os.getpid).values())

        def kill_after_the_first_part(done: int, _: int) -> None:
            if done > FIRST and not killed:
                killed.append(before[0])
                os.kill(killed[0], signal.SIGKILL)

        report = lb.evaluate(
            of(files, 8), "always:medium", executor=executor, progress=kill_after_the_first_part
        )
        assert killed
        assert report == expected
        same(learned(of(files, 2), executor), state)
        assert killed[0] not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_cluster_of_its_own_gives_the_same(files: Path) -> None:
    log = of(files, 1)
    with cluster_executor("local", 2) as executor:
        assert evaluated(log, executor) == evaluated(log)
