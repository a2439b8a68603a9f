"""A recommender: people should like what they see, and see something they did not know.

A shop has four ways to fill the first place of its page. People like what is popular, and what is
near their taste; but the shop knows the taste only of those who bought a lot. It would also like to
show something new now and then, if that costs (almost) no likes.

Likes come first. Novelty comes second, measured in bits: an item that one in 1,000 people knows has
log2(1000), about 10 bits. The people, items and tastes below are generated.

    python -m examples.recommender
"""

import math
from pathlib import Path

import numpy as np

import lexbandit as lb
from examples.helpers import Comparison, Floats, main, received
from examples.pictures import areas, save, stacked, trade_off

ARMS = ["bestseller", "best of the charts", "near your taste", "long tail"]
LONGEST = 500

# What matters: 2 likes in 100 less are as good; then novelty.
OBJECTIVES = (
    lb.Objective("liked", range=(0, 1), tolerance=0.02),
    lb.Objective("novelty", range=(0, 12)),
)
NAMES = [objective.name for objective in OBJECTIVES]

# 1. The catalogue. 600 items, each a point in a space of tastes. The n-th is known to 0.5/n^0.8 of
#    the people: the first to every second, the last to one in 330.
_ITEMS, _TASTES = 600, 6
_random = np.random.default_rng(2024)
_ITEM = _random.standard_normal((_ITEMS, _TASTES)) / np.sqrt(_TASTES)
_KNOWN = 0.5 / np.arange(1, _ITEMS + 1) ** 0.8


def people(rounds: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return purchases[n], mainstream[n] and outcomes[n, arms, 2] of the people who come.

    What the shop takes for a taste is the taste and noise, less of it the more was bought. An item
    is liked the more the nearer it is to the taste, and the more popular it is: the latter by as
    much as the person follows the mainstream.
    """
    random = np.random.default_rng(seed)
    purchases = np.exp(random.uniform(0, np.log(LONGEST), rounds))
    mainstream = random.random(rounds)
    taste = random.standard_normal((rounds, _TASTES))
    guess = taste + random.standard_normal((rounds, _TASTES)) * (6 / np.sqrt(purchases))[:, None]
    match = guess @ _ITEM.T
    shown = np.empty((rounds, len(ARMS)), np.int64)
    shown[:, 0] = 0
    shown[:, 1] = match[:, :20].argmax(axis=1)
    shown[:, 2] = match[:, :150].argmax(axis=1)
    shown[:, 3] = 150 + match[:, 150:].argmax(axis=1)
    fits = np.einsum("nt,nkt->nk", taste, _ITEM[shown])
    popular = np.log(_KNOWN[shown] / _KNOWN.min()) / np.log(_KNOWN.max() / _KNOWN.min())
    chance = 1 / (1 + np.exp(-(1.5 * fits + 4.0 * mainstream[:, None] * popular - 3.0)))
    outcomes = np.empty((rounds, len(ARMS), 2))
    outcomes[..., 0] = random.random(chance.shape) < chance
    outcomes[..., 1] = -np.log2(_KNOWN[shown])
    return purchases, mainstream, outcomes


def make_chooser(seed: int) -> lb.Chooser:
    """Return a chooser that sees how much somebody bought, and how mainstream it was."""
    return lb.Chooser(
        objectives=OBJECTIVES,
        arms=ARMS,
        context=[
            lb.Number("purchases", 1, LONGEST, scale="log"),
            lb.Number("mainstream", 0, 1),
        ],
        seed=seed,
    )


def play(chooser: lb.Chooser, purchases: Floats, mainstream: Floats, outcomes: Floats) -> Floats:
    """Show something to everybody who comes; returns what was chosen.

    The shop knows at once how novel the item was, and later whether it was liked. Both are told
    together here; see the guide to delayed rewards for the other way. NaN is not told: nobody rated
    the item.
    """
    shown = []
    for bought, follows, outcome in zip(
        purchases.tolist(), mainstream.tolist(), outcomes, strict=True
    ):
        decision = chooser.choose({"purchases": bought, "mainstream": follows})
        arm = ARMS.index(decision.arm)
        rated = zip(NAMES, outcome[arm].tolist(), strict=True)
        chooser.reward(decision, {name: value for name, value in rated if not math.isnan(value)})
        shown.append(arm)
    return np.array(shown)


def unrated(outcomes: Floats, seed: int) -> Floats:
    """Return the outcomes as they are where four people in ten give no rating of novelty."""
    silent = np.random.default_rng([seed, 2]).random(len(outcomes)) < 0.4
    seen = outcomes.copy()
    seen[silent, :, 1] = np.nan
    return seen


def run(*, rounds: int = 10_000, seeds: int = 5, out: Path | str) -> Comparison:
    """Compare the chooser with single strategies and with one that only counts likes."""
    comparison = Comparison(NAMES, units=("share", "bits"), decimals=(3, 2))
    bought, chosen = [], []
    late = slice(rounds // 2, None)
    for seed in range(seeds):
        purchases, mainstream, outcomes = people(rounds, seed)
        shown = play(make_chooser(seed), purchases, mainstream, outcomes)
        comparison.add("lexbandit", received(outcomes, shown))
        comparison.add("lexbandit, second half", received(outcomes[late], shown[late]))
        # 2. Where people rate novelty and four in ten do not, nothing of it is told for these.
        partly = play(make_chooser(seed), purchases, mainstream, unrated(outcomes, seed))
        comparison.add("lexbandit, 6 in 10 rate", received(outcomes, partly))
        # 3. The same chooser, told of likes only: what the second objective would have been.
        alone = _likes_only(seed, purchases, mainstream, outcomes)
        comparison.add("likes only", received(outcomes, alone))
        comparison.add("likes only, second half", received(outcomes[late], alone[late]))
        for n, name in enumerate(ARMS):
            comparison.add(f"always {name}", outcomes[:, n])
        drawn = np.random.default_rng([seed, 1]).integers(len(ARMS), size=rounds)
        comparison.add("random", received(outcomes, drawn))
        bought.append(purchases[late])
        chosen.append(shown[late])
    _draw(comparison, np.concatenate(bought), np.concatenate(chosen), out)
    return comparison


def _likes_only(seed: int, purchases: Floats, mainstream: Floats, outcomes: Floats) -> Floats:
    chooser = lb.Chooser(
        objectives=OBJECTIVES[0],
        arms=ARMS,
        context=[
            lb.Number("purchases", 1, LONGEST, scale="log"),
            lb.Number("mainstream", 0, 1),
        ],
        seed=seed,
    )
    shown = []
    for bought, follows, outcome in zip(
        purchases.tolist(), mainstream.tolist(), outcomes, strict=True
    ):
        decision = chooser.choose({"purchases": bought, "mainstream": follows})
        shown.append(ARMS.index(decision.arm))
        chooser.reward(decision, liked=outcome[shown[-1], 0])
    return np.array(shown)


def _draw(comparison: Comparison, bought: Floats, chosen: Floats, out: Path | str) -> None:
    points = trade_off(
        comparison,
        title="What it brings",
        x="novelty (bits)",
        y="liked (share)",
        without=[
            "lexbandit, second half",
            "lexbandit, 6 in 10 rate",
            "likes only, second half",
        ],
        sides={
            "lexbandit": "above",
            "likes only": "above",
            "always near your taste": "below",
            "always long tail": "left",
        },
    )
    edges = np.exp(np.linspace(0, np.log(LONGEST), 13))
    place = np.digitize(bought, edges[1:-1])
    mixed = {
        round(float(np.log10(np.sqrt(edges[k] * edges[k + 1]))), 3): {
            arm: float(np.mean(chosen[place == k] == n)) for n, arm in enumerate(ARMS)
        }
        for k in range(len(edges) - 1)
        if (place == k).any()
    }
    layers = areas(
        stacked(mixed, ARMS),
        title="What it shows to whom (second half)",
        x="purchases so far (log scale)",
        y="people",
        names=ARMS,
        powers=True,
    )
    save("Recommender: likes first, then novelty", [points, layers], out)


if __name__ == "__main__":
    main(run, "recommender")
