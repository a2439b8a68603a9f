"""What `Chooser.explain` returns: every arm's estimates in their units, as table and picture."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from lexbandit._internal.svg import axis, document, interval, printable, rect, short, text, wide
from lexbandit._internal.text_table import text_table
from lexbandit.objectives import Objective

# Sizes in pixels: a letter is about 7 wide, in the widest of the usual fonts.
_ROW, _PANEL, _GAP, _LINE, _LETTER = 26, 250, 30, 16, 7
_LONGEST_ARM, _LONGEST_OBJECTIVE = 32, 19

# Probabilities are off by less than this, so those below it are shown as no more than that.
_ERROR = 1e-9

_LIKELY, _KNOWN, _BARRED, _BAND = "#1f6fb2", "#555", "#bbb", "#dbe9f6"


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
        digits = 1 - math.floor(math.log10(length)) if length > 0.0 else 0
        value, low, high = (
            f"{number:.{max(digits, 0)}f}" if digits <= 8 else f"{number:.3g}"
            for number in (self.value, self.low, self.high)
        )
        return f"{value} ({low} to {high}){prior}"


@dataclass(frozen=True)
class ArmExplained:
    """What is known of an arm in a context; `estimates` by objective.

    `plays`: how many of its decisions were learned from, in all contexts; `observations` of an
    estimate count those that it is based on in this context. A policy on balls has estimates of an
    arm that was never played: at first one ball covers all arms.

    `as_good`: it counts as tied with the best on every objective above the one that decides; with
    credible intervals, its estimates there are within the tolerances of the best ones. `why` gives
    the reason. `within` is the probability that it is within the tolerances of the best arm in
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


@dataclass(frozen=True)
class Explanation:
    """Why a chooser would choose as it does. Print it, read its fields, or show its picture.

    `level` is the probability of the credible intervals, such as 0.95; None for a policy whose
    intervals are not calibrated. `confidence` is the model's own probability that the arm
    that would be chosen now is within the tolerances; None for a policy that knows none. It is
    somewhat too sure where arms that are better in the last objective are worse in the first.
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
            cells = [str(arm.estimates[name]) for name in names]
            tiny = 0.0 < arm.propensity < _ERROR
            chance = "<1e-9" if tiny else f"{arm.propensity:.3g}".replace("nan", "unknown")
            rows.append([arm.name, f"{arm.plays}", *cells, self._good(arm), chance])
        text = "\n".join([*text_table(rows, left=len(rows[0])), self.reason])
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
        return short_probability(arm.within)

    @property
    def likely(self) -> tuple[str, ...]:
        """The arms that may be chosen now, the likeliest first."""
        possible = [arm for arm in self.arms if arm.propensity > 0 or _unknown(arm)]
        return tuple(arm.name for arm in sorted(possible, key=lambda arm: -arm.propensity))

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """Return a picture: why, and every arm's intervals, one panel an objective."""
        return _picture(self)


def _unknown(arm: ArmExplained) -> bool:
    return math.isnan(arm.propensity) and arm.as_good


def short_probability(chance: float) -> str:
    """Return a probability with two digits, as ">0.99" or "<0.01" near the ends."""
    return "<0.01" if chance < 0.005 else ">0.99" if chance > 0.995 else f"{chance:.2f}"


def _picture(one: Explanation) -> str:
    """Return the picture, as the text of an SVG file.

    The reason is at the top. A likely arm is in colour, a tick marks an arm that is as good as the
    best on the objectives above the one that decides, and a band shows the tolerance. A legend is
    at the bottom.
    """
    arms, objectives = one.arms, one.objectives
    names = [short(arm.name, _LONGEST_ARM) for arm in arms]
    left = 36 + _LETTER * max(map(wide, names))
    width = left + (_PANEL + _GAP) * len(objectives)
    letters = (width - 20) // _LETTER
    wrapped = textwrap.wrap(printable(one.reason), letters, break_on_hyphens=False)
    top = 8 + _LINE * len(wrapped)
    bottom = _height_of(top, len(arms)) + 8
    legend = _legend(one)
    height = bottom + 20 + _LINE * len(legend)
    parts = [text(10, _LINE * (n + 1), line, fill="#222") for n, line in enumerate(wrapped)]
    for n, arm in enumerate(arms):
        y = _height_of(top, n)
        if arm.as_good:
            parts.append(_tick(10, y))
        weight = "bold" if _is_favoured(arms, arm) else "normal"
        fill = "black" if arm.allowed else _BARRED
        parts.append(text(26, y + 4, arm.name, _LONGEST_ARM, font_weight=weight, fill=fill))
    for i in range(len(objectives)):
        parts += _panel(one, i, left + i * (_PANEL + _GAP), top)
    for n, (mark, words) in enumerate(legend):
        y = bottom + 12 + _LINE * n
        drawn = {"tick": _tick(10, y), "band": rect(10, y - 6, 10, 12, _BAND)}
        plain = interval(6, 14, 22, y, _KNOWN, thick=False)
        parts += [drawn.get(mark, plain), text(28, y + 4, words, fill=_KNOWN)]
    return document(width, height, one.reason, parts)


def _panel(one: Explanation, i: int, x: int, top: int) -> list[str]:
    """Return one objective's title, tolerance, intervals and axis."""
    arms, objective = one.arms, one.objectives[i]
    low, high = objective.range
    bottom = _height_of(top, len(arms)) - 10
    better = f" ({'more' if objective.goal == 'max' else 'less'} is better)"
    parts = [text(x, top + 16, objective.name, _LONGEST_OBJECTIVE, better, font_weight="bold")]

    def across(value: float) -> float:
        return x + _PANEL * (value - low) / (high - low)

    band = _band(one, i)
    if band is not None:
        start, end = across(band[0]), across(band[1])
        parts.append(rect(start, top + 24, end - start, bottom - top - 24, _BAND))
    for n, arm in enumerate(arms):
        y = _height_of(top, n)
        estimate = arm.estimates[objective.name]
        colour = _LIKELY if _is_favoured(arms, arm) else _KNOWN if arm.allowed else _BARRED
        if estimate.value is None or estimate.low is None or estimate.high is None:
            parts.append(text(x, y + 4, "not observed yet", fill="#999"))
            continue
        ends = across(estimate.low), across(estimate.value), across(estimate.high)
        parts.append(interval(*ends, y, colour, thick=arm.as_good))
    return [*parts, *axis(x, x + _PANEL, bottom, low, high, _KNOWN)]


def _band(one: Explanation, i: int) -> tuple[float, float] | None:
    """Return the range within the tolerance of the best estimate; None if no tolerance applies.

    The best is taken among the arms that are as good on the objectives above this one.
    """
    objective = one.objectives[i]
    among = [arm for arm in one.arms if arm.allowed and (arm.as_good or i == 0)]
    known = [arm.estimates[objective.name].value for arm in among]
    values = [value for value in known if value is not None]
    if not values or not objective.tolerance or i == len(one.objectives) - 1:
        return None
    if objective.goal == "max":
        best = max(values)
        return max(best - objective.tolerance, objective.range[0]), best
    best = min(values)
    return best, min(best + objective.tolerance, objective.range[1])


def _legend(one: Explanation) -> list[tuple[str, str]]:
    """Return the marks in the picture, and what each means."""
    marks = []
    if any(arm.as_good for arm in one.arms):
        known = "as far as is known" if one.level is None else "by the estimates"
        marks.append(("tick", f"counts as good as the best, {known}"))
    if any(_band(one, i) for i in range(len(one.objectives))):
        marks.append(("band", "within the tolerance of the best estimate"))
    estimates = [estimate for arm in one.arms for estimate in arm.estimates.values()]
    if one.level is not None and any(estimate.value is not None for estimate in estimates):
        marks.append(("interval", f"{one.level:.0%} credible interval, and the estimate"))
    return marks


def _is_favoured(arms: Sequence[ArmExplained], arm: ArmExplained) -> bool:
    """Tell whether an arm is among the likeliest to be chosen."""
    chances = [one.propensity for one in arms if not math.isnan(one.propensity)]
    return bool(chances) and arm.propensity > 0 and arm.propensity >= max(chances)


def _height_of(top: int, row: int) -> int:
    return top + 40 + _ROW * row


def _tick(x: float, y: float) -> str:
    return f'<path d="M{x} {y} l3.5 4 l6.5 -9" fill="none" stroke="{_LIKELY}" stroke-width="2"/>'
