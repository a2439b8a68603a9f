"""What the default loses and misses where contexts are vectors, by how long these are.

Not a speed: the figures of docs/policies/lex-thompson.md, "Where it loses". In each world every arm
depends on the vector linearly, in its own way. Nothing was chosen on these worlds. Two minutes:

    python -m benchmarks.vectors

A number after it is that of the worlds of each length, in place of 96.
"""

import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import lexbandit as lb
from lexbandit.checks import Floats
from lexbandit.contexts import Contexts
from lexbandit.metrics import tolerance_regret

LENGTHS = (4, 8, 16, 32, 64)
COUNTS = (1_000, 10_000)
FIRST_WORLD = 9_000
# Each arm depends in a way of its own on so many of the numbers, and all alike on every one.
OWN = 8
# The objectives' ranges are so wide that hardly a reward is clipped.
QUALITY, COST = (-0.5, 2.0), (-0.5, 1.5)
# The policies: the one that the ratios are to comes last.
POLICIES: dict[str, dict[str, object]] = {
    "lex-thompson": {},
    "cs-ts": {},
    "lex-linucb": {"threshold": 0.5},
}


class World(NamedTuple):
    """Two objectives whose shares of their ranges are linear in a vector, and its rounds."""

    contexts: Contexts
    tolerance: float
    rounds: lb.Rounds
    means: Floats


def world(length: int, number: int) -> World:
    """Return a world of three to five arms, with a tolerance of 0.03 to 0.06 of quality.

    In seven worlds of ten the second best arm on average is as good, on average.
    """
    random = np.random.default_rng((number, length))
    arms, tolerance = int(random.integers(3, 6)), random.uniform(0.03, 0.06)
    gaps = np.sort(random.uniform(0.0, random.uniform(0.05, 0.2), arms))
    gaps[0] = 0.0
    if random.random() < 0.7:
        gaps[1] = tolerance * random.uniform(0.1, 0.9)
    behind = random.permutation(gaps)
    # The better an arm is on average, the dearer, by and large.
    rank = (-behind).argsort().argsort() / (arms - 1)
    costs = 0.1 + 0.6 * (0.6 * rank + 0.4 * random.random(arms))
    alike = 0.2 / np.sqrt(length) * random.standard_normal(length)
    weights = np.tile(alike, (arms, 1))
    for arm in range(arms):
        some = random.permutation(length)[:OWN]
        weights[arm, some] += random.uniform(0.03, 0.1) * random.standard_normal(len(some))
    vectors = np.clip(0.45 * random.standard_normal((COUNTS[-1], length)), -1.0, 1.0)
    means = np.empty((len(vectors), arms, 2))
    means[:, :, 0] = 0.7 - behind + vectors @ weights.T
    means[:, :, 1] = costs
    noise = random.uniform(0.05, 0.1), 0.05
    outcomes = means + noise * random.standard_normal(means.shape)
    objectives = (
        lb.Objective("quality", range=QUALITY, tolerance=tolerance),
        lb.Objective("cost", goal="min", range=COST),
    )
    shares = [
        np.stack([o.shares(values[:, :, i]) for i, o in enumerate(objectives)], axis=2)
        for values in (outcomes, means)
    ]
    contexts = Contexts([lb.Vector("embedding", length=length, low=-1.0, high=1.0)])
    points, _ = contexts.encode_many({"embedding": vectors}, len(vectors))
    share = objectives[0].tolerance / objectives[0].span
    return World(contexts, share, lb.Rounds(points, shares[0]), shares[1])


def losses(length: int, number: int) -> Floats:
    """Return the loss and what was missed in one world, in shares: float[policies, counts, 2]."""
    contexts, tolerance, rounds, means = world(length, number)
    found = []
    for name, settings in POLICIES.items():
        policy = lb.make_policy(
            name,
            arms=means.shape[1],
            objectives=2,
            dimension=contexts.dimension,
            layout=contexts.layout,
            tolerance=[tolerance, 0.0],
            seed=number,
            **settings,
        )
        found.append(tolerance_regret(means, policy.replay(rounds), [tolerance, 0.0], COUNTS))
    return np.array(found)


def ratio(ours: Floats, theirs: Floats) -> str:
    """Return the ratio of two sums over worlds, with its standard error (linearised)."""
    whole = theirs.sum()
    value = ours.sum() / whole
    error = np.sqrt(len(ours)) * (ours - value * theirs).std(ddof=1) / whole
    return f"{value:.2f} ± {error:.2f}"


def vectors(console: Console, worlds: int) -> None:
    """Print losses and what was missed as ratios to those of `lex-linucb(threshold=0.5)`."""
    table = Table(title=f"Beside lex-linucb(threshold=0.5): ratios of {worlds} worlds each")
    for column in ("numbers", "decisions", "policy", "loss", "missed", "loss a decision"):
        table.add_column(column, justify="right")
    quality = QUALITY[1] - QUALITY[0]
    for length in LENGTHS:
        found = np.array([losses(length, FIRST_WORLD + n) for n in range(worlds)])
        for k, count in enumerate(COUNTS):
            for p, name in enumerate(POLICIES):
                ours, theirs = found[:, p, k], found[:, -1, k]
                table.add_row(
                    f"{length}",
                    f"{count:,}",
                    name,
                    *(ratio(ours[:, i], theirs[:, i]) for i in range(2)),
                    f"{quality * ours[:, 0].mean() / count:.4f}",
                )
    console.print(table)


if __name__ == "__main__":
    vectors(Console(width=110), int(sys.argv[1]) if len(sys.argv) > 1 else 96)
