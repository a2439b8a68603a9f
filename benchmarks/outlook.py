"""How good `Chooser.outlook` is: what it says after 1,000 decisions, and what came.

Not a speed: the figures of docs/choosing-tolerance.md. Three minutes with 24 worlds of each kind:

    python -m benchmarks.outlook 24
"""

import math
import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from lexbandit import Rounds, make_policy
from lexbandit.checks import Floats
from lexbandit.chooser.outlook import HORIZON, RecentTraffic, project
from lexbandit.environments import Environment, make_environment
from lexbandit.policies import Policy

KINDS = ("no-context", "categories", "bernoulli", "clicks", "smooth", "interactions", "many-arms")
TARGETS = (0.8, 0.9)
# Worlds that no choice was made on begin here.
FIRST_WORLD = 2000
ASKED = 1_000
# The share is said and measured in so many contexts, at counts that grow by a fifth.
MEASURED = 64
GROWTH = 1.2


class Run(NamedTuple):
    """What was said of one world after 1,000 decisions, and what came.

    share     the share of requests, as said then
    true      how many of the next 1,000 choices were within the tolerances
    said      per target, the projected further decisions; ∞ beyond 100,000
    needed    per target, the further decisions that were needed; ∞ beyond 100,000
    constant  per target, all decisions that were needed in units of arms × coordinates ×
              (noise/tolerance)², with the learned noise
    """

    share: float
    true: float
    said: list[float]
    needed: list[float]
    constant: list[float]


def default_policy(environment: Environment, seed: int) -> Policy:
    """Return the policy that a chooser has by default, for a world of the family `tolerance`."""
    return make_policy(
        "lex-thompson",
        arms=environment.arms,
        objectives=environment.objectives,
        dimension=environment.dimension,
        layout=environment.layout,
        tolerance=environment.tolerances,
        seed=seed,
    )


def run(kind: str, world: int) -> Run:
    """Play one world."""
    environment = make_environment("tolerance", kind=kind, world=world)
    tolerance = environment.tolerances[0] if environment.tolerances else 0.0
    policy = default_policy(environment, seed=world)
    rounds = environment.rounds(ASKED + HORIZON, seed=world)
    counts, done = [100], 0
    while counts[-1] < len(rounds):
        counts.append(min(int(GROWTH * counts[-1]) + 1, len(rounds)))
    counts = sorted({*counts, ASKED, 2 * ASKED})
    never = math.inf
    shares: list[float] = []
    true: list[bool] = []
    share, said = 0.0, [never, never]
    for count in counts:
        part = Rounds(rounds.contexts[done:count], rounds.outcomes[done:count])
        means, arms = environment.means(part.contexts)[:, :, 0], policy.replay(part)
        lost = means.max(axis=1) - means[np.arange(len(part)), arms]
        if ASKED < count <= 2 * ASKED:
            true.extend(lost <= tolerance)
        shares.append(project(traffic_of(policy, rounds.contexts[:MEASURED]), 1, 0.0).share)
        done = count
        if count == ASKED:
            traffic = traffic_of(policy, rounds.contexts[:MEASURED])
            projections = [project(traffic, ASKED, target) for target in TARGETS]
            share = projections[0].share
            said = [never if p.more is None else p.more for p in projections]
    needed = [
        next(
            (c - ASKED for c, s in zip(counts, shares, strict=True) if c >= ASKED and s >= t), never
        )
        for t in TARGETS
    ]
    at = [next((c for c, s in zip(counts, shares, strict=True) if s >= t), never) for t in TARGETS]
    coordinates = 1 + sum(max(1, size - 1) for _, size in environment.layout)
    ratio = policy.state()["facts"][0, 2] / tolerance**2
    constant = [count / (environment.arms * coordinates * ratio) for count in at]
    return Run(share, float(np.mean(true)), said, needed, constant)


def traffic_of(policy: Policy, contexts: Floats) -> RecentTraffic:
    """Return what is known in these contexts, each of which has the same share."""
    allowed = np.ones(policy.arms, np.bool_)
    different, counts = np.unique(contexts, axis=0, return_counts=True)
    prospects = [policy.prospect(point, allowed) for point in different]
    return RecentTraffic(policy, prospects, counts / counts.sum(), 0.0, np.ones(policy.objectives))


def outlooks(console: Console, worlds: int) -> None:
    """Print for every kind of world how near the projections came, and the first guess.

    Worlds in which the target was neither said nor reached within 100,000 further decisions are
    counted apart. Where only one of the two is, the other counts as 100,000.
    """
    table = Table(title=f"Outlooks after {ASKED:,} decisions, {worlds} worlds of each kind")
    for column in ("kind", "share said", "true", "for", "worlds", "neither"):
        table.add_column(column, justify="right")
    for column in ("said/needed", "quartiles", "constant"):
        table.add_column(column, justify="right")
    for kind in KINDS:
        runs = [run(kind, FIRST_WORLD + world) for world in range(worlds)]
        share, true = np.mean([r.share for r in runs]), np.mean([r.true for r in runs])
        for n, target in enumerate(TARGETS):
            below = [(r.said[n], r.needed[n]) for r in runs if r.share < target and r.needed[n] > 0]
            ratios = [
                min(said, HORIZON) / min(needed, HORIZON)
                for said, needed in below
                if min(said, needed) < HORIZON
            ]
            low, middle, high = (quantile(ratios, p) for p in (0.25, 0.5, 0.75))
            table.add_row(
                kind,
                f"{share:.0%}",
                f"{true:.0%}",
                f"{target:.0%}",
                f"{len(below)}",
                f"{len(below) - len(ratios)}",
                f"{middle:.2g}",
                f"{low:.2g} to {high:.2g}",
                f"{np.median([r.constant[n] for r in runs]):.2g}",
            )
    console.print(table)


def quantile(values: list[float], share: float) -> float:
    """Return the value that this share of them is below; NaN if there are none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else np.nan


if __name__ == "__main__":
    outlooks(Console(width=110), int(sys.argv[1]) if len(sys.argv) > 1 else 8)
