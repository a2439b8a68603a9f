"""The bench's speed: policy-rounds a second against the plain twin, drawing apart, and scaling.

    python -m benchmarks.bench

The twins of tests/naive.py are plain Python written from the paper. Twin and compiled policy play
the same rounds; the times are the best of three, in processor time of one thread. Scaling is in
wall time: run it on a machine that does nothing else.
"""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from lexbandit import Rounds, make_environment, make_policy
from lexbandit.bench.executors import Threads, cores
from lexbandit.bench.plan import plan, sized
from lexbandit.bench.run import BLOCK, play
from lexbandit.bench.study import packaged_studies, read_study
from lexbandit.metrics import Truth

SCALE = 0.1
REPEATS = 3
TWIN_ROUNDS = 10_000

# For scale: what others take on the same kind of work, in rounds a second.
ELSEWHERE = {
    "coba's experiment runner, UCB": 10_000,
    "a hand-written NumPy loop": 83_000,
    "pure Python": 220_000,
    "a hand-written numba loop of policy and environment": 6_000_000,
}


def twins() -> ModuleType:
    """Return tests/naive.py."""
    path = Path(__file__).parents[1] / "tests" / "naive.py"
    spec = importlib.util.spec_from_file_location("naive", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        begin = clock()
        work()
        best = min(best, clock() - begin)
    return best


def twin_of(name: str, *, arms: int, cells: int, horizon: int) -> Any:
    naive = twins()
    if name == "moc-mab":
        return naive.MocMab(arms, horizon, 2, cells, scale=SCALE)
    rule = {
        "cd": naive.DominantUcb1,
        "cp": naive.ParetoUcb1,
        "cs": naive.RememberingScalarizedUcb1,
        "p": naive.ParetoUcb1,
        "s": naive.RememberingScalarizedUcb1,
    }[name.removesuffix("-ucb1")]
    return naive.InEveryCell(rule, arms, cells if name.startswith("c") else 1, SCALE, 0)


def policies(number: int, cells: int) -> None:
    """Print each policy's speed beside its twin's."""
    study = read_study(packaged_studies()[f"experiment-{number}"])
    environment = make_environment(study.environment.name, **study.environment_parameters)
    rounds = environment.rounds(100_000, seed=1)
    few = rounds[:TWIN_ROUNDS]
    points, outcomes = few.contexts.tolist(), few.outcomes.tolist()
    naive = twins()
    print(f"\n{study.title}: million policy-rounds/s on one core, on the same rounds")
    print(f"{'policy':10}{'compiled':>10}{'twin':>10}{'ratio':>8}")
    for name in ("moc-mab", "cd-ucb1", "cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1"):
        settings = {"dimension": 2, "horizon": study.horizon, "scale": SCALE}
        policy = make_policy(name, arms=environment.arms, **settings)
        policy.replay(few)
        fast = len(rounds) / seconds(lambda policy=policy: _in_blocks(policy, rounds))  # type: ignore[misc]
        twin = twin_of(name, arms=environment.arms, cells=cells, horizon=study.horizon)
        slow = TWIN_ROUNDS / seconds(lambda twin=twin: naive.run(twin, points, outcomes))  # type: ignore[misc]
        print(f"{name:10}{fast / 1e6:10.2f}{slow / 1e6:10.3f}{fast / slow:7.0f}x")
    drawing = seconds(lambda: list(environment.stream(100_000, seed=1, block=BLOCK))) / 100_000
    assert rounds.means is not None
    means = rounds.means
    truth = seconds(lambda: Truth(means)) / 100_000
    share = len(study.entries)
    print(
        f"drawing a round {drawing * 1e9:.0f} ns, its truth {truth * 1e9:.0f} ns, both once for "
        f"{share} policies: {(drawing + truth) / share * 1e9:.1f} ns a policy-round"
    )


def _in_blocks(policy: Any, rounds: Rounds) -> None:
    for start in range(0, len(rounds), BLOCK):
        policy.replay(rounds[start : start + BLOCK])


def whole_runs() -> None:
    """Print what a whole run takes, and how much of it is not the policies'."""
    print("\nWhole runs (42 policies): nanoseconds a policy-round on one core")
    for number in (1, 2):
        study = sized(
            read_study(packaged_studies()[f"experiment-{number}"]), runs=1, horizon=100_000
        )
        run = plan(study)[0]
        whole = seconds(lambda run=run: play(run)) / run.policy_rounds  # type: ignore[misc]
        replay = sum(curve.seconds[-1] for curve in play(run).curves) / run.policy_rounds
        print(f"{study.title}: {whole * 1e9:.0f}, of which replay {replay * 1e9:.0f}")


def scaling() -> None:
    """Print the speed with one worker and with two."""
    study = read_study(packaged_studies()["experiment-1"])
    runs = plan(replace(study, runs=8, horizon=50_000))
    work = sum(run.policy_rounds for run in runs)
    print(f"\nScaling (Experiment 1, 8 runs of 50,000 rounds; this machine has {cores()} cores)")
    rates = {}
    for workers in (1, 2):
        taken = seconds(
            lambda workers=workers: list(Threads(workers).play(runs, lambda _: None)),  # type: ignore[misc]
            time.perf_counter,
        )
        rates[workers] = work / taken
        print(f"{workers} workers: {rates[workers] / 1e6:.1f} million policy-rounds/s")
    print(f"speed-up from 1 to 2 workers: {rates[2] / rates[1]:.2f}")


def main() -> None:
    print("For scale, rounds/s elsewhere:")
    for what, rate in ELSEWHERE.items():
        print(f"  {what}: {rate:,}")
    policies(1, cells=10)
    policies(2, cells=16)
    whole_runs()
    scaling()


if __name__ == "__main__":
    main()
