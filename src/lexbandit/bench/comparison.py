"""Two results folders side by side: what each policy reached in the one and in the other."""

import math
from pathlib import Path
from typing import Any

from lexbandit.bench.summary import summarize
from lexbandit.errors import InvalidInput


def compare(first: Path, second: Path) -> list[dict[str, Any]]:
    """Return a row for each study, policy, grid point, measure and objective both folders have.

    `errors` is the difference in standard errors, None where one of them is not known: beyond
    `against.NOTABLE` in size it is unlikely to be chance.
    """
    ours, theirs = _by_place(summarize(first)), _by_place(summarize(second))
    rows = [
        row for place in ours if place in theirs for row in _rows(place, ours[place], theirs[place])
    ]
    if not rows:
        raise InvalidInput(f"{first} and {second} have no study, policy and scale in common.")
    return rows


def _by_place(summary: dict[str, Any]) -> dict[tuple[str, str, str, int], dict[str, Any]]:
    studies = {f"experiment {key}": results for key, results in summary["experiments"].items()}
    studies |= summary.get("studies", {})
    return {
        (name, policy, at, results["horizon"]): {**point, "objectives": results["objectives"]}
        for name, results in studies.items()
        for policy, points in results["policies"].items()
        for at, point in points.items()
    }


def _rows(
    place: tuple[str, str, str, int], ours: dict[str, Any], theirs: dict[str, Any]
) -> list[dict[str, Any]]:
    study, policy, at, horizon = place
    rows = []
    for measure in ("regret", "reward"):
        if ours[measure] is None or theirs[measure] is None:
            continue
        for i, (a, b) in enumerate(zip(ours[measure], theirs[measure], strict=True)):
            errors = [side["standard_error"][measure] for side in (ours, theirs)]
            spread = None if None in errors else math.hypot(errors[0][i], errors[1][i])
            rows.append(
                {
                    "study": study,
                    "policy": policy,
                    "at": at,
                    "horizon": horizon,
                    "measure": measure,
                    "objective": ours["objectives"][i],
                    "first": a,
                    "second": b,
                    "difference": b - a,
                    "errors": (b - a) / spread if spread else (0.0 if a == b else None),
                    "same": a == b,
                }
            )
    return rows
