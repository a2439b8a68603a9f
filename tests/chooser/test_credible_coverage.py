"""Credible intervals hold the truth as often as is promised, in worlds that are played adaptively.

Where `explain` says 95 %, at least 90 % must hold: of all objectives, arms and contexts, after each
chooser has learned from 1,500 decisions of its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import lexbandit as lb

Random = np.random.Generator


class World(NamedTuple):
    """A chooser's definition, and the truth: means and rewards by context, as arrays [K, D]."""

    settings: dict[str, Any]
    contexts: list[dict[str, Any]]
    means: Callable[[dict[str, Any]], Any]
    draw: Callable[[Any, Random], Any]


# No reward lies outside: one that is clipped has another mean.
WIDE = (-1.0, 2.0)
TASKS = ["code", "maths", "chat"]


def rare_binary(random: Random) -> World:
    """Clicks of 1 to 5 %, then a cost with noise; a category."""
    rates = random.uniform(0.01, 0.05, (3, 4))
    costs = random.uniform(0.1, 0.8, 4)

    def draw(means: Any, random: Random) -> Any:
        click = random.random(4) < means[:, 0]
        cost = means[:, 1] * np.exp(0.3 * random.standard_normal(4) - 0.045)
        return np.stack([click, np.minimum(cost, 1.0)], axis=1)

    return World(
        {
            "objectives": [
                lb.Objective("click", tolerance=0.005),
                lb.Objective("cost", goal="min"),
            ],
            "arms": list("abcd"),
            "context": [lb.Category("task", TASKS)],
        },
        [{"task": task} for task in TASKS],
        lambda context: np.stack([rates[TASKS.index(context["task"])], costs], axis=1),
        draw,
    )


def smooth(random: Random, deviation: float, ends: tuple[float, float]) -> World:
    """Smooth functions of a number that differ between the values of a category."""
    level = random.uniform(0.4, 0.7, (4, 2))
    size = random.uniform(-0.1, 0.1, (3, 4, 2))
    phase = random.uniform(0.0, 6.0, (3, 4, 2))
    speed = random.uniform(1.0, 3.0, (4, 2))

    def means(context: dict[str, Any]) -> Any:
        task = TASKS.index(context["task"])
        return level + size[task] * np.sin(speed * context["tokens"] + phase[task])

    return World(
        {
            "objectives": [
                lb.Objective("quality", range=ends, tolerance=0.03),
                lb.Objective("speed", range=ends),
            ],
            "arms": list("abcd"),
            "context": [lb.Number("tokens", 0, 1), lb.Category("task", TASKS)],
        },
        [{"tokens": x, "task": task} for x in (0.1, 0.35, 0.6, 0.9) for task in TASKS],
        means,
        lambda means, random: means + deviation * random.standard_normal((4, 2)),
    )


def gaussian(random: Random) -> World:
    return smooth(random, random.uniform(0.03, 0.12), WIDE)


def noise_free(random: Random) -> World:
    return smooth(random, 0.0, (0.0, 1.0))


def three_objectives(random: Random) -> World:
    """Three objectives without a context; the first is binary."""
    truth = np.stack([random.uniform(0.6, 0.9, 5) for _ in range(3)], axis=1)

    def draw(means: Any, random: Random) -> Any:
        noisy = means + 0.1 * random.standard_normal((5, 3))
        noisy[:, 0] = random.random(5) < means[:, 0]
        return noisy

    return World(
        {
            "objectives": [
                lb.Objective("success", tolerance=0.05),
                lb.Objective("quality", range=WIDE, tolerance=0.05),
                lb.Objective("speed", range=WIDE),
            ],
            "arms": list("abcde"),
        },
        [{}],
        lambda _: truth,
        draw,
    )


WORLDS = [rare_binary, gaussian, noise_free, three_objectives]


def good_in_one(_: Random) -> World:
    """Three arms: the first is good in one category, the cheaper the worse in the others."""
    qualities = {"code": [0.47, 0.88, 0.9], "maths": [0.72, 0.88, 0.9], "chat": [0.9, 0.9, 0.9]}
    costs = np.array([0.01, 0.06, 0.4])
    return World(
        {
            "objectives": [
                lb.Objective("quality", tolerance=0.02),
                lb.Objective("cost", goal="min"),
            ],
            "arms": list("abc"),
            "context": [lb.Number("tokens", 0, 1), lb.Category("task", TASKS)],
        },
        [{"tokens": 0.5, "task": task} for task in TASKS],
        lambda context: np.stack([qualities[context["task"]], costs], axis=1),
        lambda means, random: means + random.uniform(-0.1, 0.1, 3)[:, np.newaxis] * [1, 0],
    )


def embedding(random: Random) -> World:
    """Three arms whose quality depends on 64 numbers, each in its own way."""
    weights = random.normal(0.0, 0.26 / 8, (3, 64))
    level, costs = random.permutation([0.58, 0.6, 0.62]), np.array([0.2, 0.5, 0.8])

    def means(context: dict[str, Any]) -> Any:
        return np.stack([level + weights @ np.array(context["text"]), costs], axis=1)

    return World(
        {
            "objectives": [
                lb.Objective("quality", range=WIDE, tolerance=0.05),
                lb.Objective("cost", goal="min"),
            ],
            "arms": list("abc"),
            "context": [lb.Vector("text", 64, -1.0, 1.0)],
        },
        [{"text": random.uniform(-1.0, 1.0, 64).tolist()} for _ in range(1000)],
        means,
        lambda means, random: means + random.normal(0.0, [0.05, 0.02], (3, 2)),
    )


UNLIKE = [good_in_one, embedding]


def noisy_in_one(random: Random) -> World:
    """Three arms; in the first category rewards vary 20 times as much as in the others."""
    level = random.uniform(0.4, 0.6, (3, 3, 2))
    noise = {"code": 0.02, "maths": 0.4, "chat": 0.02}

    def draw(means: Any, random: Random) -> Any:
        task = min(TASKS, key=lambda one: np.abs(level[TASKS.index(one)] - means).max())
        return means + noise[task] * random.standard_normal((3, 2))

    return World(
        {
            "objectives": [
                lb.Objective("quality", range=WIDE, tolerance=0.03),
                lb.Objective("speed", range=WIDE),
            ],
            "arms": list("abc"),
            "context": [lb.Category("task", TASKS)],
        },
        [{"task": task} for task in ("maths", "code", "chat")],
        lambda context: level[TASKS.index(context["task"])],
        draw,
    )


def cost_by_tokens(_: Random) -> World:
    """A cost in proportion to the tokens, and its noise with it."""
    quality, price = np.array([0.7, 0.89, 0.9]), np.array([0.05, 0.2, 0.8])

    def means(context: dict[str, Any]) -> Any:
        return np.stack([quality, price * context["tokens"]], axis=1)

    def draw(means: Any, random: Random) -> Any:
        drawn = means + 0.1 * random.standard_normal((3, 2))
        drawn[:, 1] = means[:, 1] * np.exp(random.normal(-0.125, 0.5, 3))
        return drawn

    return World(
        {
            "objectives": [
                lb.Objective("quality", range=WIDE, tolerance=0.03),
                lb.Objective("cost", goal="min", range=(0, 10)),
            ],
            "arms": list("abc"),
            "context": [lb.Number("tokens", 0, 1)],
        },
        [{"tokens": 0.95}],
        means,
        draw,
    )


UNEVEN = [noisy_in_one, cost_by_tokens]


def play(world: World, random: Random, seed: int, decisions: int) -> lb.Chooser:
    """Return a chooser that learned from decisions of its own."""
    chooser = lb.Chooser(**world.settings, seed=seed)
    arms = world.settings["arms"]
    names = [objective.name for objective in world.settings["objectives"]]
    for _ in range(decisions):
        context = dict(world.contexts[random.integers(len(world.contexts))])
        if "tokens" in context:
            context["tokens"] = float(random.random())
        decision = chooser.choose(context)
        rewards = world.draw(world.means(context), random)[arms.index(decision.arm)]
        chooser.reward(decision, dict(zip(names, rewards.tolist(), strict=True)))
    return chooser


def covered(
    make: Callable[[Random], World], runs: int, decisions: int, contexts: int | None = None
) -> Any:
    """Return whether each interval holds the truth: bool[runs · contexts · K, D]."""
    held = []
    for run in range(runs):
        random = np.random.default_rng([17, run])
        world = make(random)
        chooser = play(world, random, run, decisions)
        for context in world.contexts[:contexts]:
            truth = world.means(context)
            told = chooser.explain(context)
            assert told.level == 0.95
            for arm, means in zip(told.arms, truth, strict=True):
                if all(estimate.value is not None for estimate in arm.estimates.values()):
                    row = zip(arm.estimates.values(), means, strict=True)
                    held.append([e.low <= mean <= e.high for e, mean in row])
    return np.array(held)


@pytest.mark.compiled
@pytest.mark.parametrize("make", WORLDS)
def test_intervals_hold_the_truth(make: Callable[[Random], World]) -> None:
    held = covered(make, runs=12, decisions=400)
    assert held.mean() >= 0.9
    assert held.mean(axis=0).min() >= 0.85  # of one objective, by few runs


@pytest.mark.slow
@pytest.mark.parametrize("make", WORLDS)
def test_intervals_hold_the_truth_over_many_runs(make: Callable[[Random], World]) -> None:
    held = covered(make, runs=100, decisions=1500)
    assert held.mean(axis=0).min() >= 0.9


def covered_by_arm(make: Callable[[Random], World], runs: int, decisions: int) -> Any:
    """Return the share of intervals of the first objective that hold the truth, by context and arm.

    Contexts that are drawn anew in each run count together.
    """
    held = covered(make, runs, decisions, contexts=3)[:, 0].reshape(runs, 3, 3)
    return held.mean(axis=0) if make is good_in_one else held.mean(axis=(0, 1))


@pytest.mark.compiled
@pytest.mark.parametrize("make", UNLIKE)
def test_intervals_hold_the_truth_of_arms_unlike_the_others(
    make: Callable[[Random], World],
) -> None:
    assert covered_by_arm(make, runs=30, decisions=600).min() >= 0.85  # few runs


@pytest.mark.slow
@pytest.mark.parametrize("decisions", [300, 1000, 3000])
@pytest.mark.parametrize("make", UNLIKE)
def test_arms_unlike_the_others_in_100_runs(
    make: Callable[[Random], World], decisions: int
) -> None:
    assert covered_by_arm(make, runs=100, decisions=decisions).min() >= 0.9


@pytest.mark.compiled
@pytest.mark.parametrize("make", UNEVEN)
def test_intervals_hold_the_truth_where_the_noise_is_larger(
    make: Callable[[Random], World],
) -> None:
    assert covered(make, 30, 1000, contexts=1).mean(axis=0).min() >= 0.85  # few runs


@pytest.mark.slow
@pytest.mark.parametrize("decisions", [300, 1000, 3000])
@pytest.mark.parametrize("make", UNEVEN)
def test_noise_that_depends_on_the_context_in_100_runs(
    make: Callable[[Random], World], decisions: int
) -> None:
    assert covered(make, 100, decisions, contexts=1).mean(axis=0).min() >= 0.88
