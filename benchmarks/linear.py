"""The linear policies against their plain twins, and lex-linucb by rounds and by features."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit
from benchmarks.timing import best_of
from lexbandit.rounds import Rounds
from naive import run
from support import as_lists
from twins.linear import LexLinUcb, LinUcb, SupLinUcb

ARMS = 8
HORIZON = 1_000_000
TWIN_ROUNDS = 400

TWINS: dict[str, Callable[[], Any]] = {
    "lex-linucb": lambda: LexLinUcb(ARMS, 2),
    "linucb": lambda: LinUcb(ARMS, 2),
    "suplinucb": lambda: SupLinUcb(ARMS, 2, HORIZON),
}


def make(name: str, **parameters: Any) -> Any:
    return lexbandit.make_policy(name, arms=ARMS, dimension=2, horizon=HORIZON, **parameters)


def against_twins(console: Console) -> None:
    """Print a round of `replay` over the twin's: at most 3 µs and at least 100 times quicker."""
    block = lexbandit.make_environment("multichannel").rounds(65_536, seed=1)
    contexts, outcomes = as_lists(block[:TWIN_ROUNDS])
    table = Table(title="A round on multichannel: 8 arms, 2 objectives, linear policies")
    table.add_column("policy")
    for column in ("features", "replay", "twin", "over replay"):
        table.add_column(column, justify="right")
    for name, make_twin in TWINS.items():
        policy, twin = make(name), make_twin()
        policy.replay(block)
        least = best_of(
            5,
            {
                "replay": lambda p=policy: p.replay(block),  # type: ignore[misc]
                "twin": lambda t=twin: run(t, contexts, outcomes),  # type: ignore[misc]
            },
        )
        replay, slow = least["replay"] / len(block), least["twin"] / TWIN_ROUNDS
        table.add_row(
            name,
            str(policy.features.count),
            f"{replay * 1e6:.2f} µs",
            f"{slow * 1e6:.0f} µs",
            f"{slow / replay:.0f}",
        )
    console.print(table)


def by_rounds(console: Console) -> None:
    """Print µs a round of lex-linucb after 10⁴, 10⁵ and 10⁶ rounds: it does not depend on T."""
    environment = lexbandit.make_environment("multichannel")
    block = environment.rounds(65_536, seed=2)
    table = Table(title="lex-linucb by rounds already learned from: 8 arms, 15 features")
    for column in ("rounds before", "replay"):
        table.add_column(column, justify="right")
    policy, done = make("lex-linucb"), 0
    for goal in (10_000, 100_000, 1_000_000):
        for part in environment.stream(goal - done, seed=goal):
            policy.replay(part)
        state = policy.state()
        done = goal

        def again(state: dict[str, np.ndarray] = state) -> None:
            policy.load_state(state)
            policy.replay(block)

        least = best_of(5, {"replay": again, "load": lambda s=state: policy.load_state(s)})  # type: ignore[misc]
        policy.load_state(state)
        took = (least["replay"] - least["load"]) / len(block)
        table.add_row(f"{goal:,}", f"{took * 1e6:.2f} µs")
    console.print(table)


def by_features(console: Console) -> None:
    """Print µs a round as the features grow: every arm's inverse is read, F² numbers."""
    table = Table(title="lex-linucb by features: 8 arms, 2 objectives")
    for column in ("context features", "features", "replay"):
        table.add_column(column, justify="right")
    random = np.random.default_rng(0)
    for dimension in (1, 2, 3, 4, 10, 50):
        rounds = Rounds(random.random((8_192, dimension)), random.random((8_192, ARMS, 2)))
        policy = lexbandit.make_policy("lex-linucb", arms=ARMS, dimension=dimension)
        policy.replay(rounds)
        least = best_of(5, {"replay": lambda p=policy, r=rounds: p.replay(r)})  # type: ignore[misc]
        count = policy.features.count  # type: ignore[attr-defined]
        table.add_row(str(dimension), str(count), f"{least['replay'] / len(rounds) * 1e6:.2f} µs")
    console.print(table)
