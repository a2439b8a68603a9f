"""Language-model routing: which model should answer this prompt?

Three models: a small cheap one, a middle one, and a large one that costs 500 times as much as the
small. The large one is the best on average, but on most prompts the middle one is about as good,
and on some the small one.

Quality comes first. Among models of about the same quality, the cheapest.

The data: 1,785 prompts, all three models' answers, with a judged quality and the real cost in
dollars, in a file `llm_routing.jsonl` (from the package paretobandit 0.1.1, Apache-2.0). Its folder
is given by --data or by the environment variable LEXBANDIT_DATA, or it lies in ../shared/data.
Without it, a generated stand-in of the same shape is used, and the result says so.

    python -m examples.language_models
"""

import json
import os
import re
from pathlib import Path

import numpy as np

import lexbandit as lb
from examples.helpers import Comparison, Floats, main, oracle, received
from examples.pictures import save, shares, stacked, trade_off

ARMS = ["llama-3.1-8b", "mistral-large", "gemini-2.5-pro"]
_NAMES = [
    "meta-llama/llama-3.1-8b-instruct",
    "mistralai/mistral-large-2512",
    "google/gemini-2.5-pro",
]
KINDS = ["maths", "choices", "question", "code"]
_FILE = "llm_routing.jsonl"

# 1. What matters. Two points in a hundred of quality are as good; then the dollars.
OBJECTIVES = (
    lb.Objective("quality", range=(0, 1), tolerance=0.02),
    lb.Objective("cost", goal="min", range=(0, 0.05)),
)
CONTEXT = [
    lb.Number("characters", 20, 5000, scale="log"),
    lb.Category("kind", KINDS),
]
# A few thousand prompts, not millions: models are told apart well before the cost counts
# (threshold), and with narrow intervals (exploration).
THRESHOLD, EXPLORATION = 0.5, 0.05


# 2. What is known before anybody answers: the prompt. Two simple features of its text are enough.
def features(prompt: str) -> dict[str, object]:
    """Return the length of a prompt, and what kind it looks like."""
    if "python" in prompt.lower():
        kind = "code"
    elif re.search(r"\([A-D1-4]\)|Option", prompt):
        kind = "choices"
    elif len(re.findall(r"\d+", prompt)) >= 2:
        kind = "maths"
    else:
        kind = "question"
    return {"characters": len(prompt), "kind": kind}


def data_file(folder: Path | str | None = None) -> Path | None:
    """Return the file of prompts, if it is there."""
    root = Path(__file__).parents[1]
    found = folder or os.environ.get("LEXBANDIT_DATA") or root.parent / "shared" / "data"
    path = Path(found) / _FILE
    return path if path.is_file() else None


def recorded(path: Path) -> tuple[list[dict[str, object]], Floats]:
    """Return contexts and outcomes[n, models, 2] of the recorded prompts."""
    contexts, outcomes = [], []
    with path.open() as lines:
        for line in lines:
            row = json.loads(line)
            contexts.append(features(row["prompt"]))
            answers = [row["arms"][name] for name in _NAMES]
            outcomes.append([[answer["reward"], answer["cost"]] for answer in answers])
    return contexts, np.array(outcomes)


def generated(prompts: int = 1785) -> tuple[list[dict[str, object]], Floats]:
    """Return a stand-in: invented prompts, with qualities and costs of about the real sizes."""
    random = np.random.default_rng(1785)
    kinds = random.choice(len(KINDS), prompts, p=[0.2, 0.65, 0.13, 0.02])
    length = np.clip(np.exp(random.normal(5.4, 0.7, prompts)), 20, 5000)
    mean = np.array(
        [[0.95, 0.985, 0.985], [0.75, 0.915, 0.925], [0.76, 0.9, 0.92], [0.7, 0.9, 0.94]]
    )
    noise = random.standard_normal((prompts, 3)) * np.array([0.2, 0.1, 0.1])
    quality = np.clip(mean[kinds] + noise, 0, 1)
    dollars = np.array([3e-5, 5e-4, 1.5e-2]) * random.lognormal(-0.18, 0.6, (prompts, 3))
    contexts: list[dict[str, object]] = [
        {"characters": float(n), "kind": KINDS[k]} for n, k in zip(length, kinds, strict=True)
    ]
    return contexts, np.stack([quality, dollars], axis=-1)


# 3. The router. Choose, ask that model, tell what its answer was worth and what it cost.
def route(contexts: list[dict[str, object]], outcomes: Floats, seed: int) -> Floats:
    """Route the prompts one by one; returns the models asked."""
    chooser = lb.Chooser(
        objectives=OBJECTIVES,
        arms=ARMS,
        context=CONTEXT,
        seed=seed,
        threshold=THRESHOLD,
        exploration=EXPLORATION,
    )
    asked = []
    for context, outcome in zip(contexts, outcomes, strict=True):
        decision = chooser.choose(context)
        arm = ARMS.index(decision.arm)
        chooser.reward(decision, quality=outcome[arm, 0], cost=outcome[arm, 1])
        asked.append(arm)
    return np.array(asked)


# 4. The usual alternative: one number, quality less a price for every dollar. It needs the price.
def route_by_sum(
    contexts: list[dict[str, object]], outcomes: Floats, seed: int, price: float
) -> Floats:
    """Route by a weighted sum: what a point of quality is worth must be said in dollars."""
    value = lb.Objective("value", range=(-price * 0.05, 1))
    chooser = lb.Chooser(
        objectives=value, arms=ARMS, context=CONTEXT, seed=seed, exploration=EXPLORATION
    )
    asked = []
    for context, outcome in zip(contexts, outcomes, strict=True):
        decision = chooser.choose(context)
        arm = ARMS.index(decision.arm)
        quality, cost = outcome[arm]
        chooser.reward(decision, value=max(quality - price * cost, value.range[0]))
        asked.append(arm)
    return np.array(asked)


PRICES = (1, 3, 10, 30, 100)


def run(
    *,
    rounds: int | None = None,
    seeds: int = 10,
    out: Path | str,
    data: Path | str | None = None,
    prices: tuple[float, ...] = PRICES,
) -> Comparison:
    """Compare the router with single models, and with weighted sums at several prices."""
    comparison = Comparison(OBJECTIVES, units=("0 to 1", "$ a prompt"), decimals=(4, 5))
    path = data_file(data)
    contexts, outcomes = generated() if path is None else recorded(path)
    asked_of: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for seed in range(seeds):
        # Each seed is another order of the same prompts; every prompt comes once.
        order = np.random.default_rng(seed).permutation(len(contexts))[:rounds]
        prompts, answers = [contexts[i] for i in order], outcomes[order]
        asked = route(prompts, answers, seed)
        comparison.add("lexbandit", received(answers, asked))
        late = slice(len(order) // 2, None)
        comparison.add("lexbandit, second half", received(answers[late], asked[late]))
        for n, name in enumerate(ARMS):
            comparison.add(f"always {name}", answers[:, n])
        drawn = np.random.default_rng([seed, 1]).integers(len(ARMS), size=len(order))
        comparison.add("random", received(answers, drawn))
        for price in prices:
            by_sum = route_by_sum(prompts, answers, seed, price)
            comparison.add(f"sum, price {price:g}", received(answers, by_sum))
        comparison.add("hindsight", received(answers, oracle(answers, OBJECTIVES)))
        for context, arm in zip(prompts[len(prompts) // 2 :], asked[late], strict=True):
            asked_of[str(context["kind"])].append(int(arm))
    what = "generated stand-in" if path is None else "recorded prompts"
    comparison.lines += [f"Data: {what}, {len(order):,} prompts a seed.", _saved(comparison)]
    _draw(comparison, asked_of, prices, what, out)
    return comparison


def _saved(comparison: Comparison) -> str:
    best = max((f"always {name}" for name in ARMS), key=lambda name: comparison.mean(name, 0))
    saved = 1 - comparison.mean("lexbandit", 1) / comparison.mean(best, 1)
    lost = comparison.mean(best, 0) - comparison.mean("lexbandit", 0)
    return f"Against {best}: {saved:.0%} of the cost saved, {lost:.4f} of quality given up."


def _draw(
    comparison: Comparison,
    asked_of: dict[str, list[int]],
    prices: tuple[float, ...],
    what: str,
    out: Path | str,
) -> None:
    points = trade_off(
        comparison,
        title=f"What it brings ({what})",
        x="cost a prompt ($, log scale)",
        y="quality (0 to 1)",
        without=["lexbandit, second half"],
        log=True,
        domain=(0.00002, 0.03),
        sides={
            f"always {ARMS[1]}": "left",
            f"always {ARMS[2]}": "above",
            "hindsight": "left",
            "random": "below",
            "lexbandit": "below",
            "sum, price 1": "below",
            "sum, price 3": "above",
            "sum, price 10": "above",
            "sum, price 30": "left",
            "sum, price 100": "left",
        },
        labels={f"sum, price {price:g}": f"sum {price:g}" for price in prices},
        joined=[f"sum, price {price:g}" for price in prices],
        height=380,
    )
    mixed = {
        kind: {arm: asked.count(n) / len(asked) for n, arm in enumerate(ARMS)}
        for kind, asked in asked_of.items()
        if asked
    }
    bars = shares(
        stacked(mixed, ARMS),
        title="Whom it asks (second half)",
        x="what the prompt looks like",
        y="prompts",
        order=list(mixed),
        names=ARMS,
    )
    save("Language models: quality first, then cost", [points, bars], out)


if __name__ == "__main__":
    main(run, "language_models", further=[("--data", f"the folder of {_FILE}")])
