"""The compiled policies against their plain twins, on the rounds of Experiment 2."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit
from benchmarks.hand_written import HandWritten, cd_ucb1, cp_ucb1, cs_ucb1, moc_mab
from benchmarks.timing import best_of
from lexbandit.rounds import Rounds
from naive import run
from support import PAPER, as_lists, twin_of

HORIZON = 1_000_000
SIDE = 16
SCALE = 1 / 5
TWIN_ROUNDS = 4_000


def make(name: str, seed: int = 0) -> Any:
    return lexbandit.make_policy(name, arms=8, dimension=2, horizon=HORIZON, scale=SCALE, seed=seed)


def make_twin(name: str) -> Any:
    return twin_of(name, arms=8, m=SIDE, scale=SCALE, horizon=HORIZON, seed=0)


def step(policy: Any, rounds: Rounds) -> None:
    """Select and update from Python, one round at a time, as a program would."""
    for context, outcome in zip(rounds.contexts, rounds.outcomes, strict=True):
        arm = policy.select(context).arm
        policy.update(context, arm, outcome[arm])


def replay_and_step(console: Console) -> None:
    """Print ns a round of `replay` and of `select` + `update`, over the twin's."""
    environment = lexbandit.make_environment("multichannel")
    block = environment.rounds(65_536, seed=1)
    few = block[:TWIN_ROUNDS]
    contexts, outcomes = as_lists(few)
    table = Table(title="A round on multichannel: 8 arms, 2 objectives, 256 cells")
    table.add_column("policy")
    for column in ("replay", "over moc-mab", "twin", "over replay", "select + update", "ratio"):
        table.add_column(column, justify="right")
    moc = make("moc-mab")
    moc.replay(block)
    for name in [*PAPER, "ucb1", "random"]:
        policy, single = make(name), make(name)
        jobs: dict[str, Callable[[], object]] = {
            "moc": lambda: moc.replay(block),
            "replay": lambda p=policy: p.replay(block),  # type: ignore[misc]
            "step": lambda p=single: step(p, few),  # type: ignore[misc]
        }
        if name != "random":  # nothing to compare with
            twin_policy = make_twin(name)
            jobs["twin"] = lambda t=twin_policy: run(t, contexts, outcomes)  # type: ignore[misc]
        policy.replay(few)
        step(single, few[:10])
        least = best_of(7, jobs)
        replay, reference = least["replay"] / len(block), least["moc"] / len(block)
        one, twin = least["step"] / len(few), least.get("twin", np.nan) / len(few)
        table.add_row(
            name,
            f"{replay * 1e9:.0f} ns",
            f"{replay / reference:.2f}",
            "" if np.isnan(twin) else f"{twin * 1e6:.2f} µs",
            "" if np.isnan(twin) else f"{twin / replay:.0f}",
            f"{one * 1e6:.2f} µs",
            "" if np.isnan(twin) else f"{twin / one:.2f}",
        )
    console.print(table)
    single, hand = make("moc-mab"), HandWritten(8, HORIZON, 2, SIDE, scale=SCALE)
    step(single, few[:10])
    least = best_of(
        9, {"step": lambda: step(single, few), "hand": lambda: run(hand, contexts, outcomes)}
    )
    console.print(
        "The twins are the paper's lines in plain Python. MOC-MAB in Python written for speed "
        f"takes {least['hand'] / len(few) * 1e6:.2f} µs a round; select + update beside it "
        f"{least['step'] / len(few) * 1e6:.2f} µs: {least['hand'] / least['step']:.2f} times."
    )


def against_numba(console: Console) -> None:
    """Print the processor time of a round of every cell policy over that of hand-written numba."""
    block = lexbandit.make_environment("multichannel").rounds(16_384, seed=1)
    arms = np.empty(len(block), np.int64)
    A, v = 1 + 2 * np.log(4 * 8 * SIDE**2 * HORIZON**1.5), 2**0.5 / SIDE
    given = block.contexts, block.outcomes, SIDE
    names = ["moc-mab", "cd-ucb1", "cp-ucb1", "p-ucb1", "ucb1", "random", "cs-ucb1", "s-ucb1"]
    jobs: dict[str, Callable[[], object]] = {
        "moc-mab by hand": lambda: moc_mab(*given, A, v, SCALE, arms),
        "cd-ucb1 by hand": lambda: cd_ucb1(*given, SCALE, arms),
        "cp-ucb1 by hand": lambda: cp_ucb1(*given, SCALE, arms),
        "cs-ucb1 by hand": lambda: cs_ucb1(*given, SCALE, arms),
    }
    for name in names:
        jobs[name] = partial(make(name).replay, block)
    for job in jobs.values():
        job()
    least = best_of(25, jobs, clock=time.thread_time)
    table = Table(title="A round beside forty lines of numba: 8 arms, 2 objectives, 256 cells")
    table.add_column("loop")
    for column in ("processor time", "over its own by hand", "over moc-mab"):
        table.add_column(column, justify="right")
    for name in jobs:
        own = least.get(f"{name} by hand", np.nan)
        table.add_row(
            name,
            f"{least[name] / len(block) * 1e9:.0f} ns",
            "" if np.isnan(own) else f"{least[name] / own:.2f}",
            f"{least[name] / least['moc-mab']:.2f}",
        )
    console.print(table)


def by_cells(console: Console) -> None:
    """Print ns a round as the visited cells grow from 10² to 10⁶."""
    table = Table(title="moc-mab by visited cells: 2 arms, 2 objectives")
    for column in ("visited cells", "another cell each round", "32 rounds in a row per cell"):
        table.add_column(column, justify="right")
    random = np.random.default_rng(0)
    n = 1 << 18
    outcomes = random.random((n, 2, 2))
    for side in (10, 32, 100, 320, 1000):
        cells = side * side
        policy = lexbandit.make_policy(
            "moc-mab", arms=2, dimension=2, horizon=n, cells_per_side=side, scale=SCALE
        )
        every = np.stack(np.unravel_index(np.arange(cells), (side, side)), axis=1)
        centres = (every + 0.5) / side
        for start in range(0, cells, n):
            part = centres[start : start + n]
            policy.replay(Rounds(part, outcomes[: len(part)]))
        scattered = Rounds(centres[random.integers(cells, size=n)], outcomes)
        rows = Rounds(
            np.repeat(centres[random.integers(cells, size=n // 32)], 32, axis=0), outcomes
        )
        least = best_of(
            7,
            {
                "scattered": lambda p=policy, r=scattered: p.replay(r),  # type: ignore[misc]
                "rows": lambda p=policy, r=rows: p.replay(r),  # type: ignore[misc]
            },
        )
        table.add_row(
            f"{policy.visited_cells:,}",  # type: ignore[attr-defined]
            f"{least['scattered'] / n * 1e9:.0f} ns",
            f"{least['rows'] / n * 1e9:.0f} ns",
        )
    console.print(table)


def by_arms(console: Console) -> None:
    """Print µs a round as arms grow from 4 to 10,000, all of them known in one cell."""
    table = Table(title="moc-mab by arms: 2 objectives, 200 observations of each arm")
    for column in ("arms", "replay", "a round and arm"):
        table.add_column(column, justify="right")
    random = np.random.default_rng(0)
    for arms in (4, 100, 1000, 10_000):
        policy = lexbandit.make_policy(
            "moc-mab", arms=arms, dimension=1, horizon=10**6, cells_per_side=1, scale=SCALE, L=0.1
        )
        known = policy.state() | {
            "cells": np.zeros(1, np.int64),
            "plays": np.full((1, arms), 200),
            "counts": np.full((1, arms, 2), 200),
            "sums": 200 * random.random((1, arms, 2)),
        }
        n = min(65_536, 10_000_000 // arms)
        block = Rounds(random.random((n, 1)), random.random((n, arms, 2)))

        def replay(policy: Any = policy, known: Any = known, block: Rounds = block) -> None:
            policy.load_state(known)
            policy.replay(block)

        seconds = best_of(5, {"replay": replay})["replay"] / n
        table.add_row(f"{arms:,}", f"{seconds * 1e6:.2f} µs", f"{seconds / arms * 1e9:.1f} ns")
    console.print(table)


def drawing(console: Console) -> None:
    """Print ns a round of drawing rounds, which all policies of a run share."""
    table = Table(title="Drawing a round")
    table.add_column("environment")
    table.add_column("time", justify="right")
    for name in ("synthetic", "multichannel"):
        environment = lexbandit.make_environment(name)
        least = best_of(5, {name: lambda e=environment: e.rounds(65_536, seed=0)})  # type: ignore[misc]
        table.add_row(name, f"{least[name] / 65_536 * 1e9:.0f} ns")
    console.print(table)
