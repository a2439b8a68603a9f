"""The bench: policy-rounds a second of whole runs against the plain twins, and scaling."""

import time
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from benchmarks.timing import best_of
from lexbandit import make_environment
from lexbandit.bench.executors import Threads, cores
from lexbandit.bench.run import BLOCK, Run, plan, play, sized
from lexbandit.bench.study import packaged_studies, read_study
from lexbandit.metrics import Truth
from naive import run
from support import PAPER, as_lists, twin_of

TWIN_ROUNDS = 1_000


def runs_of(number: int, *, runs: int, horizon: int) -> list[Run]:
    return plan(
        sized(read_study(packaged_studies()[f"experiment-{number}"]), runs=runs, horizon=horizon)
    )


def twins_take(number: int, horizon: int) -> float:
    """Return the seconds a policy-round of the plain twins, on average over the six."""
    environment = make_environment({1: "synthetic", 2: "multichannel"}[number])
    contexts, outcomes = as_lists(environment.rounds(TWIN_ROUNDS, seed=1))
    start = time.process_time()
    for name in PAPER:
        twin = twin_of(name, arms=environment.arms, m=10, scale=0.1, horizon=horizon, seed=0)
        run(twin, contexts, outcomes)
    return (time.process_time() - start) / (TWIN_ROUNDS * len(PAPER))


def whole_runs(console: Console) -> None:
    """Print what a whole run takes a policy-round, what of it is drawing, and the twins' time."""
    table = Table(title="Whole runs, 42 policies, one core: a policy-round")
    table.add_column("experiment")
    for column in ("in all", "replay", "drawing and truth", "twin", "ratio", "rounds/s"):
        table.add_column(column, justify="right")
    for number in (1, 2):
        one = runs_of(number, runs=1, horizon=100_000)[0]
        environment = make_environment(one.environment.name, **one.environment_parameters)
        jobs: dict[str, Callable[[], object]] = {
            "run": lambda one=one: play(one),  # type: ignore[misc]
            "draw": lambda environment=environment: [  # type: ignore[misc]
                Truth(block.means) for block in environment.stream(100_000, seed=1, block=BLOCK)
            ],
        }
        least = best_of(3, jobs)
        whole, drawing = least["run"] / one.policy_rounds, least["draw"] / one.policy_rounds
        replay = sum(curve.seconds[-1] for curve in play(one).curves) / one.policy_rounds
        twin = twins_take(number, one.horizon)
        table.add_row(
            str(number),
            f"{whole * 1e9:.0f} ns",
            f"{replay * 1e9:.0f} ns",
            f"{drawing * 1e9:.0f} ns",
            f"{twin * 1e6:.1f} µs",
            f"{twin / whole:.0f}",
            f"{1 / whole / 1e6:.1f} M",
        )
    console.print(table)


def scaling(console: Console) -> None:
    """Print the speed of the thread executor with one worker and with two."""
    runs = [replace(one, study="scaling") for one in runs_of(1, runs=8, horizon=50_000)]
    work = sum(one.policy_rounds for one in runs)
    jobs: dict[str, Callable[[], object]] = {
        str(workers): lambda workers=workers: list(Threads(workers).play(runs, lambda _: None))  # type: ignore[misc]
        for workers in (1, 2)
    }
    least = best_of(3, jobs)
    console.print(
        f"Experiment 1 on {cores()} cores: {work / least['1'] / 1e6:.1f} million policy-rounds/s "
        f"with one worker, {work / least['2'] / 1e6:.1f} with two, "
        f"{least['1'] / least['2']:.2f} times as fast."
    )
