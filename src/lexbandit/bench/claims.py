"""Every comparison in Section VII of the paper, beside ours.

Each algorithm stands at its own best scale: by dominant regret in Experiment 1, by dominant total
reward in Experiments 2 and 3. `ours` and `paper` are percentages, 100 · (MOC-MAB / other − 1);
a claim holds if the sign is the paper's. Nothing is tuned to match.
"""

from dataclasses import dataclass
from typing import Any

MOC = "moc-mab"
NAMES = {
    "moc-mab": "MOC-MAB",
    "cp-ucb1": "CP-UCB1",
    "cs-ucb1": "CS-UCB1",
    "p-ucb1": "P-UCB1",
    "s-ucb1": "S-UCB1",
    "cd-ucb1": "CD-UCB1",
}
OBJECTIVES = ("dominant", "non-dominant")


@dataclass(frozen=True)
class Comparison:
    """MOC-MAB against a rival in one objective: `sign` is +1 if the paper has MOC-MAB higher.

    `paper` is the paper's percentage, None where it gives none; `word` is the paper's adverb.
    """

    experiment: int
    rival: str
    objective: int
    sign: int
    paper: float | None = None
    word: str = ""

    @property
    def measure(self) -> str:
        """What is compared."""
        return "regret" if self.experiment == 1 else "total reward"

    def text(self) -> str:
        """Return the claim in words."""
        direction = "higher" if self.sign > 0 else "lower"
        amount = "" if self.paper is None else f"{abs(self.paper):g} % "
        word = f"{self.word} " if self.word else ""
        return (
            f"MOC-MAB's {OBJECTIVES[self.objective]} {self.measure} is {amount}{word}{direction} "
            f"than {NAMES[self.rival]}'s"
        )


def _higher(experiment: int, objective: int, **percentages: float) -> list[Comparison]:
    return [
        Comparison(experiment, rival.replace("_", "-"), objective, 1 if paper > 0 else -1, paper)
        for rival, paper in percentages.items()
    ]


COMPARISONS = [
    *(
        Comparison(1, rival, objective, -1)
        for objective in (0, 1)
        for rival in ("cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1")
    ),
    Comparison(1, "cd-ucb1", 0, +1, word="slightly"),
    Comparison(1, "cd-ucb1", 1, -1, word="much"),
    *_higher(2, 0, cp_ucb1=8.21, cs_ucb1=10.59, p_ucb1=21.33, s_ucb1=82.94, cd_ucb1=-8.52),
    *_higher(2, 1, cd_ucb1=13.66),
    *_higher(3, 0, cp_ucb1=54.5, cs_ucb1=133.6, p_ucb1=54.5, s_ucb1=131.8, cd_ucb1=-22.3),
    *_higher(3, 1, cp_ucb1=-46.3, cs_ucb1=-60.0, p_ucb1=-46.3, s_ucb1=-59.7, cd_ucb1=4751.9),
]


def claims_of(experiment: int, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the paper's claims on an experiment, given its part of the summary."""
    by = "by_regret" if experiment == 1 else "by_reward"
    measure = "regret" if experiment == 1 else "reward"
    best: dict[str, list[float]] = {}
    for policy, points in told["policies"].items():
        scale = told["best_scale"][policy][by]
        if policy in NAMES and scale is not None:
            best[policy] = points[scale][measure]
    claims = []
    for comparison in COMPARISONS:
        known = MOC in best and comparison.rival in best
        if comparison.experiment == experiment and known:
            claims.append(_verdict(comparison, best))
    if experiment in (2, 3) and MOC in best and len(best) > 1:
        claims.append(_unbeaten(experiment, best))
    # Data that stand in for the paper's own are named beside every number they gave.
    return [claim | {"data": told["data"]} for claim in claims]


def held_at_one_scale(experiment: int, told: dict[str, Any]) -> dict[str, str]:
    """Return for each scale how many claims hold if all algorithms are taken at it: "7 of 10"."""
    held = {}
    scales = [set(points) for policy, points in told["policies"].items() if policy in NAMES]
    for scale in told["policies"].get(MOC, {}):
        if all(scale in points for points in scales):
            same = {policy: {"by_regret": scale, "by_reward": scale} for policy in told["policies"]}
            verdicts = [c["holds"] for c in claims_of(experiment, told | {"best_scale": same})]
            held[scale] = f"{sum(verdicts)} of {len(verdicts)}"
    return held


def _verdict(comparison: Comparison, best: dict[str, list[float]]) -> dict[str, Any]:
    ours = best[MOC][comparison.objective]
    theirs = best[comparison.rival][comparison.objective]
    # Of a regret below 0 a percentage would mislead: it is of its size.
    percentage = 100.0 * (ours - theirs) / abs(theirs) if theirs else None
    return {
        "experiment": comparison.experiment,
        "claim": comparison.text(),
        "paper": comparison.paper,
        "ours": percentage,
        "holds": bool((ours - theirs) * comparison.sign > 0),
        "unit": "%",
        "moc-mab": ours,
        comparison.rival: theirs,
    }


def _unbeaten(experiment: int, best: dict[str, list[float]]) -> dict[str, Any]:
    ours = best[MOC]
    better = [
        policy
        for policy, theirs in best.items()
        if policy != MOC and all(b > a for a, b in zip(ours, theirs, strict=True))
    ]
    return {
        "experiment": experiment,
        "claim": "no algorithm has a higher total reward than MOC-MAB in both objectives",
        "paper": 0,
        "ours": len(better),
        "holds": not better,
        "unit": "algorithms",
    }
