"""Study of evaluation from logs: which estimator is nearest to the truth, and do verdicts hold?

`python -m benchmarks.log_study` writes the tables of docs/log-estimators.md, in some minutes; `make
evidence` runs it. Worlds and logging policies are those of tests/logs/worlds.py: two arms, two
objectives, Bernoulli rewards, four groups of contexts, policies that learn from their own log.
"""

import re
import sys
from pathlib import Path

import numpy as np

from lexbandit.checks import Floats
from lexbandit.features import make_features
from lexbandit.logs import sequences
from lexbandit.logs.differences import ESTIMATORS, differences
from lexbandit.logs.estimators import scores
from lexbandit.logs.reward_model import RewardModel
from lexbandit.logs.sums import Sums, blocks, merge, sum_block
from lexbandit.objectives import Objective
from logs import worlds

PAGE = Path(__file__).parents[1] / "docs" / "log-estimators.md"
GROUPS, ALPHA = 4, 0.05
OBJECTIVES = [Objective("quality"), Objective("cost")]


def summed(runs: worlds.Runs, r: int, candidate: Floats) -> Sums:
    """The sums of one run, with a model that is fitted on earlier rows."""
    features = make_features("legendre", dimension=1, degree=3)
    model = RewardModel(arms=2, objectives=2, features=features)
    contexts = (runs.group[r, :, np.newaxis] + 0.5) / GROUPS
    parts = []
    for first, last in blocks(0, len(candidate)):
        part = slice(first, last)
        predicted = model.predict(contexts[part])
        model.learn(contexts[part], runs.action[r, part], runs.reward[r, part])
        parts.append(
            sum_block(
                first,
                reward=runs.reward[r, part],
                action=runs.action[r, part],
                propensity=runs.propensity[r, part],
                candidate=candidate[part],
                predicted=predicted,
            )
        )
    return merge(parts)


def errors(policy: str, *, rows: int, count: int, runs: int, seed: int) -> dict[str, Floats]:
    """Return the errors of each estimator of always playing arm 1 against what was logged.

    Over `count` worlds with random means and `runs` logs of each, in both objectives.
    """
    found: dict[str, list[Floats]] = {name: [] for name in ESTIMATORS}
    random = np.random.default_rng(seed)
    candidate = worlds.always(1, 2, rows)
    for world in range(count):
        means = random.uniform(0.1, 0.9, (GROUPS, 2, 2))
        logs = worlds.play(policy, means, runs=runs, rows=rows, seed=seed + world)
        for r in range(runs):
            sums = summed(logs, r, candidate)
            here = means[logs.group[r]]
            truth = (here[:, 1] - np.einsum("tk,tkd->td", logs.chances[r], here)).mean(axis=0)
            for name in ESTIMATORS:
                ends = differences(sums, OBJECTIVES, estimator=name, interval="asymptotic")  # type: ignore[arg-type]
                found[name].append(np.array([one.difference for one in ends]) - truth)
    return {name: np.concatenate(values) for name, values in found.items()}


def estimator_table(*, rows: int, count: int, runs: int, seed: int) -> str:
    """A row an estimator: root mean squared error (and bias) by logging policy, times 1,000."""
    every = {
        policy: errors(policy, rows=rows, count=count, runs=runs, seed=seed)
        for policy in worlds.POLICIES
    }
    lines = [f"| estimator | {' | '.join(every)} |", "|---" + "|---:" * len(every) + "|"]
    for name in ESTIMATORS:
        cells = [
            f"{1000 * np.sqrt((found[name] ** 2).mean()):.1f} ({1000 * found[name].mean():+.1f})"
            for found in every.values()
        ]
        lines.append(f"| `{name}` | {' | '.join(cells)} |".replace("-", "−").replace("ε−", "ε-"))
    return "\n".join(lines)


# Worlds in which "better" is wrong for arm 1: the arms are equal; or quality is worse by just more
# than its tolerance of 0.1 while cost is far better.
FALSE = {
    "equal arms": (np.full((2, 2), 0.5), 0.1),
    "quality beyond its tolerance": (np.array([[0.6, 0.2], [0.499, 0.9]]), 0.1),
}


def claims(policy: str, world: str, *, rows: int, runs: int, seed: int) -> tuple[int, int]:
    """Count runs that ever say "better", a look every 100 rows: by sequences, by ±1.96 errors."""
    means, tolerance = FALSE[world]
    logs = worlds.play(policy, means, runs=runs, rows=rows, seed=seed)
    candidate, baseline = worlds.always(1, 2, rows), worlds.always(0, 2, rows)
    looks = np.arange(100, rows + 1, 100)
    false = np.zeros(2, int)
    for r in range(runs):
        lows = np.empty((2, 2, len(looks)))
        for i in range(2):
            low, high, robust = scores(
                reward=logs.reward[r, :, i],
                action=logs.action[r],
                propensity=logs.propensity[r],
                candidate=candidate,
                baseline=baseline,
                predicted=np.full((rows, 2), 0.5),
            )
            lows[0, i], _ = sequences.running_intervals(
                low, high, robust, alpha=ALPHA, least_propensity=worlds.LEAST[policy], every=100
            )
            first, second = (
                robust.cumsum()[looks - 1] / looks,
                (robust**2).cumsum()[looks - 1] / looks,
            )
            lows[1, i] = first - 1.959964 * np.sqrt((second - first**2) / looks)
        better = (lows[:, 0] >= -tolerance) & (lows > 0.0).any(axis=1)
        false += better.any(axis=1)
    return int(false[0]), int(false[1])


def claim_table(*, rows: int, runs: int, seed: int) -> str:
    """A row a world and logging policy: how many runs ever say "better" wrongly."""
    lines = [
        "| world | logging policy | anytime | asymptotic |",
        "|---|---|---:|---:|",
    ]
    for world in FALSE:
        for policy in worlds.POLICIES:
            anytime, asymptotic = claims(policy, world, rows=rows, runs=runs, seed=seed)
            lines.append(f"| {world} | {policy} | {anytime / runs:.2%} | {asymptotic / runs:.2%} |")
    return "\n".join(lines)


def main() -> None:
    """Fill the tables of the page."""
    tables = {
        "estimators": estimator_table(rows=2000, count=20, runs=10, seed=7000),
        "claims": claim_table(rows=3000, runs=2000, seed=8000),
    }
    page = PAGE.read_text()
    for name, table in tables.items():
        pattern = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"{PAGE} has no place for {name}: <!-- {name} --> ... <!-- end -->")
        page = pattern.sub(f"<!-- {name} -->\n{table}\n<!-- end -->", page)
        print(table)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
