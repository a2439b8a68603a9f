"""Why an arm would be chosen, in the objectives' own units: an object, a text, a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from lexbandit.decisions import Explanation
from lexbandit.objectives import Objective


@dataclass(frozen=True)
class Estimate:
    """What is known of one objective of an arm: the estimate, and an interval around it.

    All three are None while nothing was observed.
    """

    value: float | None
    low: float | None
    high: float | None
    observations: int


@dataclass(frozen=True)
class ArmExplained:
    """What is known of an arm in a context; `estimates` by objective.

    `as_good`: it counts as tied with the best on every objective above the one that decides.
    """

    name: str
    allowed: bool
    plays: int
    estimates: dict[str, Estimate]
    as_good: bool
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
            good = "yes" if arm.as_good else "no" if arm.allowed else "not allowed"
            rows.append([arm.name, f"{arm.plays}", *told, good, f"{arm.propensity:.3g}"])
        wide = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)) for row in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), self.reason])

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """Return the intervals as a picture, one panel an objective, the likely arm in colour."""
        row, panel, left = 26, 250, 20 + 7 * max(len(arm.name) for arm in self.arms)
        height = 46 + row * len(self.arms)
        width = left + (panel + 30) * len(self.objectives)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" '
            'role="img">',
            f"<title>{escape(self.reason)}</title>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]
        for n, arm in enumerate(self.arms):
            y = 40 + row * n
            weight = ' font-weight="bold"' if arm.propensity >= 0.5 else ""
            parts.append(f'<text x="10" y="{y + 4}"{weight}>{escape(arm.name)}</text>')
        for i, objective in enumerate(self.objectives):
            x = left + i * (panel + 30)
            better = "more" if objective.goal == "max" else "less"
            title = f"{escape(objective.name)} ({better} is better)"
            parts.append(f'<text x="{x}" y="16" font-weight="bold">{title}</text>')
            parts += self._panel(objective, x, panel, row)
        return "".join([*parts, "</svg>"])

    def _panel(self, objective: Objective, x: int, panel: int, row: int) -> list[str]:
        """Return one objective's intervals and its axis."""
        low, high = objective.range
        parts = []
        for n, arm in enumerate(self.arms):
            y = 40 + row * n
            estimate = arm.estimates[objective.name]
            colour = "#1f6fb2" if arm.propensity >= 0.5 else "#555" if arm.allowed else "#bbb"
            if estimate.value is None or estimate.low is None or estimate.high is None:
                parts.append(f'<text x="{x}" y="{y + 4}" fill="#999">not observed yet</text>')
                continue
            ends = [x + panel * (end - low) / (high - low) for end in (estimate.low, estimate.high)]
            middle = x + panel * (min(max(estimate.value, low), high) - low) / (high - low)
            parts.append(
                f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}" '
                f'stroke="{colour}" stroke-width="{4 if arm.as_good else 2}" '
                f'stroke-opacity="{0.9 if arm.as_good else 0.5}"/>'
                f'<circle cx="{middle:.1f}" cy="{y}" r="4.5" fill="{colour}"/>'
            )
        bottom = 30 + row * len(self.arms)
        parts.append(
            f'<line x1="{x}" x2="{x + panel}" y1="{bottom}" y2="{bottom}" stroke="#999"/>'
            f'<text x="{x}" y="{bottom + 13}" fill="#555">{low:g}</text>'
            f'<text x="{x + panel}" y="{bottom + 13}" fill="#555" text-anchor="end">{high:g}</text>'
        )
        return parts


def explained(
    explanation: Explanation, arms: Sequence[str], objectives: Sequence[Objective], explore: float
) -> ChooserExplanation:
    """Return a policy's explanation in the user's words and units."""
    allowed = sum(report.allowed for report in explanation.arms)
    told = tuple(
        ArmExplained(
            name=arms[report.arm],
            allowed=report.allowed,
            plays=report.plays,
            estimates={
                objective.name: _estimate(
                    objective, report.observations[i], report.mean[i], report.width[i]
                )
                for i, objective in enumerate(objectives)
            },
            as_good=report.candidate,
            propensity=(1.0 - explore) * report.propensity + report.allowed * explore / allowed,
        )
        for report in explanation.arms
    )
    reason = _reason(explanation, told, objectives) if explanation.levels else explanation.reason
    if explore > 0.0:
        reason += f" One in {1 / explore:.3g} choices is drawn from all allowed arms, to explore."
    return ChooserExplanation(told, tuple(objectives), reason)


def _estimate(objective: Objective, observations: int, mean: float, width: float) -> Estimate:
    if observations == 0:
        return Estimate(None, None, None, 0)
    low, high = objective.range
    ends = sorted(objective.value(end) for end in (mean - width, mean + width))
    return Estimate(objective.value(mean), max(ends[0], low), min(ends[1], high), observations)


def _told(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not observed"
    return f"{estimate.value:.4g} ({estimate.low:.4g} to {estimate.high:.4g})"


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
                f"{_listed(others)} may be as good{within}" if others else "no other is as good"
            )
            sentences.append(
                f"{objective.name}: {top.name} leads with {_told(estimate)}; {as_good}."
            )
        elif explanation.unsure:
            later = [o.name for o in objectives[i + 1 :]]
            known = (
                "nothing is known of it yet"
                if estimate.value is None
                else (f"too little is known of it yet, {_told(estimate)}")
            )
            ignored = f"; {_listed(later)} does not count yet" if later else ""
            tried = f"{top.name} may be the best and {known}, so it is tried{ignored}"
            sentences.append(f"{objective.name}: {tried}.")
        else:
            likely = [arms[a].name for a in explanation.likely]
            among = "Of these, " if i else ""
            best = "most promising" if i else "best"
            sentences.append(f"{among}{_listed(likely)} is {best} in {objective.name}.")
    return " ".join(sentences)


def _listed(names: Sequence[Any]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
