"""What the default keeps of its promise: each complaint about the first version, measured again.

Not a speed. `python -m benchmarks.promises` prints the figures of docs/policies/lex-thompson.md,
all by the public `Chooser` with its defaults; the recorded prompts need their file, see
examples/language_models.py. A few minutes.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from examples import language_models
from rich.console import Console
from rich.table import Table

import lexbandit as lb
from benchmarks.outlook import default_policy
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.metrics import tolerance_regret

FORMER: dict[str, object] = {"policy": "lex-linucb", "threshold": 0.5}
RUNS = 20
# For how sure it is: runs, and after how many decisions it is asked.
SURE_RUNS, COUNTS = 60, (1_000, 4_000, 8_000, 20_000)


@dataclass(frozen=True)
class World:
    """Arms of constant means without a context; `draw` returns one reward of every objective."""

    name: str
    means: Floats
    tolerances: tuple[float, ...]
    draw: Callable[[np.random.Generator, Floats], Floats]
    rounds: int


def bernoulli_first(random: np.random.Generator, means: Floats) -> Floats:
    """Return a Bernoulli reward, then Gaussian ones of deviation 0.05, kept in [0, 1]."""
    rest = means[1:] + 0.05 * random.standard_normal(len(means) - 1)
    return np.array([float(random.random() < means[0]), *np.clip(rest, 0.0, 1.0)])


def gaussian(random: np.random.Generator, means: Floats) -> Floats:
    """Return Gaussian rewards of deviation 0.1, kept in [0, 1]."""
    return np.clip(means + 0.1 * random.standard_normal(len(means)), 0.0, 1.0)


def exact(_: np.random.Generator, means: Floats) -> Floats:
    """Return the means: no noise at all."""
    return means


EMAILS = World(
    "five e-mails",
    np.array([[0.030, 0.2], [0.028, 0.4], [0.020, 0.6], [0.012, 0.9], [0.025, 0.5]]),
    (0.003, 0.0),
    bernoulli_first,
    20_000,
)
THREE = World(
    "three metrics",
    np.array([[0.6, 0.5, 0.2], [0.59, 0.7, 0.4], [0.58, 0.69, 0.8], [0.5, 0.9, 0.9]]),
    (0.03, 0.03, 0.0),
    gaussian,
    20_000,
)
TWO = World(
    "two metrics, Gaussian",
    np.array([[0.60, 0.3], [0.59, 0.6], [0.50, 0.8]]),
    (0.03, 0.0),
    gaussian,
    10_000,
)
QUIET = World(
    "no noise", np.array([[0.7, 0.98], [0.91, 0.9], [0.92, 0.4]]), (0.02, 0.0), exact, 2_000
)


def chooser_for(world: World, seed: int, **more: object) -> lb.Chooser:
    """Return a chooser for a world; its objectives are called o0, o1, ..."""
    return lb.Chooser(
        objectives=[lb.Objective(f"o{i}", tolerance=t) for i, t in enumerate(world.tolerances)],
        arms=[f"a{arm}" for arm in range(len(world.means))],
        seed=seed,
        **more,  # type: ignore[arg-type]
    )


def played(
    world: World, chooser: lb.Chooser, seed: int, *, rounds: int, delay: int = 0
) -> Integers:
    """Let a chooser decide `rounds` times, its rewards `delay` decisions late; return the arms."""
    random = np.random.default_rng(seed)
    arms = np.empty(rounds, np.int64)
    late: deque[tuple[lb.Decision, dict[str, float]]] = deque()
    for t in range(rounds):
        choice = chooser.choose()
        arms[t] = int(choice.arm[1:])
        rewards = world.draw(random, world.means[arms[t]])
        late.append((choice, {f"o{i}": float(r) for i, r in enumerate(rewards)}))
        if len(late) > delay:
            told, values = late.popleft()
            chooser.reward(told, values)
    return arms


def regrets(world: World, arms: Integers) -> Floats:
    """Return the tolerance regret of a run: loss beyond tolerance, and missed in the last."""
    means = np.broadcast_to(world.means, (len(arms), *world.means.shape))
    found = tolerance_regret(means, arms, world.tolerances)
    return np.array([found[:-1].sum(), found[-1]])


def losses(console: Console) -> None:
    """Print losses of the default, of the former one, of CS-TS and of random choice."""
    table = Table(title=f"Loss beyond tolerance and missed in the last objective, {RUNS} runs")
    for column in ("world", "chooser", "first objective", "loss", "missed"):
        table.add_column(column)
    makers: dict[str, Callable[[World, int], lb.Chooser]] = {
        "default": chooser_for,
        "former default": lambda world, seed: chooser_for(world, seed, **FORMER),
        "cs-ts": lambda world, seed: chooser_for(world, seed, policy="cs-ts"),
        "random": lambda world, seed: chooser_for(world, seed, policy="random"),
    }
    for world in (EMAILS, THREE):
        for name, make in makers.items():
            found, first = [], []
            for seed in range(RUNS):
                arms = played(world, make(world, seed), 1000 + seed, rounds=world.rounds)
                found.append(regrets(world, arms))
                first.append(world.means[arms, 0].mean())
            mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / RUNS**0.5
            table.add_row(
                world.name,
                name,
                f"{np.mean(first):.4f}",
                f"{mean[0]:.0f} ± {error[0]:.0f}",
                f"{mean[1]:.0f} ± {error[1]:.0f}",
            )
    console.print(table)


def delays(console: Console) -> None:
    """Print wrong plays of 10,000 with rewards at once and 2,000 decisions late."""
    wrong = {}
    for delay in (0, 2_000):
        counts = []
        for seed in range(RUNS):
            arms = played(TWO, chooser_for(TWO, seed), 2000 + seed, rounds=10_000, delay=delay)
            counts.append((arms != 1).sum())  # arm 1 is within 0.03 of the best, and cheaper
        wrong[delay] = np.mean(counts)
    # Before the first reward nothing tells the arms apart: two of three choices are wrong.
    blind = 2_000 * (1 - 1 / len(TWO.means))
    console.print(
        f"Late rewards: {wrong[0]:.0f} wrong plays of 10,000 with rewards at once, "
        f"{wrong[2_000]:.0f} with rewards 2,000 decisions late. No rule can have fewer than "
        f"{blind:.0f} of the first 2,000 wrong; beyond these it has {wrong[2_000] - blind:.0f}."
    )


def coverage(console: Console) -> None:
    """Print how often the intervals of `explain` hold the truth after 1,500 decisions."""
    table = Table(title="Intervals of explain that hold the truth, 100 runs of 1,500 decisions")
    for column in ("world", "default", "former default"):
        table.add_column(column)
    for world in (EMAILS, TWO, QUIET, THREE):
        table.add_row(world.name, *(f"{held(world, **more):.3f}" for more in ({}, FORMER)))
    console.print(table)


def held(world: World, **more: object) -> float:
    """Return the share of intervals of all arms and objectives that hold the truth."""
    found = []
    for seed in range(100):
        chooser = chooser_for(world, seed, **more)
        played(world, chooser, 3000 + seed, rounds=1_500)
        for arm, explained in enumerate(chooser.explain().arms):
            for i, estimate in enumerate(explained.estimates.values()):
                if estimate.low is not None and estimate.high is not None:
                    found.append(estimate.low <= world.means[arm, i] <= estimate.high)
    return float(np.mean(found))


def sureness(console: Console) -> None:
    """Print how sure `explain` is that its choice is within the tolerances, and how often it is.

    Nothing was chosen on these worlds.
    """
    title = f"`confidence` of explain, and the share of choices within tolerance, {SURE_RUNS} runs"
    table = Table(title=title)
    for column in ("world", *(f"{count:,} decisions" for count in COUNTS)):
        table.add_column(column)
    worlds: dict[str, Callable[[int], Floats]] = {EMAILS.name: sure_of_emails}
    for kind in ("clicks", "categories", "dear", "three"):
        worlds[kind] = partial(sure_of_kind, kind)
    for name, said_and_true in worlds.items():
        found = np.array([said_and_true(8_000 + seed) for seed in range(SURE_RUNS)])
        error = (found[:, :, 0] - found[:, :, 1]).std(axis=0, ddof=1) / SURE_RUNS**0.5
        cells = [
            f"{said:.2f}, true {true:.2f} (± {e:.2f})"
            for (said, true), e in zip(found.mean(axis=0), error, strict=True)
        ]
        table.add_row(name, *cells)
    console.print(table)


def sure_of_emails(seed: int) -> Floats:
    """Return float[counts, 2] of one run with the e-mails: how sure it is, and the truth."""
    chooser = chooser_for(EMAILS, seed)
    found: list[tuple[float | None, float]] = []
    done = 0
    good = within(EMAILS.means[np.newaxis], EMAILS.tolerances)[0]
    for count in COUNTS:
        played(EMAILS, chooser, 10 * seed + len(found), rounds=count - done)
        told = chooser.explain()
        true = sum(arm.propensity for arm, right in zip(told.arms, good, strict=True) if right)
        found.append((told.confidence, true))
        done = count
    return np.array(found, np.float64)


def sure_of_kind(kind: str, world: int) -> Floats:
    """Return float[counts, 2] of one world: how sure it is in twelve contexts, and the truth."""
    environment = lb.make_environment("tolerance", kind=kind, world=world)
    policy = default_policy(environment, seed=world)
    rounds = environment.rounds(COUNTS[-1], seed=world)
    points = rounds.contexts[-12:]
    good = within(environment.means(points), environment.tolerances or ())
    found, done = [], 0
    for count in COUNTS:
        policy.replay(lb.Rounds(rounds.contexts[done:count], rounds.outcomes[done:count]))
        said = [
            sum(arm.propensity * math.prod(arm.within) for arm in policy.explain(point).arms)
            for point in points
        ]
        found.append((np.mean(said), (policy.propensities_many(points) * good).sum(axis=1).mean()))
        done = count
    return np.array(found)


def within(means: Floats, tolerances: Sequence[float]) -> Booleans:
    """Return which arms are within the tolerances of the best, bool[n, K], by means[n, K, D]."""
    left = np.ones(means.shape[:2], np.bool_)
    for i in range(means.shape[2] - 1):
        best = np.where(left, means[:, :, i], -np.inf).max(axis=1, keepdims=True)
        left &= means[:, :, i] >= best - tolerances[i] - 1e-12  # rounding
    return left


def readme(console: Console) -> None:
    """Print how often the README's example chooses `medium`."""
    now, before = share_of_medium(), share_of_medium(**FORMER)
    console.print(
        f"README's example: {now:.1%} of 2,000 requests go to medium; former default {before:.1%}."
    )


def share_of_medium(**more: Any) -> float:
    """Play the README's example and return the share of requests that go to `medium`."""
    models = {"small": (0.70, 0.001), "medium": (0.91, 0.004), "large": (0.92, 0.03)}
    chooser = lb.Chooser(
        objectives=[
            lb.Objective("quality", tolerance=0.02),
            lb.Objective("cost", goal="min", range=(0, 0.05)),
        ],
        arms=list(models),
        context=[lb.Number("tokens", 0, 8000), lb.Category("task", ["code", "chat"])],
        **more,
    )
    chosen = 0
    for tokens in range(0, 8000, 4):
        decision = chooser.choose({"tokens": tokens, "task": "code"})
        quality, cost = models[decision.arm]
        chooser.reward(decision, quality=quality, cost=cost)
        chosen += decision.arm == "medium"
    return chosen / 2000


def experiments(console: Console) -> None:
    """Print the losses in the paper's Experiments 1 and 2, at tolerance 0, beside the former ones.

    The seeds were used for no choice.
    """
    table = Table(title=f"The paper's experiments, 100,000 rounds, tolerance 0, {RUNS} runs")
    for column in ("experiment", "loss", "of the former", "missed", "of the former"):
        table.add_column(column)
    for name in ("synthetic", "multichannel"):
        environment = lb.make_environment(name)
        found = []
        for seed in range(RUNS):
            rounds = environment.rounds(100_000, seed=(9_000, seed))
            shape: dict[str, Any] = {
                "arms": environment.arms,
                "dimension": environment.dimension,
                "objectives": environment.objectives,
                "seed": seed,
            }
            policies = (
                lb.make_policy("lex-thompson", **shape),
                lb.make_policy("lex-linucb", threshold=0.5, **shape),
            )
            found.append(
                [
                    tolerance_regret(rounds.means, policy.replay(rounds), (0.0, 0.0))
                    for policy in policies
                ]
            )
        ours, former = np.mean(found, axis=0)
        table.add_row(
            name,
            *(f"{ours[0]:.0f}", f"{ours[0] / former[0]:.2f}"),
            *(f"{ours[1]:.0f}", f"{ours[1] / former[1]:.2f}"),
        )
    console.print(table)


def prompts(console: Console) -> None:
    """Print quality and cost on the recorded prompts, if they are there.

    In orders 50,000 to 50,099: constants of the rule were chosen with an eye on others.
    """
    path = language_models.data_file()
    if path is None:
        console.print("Recorded prompts: not measured, their file is not here.")
        return
    contexts, outcomes = language_models.recorded(path)
    for name, more in {"default": {}, "former default": FORMER}.items():
        found = []
        for seed in range(50_000, 50_100):
            order = np.random.default_rng(seed).permutation(len(contexts))
            chooser = lb.Chooser(
                objectives=language_models.OBJECTIVES,
                arms=language_models.ARMS,
                context=language_models.CONTEXT,
                seed=seed,
                **cast(Any, more),
            )
            asked = language_models.asked_by(chooser, [contexts[i] for i in order], outcomes[order])
            found.append(outcomes[order, asked].mean(axis=0))
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / 10
        console.print(
            f"Recorded prompts, 100 orders, {name}: quality {mean[0]:.4f} ± {error[0]:.4f} at "
            f"${mean[1]:.5f} ± {error[1]:.5f} a prompt."
        )


if __name__ == "__main__":
    # Warnings, as of a tolerance that is small beside the noise, are for those who build on it.
    logging.getLogger("lexbandit").setLevel(logging.ERROR)
    out = Console(width=110)
    readme(out)
    losses(out)
    delays(out)
    coverage(out)
    sureness(out)
    experiments(out)
    prompts(out)
