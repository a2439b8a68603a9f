"""The text of an explanation: why each arm would be chosen or not, and which objective decides."""

import math
from collections.abc import Sequence

from lexbandit.checks import Booleans
from lexbandit.chooser.explanation import ArmExplained, Estimate, Explanation, short_probability
from lexbandit.decisions import ArmReport, PolicyExplanation, enumerated
from lexbandit.objectives import Objective

# The number of arms that are named one by one.
_NAMED = 3
# An arm with fewer rewards than this near the context is estimated mostly from other contexts.
_NEAR = 1.0


def explain(
    explanation: PolicyExplanation,
    arms: Sequence[str],
    plays: Sequence[int],
    active: Booleans,
    objectives: Sequence[Objective],
    explore: float,
) -> Explanation:
    """Return a policy's explanation in the user's words and units."""
    allowed = sum(report.allowed for report in explanation.arms)
    by_levels = explanation.level is None
    why, why_chosen = (_why_by_levels, _reason_by_levels) if by_levels else (_why, _reason)
    explained_arms = tuple(
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
            or why(explanation, report.arm, arms, objectives),
            propensity=(1.0 - explore) * report.propensity + report.allowed * explore / allowed,
            within=None if explanation.level is None else math.prod(report.within),
        )
        for report in explanation.arms
    )
    if allowed == 1:
        reason = _only(next(arm for arm in explained_arms if arm.allowed))
    else:
        names = [objective.name for objective in objectives]
        parts = [] if explanation.levels else [explanation.reason_by(arms, names)]
        if explanation.levels or explanation.standing:
            parts.append(why_chosen(explanation, explained_arms, objectives))
        reason = " ".join(parts)
    if explore > 0.0 and allowed > 1:
        reason += f" One in {1 / explore:.3g} choices is drawn from all allowed arms, to explore."
    confidence = None if explanation.level is None else _confidence(explained_arms)
    if confidence is not None and allowed > 1 and any(o.tolerance for o in objectives):
        reason += (
            " By the model, the chosen arm is within the tolerance with probability "
            f"{_spoken(confidence)}."
        )
    return Explanation(explained_arms, tuple(objectives), reason, explanation.level, confidence)


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


def _only(arm: ArmExplained) -> str:
    """Say that there was no choice."""
    known = any(estimate.value is not None for estimate in arm.estimates.values())
    unknown = "" if known else "; nothing is known of it yet"
    return f"{arm.name} is the only arm that can be chosen here{unknown}."


# For policies that compare intervals level by level.


def _why_by_levels(
    explanation: PolicyExplanation, arm: int, names: Sequence[str], objectives: Sequence[Objective]
) -> str:
    """Say whether an arm counts as tied on the objectives above the one that decides, and why."""
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


def _reason_by_levels(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Explain the choice level by level."""
    sentences = []
    last = len(explanation.levels) - 1
    tied = 1
    for i, level in enumerate(explanation.levels):
        objective = objectives[i]
        top = arms[level.top]
        likely = [arms[a] for a in explanation.likely]
        if i < last:
            others = [arms[a].name for a in level.arms if a != level.top]
            tied = 1 + len(others)
            within = (
                f", within the tolerance of {objective.tolerance:g}" if objective.tolerance else ""
            )
            as_good = (
                f"{enumerated(others)} may be as good{within}" if others else "no other is as good"
            )
            estimate = top.estimates[objective.name]
            sentences.append(f"{objective.name}: {top.name} leads with {estimate}; {as_good}.")
        elif explanation.unsure:
            later = [o.name for o in objectives[i + 1 :]]
            does = "does" if len(later) == 1 else "do"
            ignored = f"; {enumerated(later)} {does} not count yet" if later else ""
            tried = _tried(likely if len(likely) > 1 else [top], objective)
            sentences.append(f"{objective.name}: {tried}{ignored}.")
        elif i and tied == 1:
            sentences.append(f"So {enumerated([arm.name for arm in likely])} is chosen.")
        else:
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
        estimate = arms[0].estimates[objective.name]
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


# For policies with credible intervals.


def _spoken(chance: float) -> str:
    """Return a probability with two digits, in words near the ends."""
    return short_probability(chance).replace("<", "less than ").replace(">", "more than ")


def _why(
    explanation: PolicyExplanation, arm: int, names: Sequence[str], objectives: Sequence[Objective]
) -> str:
    """Say how good an arm is in each objective before the last, and in the last one."""
    report = explanation.arms[arm]
    parts = [
        f"leads in {objective.name}, {_close(objective, level.band)} with probability {_spoken(p)}"
        if level.top == arm
        else f"{_close(objective, level.band)} in {objective.name} with probability {_spoken(p)}"
        for objective, level, p in zip(
            objectives, explanation.standing, report.within, strict=False
        )
    ]
    standing = "; ".join(parts)
    sentences = [f"{standing[:1].upper()}{standing[1:]}."]
    good = explanation.standing[-1].arms
    best = _best(explanation, good) if len(objectives) > 1 and len(good) > 1 else None
    if best == arm:
        sentences.append(f"It leads in {objectives[-1].name} among the arms that are as good.")
    if _is_far(report):
        sentences.append(_far([names[arm]]))
    return " ".join(sentences)


def _reason(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Say which arm leads in each objective, how likely others are as good, and what is chosen."""
    if all(arm.estimates[objectives[0].name].value is None for arm in arms if arm.allowed):
        sentences = [f"{objectives[0].name}: nothing is known of the arms yet."]
    else:
        sentences = [
            _standing(explanation, arms, objective, i)
            for i, objective in zip(range(len(explanation.standing)), objectives, strict=False)
        ]
        if len(objectives) > 1:
            sentences.append(_decides(explanation, arms, objectives[-1]))
        named = {level.top for level in explanation.standing} | set(explanation.standing[-1].arms)
        far = [
            arms[report.arm].name
            for report in explanation.arms
            if report.allowed
            and (report.arm in named or report.propensity > 0.05)
            and _is_far(report)
        ]
        if far:
            sentences.append(_far(far))
    if not any(math.isnan(report.propensity) for report in explanation.arms):
        sentences.append(_drawn(explanation, arms, objectives))
    return " ".join(sentences)


def _standing(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objective: Objective, i: int
) -> str:
    """Say who leads in an objective, and how likely the others are as good.

    Below the first objective, these are the arms that are as good above by the estimates: an arm
    that is out may well be better here than the one that leads.
    """
    level = explanation.standing[i]
    left = explanation.standing[i - 1].arms if i else range(len(arms))
    top = arms[level.top]
    close = _close(objective, level.band)
    chances = {
        arms[r.arm].name: r.within[i] for r in explanation.arms if r.allowed and r.arm in left
    }
    lead = chances.pop(top.name)
    unsure = f" and is {close} with probability {_spoken(lead)}" if lead < 0.95 else ""
    estimate = top.estimates[objective.name]
    led = f"{top.name} leads with {estimate}"
    if estimate.value is None:
        led = f"{top.name}, of which nothing is observed yet, leads by what the arms have in common"
    leader = f"{objective.name}: {led}{unsure}"
    if not chances:
        return f"{leader}."
    ranked = sorted(chances, key=lambda name: -chances[name])
    named = [name for name in ranked[:_NAMED] if chances[name] >= 0.005]
    rest = ranked[len(named) :]
    if not named:
        return f"{leader}; every other arm is {close} with probability less than 0.01."
    first, *further = named
    listed = [f"{first} is {close} with probability {_spoken(chances[first])}"]
    listed += [f"{name} with {_spoken(chances[name])}" for name in further]
    if rest:
        most = chances[rest[0]]
        others = "the others" if len(rest) > 1 else rest[0]
        amount = _spoken(most)
        at_most = "at most " if len(rest) > 1 and not amount.startswith("less") else ""
        listed.append(f"{others} with {at_most}{amount}")
    return f"{leader}; {enumerated(listed) if len(listed) < 3 else ', '.join(listed)}."


def _decides(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objective: Objective
) -> str:
    """Say between which arms the last objective decides, and who leads in it."""
    good = explanation.standing[-1].arms
    if len(good) == 1:
        return f"By the estimates only {arms[good[0]].name} is as good."
    between = (
        enumerated([arms[a].name for a in good]) if len(good) <= _NAMED + 1 else f"{len(good)} arms"
    )
    best = _best(explanation, good)
    if best is None:
        return f"{objective.name}: nothing is known of {between} yet."
    estimate = arms[best].estimates[objective.name]
    return f"{objective.name} decides between {between}: {arms[best].name} leads with {estimate}."


def _drawn(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Say which arms are chosen with which probability, and why any but the first."""
    reports = sorted((r for r in explanation.arms if r.allowed), key=lambda r: -r.propensity)
    shares = [arms[report.arm].propensity for report in reports]
    if max(shares) - min(shares) < 1e-9:
        return f"Each of the {len(reports)} arms is chosen with probability {shares[0]:.3g}."
    first, *others = [report for report in reports if report.propensity >= 0.005][: _NAMED + 1]
    chance = _spoken(arms[first.arm].propensity)
    listed = [f"{arms[first.arm].name} is chosen with probability {chance}"]
    listed += [
        f"{arms[other.arm].name}, {_chance_of(explanation, first, other, objectives)}, with "
        f"{_spoken(arms[other.arm].propensity)}"
        for other in others
    ]
    return f"{'; '.join(listed)}."


def _chance_of(
    explanation: PolicyExplanation,
    first: ArmReport,
    other: ArmReport,
    objectives: Sequence[Objective],
) -> str:
    """Say why an arm may be chosen that is not the likeliest."""
    if not any(other.observations) and not other.prior:
        return "of which nothing is known yet"
    for i, level in enumerate(explanation.standing):
        if other.arm not in level.arms:
            return f"which may be as good in {objectives[i].name}"
        if other.mean[i] > first.mean[i] or not (other.observations[i] or other.prior):
            return f"which may be better in {objectives[i].name}"
    return f"which may be better in {objectives[-1].name}"


def _close(objective: Objective, band: float) -> str:
    """Return what it means to be as good in an objective."""
    if objective.tolerance:
        return f"within {objective.tolerance:g} of the best"
    if band == 0.0:
        return "the best"
    return f"level with the best (within {band * objective.span:.2g} for now)"


def _best(explanation: PolicyExplanation, good: Sequence[int]) -> int | None:
    """Return the arm of the highest estimate in the last objective; None if none is known."""
    known = [a for a in good if explanation.arms[a].observations[-1] or explanation.arms[a].prior]
    return max(known, key=lambda a: explanation.arms[a].mean[-1]) if known else None


def _is_far(report: ArmReport) -> bool:
    """Tell whether an arm was played, but hardly near this context."""
    return any(
        n > 0 and near < _NEAR for n, near in zip(report.observations, report.near, strict=True)
    )


def _far(names: Sequence[str]) -> str:
    whose = "its estimates are" if len(names) == 1 else "their estimates are"
    shown = enumerated(list(names)) if len(names) <= _NAMED + 1 else f"{len(names)} of the arms"
    return (
        f"There is little data of {shown} near this context: {whose} mostly what the arms have in "
        "common."
    )
