"""Compare two results folders: the final values of each policy in both."""

import math
from pathlib import Path
from typing import Any

from lexbandit.bench.summary import summarize
from lexbandit.errors import InvalidInput

# Final values by study, policy, grid point and horizon.
FinalValues = dict[tuple[str, str, str, int], dict[str, Any]]


def compare(first: Path, second: Path) -> list[dict[str, Any]]:
    """Return a row for each study, policy, grid point, measure and objective both folders have.

    `errors` is the difference in standard errors, None where one of them is not known: beyond
    `summary.NOTABLE` in size it is unlikely to be chance.
    """
    ours, theirs = _by_place(summarize(first)), _by_place(summarize(second))
    rows = [
        row for place in ours if place in theirs for row in _rows(place, ours[place], theirs[place])
    ]
    if not rows:
        raise InvalidInput(
            f"{first} and {second} have nothing in common: {_difference(ours, theirs)}"
        )
    return rows


def _difference(ours: FinalValues, theirs: FinalValues) -> str:
    """Return why two folders cannot be compared, and what to do."""
    names = [{place[0] for place in side} for side in (ours, theirs)]
    both = sorted(names[0] & names[1])
    if not both:
        return (
            f"the one holds {', '.join(sorted(names[0]))}, the other {', '.join(sorted(names[1]))}."
        )
    name = both[0]
    horizons = [{place[3] for place in side if place[0] == name} for side in (ours, theirs)]
    if not horizons[0] & horizons[1]:
        one, other = (max(found) for found in horizons)
        return (
            f"{name} ran for {one:,} rounds in the one and {other:,} in the other. Policies plan "
            f"for their horizon: run one again with the other's, --horizon {min(one, other)}."
        )
    return f"{name} ran with other policies, or at other scales, in each."


def _by_place(summary: dict[str, Any]) -> FinalValues:
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
