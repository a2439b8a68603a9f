"""Why an arm would be chosen, in the objectives' own units: an object, a text, a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lexbandit.checks import Booleans
from lexbandit.chooser import level_words, posterior_words
from lexbandit.chooser.arm_explained import ArmExplained, Estimate
from lexbandit.chooser.picturing import picture
from lexbandit.decisions import ArmReport, PolicyExplanation
from lexbandit.objectives import Objective


@dataclass(frozen=True)
class Explanation:
    """Why a chooser would choose as it does. Print it, read its fields, or show its picture.

    `level` is the probability of the credible intervals, such as 0.95; None for a policy whose
    intervals are not calibrated. `confidence` is the probability that the arm that would be chosen
    now is within the tolerances; None for a policy that knows none.
    """

    arms: tuple[ArmExplained, ...]
    objectives: tuple[Objective, ...]
    reason: str
    level: float | None = None
    confidence: float | None = None

    def __str__(self) -> str:
        names = [objective.name for objective in self.objectives]
        good = "as good" if self.level is None else "within tolerance"
        rows = [["arm", "plays", *names, good, "probability"]]
        for arm in self.arms:
            told = [str(arm.estimates[name]) for name in names]
            chance = f"{arm.propensity:.3g}".replace("nan", "unknown")
            rows.append([arm.name, f"{arm.plays}", *told, self._good(arm), chance])
        wide = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)) for row in rows
        ]
        text = "\n".join([*(line.rstrip() for line in lines), self.reason])
        observed = any(e.value is not None for arm in self.arms for e in arm.estimates.values())
        if self.level is None or not observed:
            return text
        return f"{text}\nIntervals are {self.level:.0%} credible intervals."

    def _good(self, arm: ArmExplained) -> str:
        """Return the cell of the table that says whether an arm is as good."""
        if not arm.allowed:
            return "retired" if arm.retired else "not allowed"
        if arm.within is None:
            return "yes" if arm.as_good else "no"
        return posterior_words.short(arm.within)

    @property
    def likely(self) -> tuple[str, ...]:
        """The arms that may be chosen now, the likeliest first."""
        possible = [arm for arm in self.arms if arm.propensity > 0 or _unknown(arm)]
        return tuple(arm.name for arm in sorted(possible, key=lambda arm: -arm.propensity))

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """Return a picture: why, and every arm's intervals, one panel an objective."""
        return picture(self.arms, self.objectives, self.reason, self.level)


def explained(
    explanation: PolicyExplanation,
    arms: Sequence[str],
    plays: Sequence[int],
    active: Booleans,
    objectives: Sequence[Objective],
    explore: float,
) -> Explanation:
    """Return a policy's explanation in the user's words and units."""
    allowed = sum(report.allowed for report in explanation.arms)
    words = level_words if explanation.level is None else posterior_words
    told = tuple(
        ArmExplained(
            name=arms[report.arm],
            allowed=report.allowed,
            retired=not active[report.arm],
            plays=plays[report.arm],
            estimates={
                objective.name: _estimate(objective, report, i)
                for i, objective in enumerate(objectives)
            },
            as_good=_as_good(explanation, report),
            why=_why_not(report, bool(active[report.arm]), allowed)
            or words.why(explanation, report.arm, arms, objectives),
            propensity=(1.0 - explore) * report.propensity + report.allowed * explore / allowed,
            within=None if explanation.level is None else math.prod(report.within),
        )
        for report in explanation.arms
    )
    if allowed == 1:
        reason = _only(next(arm for arm in told if arm.allowed))
    else:
        names = [objective.name for objective in objectives]
        parts = [] if explanation.levels else [explanation.reason_by(arms, names)]
        if explanation.levels or explanation.standing:
            parts.append(words.reason(explanation, told, objectives))
        reason = " ".join(parts)
    if explore > 0.0 and allowed > 1:
        reason += f" One in {1 / explore:.3g} choices is drawn from all allowed arms, to explore."
    confidence = None if explanation.level is None else _confidence(told)
    if confidence is not None and allowed > 1 and any(o.tolerance for o in objectives):
        chance = posterior_words.spoken(confidence)
        reason += f" The chosen arm is within the tolerance with probability {chance}."
    return Explanation(told, tuple(objectives), reason, explanation.level, confidence)


def _confidence(arms: Sequence[ArmExplained]) -> float | None:
    """Return the probability that the arm that would be chosen is within the tolerances."""
    known = sum(arm.propensity * arm.within for arm in arms if arm.within is not None)
    return None if math.isnan(known) else min(float(known), 1.0)


def _estimate(objective: Objective, report: ArmReport, i: int) -> Estimate:
    observations = report.observations[i]
    if observations == 0 and report.prior == 0:
        return Estimate(None, None, None, 0)
    low, high = report.ends(i)
    lower, value, upper = (
        min(max(objective.value(share), objective.range[0]), objective.range[1])
        for share in (low, report.mean[i], high)
    )
    return Estimate(value, min(lower, upper), max(lower, upper), observations)


def _as_good(explanation: PolicyExplanation, report: ArmReport) -> bool:
    """Tell whether an arm counts as good as the best above the objective that decides."""
    if explanation.standing:
        return report.arm in explanation.standing[-1].arms
    return report.candidate


def _why_not(report: ArmReport, active: bool, allowed: int) -> str | None:
    """Say why an arm is no choice, or the only one; None otherwise."""
    if not active:
        return "It is retired."
    if not report.allowed:
        return "It is not allowed here."
    return "It is the only arm that can be chosen here." if allowed == 1 else None


def _unknown(arm: ArmExplained) -> bool:
    return math.isnan(arm.propensity) and arm.as_good


def _only(arm: ArmExplained) -> str:
    """Say that there was no choice."""
    known = any(estimate.value is not None for estimate in arm.estimates.values())
    unknown = "" if known else "; nothing is known of it yet"
    return f"{arm.name} is the only arm that can be chosen here{unknown}."
