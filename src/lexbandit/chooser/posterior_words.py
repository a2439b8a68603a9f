"""The words of an explanation for policies with credible intervals: what is how likely."""

import math
from collections.abc import Sequence

from lexbandit.chooser.arm_explained import ArmExplained
from lexbandit.decisions import ArmReport, PolicyExplanation, enumerated
from lexbandit.objectives import Objective

# So many arms are named one by one; and an arm with fewer rewards near the context than this has
# an estimate from elsewhere.
_NAMED = 3
_NEAR = 1.0


def short(chance: float) -> str:
    """Return a probability with two digits, as ">0.99" or "<0.01" near the ends."""
    return "<0.01" if chance < 0.005 else ">0.99" if chance > 0.995 else f"{chance:.2f}"


def spoken(chance: float) -> str:
    """Return a probability with two digits, in words near the ends."""
    return short(chance).replace("<", "less than ").replace(">", "more than ")


def why(
    explanation: PolicyExplanation, arm: int, names: Sequence[str], objectives: Sequence[Objective]
) -> str:
    """Say how good an arm is in each objective before the last, and in the last one."""
    report = explanation.arms[arm]
    parts = [
        f"leads in {objective.name}, {_close(objective, level.band)} with probability {spoken(p)}"
        if level.top == arm
        else f"{_close(objective, level.band)} in {objective.name} with probability {spoken(p)}"
        for objective, level, p in zip(
            objectives, explanation.standing, report.within, strict=False
        )
    ]
    told = "; ".join(parts)
    sentences = [f"{told[:1].upper()}{told[1:]}."]
    good = explanation.standing[-1].arms
    best = _best(explanation, good) if len(objectives) > 1 and len(good) > 1 else None
    if best == arm:
        sentences.append(f"It leads in {objectives[-1].name} among the arms that are as good.")
    if _is_far(report):
        sentences.append(_far([names[arm]]))
    return " ".join(sentences)


def reason(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Tell who leads in each objective, who is how likely as good, and what that leads to."""
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
    """Say who leads in an objective, and how likely the others are as good."""
    level = explanation.standing[i]
    top = arms[level.top]
    close = _close(objective, level.band)
    chances = {arms[r.arm].name: r.within[i] for r in explanation.arms if r.allowed}
    lead = chances.pop(top.name)
    unsure = f" and is {close} with probability {spoken(lead)}" if lead < 0.95 else ""
    estimate = top.estimates[objective.name]
    led = f"{top.name} leads with {estimate}"
    if estimate.value is None:
        led = f"{top.name}, of which nothing is observed yet, leads by what the arms have in common"
    told = f"{objective.name}: {led}{unsure}"
    ranked = sorted(chances, key=lambda name: -chances[name])
    named = [name for name in ranked[:_NAMED] if chances[name] >= 0.005]
    rest = ranked[len(named) :]
    if not named:
        return f"{told}; every other arm is {close} with probability less than 0.01."
    first, *further = named
    listed = [f"{first} is {close} with probability {spoken(chances[first])}"]
    listed += [f"{name} with {spoken(chances[name])}" for name in further]
    if rest:
        most = chances[rest[0]]
        others = "the others" if len(rest) > 1 else rest[0]
        amount = spoken(most)
        at_most = "at most " if len(rest) > 1 and not amount.startswith("less") else ""
        listed.append(f"{others} with {at_most}{amount}")
    return f"{told}; {enumerated(listed) if len(listed) < 3 else ', '.join(listed)}."


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
    chance = spoken(arms[first.arm].propensity)
    listed = [f"{arms[first.arm].name} is chosen with probability {chance}"]
    listed += [
        f"{arms[other.arm].name}, {_chance_of(explanation, first, other, objectives)}, with "
        f"{spoken(arms[other.arm].propensity)}"
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
        if other.mean[i] > first.mean[i]:
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
