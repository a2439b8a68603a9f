"""Why an arm would be chosen, in the objectives' own units: an object, a text, a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lexbandit.checks import Booleans
from lexbandit.chooser.picturing import picture
from lexbandit.decisions import ArmReport, Explanation, enumerated
from lexbandit.objectives import Objective


@dataclass(frozen=True)
class Estimate:
    """What is known of one objective of an arm: the estimate, and an interval around it.

    All three are None while nothing was observed, unless the arm began with a prior.
    """

    value: float | None
    low: float | None
    high: float | None
    observations: int


@dataclass(frozen=True)
class ArmExplained:
    """What is known of an arm in a context; `estimates` by objective.

    `plays`: the decisions of it that were learned from, in all contexts; the `observations` of an
    estimate are those that stand behind it here. A policy on balls has estimates of an arm that was
    never played: at first one ball covers all arms.

    `as_good`: it counts as tied with the best on every objective above the one that decides; `why`
    says how that comes. `propensity` is NaN where the policy knows no closed form of it.
    """

    name: str
    allowed: bool
    retired: bool
    plays: int
    estimates: dict[str, Estimate]
    as_good: bool
    why: str
    propensity: float


@dataclass(frozen=True)
class ChooserExplanation:
    """Why a chooser would choose as it does. Print it, read its fields, or show its picture."""

    arms: tuple[ArmExplained, ...]
    objectives: tuple[Objective, ...]
    reason: str

    def __str__(self) -> str:
        names = [objective.name for objective in self.objectives]
        rows = [["arm", "plays", *names, "as good", "probability"]]
        for arm in self.arms:
            told = [_told(arm.estimates[name]) for name in names]
            other = "retired" if arm.retired else "no" if arm.allowed else "not allowed"
            chance = f"{arm.propensity:.3g}".replace("nan", "unknown")
            good = "yes" if arm.as_good else other
            rows.append([arm.name, f"{arm.plays}", *told, good, chance])
        wide = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)) for row in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), self.reason])

    @property
    def likely(self) -> tuple[str, ...]:
        """The arms that may be chosen now, the likeliest first."""
        possible = [arm for arm in self.arms if arm.propensity > 0 or _unknown(arm)]
        return tuple(arm.name for arm in sorted(possible, key=lambda arm: -arm.propensity))

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """Return a picture: why, and every arm's intervals, one panel an objective."""
        return picture(self)


def explained(
    explanation: Explanation,
    arms: Sequence[str],
    plays: Sequence[int],
    active: Booleans,
    objectives: Sequence[Objective],
    explore: float,
) -> ChooserExplanation:
    """Return a policy's explanation in the user's words and units."""
    allowed = sum(report.allowed for report in explanation.arms)
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
            as_good=report.candidate,
            why="It is the only arm that can be chosen here."
            if report.allowed and allowed == 1
            else _why(explanation, report.arm, arms, active, objectives),
            propensity=(1.0 - explore) * report.propensity + report.allowed * explore / allowed,
        )
        for report in explanation.arms
    )
    if allowed == 1:
        reason = _only(next(arm for arm in told if arm.allowed))
    elif explanation.levels:
        reason = _reason(explanation, told, objectives)
    else:
        reason = explanation.reason_by(arms, [objective.name for objective in objectives])
    if explore > 0.0 and allowed > 1:
        reason += f" One in {1 / explore:.3g} choices is drawn from all allowed arms, to explore."
    return ChooserExplanation(told, tuple(objectives), reason)


def _estimate(objective: Objective, report: ArmReport, i: int) -> Estimate:
    observations, mean, width = report.observations[i], report.mean[i], report.width[i]
    if observations == 0 and report.prior == 0:
        return Estimate(None, None, None, 0)
    lower, value, upper = (
        min(max(objective.value(share), objective.range[0]), objective.range[1])
        for share in (mean - width, mean, mean + width)
    )
    return Estimate(value, min(lower, upper), max(lower, upper), observations)


def _why(
    explanation: Explanation,
    arm: int,
    names: Sequence[str],
    active: Booleans,
    objectives: Sequence[Objective],
) -> str:
    """Say whether an arm counts as tied on the objectives above the one that decides, and why."""
    if not active[arm]:
        return "It is retired."
    if not explanation.arms[arm].allowed:
        return "It is not allowed here."
    if not explanation.levels:
        return "It is a candidate." if explanation.arms[arm].candidate else "It is no candidate."
    decides = len(explanation.levels) - 1
    for objective, level in zip(objectives, explanation.levels[:decides], strict=False):
        if arm not in level.arms:
            within = f" within {objective.tolerance:g}" if objective.tolerance else ""
            return (
                f"Behind in {objective.name}: even the best end of its interval is not as good as "
                f"{names[level.top]}{within}."
            )
    if decides == 0:
        return f"{objectives[0].name} alone decides here."
    tied = enumerated([objective.name for objective in objectives[:decides]])
    return f"As good as the best in {tied}, as far as is known; {objectives[decides].name} decides."


def _unknown(arm: ArmExplained) -> bool:
    return math.isnan(arm.propensity) and arm.as_good


def _told(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not observed"
    prior = "" if estimate.observations else ", by its prior"
    return f"{estimate.value:.4g} ({estimate.low:.4g} to {estimate.high:.4g}){prior}"


def _only(arm: ArmExplained) -> str:
    """Say that there was no choice."""
    known = any(estimate.value is not None for estimate in arm.estimates.values())
    unknown = "" if known else "; nothing is known of it yet"
    return f"{arm.name} is the only arm that can be chosen here{unknown}."


def _reason(
    explanation: Explanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Tell level by level how the choice comes about."""
    sentences = []
    last = len(explanation.levels) - 1
    for i, level in enumerate(explanation.levels):
        objective = objectives[i]
        top = arms[level.top]
        estimate = top.estimates[objective.name]
        if i < last:
            others = [arms[a].name for a in level.arms if a != level.top]
            within = (
                f", within the tolerance of {objective.tolerance:g}" if objective.tolerance else ""
            )
            as_good = (
                f"{enumerated(others)} may be as good{within}" if others else "no other is as good"
            )
            sentences.append(
                f"{objective.name}: {top.name} leads with {_told(estimate)}; {as_good}."
            )
        elif explanation.unsure:
            likely = [arms[a] for a in explanation.likely]
            later = [o.name for o in objectives[i + 1 :]]
            ignored = f"; {enumerated(later)} {_do(later)} not count yet" if later else ""
            tried = _tried(likely if len(likely) > 1 else [top], objective)
            sentences.append(f"{objective.name}: {tried}{ignored}.")
        else:
            likely = [arms[a] for a in explanation.likely]
            among = "Of these, " if i else ""
            best = "most promising" if i else "best"
            verb, drawn = ("is", "") if len(likely) == 1 else ("are", "; one of them is drawn")
            names = enumerated([arm.name for arm in likely])
            sentences.append(f"{among}{names} {verb} {best} in {objective.name}{drawn}.")
    return " ".join(sentences)


def _tried(arms: Sequence[ArmExplained], objective: Objective) -> str:
    """Say which arms may be played to learn about them, and why."""
    names = enumerated([arm.name for arm in arms])
    unknown = all(arm.estimates[objective.name].value is None for arm in arms)
    if len(arms) == 1:
        estimate = _told(arms[0].estimates[objective.name])
        known = (
            "nothing is known of it here yet"
            if unknown
            else f"too little is known of it here yet: {estimate}"
        )
        return f"{names} may be the best and {known}, so it is tried"
    alike = len({arm.propensity for arm in arms}) == 1
    chance = ", each as likely as the others" if alike else ""
    known = "nothing" if unknown else "too little"
    return f"{known} is known of {names} here yet, so one of them is tried{chance}"


def _do(names: Sequence[str]) -> str:
    return "does" if len(names) == 1 else "do"
