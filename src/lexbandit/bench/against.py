"""Every policy of a study beside the algorithms of the paper: whom it beats, and by how much."""

import math
from typing import Any

from lexbandit.bench.claims import NAMES

Numbers = dict[str, Any]

# A difference of more standard errors than this is unlikely to be chance (5 %, two-sided).
NOTABLE = 1.96

# The algorithm of the paper that rewards are compared with: its best in the dominant objective.
_DOMINANT = "cd-ucb1"


def against_paper(told: Numbers) -> list[Numbers] | None:
    """Return a row for each policy, by rising dominant regret, given a study's part of the summary.

    Policies stand at their best points for the dominant regret.

    beats           the paper's algorithms to which its mean regret is below in every objective
    clearly         those of them where each difference is more than `NOTABLE` standard errors
    at_every_scale  those that it is below at each of their scale factors
    beats_all       whether `beats` are all of the paper's algorithms
    reward          how much more is received than by CD-UCB1, in per cent, for each objective

    The oracle is no rival. None without regrets, unless all six algorithms of the paper are there,
    and if nothing but they are.
    """
    best = {
        policy: found["by_regret"]
        for policy, found in told["best_scale"].items()
        if policy != "oracle"
    }
    if None in best.values() or not NAMES.keys() < best.keys():
        return None
    rows = []
    for policy, at in best.items():
        point = told["policies"][policy][at]
        rivals = {p: told["policies"][p] for p in NAMES if p != policy}
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
                "beats_all": len(beats) == len(NAMES),
                "reward": _reward(point, told, best),
            }
        )
    return sorted(rows, key=lambda row: float(row["regret"][0]))


def _margin(ours: Numbers, theirs: Numbers, errors: float = 0.0) -> float:
    """Return by how much our regret is lower in the objective where that is least.

    `errors` standard errors of the difference are taken off; runs count as independent, which for
    the same streams of rounds is on the safe side.
    """
    none = [0.0] * len(ours["regret"])
    spreads = [side["standard_error"]["regret"] or none for side in (ours, theirs)]
    differences = [
        b - a - errors * math.hypot(x, y)
        for a, b, x, y in zip(ours["regret"], theirs["regret"], *spreads, strict=True)
    ]
    return float(min(differences))


def _reward(point: Numbers, told: Numbers, best: dict[str, str]) -> list[float | None]:
    theirs = told["policies"][_DOMINANT][best[_DOMINANT]]["reward"]
    return [
        100.0 * (a - b) / abs(b) if b else None
        for a, b in zip(point["reward"], theirs, strict=True)
    ]
