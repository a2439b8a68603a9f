"""Network routing: which way should a packet of a battery-powered sensor take?

Four ways lead from the sensor to the gateway. A way of many short hops needs little energy by hop;
a direct one is quick, and costs a lot of energy once the air is noisy, when packets are repeated.
The way through the town is slow in the hours when everybody is online.

Energy comes first: the battery must last. Ways that need about the same energy are compared by
their delay. The network below is generated, so an oracle can say what the best would have been.

    python -m examples.network
"""

from pathlib import Path

import numpy as np

import lexbandit as lb
from examples.helpers import Comparison, Floats, main, oracle, received
from examples.pictures import areas, save, stacked, trade_off

ARMS = ["direct", "over the ridge", "through the valley", "through the town"]

# What matters: energy, to within 0.2 mJ; then delay. Less is better in both. The ranges are where
# nearly all values lie. The few beyond count as the end of the range; lexbandit counts them.
OBJECTIVES = (
    lb.Objective("energy", goal="min", range=(0, 8), tolerance=0.2),
    lb.Objective("delay", goal="min", range=(0, 250)),
)
NAMES = [objective.name for objective in OBJECTIVES]

# 1. The network: per way the hops, the energy in mJ a kilobyte and the milliseconds a hop in quiet
#    air, how much noise makes it repeat packets, and the delay that its traffic adds by day.
_HOPS = np.array([1, 2, 4, 3])
_ENERGY = np.array([3.0, 2.35, 2.0, 2.2])
_PER_HOP = np.array([12.0, 34.0, 20.0, 10.0])
_NOISE = np.array([1.2, 0.4, 0.1, 0.3])
_TRAFFIC = np.array([0.0, 10.0, 5.0, 150.0])


def true_means(size: Floats, noise: Floats, hour: Floats) -> Floats:
    """Return the expected energy and delay means[n, ways, 2]; busiest at 19 h, quiet at 7 h."""
    busy = (0.5 + 0.5 * np.cos(2 * np.pi * (hour - 19) / 24)) ** 2
    repeats = 1 + _NOISE * noise[:, None] ** 2
    means = np.empty((len(size), len(ARMS), 2))
    means[..., 0] = 0.3 * _HOPS + _ENERGY * size[:, None] / 1000 * repeats
    means[..., 1] = _HOPS * _PER_HOP * (0.5 + size[:, None] / 1000) * repeats
    means[..., 1] += _TRAFFIC * busy[:, None]
    return means


def packets(rounds: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return contexts[n, 3] (bytes, noise, hour), the means, and what every way would have cost."""
    random = np.random.default_rng(seed)
    size = np.exp(random.uniform(np.log(100), np.log(1500), rounds))
    noise, hour = random.random(rounds), random.uniform(0, 24, rounds)
    means = true_means(size, noise, hour)
    spread = random.lognormal(-0.5 * 0.15**2, 0.15, (rounds, len(ARMS)))
    waits = random.gamma(4.0, 0.25, (rounds, len(ARMS)))
    outcomes = np.stack([means[..., 0] * spread, means[..., 1] * waits], axis=-1)
    return np.column_stack([size, noise, hour]), means, outcomes


def make_chooser(seed: int) -> lb.Chooser:
    """Return a chooser that knows the packet, the noise in the air and the time of day."""
    return lb.Chooser(
        objectives=OBJECTIVES,
        arms=ARMS,
        context=[
            lb.Number("bytes", 100, 1500),
            lb.Number("noise", 0, 1),
            lb.Cycle("hour", 24),
        ],
        seed=seed,
    )


def play(chooser: lb.Chooser, contexts: Floats, outcomes: Floats) -> Floats:
    """Send the packets one by one; returns the ways taken."""
    taken = []
    for (size, noise, hour), outcome in zip(contexts.tolist(), outcomes, strict=True):
        decision = chooser.choose({"bytes": size, "noise": noise, "hour": hour})
        arm = ARMS.index(decision.arm)
        chooser.reward(decision, energy=outcome[arm, 0], delay=outcome[arm, 1])
        taken.append(arm)
    return np.array(taken)


def run(*, rounds: int = 8_000, seeds: int = 5, out: Path | str) -> Comparison:
    """Compare the chooser with fixed ways and with oracles, and draw which way it takes when."""
    comparison = Comparison(NAMES, units=("mJ", "ms"), decimals=(3, 1))
    late = slice(rounds // 2, None)
    hours, chosen = [], []
    for seed in range(seeds):
        contexts, means, outcomes = packets(rounds, seed)
        chooser = make_chooser(seed)
        taken = play(chooser, contexts, outcomes)
        comparison.add("lexbandit", received(outcomes, taken))
        comparison.add("lexbandit, second half", received(outcomes[late], taken[late]))
        for n, name in enumerate(ARMS):
            comparison.add(f"always {name}", outcomes[:, n])
        drawn = np.random.default_rng([seed, 1]).integers(len(ARMS), size=rounds)
        comparison.add("random", received(outcomes, drawn))
        comparison.add("oracle, energy only", received(outcomes, oracle(means, OBJECTIVES[:1])))
        comparison.add("oracle, both", received(outcomes, oracle(means, OBJECTIVES)))
        # The picture shows large packets: small ones go the direct way at any time.
        large = contexts[late, 0] > 500
        hours.append(contexts[late, 2][large])
        chosen.append(taken[late][large])
    # 2. What it learned, in a sentence and a table.
    for hour in (7.0, 19.0):
        told = chooser.explain({"bytes": 1000.0, "noise": 0.3, "hour": hour})
        comparison.lines.append(f"\n1,000 bytes, little noise, at {hour:g} h:\n{told}")
    _draw(comparison, np.concatenate(hours), np.concatenate(chosen), out)
    return comparison


def _draw(comparison: Comparison, hours: Floats, chosen: Floats, out: Path | str) -> None:
    points = trade_off(
        comparison,
        title="What it costs (less is better: down and to the left)",
        x="delay (ms)",
        y="energy (mJ)",
        without=["lexbandit, second half"],
        sides={
            "oracle, both": "left",
            "always through the valley": "left",
            "always through the town": "left",
        },
    )
    mixed = {
        hour + 1.5: {
            arm: float(np.mean(chosen[(hours >= hour) & (hours < hour + 3)] == n))
            for n, arm in enumerate(ARMS)
        }
        for hour in range(0, 24, 3)
        if ((hours >= hour) & (hours < hour + 3)).any()
    }
    layers = areas(
        stacked(mixed, ARMS),
        title="Which way when: packets over 500 bytes (second half)",
        x="hour of the day",
        y="packets",
        names=ARMS,
    )
    save("Network routing: energy first, then delay", [points, layers], out)


if __name__ == "__main__":
    main(run, "network")
