"""`choose` + `reward` of one decision, beside MABWiser's and Vowpal Wabbit's Python.

    python -m benchmarks.peers

Both peers are optional: `pip install mabwiser vowpalwabbit`. One that is not there is left out, and
the table says so. All have the same 3 arms and 3 features; lexbandit learns two objectives of every
decision, the peers one.
"""

import importlib
import importlib.util
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit as lb
from benchmarks.timing import best_of
from lexbandit.rounds import Rounds

ARMS = ["llama-8b", "mistral-large", "gemini-pro"]
DECISIONS = 250  # after 200 to warm up; short turns, so that a busy machine disturbs few of them
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


def chooser() -> lb.Chooser:
    return lb.Chooser(
        objectives=[
            lb.Objective("quality", range=(0, 1), tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        arms=ARMS,
        context=[lb.Number("length"), lb.Number("hour"), lb.Number("load")],
        keep=200_000,
        seed=0,
    )


def lexbandit_step() -> Step:
    known, told, ours = contexts(DECISIONS), rewards(DECISIONS), chooser()
    place = {arm: k for k, arm in enumerate(ARMS)}

    def step(i: int) -> None:
        decision = ours.choose(known[i])
        quality, cost = told[i][place[decision.arm]]
        ours.reward(decision, quality=quality, cost=cost)

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
    "MABWiser, LinUCB": ("mabwiser", mabwiser_step),
    "Vowpal Wabbit, cb_explore_adf": ("vowpalwabbit", vowpal_step),
}


def one_decision(console: Console) -> dict[str, float]:
    """Print µs a decision, told and learned, of lexbandit and of the peers that are installed."""
    steps, missing = {}, []
    for name, (module, make) in PEERS.items():
        if module is not None and importlib.util.find_spec(module) is None:
            missing.append((name, module))
            continue
        steps[name] = make()
        for i in range(200):  # the first ones compile, allocate and import
            steps[name](i)

    def job(step: Step) -> Callable[[], None]:
        def run() -> None:
            for i in range(200, DECISIONS):
                step(i)

        return run

    least = best_of(TURNS, {name: job(step) for name, step in steps.items()})
    micro = {name: seconds / (DECISIONS - 200) * 1e6 for name, seconds in least.items()}
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


def many_decisions(console: Console) -> float | None:
    """Print ns a decision of `choose_many` beside `replay`, which learns too; return the ratio."""
    ours = chooser()
    if not hasattr(ours.policy, "select_many"):
        console.print("choose_many: this version has no select_many, left out.")
        return None
    draw = np.random.default_rng(0)
    columns = {name: draw.random(MANY) for name in ("length", "hour", "load")}
    points = np.column_stack(list(columns.values()))
    rounds = Rounds(points, draw.random((MANY, 3, 2)))
    ours.policy.replay(rounds[:1000])
    ours.choose_many({name: column[:1000] for name, column in columns.items()})
    twin = chooser().policy
    least = best_of(
        TURNS,
        {"choose_many": lambda: ours.choose_many(columns), "replay": lambda: twin.replay(rounds)},
    )
    ratio = least["choose_many"] / least["replay"]
    console.print(
        f"{MANY:,} decisions at once: choose_many {least['choose_many'] / MANY * 1e9:.0f} ns, "
        f"replay {least['replay'] / MANY * 1e9:.0f} ns a decision, {ratio:.2f} times."
    )
    return ratio


def main() -> None:
    console = Console(width=110)
    start = time.perf_counter()
    one_decision(console)
    many_decisions(console)
    console.print(
        f"Measured in {time.perf_counter() - start:.0f} s, the best of {TURNS} turns each."
    )


if __name__ == "__main__":
    main()
