"""How near a reading of Experiment 2 comes to the paper: `python -m benchmarks.readings DIR`.

DIR is a results folder with studies of the six algorithms. MOC-MAB and each rival may stand at any
scale factor of the grid; the choice with the least mean distance from the paper's six percentages
is printed. That is a choice by hindsight: it shows what a reading could give at best.
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

from lexbandit.bench.summary import MOC, PAPER_CLAIMS

CLAIMS = [claim for claim in PAPER_CLAIMS if claim.experiment == 2]

Choice = tuple[float, dict[str, str], list[float]]


def nearest(policies: dict[str, dict[str, Any]]) -> Choice:
    """Return the mean distance, the scale of each policy and the six percentages."""
    return min((_given(scale, policies) for scale in policies[MOC]), key=lambda found: found[0])


def _given(scale: str, policies: dict[str, dict[str, Any]]) -> Choice:
    """Return the best scales of the rivals, where MOC-MAB stands at `scale`."""
    ours = policies[MOC][scale]["reward"]
    chosen, distance, shown = {MOC: scale}, 0.0, []
    for rival, group in itertools.groupby(
        sorted(CLAIMS, key=lambda claim: claim.rival), key=lambda claim: claim.rival
    ):
        claims = list(group)
        found = {
            at: _percentages(ours, point["reward"], claims) for at, point in policies[rival].items()
        }
        at = min(found, key=lambda at: _distance(found[at], claims))
        chosen[rival], distance = at, distance + _distance(found[at], claims)
        shown += found[at]
    return distance / len(CLAIMS), chosen, shown


def _percentages(ours: list[float], theirs: list[float], claims: list[Any]) -> list[float]:
    return [100.0 * (ours[c.objective] / theirs[c.objective] - 1.0) for c in claims]


def _distance(found: list[float], claims: list[Any]) -> float:
    return float(sum(abs(value - c.paper) for value, c in zip(found, claims, strict=True)))


def main(directory: str) -> None:
    """Print the nearest choice for every study of six algorithms in a results folder."""
    summary = json.loads((Path(directory) / "summary.json").read_text(encoding="utf-8"))
    for name, study in (summary["experiments"] | summary.get("studies", {})).items():
        rivals = {claim.rival for claim in CLAIMS}
        if not ({MOC} | rivals) <= study["policies"].keys():
            continue
        distance, chosen, shown = nearest(study["policies"])
        print(f"{name}: {distance:.1f} points from the paper on average")
        for claim, value in zip(sorted(CLAIMS, key=lambda c: c.rival), shown, strict=True):
            scales = f"{chosen[MOC]}, {chosen[claim.rival]}"
            numbers = f"{claim.paper:+7.2f} {value:+7.2f}"
            print(f"  {claim.objective + 1} {claim.rival:8} {numbers}  ({scales})")


if __name__ == "__main__":
    main(sys.argv[1])
