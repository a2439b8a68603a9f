"""`choose` + `reward` of one decision, beside MABWiser's and Vowpal Wabbit's Python; many at once.

    python -m benchmarks.peers

Both peers are optional: `pip install mabwiser vowpalwabbit`. One that is not there is left out, and
the table says so. All have the same 3 arms and 3 features; lexbandit learns two objectives of every
decision, the peers one.
"""

import importlib
import importlib.util
import math
import multiprocessing
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit as lb
from benchmarks.timing import best_of
from lexbandit.chooser import RecordingChooser
from lexbandit.rounds import Rounds

ARMS = ["llama-8b", "mistral-large", "gemini-pro"]
# Turns are short, so that a busy machine disturbs few of them; but the first decision after a turn
# of another library finds cold caches and takes ten times as long.
WARM, DECISIONS = 200, 1200
MANY = 2_000
TURNS = 60

Step = Callable[[int], None]


def contexts(n: int) -> list[dict[str, float]]:
    draw = random.Random(0)
    return [
        {"length": draw.random(), "hour": draw.random(), "load": draw.random()} for _ in range(n)
    ]


def rewards(n: int) -> list[list[tuple[float, float]]]:
    """Return quality and cost of every arm in every context."""
    draw = random.Random(1)
    return [
        [(0.7 + 0.1 * k + 0.1 * draw.random(), 0.001 + 0.01 * k) for k in range(len(ARMS))]
        for _ in range(n)
    ]


def chooser(policy: str | None = None, **settings: Any) -> RecordingChooser:
    return RecordingChooser(
        policy=policy,
        objectives=[
            lb.Objective("quality", range=(0, 1), tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        arms=ARMS,
        context=[lb.Number("length"), lb.Number("hour"), lb.Number("load")],
        keep=200_000,
        seed=0,
        **settings,
    )


def lexbandit_step() -> Step:
    known, told, ours = contexts(DECISIONS), rewards(DECISIONS), chooser()
    place = {arm: k for k, arm in enumerate(ARMS)}

    def step(i: int) -> None:
        decision = ours.choose(known[i])
        quality, cost = told[i][place[decision.arm]]
        ours.reward(decision, quality=quality, cost=cost)

    return step


def lexbandit_in_parts() -> Step:
    known, told, ours = contexts(DECISIONS), rewards(DECISIONS), chooser()
    place = {arm: k for k, arm in enumerate(ARMS)}

    def step(i: int) -> None:
        decision = ours.choose(known[i])
        quality, cost = told[i][place[decision.arm]]
        ours.reward(decision, quality=quality)
        ours.reward(decision.id, cost=cost)

    return step


def mabwiser_step() -> Step:
    """LinUCB of MABWiser: `predict`, then `partial_fit` of the one decision."""
    module = importlib.import_module("mabwiser.mab")
    told = rewards(DECISIONS)
    points = np.array([list(context.values()) for context in contexts(DECISIONS)])
    peer: Any = module.MAB(arms=ARMS, learning_policy=module.LearningPolicy.LinUCB(alpha=1.0))
    first = [told[k][k][0] for k in range(3)]
    peer.fit(decisions=ARMS, rewards=first, contexts=points[:3])
    place = {arm: k for k, arm in enumerate(ARMS)}

    def step(i: int) -> None:
        arm = peer.predict(points[i : i + 1])
        peer.partial_fit([arm], [told[i][place[arm]][0]], points[i : i + 1])

    return step


def vowpal_step() -> Step:
    """Vowpal Wabbit's exploration with action-dependent features: `predict`, then `learn`."""
    module = importlib.import_module("vowpalwabbit")
    told, known = rewards(DECISIONS), contexts(DECISIONS)
    peer: Any = module.Workspace("--cb_explore_adf -q SA --quiet --random_seed 1")
    arms = [f"|A arm={arm}" for arm in ARMS]
    draw = random.Random(2)

    def step(i: int) -> None:
        shared = "shared |S " + " ".join(f"{name}:{value}" for name, value in known[i].items())
        chances = peer.predict([shared, *arms])
        arm = draw.choices(range(3), chances)[0]
        cost = -told[i][arm][0]
        labelled = [f"0:{cost}:{chances[k]} {a}" if k == arm else a for k, a in enumerate(arms)]
        peer.learn([shared, *labelled])

    return step


PEERS: dict[str, tuple[str | None, Callable[[], Step]]] = {
    "lexbandit": (None, lexbandit_step),
    "lexbandit, rewarded in two parts": (None, lexbandit_in_parts),
    "MABWiser, LinUCB": ("mabwiser", mabwiser_step),
    "Vowpal Wabbit, cb_explore_adf": ("vowpalwabbit", vowpal_step),
}


_step: Step


def begin(name: str) -> None:
    """Prepare a library, in its own process: the first decisions compile, allocate and import."""
    global _step  # noqa: PLW0603 - a process has one
    _step = PEERS[name][1]()
    for i in range(WARM):
        _step(i)


def turn() -> float:
    """Return the µs a decision of one turn."""
    start = time.perf_counter()
    for i in range(WARM, DECISIONS):
        _step(i)
    return (time.perf_counter() - start) / (DECISIONS - WARM) * 1e6


def one_decision(console: Console) -> dict[str, float]:
    """Print µs a decision, told and learned, of lexbandit and of the peers that are installed.

    Each library has a process of its own, as it has for those who use it; they take turns.
    """
    missing, micro = [], {}
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as ends:
        libraries = {}
        for name, (module, _) in PEERS.items():
            if module is not None and importlib.util.find_spec(module) is None:
                missing.append((name, module))
                continue
            pool = ProcessPoolExecutor(1, spawn, initializer=begin, initargs=(name,))
            libraries[name] = ends.enter_context(pool)
            micro[name] = math.inf
        for _ in range(TURNS):
            for name, library in libraries.items():
                micro[name] = min(micro[name], library.submit(turn).result())
    table = Table(title="One decision, choose + reward: 3 arms, 3 features")
    table.add_column("library")
    table.add_column("µs a decision", justify="right")
    table.add_column("times lexbandit's", justify="right")
    for name, taken in micro.items():
        table.add_row(name, f"{taken:.1f}", f"{taken / micro['lexbandit']:.1f}")
    console.print(table)
    for name, module in missing:
        console.print(f"{name}: not installed, left out (pip install {module}).")
    return micro


def many_decisions(console: Console) -> dict[str, float]:
    """Print µs a decision of what is done for many at once; return times `replay`'s."""
    ours = {name: chooser(policy=name) for name in (None, "lex-thompson")}
    draw = np.random.default_rng(0)
    columns = {name: draw.random(MANY) for name in ("length", "hour", "load")}
    told = {"quality": draw.random(MANY), "cost": 0.05 * draw.random(MANY)}
    rounds = Rounds(np.column_stack(list(columns.values())), draw.random((MANY, 3, 2)))
    serial = count()
    jobs: dict[str, Callable[[], object]] = {}
    for name, one in ours.items():
        one.reward_many(one.choose_many(columns), told)
        jobs[f"{one.policy.name}: choose_many"] = partial(one.choose_many, columns)
        jobs[f"{one.policy.name}: replay"] = partial(chooser(policy=name).policy.replay, rounds)
    mine = ours[None]
    proposed = mine.propose_many(columns)
    ids: list[list[str]] = []

    def record() -> None:
        ids.append([f"{next(serial)}-{k}" for k in range(MANY)])
        mine.record_many(ids[-1], proposed)

    jobs["propose_many"] = lambda: mine.propose_many(columns)
    jobs["record_many"] = record
    jobs["reward_many"] = lambda: mine.reward_many(ids.pop(), told)
    least = best_of(TURNS, jobs)
    table = Table(title=f"{MANY:,} decisions at once: 3 arms, 3 features as columns")
    table.add_column("what")
    table.add_column("µs a decision", justify="right")
    for name, taken in least.items():
        table.add_row(name, f"{taken / MANY * 1e6:.2f}")
    console.print(table)
    ratios = {
        one.policy.name: least[f"{one.policy.name}: choose_many"]
        / least[f"{one.policy.name}: replay"]
        for one in ours.values()
    }
    for name, ratio in ratios.items():
        console.print(
            f"{name}: choose_many takes {ratio:.2f} times as long as replay, which learns."
        )
    return ratios


def snapshots(console: Console) -> None:
    """Print ms of a snapshot with 100,000 decisions waiting: locked, and in all."""
    ours = chooser()
    columns = {
        name: np.random.default_rng(0).random(100_000) for name in ("length", "hour", "load")
    }
    ours.choose_many(columns)
    least = best_of(10, {"locked": ours._snapshot, "all": ours.to_bytes})
    console.print(
        f"A snapshot with {ours.waiting:,} decisions waiting: others wait "
        f"{least['locked'] * 1e3:.0f} ms, to_bytes takes {least['all'] * 1e3:.0f} ms."
    )


def main() -> None:
    console = Console(width=110)
    start = time.perf_counter()
    one_decision(console)
    many_decisions(console)
    snapshots(console)
    console.print(
        f"Measured in {time.perf_counter() - start:.0f} s, the best of {TURNS} turns each."
    )


if __name__ == "__main__":
    main()
