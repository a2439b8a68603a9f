"""From the sums of a log to the difference of two policies in each objective."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lexbandit.logs.sums import Sums
from lexbandit.objectives import Objective

Estimator = Literal["dm", "ips", "snips", "dr", "sndr", "switch_dr", "dr_shrinkage", "clipped_ips"]


@dataclass(frozen=True)
class Difference:
    """Candidate less baseline in one objective, in its own units; positive is better.

    objective   its name
    difference  the estimate
    low, high   the ends of the interval
    level       1 − alpha: how often it covers the true difference, at least
    estimator   "dr" unless asked otherwise
    interval    "anytime" (holds on logs of a learning policy and at every look) or "asymptotic"
    candidate   the estimated mean reward of the candidate, in the objective's own units
    baseline    that of the baseline
    rows        rows with a reward in this objective
    missing     rows without one
    """

    objective: str
    difference: float
    low: float
    high: float
    level: float
    estimator: str
    interval: str
    candidate: float
    baseline: float
    rows: int
    missing: int


def differences(
    sums: Sums,
    objectives: Sequence[Objective],
    *,
    alpha: float = 0.05,
    estimator: Estimator = "dr",
    interval: Literal["anytime", "asymptotic"] = "anytime",
    least_propensity: float = 0.0,
) -> tuple[Difference, ...]:
    """Return the difference in each objective.

    `least_propensity` is a promise about the policy that wrote the log: it gave every allowed arm
    at least this probability (`explore` divided by the number of arms). 0 promises nothing.
    """
    raise NotImplementedError
