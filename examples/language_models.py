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
    """Route the prompts one by one; returns the models that were asked."""
    chooser = lb.Chooser(objectives=OBJECTIVES, arms=ARMS, context=CONTEXT, seed=seed)
    return asked_by(chooser, contexts, outcomes)


def asked_by(chooser: lb.Chooser, contexts: list[dict[str, object]], outcomes: Floats) -> Floats:
    """Let a chooser route the prompts one by one; returns the models that were asked."""
    asked = []
    for context, outcome in zip(contexts, outcomes, strict=True):
        decision = chooser.choose(context)
        arm = ARMS.index(decision.arm)
        chooser.reward(decision, quality=outcome[arm, 0], cost=outcome[arm, 1])
        asked.append(arm)
    return np.array(asked)


# 4. The usual alternative: one number, quality less a price for every dollar. It needs the price.
#    The same chooser with its defaults, and one objective.
PRICES = (1, 3, 10, 30, 100)


def route_by_sum(
    contexts: list[dict[str, object]], outcomes: Floats, seed: int, price: float
) -> Floats:
    """Route by a weighted sum; `price` is how much quality a dollar is worth."""
    value = lb.Objective("value", range=(-price * 0.05, 1))
    chooser = lb.Chooser(objectives=value, arms=ARMS, context=CONTEXT, seed=seed)
    asked = []
    for context, outcome in zip(contexts, outcomes, strict=True):
        decision = chooser.choose(context)
        arm = ARMS.index(decision.arm)
        quality, cost = outcome[arm]
        chooser.reward(decision, value=max(quality - price * cost, value.range[0]))
        asked.append(arm)
    return np.array(asked)


# 5. What is measured: quality, dollars, and whether the tolerance was kept on each kind of prompt.
#    A model that is 0.05 worse than the best of its kind is 0.03 beyond the tolerance of 0.02.
def means_by_kind(contexts: list[dict[str, object]], outcomes: Floats) -> Floats:
    """Return what each model is worth on prompts of the same kind: means[n, models, 2]."""
    kinds = np.array([str(context["kind"]) for context in contexts])
    means = np.empty_like(outcomes)
    for kind in np.unique(kinds):
        means[kinds == kind] = outcomes[kinds == kind].mean(axis=0)
    return means


def measured(outcomes: Floats, means: Floats, asked: Floats) -> Floats:
    """Return quality, cost, and loss beyond the tolerance for 1,000 prompts: measures[n, 3]."""
    quality = means[..., 0]
    lost = quality.max(axis=1) - OBJECTIVES[0].tolerance - received(quality, asked)
    return np.column_stack([received(outcomes, asked), 1000 * np.maximum(lost, 0)])


def run(
    *,
    rounds: int | None = None,
    seeds: int = 100,
    out: Path | str,
    data: Path | str | None = None,
    prices: tuple[float, ...] = PRICES,
) -> Comparison:
    """Compare the router with single models, and with weighted sums at several prices."""
    comparison = Comparison(
        ["quality", "cost", "beyond tolerance"],
        units=("0 to 1", "$ a prompt", "by kind"),
        decimals=(4, 5, 1),
    )
    path = data_file(data)
    contexts, outcomes = generated() if path is None else recorded(path)
    means = means_by_kind(contexts, outcomes)
    asked_of: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for seed in range(seeds):
        # Each seed is another order of the same prompts; every prompt comes once.
        order = np.random.default_rng(seed).permutation(len(contexts))[:rounds]
        prompts, answers, typical = [contexts[i] for i in order], outcomes[order], means[order]
        asked = route(prompts, answers, seed)
        comparison.add("lexbandit", measured(answers, typical, asked))
        late = slice(len(order) // 2, None)
        second_half = measured(answers[late], typical[late], asked[late])
        comparison.add("lexbandit, second half", second_half)
        strategies = {}
        for n, name in enumerate(ARMS):
            strategies[f"always {name}"] = np.full(len(order), n)
        strategies["random"] = np.random.default_rng([seed, 1]).integers(3, size=len(order))
        for price in prices:
            strategies[f"sum, price {price:g}"] = route_by_sum(prompts, answers, seed, price)
        # Who knows all answers beforehand: the cheapest of the models that are as good on a kind.
        strategies["hindsight, by kind"] = oracle(typical, OBJECTIVES)
        for name, arms in strategies.items():
            comparison.add(name, measured(answers, typical, arms))
        for context, arm in zip(prompts[len(prompts) // 2 :], asked[late], strict=True):
            asked_of[str(context["kind"])].append(int(arm))
    what = "generated stand-in" if path is None else "recorded prompts"
    comparison.lines += [
        f"Data: {what}, {len(order):,} prompts a seed, in another order each time.",
        "Beyond tolerance: quality lost beyond it in 1,000 prompts, by the kinds' averages.",
        *_saved(comparison),
    ]
    _draw(comparison, asked_of, prices, what, out)
    return comparison


def _saved(comparison: Comparison) -> list[str]:
    best = max((f"always {name}" for name in ARMS), key=lambda name: comparison.mean(name, 0))
    saved = 1 - comparison.mean("lexbandit", 1) / comparison.mean(best, 1)
    lost = comparison.mean(best, 0) - comparison.mean("lexbandit", 0)
    middle, dear = np.quantile([means[1] for means in comparison.values["lexbandit"]], [0.5, 0.9])
    return [
        f"Against {best}: {saved:.0%} of the cost saved, {lost:.4f} of quality given up.",
        f"Cost in the median order ${middle:.5f}, in the dearest tenth at least ${dear:.5f}.",
    ]


def _draw(
    comparison: Comparison,
    asked_of: dict[str, list[int]],
    prices: tuple[float, ...],
    what: str,
    out: Path | str,
) -> None:
    low = (f"always {ARMS[0]}", "random")  # far below the others: only in the table
    points = trade_off(
        comparison,
        title=f"What it brings ({what}; bars are standard errors)",
        x="cost a prompt ($, log scale)",
        y="quality (0 to 1)",
        without=["lexbandit, second half", *low],
        log=True,
        domain=(0.0002, 0.04),
        sides={
            f"always {ARMS[1]}": "above",
            f"always {ARMS[2]}": "above",
            "hindsight, by kind": "above",
            "lexbandit": "below",
            "sum, price 3": "above",
            "sum, price 30": "left",
        },
        standard_errors=True,
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
