"""Logs: all estimators of two objectives and their diagnostics in one pass, and sequences.

    python -m benchmarks.logs [--obp PYTHON]

PYTHON is an interpreter that has Open Bandit Pipeline (`pip install obp`), such as one of a virtual
environment of its own: its IPS and DR are then measured too, on arrays of the same kind.

"Only read" is NumPy's sum of the arrays that "all, against another policy" takes: what the memory
of the machine allows.
"""

import argparse
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lexbandit.checks import Floats, Integers
from lexbandit.logs import sequences
from lexbandit.logs.diagnostics import diagnose
from lexbandit.logs.differences import differences
from lexbandit.logs.sums import blocks, merge, sum_block
from lexbandit.objectives import Objective

ROWS, ARMS, OBJECTIVES = 1_048_576, 10, 2


def by_numpy(
    reward: Floats, action: Integers, propensity: Floats, candidate: Floats, predicted: Floats
) -> list[float]:
    """IPS and DR of every objective as Open Bandit Pipeline computes them, in NumPy."""
    rows = np.arange(len(action))
    found = []
    for i in range(reward.shape[1]):
        weights = candidate[rows, action] / propensity
        found.append(float((reward[:, i] * weights).mean()))
        model = predicted[:, :, i]
        value = np.average(model, weights=candidate, axis=1)
        found.append(float((value + weights * (reward[:, i] - model[rows, action])).mean()))
    return found


def processor_time(jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least processor seconds of each job in seven rounds; the first compiles."""
    least = dict.fromkeys(jobs, float("inf"))
    for _ in range(7):
        for name, job in jobs.items():
            start = time.thread_time()
            job()
            least[name] = min(least[name], time.thread_time() - start)
    return least


def by_obp(python: str) -> float:
    """Return the processor seconds of Open Bandit Pipeline's IPS and DR, of all objectives."""
    script = str(Path(__file__).with_name("by_obp.py"))
    command = [python, script, *map(str, (ROWS, ARMS, OBJECTIVES))]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")
    return float(done.stdout)


def arrays(console: Console, obp: str | None = None) -> None:
    """Print rows a second on arrays: 10 arms, 2 objectives, probabilities and predictions given."""
    random = np.random.default_rng(0)
    chances = random.dirichlet(np.ones(ARMS), ROWS)
    action = (chances.cumsum(axis=1) > random.random((ROWS, 1))).argmax(axis=1)
    propensity = chances[np.arange(ROWS), action]
    candidate, baseline = random.dirichlet(np.ones(ARMS), (2, ROWS))
    predicted = random.random((ROWS, ARMS, OBJECTIVES))
    reward = random.random((ROWS, OBJECTIVES))
    objectives = [Objective("a"), Objective("b")]

    def evaluate(other: Floats | None, model: Floats | None) -> None:
        sums = merge(
            sum_block(
                a,
                reward=reward[a:b],
                action=action[a:b],
                propensity=propensity[a:b],
                candidate=candidate[a:b],
                baseline=None if other is None else other[a:b],
                predicted=None if model is None else model[a:b],
            )
            for a, b in blocks(0, ROWS)
        )
        differences(sums, objectives)
        diagnose(sums, [str(arm) for arm in range(ARMS)])

    weights = candidate[np.arange(ROWS), action] / propensity
    low, high = (weights - 1) * reward[:, 0], (weights - 1) * (reward[:, 0] - 1)
    jobs: dict[str, Callable[[], object]] = {
        "all, against what was logged": lambda: evaluate(None, predicted),
        "the same, no reward model": lambda: evaluate(None, None),
        "all, against another policy": lambda: evaluate(baseline, predicted),
        "the same arrays, only read": lambda: [
            array.sum() for array in (candidate, baseline, predicted, reward, propensity, action)
        ],
        "confidence sequence, a look every row": lambda: sequences.running_intervals(
            low, high, low, every=1
        ),
        "confidence sequence, a look every 100 rows": lambda: sequences.running_intervals(
            low, high, low, every=100
        ),
        "IPS and DR only, in NumPy": lambda: by_numpy(
            reward, action, propensity, candidate, predicted
        ),
    }
    least = processor_time(jobs)
    if obp is not None:
        least["IPS and DR only, by Open Bandit Pipeline"] = by_obp(obp)
    table = Table(title=f"Logs on one core: {ARMS} arms, {OBJECTIVES} objectives, {ROWS:,} rows")
    table.add_column("what")
    for column in ("million rows/s", "over NumPy's IPS and DR"):
        table.add_column(column, justify="right")
    slow = least["IPS and DR only, in NumPy"]
    for name, took in least.items():
        table.add_row(name, f"{ROWS / took / 1e6:.1f}", f"{slow / took:.1f}")
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.logs")
    parser.add_argument("--obp", metavar="PYTHON", help="an interpreter that has obp")
    arrays(Console(width=110), parser.parse_args().obp)
