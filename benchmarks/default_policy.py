"""The speed of the default policy, each figure beside the most it may take.

    python -m benchmarks.default_policy

Processor time of one thread, the best of many turns, so that other work on the machine matters
little. The former default, lex-linucb with a threshold of 0.5, is measured in the same turns: on
another machine compare with it.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit as lb
from benchmarks import peers
from lexbandit.chooser.summary import copy_for_summary

DECISIONS, TURNS = 1_000, 40


def best_of(turns: int, jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least processor seconds of each job; the jobs take turns."""
    least = dict.fromkeys(jobs, float("inf"))
    for _ in range(turns):
        for name, job in jobs.items():
            start = time.thread_time()
            job()
            least[name] = min(least[name], time.thread_time() - start)
    return least


def single(**settings: Any) -> Callable[[], None]:
    """Return a job that chooses and rewards `DECISIONS` times, after a warm-up."""
    chooser = peers.chooser(**settings)
    known, told = peers.contexts(DECISIONS), peers.rewards(DECISIONS)
    place = {arm: k for k, arm in enumerate(peers.ARMS)}

    def job() -> None:
        for context, rewards in zip(known, told, strict=True):
            decision = chooser.choose(context)
            quality, cost = rewards[place[decision.arm]]
            chooser.reward(decision, quality=quality, cost=cost)

    job()
    return job


def fresh(arms: int, features: int) -> Any:
    """Return a policy of two objectives that has learned nothing."""
    return lb.make_policy(
        "lex-thompson", arms=arms, dimension=features - 1, features="raw", tolerance=[0.02, 0.0]
    )


def rounds_for(arms: int, features: int) -> lb.Rounds:
    """Return rounds in which arms differ a little, and with the context."""
    random = np.random.default_rng(0)
    contexts = random.random((4_096, features - 1))
    means = 0.6 + 0.1 * contexts[:, :1] * random.random((1, arms)) + 0.02 * np.arange(arms)
    outcomes = random.normal(means[:, :, np.newaxis], 0.1, (len(contexts), arms, 2))
    return lb.Rounds(contexts, outcomes)


def thousand_arms() -> lb.Chooser:
    """Return a chooser of 1,000 arms that learned a little."""
    chooser = lb.Chooser(
        objectives=[lb.Objective("quality", tolerance=0.02), lb.Objective("cost", goal="min")],
        arms=[f"arm {n}" for n in range(1000)],
        context=[lb.Number("x"), lb.Number("y"), lb.Number("z")],
    )
    for x, y, z, quality in np.random.default_rng(0).random((60, 4)).tolist():
        chooser.reward(chooser.choose({"x": x, "y": y, "z": z}), quality=quality, cost=0.5)
    return chooser


def one_by_one(policy: Any, contexts: Any) -> None:
    """Ask for the propensities in each context."""
    for context in contexts:
        policy.propensities(context)


def main(console: Console) -> None:
    """Print every figure."""
    table = Table(title="The default policy: processor time, and the most it may take")
    for column in ("what", "takes", "at most"):
        table.add_column(column, justify="left" if column == "what" else "right")
    took = best_of(TURNS, {"now": single(), "former": single(policy="lex-linucb", threshold=0.5)})
    now, former = (took[name] / DECISIONS * 1e6 for name in ("now", "former"))
    table.add_row("choose + reward, 3 arms, 3 numbers", f"{now:.1f} µs", "15 µs")
    table.add_row("the same by the former default", f"{former:.1f} µs", "")
    for arms, features, replayed, chances in ((3, 10, "2 µs", "6 µs"), (10, 20, "10 µs", "40 µs")):
        rounds, policy = rounds_for(arms, features), fresh(arms, features)
        policy.replay(rounds)
        few = rounds.contexts[:500]
        jobs: dict[str, Callable[[], object]] = {
            "first": lambda: fresh(arms, features).replay(rounds),  # noqa: B023  (called at once)
            "replay": partial(policy.replay, rounds),
            "propensities": partial(one_by_one, policy, few),
        }
        for job in jobs.values():
            job()
        least = best_of(10, jobs)
        shape = f"{arms} arms, {features} features"
        table.add_row(f"replay a round, {shape}", _micro(least["replay"], len(rounds)), replayed)
        table.add_row("the same, of the first 4,096", _micro(least["first"], len(rounds)), "")
        table.add_row(f"all propensities, {shape}", _micro(least["propensities"], 500), chances)
    chooser = thousand_arms()
    str(chooser.summary())
    least = best_of(
        5,
        {
            "all": lambda: str(chooser.summary()),
            "locked": lambda: copy_for_summary(chooser._arms, chooser._ledger, 0.0),
        },
    )
    table.add_row("summary of 1,000 arms", f"{least['all'] * 1e3:.0f} ms", "200 ms")
    table.add_row("its part under the lock", f"{least['locked'] * 1e3:.1f} ms", "10 ms")
    console.print(table)


def _micro(seconds: float, times: int) -> str:
    return f"{seconds / times * 1e6:.2f} µs"


if __name__ == "__main__":
    main(Console(width=100))
