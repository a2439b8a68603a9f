"""What is known of an arm in a context, in the objectives' own units."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """What is known of one objective of an arm: the estimate, and an interval around it.

    All three are None while nothing was observed, unless the arm began with a prior. The interval
    is a credible interval of the explanation's `level`, where it has one.
    """

    value: float | None
    low: float | None
    high: float | None
    observations: int

    def __str__(self) -> str:
        """Return it as "0.91 (0.90 to 0.92)", with two digits of the interval's length."""
        if self.value is None or self.low is None or self.high is None:
            return "not observed"
        prior = "" if self.observations else ", by its prior"
        length = self.high - self.low
        if length < 1e-4 * max(abs(self.low), abs(self.high)):
            return f"{self.value:.5g} (± {0.5 * length:.1g}){prior}"
        places = 1 - math.floor(math.log10(length)) if length > 0.0 else 0
        value, low, high = (
            f"{number:.{max(places, 0)}f}" if places <= 8 else f"{number:.3g}"
            for number in (self.value, self.low, self.high)
        )
        return f"{value} ({low} to {high}){prior}"


@dataclass(frozen=True)
class ArmExplained:
    """What is known of an arm in a context; `estimates` by objective.

    `plays`: the decisions of it that were learned from, in all contexts; the `observations` of an
    estimate are those that stand behind it here. A policy on balls has estimates of an arm that was
    never played: at first one ball covers all arms.

    `as_good`: it counts as tied with the best on every objective above the one that decides; with
    credible intervals, its estimates there are within the tolerances of the best ones. `why` says
    how that comes. `within` is the probability that it is within the tolerances of the best arm in
    all objectives before the last, or in the only one; None for a policy that knows none.
    `propensity` is NaN where the policy knows no closed form of it.
    """

    name: str
    allowed: bool
    retired: bool
    plays: int
    estimates: dict[str, Estimate]
    as_good: bool
    why: str
    propensity: float
    within: float | None = None
