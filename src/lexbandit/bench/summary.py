"""Write DIR/summary.json: final values of every policy at every scale, and the paper's claims."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lexbandit.bench.results import as_json, load_runs, studies_in, versions, write
from lexbandit.bench.series import series_in
from lexbandit.errors import InvalidInput

Numbers = dict[str, Any]

# The key of a policy that has no scale and no other parameter of a grid.
PLAIN = "-"


def summarize(directory: Path) -> Numbers:
    """Return the summary of a results folder.

    Numbers are means over runs at the horizon, with standard errors (null for one run). regret
    and pareto_regret are null where the true means are not known; reward is what was received.
    tolerance_regret is present if there are tolerances.
    """
    runs = load_runs(directory)
    if runs.is_empty():
        raise InvalidInput(f"{directory} holds no finished run.")
    experiments: Numbers = {}
    studies: Numbers = {}
    claims: list[Numbers] = []
    seen: list[tuple[Numbers, Numbers]] = []
    for study in studies_in(directory):
        rows = runs.filter((pl.col("study") == study["name"]) & (pl.col("t") == study["horizon"]))
        if rows.is_empty():
            continue
        results = _study(study, rows)
        seen.append((study, results))
        if study["paper"] is None:
            studies[study["name"]] = results
        else:
            experiments[str(study["paper"])] = results
            claims += claims_of(study["paper"], results)
            results["claims_at_one_scale"] = held_at_one_scale(study["paper"], results)
    summary: Numbers = {"experiments": experiments, "claims": claims, "versions": versions()}
    joined = [pair for pair in seen if pair[0].get("series")]
    series = series_in(joined, runs) if joined else {}
    return summary | {key: part for key, part in (("studies", studies), ("series", series)) if part}


def write_summary(directory: Path) -> Numbers:
    """Write and return the summary of a results folder."""
    summary = summarize(directory)
    write(directory / "summary.json", as_json(summary))
    return summary


def _study(study: Numbers, rows: pl.DataFrame) -> Numbers:
    policies: dict[str, Numbers] = {}
    for (policy, label), group in rows.group_by(["policy", "label"], maintain_order=True):
        point = str(label).partition("@")[2] or PLAIN
        policies.setdefault(str(policy), {})[point] = _point(group, study["horizon"])
    results = {
        "title": study["title"],
        "data": study["data"],
        "horizon": study["horizon"],
        "runs": rows["run"].n_unique(),
        "objectives": study["objectives"],
        "environment": study["environment"],
        "policies": policies,
        "best_scale": {name: best_of(points) for name, points in policies.items()},
        "seconds": float(rows["seconds"].sum()),
    }
    rivals = against_paper(results)
    return results if rivals is None else results | {"against_paper": rivals}


def _point(group: pl.DataFrame, horizon: int) -> Numbers:
    names = ("regret", "reward", "tolerance_regret")
    vectors = {name: _mean_and_error(group[name].to_list()) for name in names}
    pareto, pareto_error = _mean_and_error(
        [None if x is None else [x] for x in group["pareto_regret"].to_list()]
    )
    point: Numbers = {
        "regret": vectors["regret"][0],
        "pareto_regret": pareto[0] if pareto else None,
        "reward": vectors["reward"][0],
        "standard_error": {
            "regret": vectors["regret"][1],
            "pareto_regret": pareto_error[0] if pareto_error else None,
            "reward": vectors["reward"][1],
        },
        "state_bytes": group["state_bytes"].mean(),
        "runs": group.height,
        "horizon": horizon,
    }
    if vectors["tolerance_regret"][0] is not None:
        point["tolerance_regret"] = vectors["tolerance_regret"][0]
        point["standard_error"]["tolerance_regret"] = vectors["tolerance_regret"][1]
    return point


def _mean_and_error(
    values: list[list[float] | None],
) -> tuple[list[float] | None, list[float] | None]:
    """Return mean and standard error, component by component, of one vector a run."""
    known = [vector for vector in values if vector is not None]
    n = len(known)
    if n < len(values):
        return None, None
    means = [math.fsum(parts) / n for parts in zip(*known, strict=True)]
    if n == 1:
        return means, None
    errors = [
        math.sqrt(math.fsum((x - mean) ** 2 for x in parts) / (n - 1) / n)
        for parts, mean in zip(zip(*known, strict=True), means, strict=True)
    ]
    return means, errors


def best_of(points: dict[str, Numbers]) -> dict[str, str | None]:
    """Return the point of least dominant regret, and that of most dominant reward."""
    known = [name for name, point in points.items() if point["regret"] is not None]
    return {
        "by_regret": min(known, key=lambda name: points[name]["regret"][0]) if known else None,
        "by_reward": max(points, key=lambda name: points[name]["reward"][0]),
    }


# A difference of more standard errors than this is unlikely to be chance (5 %, two-sided).
NOTABLE = 1.96

# The algorithm of the paper that rewards are compared with: its best in the dominant objective.
_DOMINANT = "cd-ucb1"


def against_paper(results: Numbers) -> list[Numbers] | None:
    """Return a row for each policy, by rising dominant regret, given a study's part of the summary.

    Policies are taken at their best points for the dominant regret.

    beats           the paper's algorithms that have more mean regret in every objective
    clearly         those of them where each difference is more than `NOTABLE` standard errors
    at_every_scale  those that it beats at each of their scale factors
    beats_all       whether `beats` are all of the paper's algorithms
    reward          how much more is received than by CD-UCB1, in per cent, for each objective

    The oracle is left out. None if regrets are not known, if one of the six algorithms of the paper
    is missing, or if there is no other policy.
    """
    best = {
        policy: found["by_regret"]
        for policy, found in results["best_scale"].items()
        if policy != "oracle"
    }
    if None in best.values() or not PAPER_NAMES.keys() < best.keys():
        return None
    rows = []
    for policy, at in best.items():
        point = results["policies"][policy][at]
        rivals = {p: results["policies"][p] for p in PAPER_NAMES if p != policy}
        beats = [p for p, points in rivals.items() if _margin(point, points[best[p]]) > 0]
        rows.append(
            {
                "policy": policy,
                "at": at,
                "regret": point["regret"],
                "standard_error": point["standard_error"]["regret"],
                "beats": beats,
                "clearly": [p for p in beats if _margin(point, rivals[p][best[p]], NOTABLE) > 0],
                "at_every_scale": [
                    p
                    for p in beats
                    if min(_margin(point, other) for other in rivals[p].values()) > 0
                ],
                "beats_all": len(beats) == len(PAPER_NAMES),
                "reward": _reward(point, results, best),
            }
        )
    return sorted(rows, key=lambda row: float(row["regret"][0]))


def _margin(ours: Numbers, theirs: Numbers, errors: float = 0.0) -> float:
    """Return by how much our regret is lower in the objective where that is least.

    `errors` standard errors of the difference are subtracted, as if runs were independent; policies
    share their streams of rounds, so this is conservative.
    """
    none = [0.0] * len(ours["regret"])
    spreads = [side["standard_error"]["regret"] or none for side in (ours, theirs)]
    differences = [
        b - a - errors * math.hypot(x, y)
        for a, b, x, y in zip(ours["regret"], theirs["regret"], *spreads, strict=True)
    ]
    return float(min(differences))


def _reward(point: Numbers, results: Numbers, best: dict[str, str]) -> list[float | None]:
    theirs = results["policies"][_DOMINANT][best[_DOMINANT]]["reward"]
    return [
        100.0 * (a - b) / abs(b) if b else None
        for a, b in zip(point["reward"], theirs, strict=True)
    ]


MOC = "moc-mab"
# The paper's algorithms, by the names of their policies.
PAPER_NAMES = {
    "moc-mab": "MOC-MAB",
    "cp-ucb1": "CP-UCB1",
    "cs-ucb1": "CS-UCB1",
    "p-ucb1": "P-UCB1",
    "s-ucb1": "S-UCB1",
    "cd-ucb1": "CD-UCB1",
}
OBJECTIVES = ("dominant", "non-dominant")

# A claim holds if its sign is the paper's. How close it is beyond that, in words; "by sign" alone
# where the paper names no size.
AGREEMENTS = {
    "points": "within two points",
    "error": "within the error",
    "word": "as worded",
    "size": "by sign, not in size",
    "sign": "by sign",
    "none": "",
}
# Percentages this far apart count as the same; so do those within `NOTABLE` standard errors.
TWO_POINTS = 2.0
# "Slightly" is at most so many per cent, "much" at least so many (a half, or more than half again).
SLIGHTLY, MUCH = 10.0, 50.0


@dataclass(frozen=True)
class PaperClaim:
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
            f"than {PAPER_NAMES[self.rival]}'s"
        )


def _higher(experiment: int, objective: int, **percentages: float) -> list[PaperClaim]:
    return [
        PaperClaim(experiment, rival.replace("_", "-"), objective, 1 if paper > 0 else -1, paper)
        for rival, paper in percentages.items()
    ]


PAPER_CLAIMS = [
    *(
        PaperClaim(1, rival, objective, -1)
        for objective in (0, 1)
        for rival in ("cp-ucb1", "cs-ucb1", "p-ucb1", "s-ucb1")
    ),
    PaperClaim(1, "cd-ucb1", 0, +1, word="slightly"),
    PaperClaim(1, "cd-ucb1", 1, -1, word="much"),
    *_higher(2, 0, cp_ucb1=8.21, cs_ucb1=10.59, p_ucb1=21.33, s_ucb1=82.94, cd_ucb1=-8.52),
    *_higher(2, 1, cd_ucb1=13.66),
    *_higher(3, 0, cp_ucb1=54.5, cs_ucb1=133.6, p_ucb1=54.5, s_ucb1=131.8, cd_ucb1=-22.3),
    *_higher(3, 1, cp_ucb1=-46.3, cs_ucb1=-60.0, p_ucb1=-46.3, s_ucb1=-59.7, cd_ucb1=4751.9),
]


def claims_of(experiment: int, results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the paper's claims on an experiment, given its part of the summary."""
    by = "by_regret" if experiment == 1 else "by_reward"
    measure = "regret" if experiment == 1 else "reward"
    best: dict[str, list[float]] = {}
    errors: dict[str, list[float] | None] = {}
    for policy, points in results["policies"].items():
        scale = results["best_scale"][policy][by]
        if policy in PAPER_NAMES and scale is not None:
            best[policy] = points[scale][measure]
            errors[policy] = points[scale].get("standard_error", {}).get(measure)
    claims = []
    for comparison in PAPER_CLAIMS:
        known = MOC in best and comparison.rival in best
        if comparison.experiment == experiment and known:
            claims.append(_verdict(comparison, best, errors))
    if experiment in (2, 3) and MOC in best and len(best) > 1:
        claims.append(_unbeaten(experiment, best))
    # Numbers from synthetic data in place of the paper's are marked.
    return [claim | {"data": results["data"]} for claim in claims]


def held_at_one_scale(experiment: int, results: dict[str, Any]) -> dict[str, str]:
    """Return for each scale how many claims hold if all algorithms are taken at it: "7 of 10"."""
    held = {}
    scales = [
        set(points) for policy, points in results["policies"].items() if policy in PAPER_NAMES
    ]
    for scale in results["policies"].get(MOC, {}):
        if all(scale in points for points in scales):
            same = {
                policy: {"by_regret": scale, "by_reward": scale} for policy in results["policies"]
            }
            verdicts = [c["holds"] for c in claims_of(experiment, results | {"best_scale": same})]
            held[scale] = f"{sum(verdicts)} of {len(verdicts)}"
    return held


def _verdict(
    comparison: PaperClaim,
    best: dict[str, list[float]],
    errors: dict[str, list[float] | None],
) -> dict[str, Any]:
    i = comparison.objective
    ours, theirs = best[MOC][i], best[comparison.rival][i]
    # Relative to the absolute value, since regrets may be negative.
    percentage = 100.0 * (ours - theirs) / abs(theirs) if theirs else None
    own, rival = errors[MOC], errors[comparison.rival]
    error = None
    if theirs and own is not None and rival is not None:  # of a ratio; runs count as independent
        error = 100.0 * math.hypot(own[i], rival[i] * ours / theirs) / abs(theirs)
    holds = bool((ours - theirs) * comparison.sign > 0)
    return {
        "experiment": comparison.experiment,
        "claim": comparison.text(),
        "paper": comparison.paper,
        "ours": percentage,
        "error": error,
        "holds": holds,
        "agreement": _agreement(comparison, percentage, error) if holds else "none",
        "unit": "%",
        "moc-mab": ours,
        comparison.rival: theirs,
    }


def _agreement(comparison: PaperClaim, ours: float | None, error: float | None) -> str:
    """Return how far a claim whose sign is right agrees; see `AGREEMENTS`."""
    if ours is None:
        return "sign"
    if comparison.word:
        fits = abs(ours) <= SLIGHTLY if comparison.word == "slightly" else abs(ours) >= MUCH
        return "word" if fits else "size"
    if comparison.paper is None:
        return "sign"
    distance = abs(ours - comparison.paper)
    if distance <= TWO_POINTS:
        return "points"
    return "error" if error is not None and distance <= NOTABLE * error else "size"


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
        "agreement": "none" if better else "sign",
        "unit": "algorithms",
    }
