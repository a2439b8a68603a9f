"""How near readings of Experiment 2 are: `python -m benchmarks.readings DIR [RULE ...]`.

DIR is a results folder with studies of the six algorithms. The paper reports "the optimal scale
factor" and does not say by what: each rule below chooses the scale factors, and the six percentages
of the paper are printed beside what the study then gives. "free" is a choice by hindsight: the
scale factors that come nearest to the paper, so it shows what a reading could give at best.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexbandit.bench.summary import PAPER_CLAIMS

MOC = "moc-mab"
# The six percentages: a rival, an objective and the paper's number.
CLAIMS = [
    (claim.rival, claim.objective, claim.paper)
    for claim in PAPER_CLAIMS
    if claim.experiment == 2 and claim.paper is not None and claim.rival
]
RIVALS = sorted({rival for rival, _, _ in CLAIMS})

Points = dict[str, dict[str, Any]]
Choice = dict[str, str]


def by_own_best(policies: Points, measure: Callable[[list[float]], float]) -> Choice:
    """Return each policy's scale of the highest measure of its own rewards."""
    chosen = {}
    for name in (MOC, *RIVALS):
        found = {at: measure(point["reward"]) for at, point in policies[name].items()}
        chosen[name] = max(found, key=found.__getitem__)
    return chosen


def by_one_scale(policies: Points) -> Choice:
    """Return the scale that is the same for all and comes nearest to the paper."""
    common = [
        at for at in policies[RIVALS[0]] if all(_at(policies[name], at) for name in (MOC, *RIVALS))
    ]
    choices = [{name: _at(policies[name], at) for name in (MOC, *RIVALS)} for at in common]
    return min(choices, key=lambda chosen: distance(policies, chosen))


def _at(points: dict[str, Any], scale: str) -> str:
    """Return the point of a scale, at L = 1 and β = 1 where a study has several; "" for none."""
    for name in (scale, f"{scale},L=1", f"{scale},beta=1"):
        if name in points:
            return name
    return ""


def by_hindsight(policies: Points) -> Choice:
    """Return the scales that come nearest to the paper, each policy's free."""
    choices = []
    for ours in policies[MOC]:
        chosen = {MOC: ours}
        for rival in RIVALS:
            found = {
                at: sum(
                    abs(_percentage(policies, {MOC: ours, rival: at}, rival, i) - paper)
                    for other, i, paper in CLAIMS
                    if other == rival
                )
                for at in policies[rival]
            }
            chosen[rival] = min(found, key=found.__getitem__)
        choices.append(chosen)
    return min(choices, key=lambda chosen: distance(policies, chosen))


def _percentage(policies: Points, chosen: Choice, rival: str, i: int) -> float:
    """Return what MOC-MAB's reward in objective i is above the rival's, in per cent."""
    ours = policies[MOC][chosen[MOC]]["reward"][i]
    theirs = policies[rival][chosen[rival]]["reward"][i]
    return float(100.0 * (ours / theirs - 1.0))


def percentages(policies: Points, chosen: Choice) -> list[float]:
    """Return the six percentages, in the order of the paper's text."""
    return [_percentage(policies, chosen, rival, i) for rival, i, _ in CLAIMS]


def distance(policies: Points, chosen: Choice) -> float:
    """Return the mean distance of the six from the paper's, in points."""
    found = percentages(policies, chosen)
    return sum(abs(a - paper) for a, (_, _, paper) in zip(found, CLAIMS, strict=True)) / len(CLAIMS)


RULES: dict[str, Callable[[Points], Choice]] = {
    "objective 1": lambda policies: by_own_best(policies, lambda reward: reward[0]),
    "objective 2": lambda policies: by_own_best(policies, lambda reward: reward[1]),
    "sum": lambda policies: by_own_best(policies, sum),
    "product": lambda policies: by_own_best(policies, math.prod),
    "one for all": by_one_scale,
    "free": by_hindsight,
}


def table(summary: dict[str, Any], rules: list[str]) -> str:
    """Return a Markdown table: a row for each study and rule, the nearest first."""
    heads = [f"{rival} ({i + 1})" for rival, i, _ in CLAIMS]
    paper = " | ".join(signed(value, 2) for _, _, value in CLAIMS)
    lines = [
        f"| reading | scales by | {' | '.join(heads)} | distance |",
        "|" + "---|" * (len(heads) + 3),
        f"| *the paper* | | {paper} | |",
    ]
    rows = []
    for name, study in (summary["experiments"] | summary.get("studies", {})).items():
        policies = study["policies"]
        if study["environment"]["name"] != "multichannel" or not {MOC, *RIVALS} <= policies.keys():
            continue
        shown = f"experiment-{name}" if name.isdigit() else name
        for rule in rules:
            chosen = RULES[rule](policies)
            found = " | ".join(map(signed, percentages(policies, chosen)))
            rows.append((distance(policies, chosen), f"| `{shown}` | {rule} | {found} |"))
    lines += [f"{row} {far:.1f} |" for far, row in sorted(rows)]
    return "\n".join(lines)


def signed(value: float, digits: int = 1) -> str:
    """Return a percentage with its sign, a proper minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def main(directory: str, *rules: str) -> None:
    """Print the table for the studies of six algorithms in a folder, by all rules or some."""
    summary = json.loads((Path(directory) / "summary.json").read_text(encoding="utf-8"))
    print(table(summary, list(rules or RULES)))


if __name__ == "__main__":
    main(*sys.argv[1:])
