"""Decisions of policies, and their explanations."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lexbandit._internal.text_table import text_table


class PolicyDecision(NamedTuple):
    """The arm to play, and the exact probability with which it was going to be played.

    The propensity is NaN for a policy whose probabilities have no closed form.
    """

    arm: int
    propensity: float


@dataclass(frozen=True, slots=True)
class ArmReport:
    """What a policy knows of one arm in the cell of a context; tuples have one entry an objective.

    `candidate`: the arm passed every test but the last comparison. `propensity`: the probability
    that `select` returns it now; NaN where it has no closed form. `prior`: the weight of what it
    began with, which is part of the mean and not of the observations.

    A policy with credible intervals (`PolicyExplanation.level`) also has: `interval`, the two ends
    for each objective; `near`, how many rewards in exactly this context would be as informative as
    the observed ones; and `within`, for each objective before the last, or the only one, the
    probability that the arm is within the tolerance of the best.
    """

    arm: int
    allowed: bool
    plays: int
    observations: tuple[int, ...]
    mean: tuple[float, ...]
    width: tuple[float, ...]
    index: tuple[float, ...]
    candidate: bool
    propensity: float
    prior: int = 0
    interval: tuple[tuple[float, float], ...] = ()
    near: tuple[float, ...] = ()
    within: tuple[float, ...] = ()

    def ends(self, objective: int) -> tuple[float, float]:
        """Return the ends of the interval of an objective: its own, or the mean ± the width."""
        if self.interval:
            return self.interval[objective]
        mean, width = self.mean[objective], self.width[objective]
        return mean - width, mean + width

    def knows(self, objective: int) -> bool:
        """Whether the mean of an objective is an estimate: observed, and so where it is used."""
        return self.observations[objective] > 0 and self.width[objective] < math.inf


class Level(NamedTuple):
    """What a lexicographic rule found at one objective: the top arm, and the arms as good.

    `band`: how far behind the top arm still counts as good, for policies that have such a band.
    """

    top: int
    arms: tuple[int, ...]
    band: float = 0.0


# Where a reason speaks of arms or of an objective: {arms 0 2}, {objective 1}, both from 0 on.
_PLACE = re.compile(r"\{(arms|objective) (\d+(?: \d+)*)\}")


def enumerated(names: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Reason(str):
    """Why an arm would be chosen, with arms and objectives by number; `named` has their names.

    It is made from a template with placeholders for them, such as "{arms 0 2}: highest index in
    {objective 0}." The first objective is objective 1 in words, as in papers; arms count from 0.
    """

    template: str

    def __new__(cls, template: str) -> "Reason":
        """Return the template in numbers."""
        begun = template[:1].upper() + template[1:]
        reason = super().__new__(cls, _PLACE.sub(_numbered, begun))
        reason.template = begun
        return reason

    def named(self, arms: Sequence[str], objectives: Sequence[str]) -> str:
        """Return the template in names; these are left as they are, at the beginning too."""

        def name(place: re.Match[str]) -> str:
            names = arms if place[1] == "arms" else objectives
            return enumerated([names[int(number)] for number in place[2].split()])

        return _PLACE.sub(name, self.template)


def _numbered(place: re.Match[str]) -> str:
    numbers = place[2].split()
    text = f"{'arm' if len(numbers) == 1 else 'arms'} {enumerated(numbers)}"
    if place[1] == "objective":
        text = f"objective {int(numbers[0]) + 1}"
    begins = place.start() == 0 or place.string[: place.start()].endswith(". ")
    return text.capitalize() if begins else text


@dataclass(frozen=True, slots=True)
class PolicyExplanation:
    """Why a policy would decide as it does for one context. Print it to read it.

    `cell` is None for a policy without cells. `levels` has an entry for each objective that a
    lexicographic rule looked at, in order; `unsure` says that the top arm of the last of them is
    played to learn about it.

    `level` is the probability of credible intervals, such as 0.95; None for a policy whose widths
    are not calibrated. With it comes `standing`, an entry for each objective before the last, or
    for the only one: the arm of the highest estimate, and the arms whose estimates are within the
    tolerance of that, both among those that were so in the objectives before.
    """

    policy: str
    cell: int | None
    arms: tuple[ArmReport, ...]
    reason: str
    levels: tuple[Level, ...] = ()
    unsure: bool = False
    level: float | None = None
    standing: tuple[Level, ...] = ()

    def reason_by(self, arms: Sequence[str], objectives: Sequence[str]) -> str:
        """Return the reason in the names of arms and objectives, if it is a `Reason`."""
        return (
            self.reason.named(arms, objectives) if isinstance(self.reason, Reason) else self.reason
        )

    @property
    def likely(self) -> tuple[int, ...]:
        """The arms `select` may return; every candidate where probabilities are not known."""
        return tuple(
            report.arm
            for report in self.arms
            if report.propensity > 0 or (report.candidate and math.isnan(report.propensity))
        )

    def __str__(self) -> str:
        objectives = range(len(self.arms[0].mean))
        head = ["arm", "plays"]
        head += [f"{word} {i + 1}" for i in objectives for word in ("mean", "width", "index")]
        head += ["candidate", "probability"]
        rows = [head]
        for report in self.arms:
            row = [str(report.arm), str(report.plays)]
            for i in objectives:
                row += [
                    f"{report.mean[i]:.4f}" if report.knows(i) else "-",
                    f"{report.width[i]:.4f}".replace("inf", "∞"),
                    f"{report.index[i]:.4f}".replace("inf", "∞"),
                ]
            row.append("yes" if report.candidate else "no" if report.allowed else "not allowed")
            row.append(f"{report.propensity:.3g}".replace("nan", "unknown"))
            rows.append(row)
        title = self.policy if self.cell is None else f"{self.policy}, cell {self.cell}"
        return "\n".join([title, *text_table(rows, left=0), self.reason])
