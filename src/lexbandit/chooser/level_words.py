"""The words of an explanation for policies that compare intervals level by level."""

from collections.abc import Sequence

from lexbandit.chooser.arm_explained import ArmExplained
from lexbandit.decisions import PolicyExplanation, enumerated
from lexbandit.objectives import Objective


def why(
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


def reason(
    explanation: PolicyExplanation, arms: Sequence[ArmExplained], objectives: Sequence[Objective]
) -> str:
    """Tell level by level how the choice comes about."""
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
