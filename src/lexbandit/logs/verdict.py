"""The verdict: is a candidate better, as good or worse, objective by objective in their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lexbandit.logs.diagnostics import Diagnostics
from lexbandit.logs.differences import Difference
from lexbandit.objectives import Objective


@dataclass(frozen=True)
class Verdict:
    """What a log says of a candidate.

    text       "better in cost", "as good", "worse in quality" or "cannot tell"
    kind       the same without the objective
    objective  the one that decided, or at which it cannot tell; None for "as good"
    sentence   the verdict and why, in plain words
    needed     for "cannot tell": {explore: rows}, how many rows would decide, at which `explore`;
               None as key: as it was logged. Empty if nothing can be said
    """

    text: str
    kind: Literal["better", "as good", "worse", "cannot tell"]
    objective: str | None
    sentence: str
    needed: dict[float | None, int]


def decide(
    differences: Sequence[Difference],
    objectives: Sequence[Objective],
    diagnostics: Diagnostics | None = None,
) -> Verdict:
    """Return the verdict by a fixed sequence of tests; too little overlap refuses one."""
    raise NotImplementedError
