"""Multichannel radio: which channel to send on, and at what rate?

A device has two channels. Before every message it measures how strong each of them is (its
signal-to-noise ratio). It may send fast, and the message is lost more often, or slowly and safely.

Throughput comes first. But near the point where two rates carry equally much, the slower one loses
fewer messages: there reliability should decide. This is Experiment 2 of the paper, in plain words.

    python -m examples.radio
"""

from pathlib import Path

import numpy as np

import lexbandit as lb
from examples.helpers import Comparison, Floats, main, oracle, received
from examples.pictures import arm_map, save, trade_off

# 1. The world. lexbandit has it: the gain of a channel changes with every message, and a message
#    at rate R arrives if log2(1 + gain · SNR) is at least R. Eight arms: four rates, two channels.
WORLD = lb.make_environment("multichannel")
RATES, CHANNELS = (1, 0.5, 0.25, 0.1), (1, 2)
ARMS = [f"rate {rate:g}, channel {channel}" for rate in RATES for channel in CHANNELS]
LARGEST_SNR = 5.0
# In the picture channel 1 is blue and channel 2 orange; the faster, the darker.
COLOURS = ["#08306b", "#7f2704", "#2f79b9", "#d9661f", "#86bcdc", "#fdae6b", "#d5e5f4", "#fee6ce"]

# 2. What matters, in order and in its own units. 0.03 bits less throughput is as good.
OBJECTIVES = (
    lb.Objective("throughput", range=(0, 1), tolerance=0.03),
    lb.Objective("delivered", range=(0, 1)),
)
NAMES = [objective.name for objective in OBJECTIVES]


def make_chooser(seed: int) -> lb.Chooser:
    """Return a chooser that knows nothing yet."""
    return lb.Chooser(
        objectives=OBJECTIVES,
        arms=ARMS,
        context=[
            lb.Number("snr_1", 0, LARGEST_SNR),
            lb.Number("snr_2", 0, LARGEST_SNR),
        ],
        seed=seed,
    )


def play(chooser: lb.Chooser, contexts: Floats, outcomes: Floats) -> Floats:
    """Send one message after the other: choose, send, and tell what came of it."""
    sent = []
    for (snr_1, snr_2), outcome in zip(contexts * LARGEST_SNR, outcomes, strict=True):
        decision = chooser.choose({"snr_1": snr_1, "snr_2": snr_2})
        arm = ARMS.index(decision.arm)
        throughput, delivered = outcome[arm]
        chooser.reward(decision, throughput=throughput, delivered=delivered)
        sent.append(arm)
    return received(outcomes, np.array(sent))


def run(*, rounds: int = 20_000, seeds: int = 3, out: Path | str) -> Comparison:
    """Compare the chooser with simpler ways to send, and draw what it learned."""
    comparison = Comparison(NAMES, units=("bits/s/Hz", "share"), decimals=(4, 3))
    for seed in range(seeds):
        messages = WORLD.rounds(rounds, seed=seed)
        contexts, outcomes, means = messages.contexts, messages.outcomes, messages.means
        chooser = make_chooser(seed)
        got = play(chooser, contexts, outcomes)
        comparison.add("lexbandit", got)
        comparison.add("lexbandit, second half", got[rounds // 2 :])

        # 3. The same messages for everybody else. Always the one arm that is best for throughput
        #    on average; the best arm for throughput in every context, which only an oracle knows;
        #    and the oracle that also knows the order of priority and the tolerance.
        assert means is not None
        fixed = int(means[..., 0].mean(axis=0).argmax())
        comparison.add("best fixed arm", outcomes[:, fixed])
        drawn = np.random.default_rng(seed).integers(len(ARMS), size=rounds)
        comparison.add("random", received(outcomes, drawn))
        comparison.add("oracle, throughput only", received(outcomes, oracle(means, OBJECTIVES[:1])))
        comparison.add("oracle, both", received(outcomes, oracle(means, OBJECTIVES)))

    # 4. What it learned, as a map.
    _draw(comparison, chooser, out)
    return comparison


def _draw(comparison: Comparison, chooser: lb.Chooser, out: Path | str) -> None:
    # Ask it what it would do at every point of a grid: `explain` learns nothing from being asked.
    places = (np.arange(25) + 0.5) * LARGEST_SNR / 25
    rows = []
    for y in places.tolist():
        told = [chooser.explain({"snr_1": x, "snr_2": y}).arms for x in places.tolist()]
        rows.append([max(arms, key=lambda arm: arm.propensity).name for arms in told])
    points = trade_off(
        comparison,
        title="What it brings",
        x="messages delivered (share)",
        y="throughput (bits/s/Hz)",
        without=["lexbandit, second half"],
        sides={"random": "left", "lexbandit": "above"},
        labels={"oracle, throughput only": "throughput oracle", "oracle, both": "oracle of both"},
    )
    learned = arm_map(
        rows,
        title="What it learned to do (last seed)",
        x="SNR of channel 1",
        y="SNR of channel 2",
        largest=LARGEST_SNR,
        names=ARMS,
        colours=COLOURS,
    )
    save("Radio: throughput first, then reliability", [points, learned], out)


if __name__ == "__main__":
    main(run, "radio")
