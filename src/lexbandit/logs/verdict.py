"""The verdict: is a candidate better, as good or worse, objective by objective in their order.

Objective i has the true difference Δ_i (candidate less baseline, positive is better), a tolerance
m_i and bounds low_i < Δ_i < high_i that hold at all looks together (`logs.sequences`). In order of
priority:

    1. low_i < −m_i: stop here. high_i < −m_i is "worse in i"
    2. low_i > m_i: stop here, better in i by more than the tolerance
    3. else not worse by more than the tolerance; on to objective i + 1

Unless that is "worse in i", the verdict is

    4. low_j > 0 for an objective j that did not stop by 1:    "better in j" for the first such j
    5. else, if none stopped by 1:                             "as good"
    6. else:                                                   "cannot tell"

So a candidate that is not inferior is better in the first objective in which it is superior: its
true difference is above 0. One thing comes before a gain that may lie within the tolerance: a later
objective that is surely worse. The tolerance says that the later objectives decide between what
differs by less, so a candidate that gains less than the tolerance in quality and costs more is
"worse in cost", as the same two policies are "better in cost" the other way round. "Worse in i" is
said only if no objective before i may be better by more than its tolerance (high_j ≤ m_j); else it
is "cannot tell".

**What holds.** With D objectives the ends are those of intervals of level 1 − α, each end at α/2,
but for D > 2 low in 2 and 4 at α/(2(D − 1)) for all but the last objective, and high in 1 at α/D.
Then on any log, at whatever time one chooses to look or to stop,

    a verdict for the candidate is wrong with probability at most α. "Better in j" is wrong where
    Δ_j is not above 0, or where an objective up to j is worse by more than its tolerance. "As good"
    is wrong where any objective is worse by more than its tolerance;
    a verdict against it, "worse in i", is wrong with probability at most α: where Δ_i ≥ −m_i, or
    where an objective before i is better by more than its tolerance.

Argument. Let j be the first objective with Δ_j < −m_j, if there is one. To come beyond j, or to be
better in it, needs low_j ≥ −m_j > Δ_j: probability α/2 at most. "Better" in some i < j is wrong
only where low_i > 0 ≥ Δ_i, with probability α/(2(D − 1)) at most each, together α/2; the sum is α.
If there is no such j, "better" is wrong for an i only where the low end of i is above Δ_i, with
probability α/(2(D − 1)) each, in the last objective α/2: together α at most. So a later objective
is tested at the level of the first: a fixed sequence needs no correction for going on (Maurer,
Hothorn and Lehmacher, 1995; Wiens, 2003), and two objectives need none at all. For verdicts against
the candidate each objective's high end is wrong with probability α/max(2, D) at most. All bounds
hold at every look, so this holds at every look: stopping at the first "better" is covered.

The claim is about averages over the rows of the log. An average within its tolerance can hide a
group of rows outside of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from lexbandit.errors import InvalidInput
from lexbandit.logs.diagnostics import LEAST_EFFECTIVE, LEAST_MEAN, Diagnostics
from lexbandit.logs.differences import Difference
from lexbandit.logs.sequences import rows_needed
from lexbandit.objectives import Objective

# A value of `explore` is said if it needs at most this share of the rows of those before it.
_FEWER = 0.8

Kind = Literal["better", "as good", "worse", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """What a log says of a candidate.

    text       "better in cost", "as good", "worse in quality" or "cannot tell"
    kind       the same without the objective
    objective  the one that decided, or at which it cannot tell; None for "as good"
    sentence   the verdict and why, in plain words
    needed     for "cannot tell": {explore: rows}, how many rows would decide if the true
               difference is the estimate, None: logged as it was. Of values of `explore` those that
               need fewer. Empty if nothing can be said
    """

    text: str
    kind: Kind
    objective: str | None
    sentence: str
    needed: dict[float | None, int] = field(default_factory=dict)


def decide(
    differences: Sequence[Difference],
    objectives: Sequence[Objective],
    diagnostics: Diagnostics | None = None,
) -> Verdict:
    """Return the verdict by a fixed sequence of tests.

    Too little overlap, or propensities that are surely wrong, refuse one.
    """
    if len(differences) != len(objectives):
        raise InvalidInput(
            f"{len(differences)} differences do not fit {len(objectives)} objectives."
        )
    if diagnostics is not None and (diagnostics.overplayed or not diagnostics.enough_overlap):
        return _refused(diagnostics)
    passed: list[tuple[Difference, Objective]] = []
    open_: tuple[Difference, Objective] | None = None
    for found, objective in zip(differences, objectives, strict=True):
        margin = objective.tolerance
        if found.worse_high < -margin:
            if open_ is None:
                return _said("worse", found, [_as_good_words(*one) for one in passed])
            return _undecided(*open_, ahead=True, because=f"{_is_worse(found)}, but ")
        if not found.low >= -margin:
            better = _gained(passed, _may_be(found, objective))
            if better is not None and not math.isnan(found.low):
                return better
            words = [_as_good_words(*one) for one in passed]
            return _undecided(found, objective, ahead=False, passed=words)
        passed.append((found, objective))
        if found.better_low > margin:
            break
        if open_ is None and found.worse_high > margin:
            open_ = found, objective
    as_good = "; ".join(_as_good_words(*one) for one in passed)
    return _gained(passed) or Verdict("as good", "as good", None, f"As good: {as_good}.")


def _gained(passed: Sequence[tuple[Difference, Objective]], *doubts: str) -> Verdict | None:
    """Return "better" in the first objective that is surely above 0, if there is one."""
    for i, (found, objective) in enumerate(passed):
        if found.better_low > 0.0:
            others = [_as_good_words(*one) for n, one in enumerate(passed) if n != i]
            if found.better_low <= objective.tolerance:
                others.insert(0, f"this may be less than its tolerance of {objective.tolerance:g}")
            return _said("better", found, [*others, *doubts])
    return None


def _refused(diagnostics: Diagnostics) -> Verdict:
    if diagnostics.enough_overlap:
        return _wrong(
            f"{_listed(diagnostics.overplayed)} played more often than the logged propensities "
            "say, so these are wrong"
        )
    arms, share, whose = (
        diagnostics.missing_arms,
        diagnostics.unsupported,
        "the candidate's decisions",
    )
    if not arms:
        arms, share = diagnostics.base_missing_arms, diagnostics.base_unsupported
        whose = "the decisions of what it is compared with"
    if arms:
        why = (
            f"{share:.1%} of {whose} fall on arms that the log never played: {', '.join(arms)}. "
            "Log with `explore`, so that every arm has a chance"
        )
    elif _all_too_large(diagnostics):
        return _wrong(
            f"the weights of the rows have a mean of {diagnostics.mean_weight:.2f} instead of 1, "
            "and every arm was played less often than its propensities say, so the logged "
            "propensities are too large or wrong (or each arm had no chance in part of the rows)"
        )
    elif diagnostics.mean_weight < 1.0 and diagnostics.effective_rows >= LEAST_EFFECTIVE:
        why = (
            f"the weights of the rows have a mean of {diagnostics.mean_weight:.2f} instead of 1, "
            "so the candidate plays arms where they had no chance. Log with `explore`"
        )
    elif diagnostics.mean_weight > 1.0 and diagnostics.effective_rows >= LEAST_EFFECTIVE:
        return _wrong(
            f"the weights of the rows have a mean of {diagnostics.mean_weight:.2f} instead of 1, "
            "so the logged propensities are too small"
        )
    else:
        why = (
            f"{diagnostics.rows:,} rows say as much about the candidate as "
            f"{diagnostics.effective_rows:.1f} of its own decisions would. Log with `explore`, or "
            "longer"
        )
    return Verdict("cannot tell", "cannot tell", None, f"Cannot tell, too little overlap: {why}.")


def _wrong(why: str) -> Verdict:
    """Return "cannot tell" where the logged propensities are wrong."""
    advice = "Log the probability that each arm had when it was chosen."
    return Verdict("cannot tell", "cannot tell", None, f"Cannot tell: {why}. {advice}")


def _listed(arms: tuple[str, ...]) -> str:
    return f"arm {arms[0]} was" if len(arms) == 1 else f"the arms {', '.join(arms)} were"


def _all_too_large(diagnostics: Diagnostics) -> bool:
    """Tell whether the weights are too small by each arm that was played."""
    played = [arm for arm in diagnostics.arms if arm.plays]
    return (
        diagnostics.mean_weight < 1.0
        and diagnostics.effective_rows >= LEAST_EFFECTIVE
        and all(arm.mean_weight < LEAST_MEAN for arm in played)
    )


def _as_good_words(found: Difference, objective: Objective) -> str:
    return (
        f"{found.objective} is at least as good within its tolerance of {objective.tolerance:g} "
        f"({found.ends()})"
    )


def _may_be(found: Difference, objective: Objective, *, ahead: bool = False) -> str:
    side = "better" if ahead else "worse"
    return (
        f"{found.objective} ({found.ends()}) may be {side} by more than its tolerance of "
        f"{objective.tolerance:g}"
    )


def _is_worse(found: Difference) -> str:
    return f"{found.objective} is worse ({found.ends()})"


def _said(kind: Literal["better", "worse"], found: Difference, others: list[str]) -> Verdict:
    text = f"{kind} in {found.objective}"
    more = "".join(f"; {words}" for words in others)
    sentence = f"{text.capitalize()} ({found.ends()}){more}."
    return Verdict(text, kind, found.objective, sentence)


def _undecided(
    found: Difference,
    objective: Objective,
    *,
    ahead: bool,
    because: str = "",
    passed: Sequence[str] = (),
) -> Verdict:
    """Return "cannot tell" with what would decide.

    `ahead`: the open question is whether the objective is better by more than its tolerance, else
    whether it is worse by more than that.
    """
    line = objective.tolerance if ahead else -objective.tolerance
    gap = found.difference - line
    contradiction = math.isnan(found.low)
    needed = _needed(found, objective, gap) if math.isfinite(gap) and not contradiction else {}
    why = because + _may_be(found, objective, ahead=ahead)
    if contradiction:
        why = (
            f"the ends of the interval of {found.objective} contradict each other, so the logged "
            "propensities are wrong, or a value lies outside of what was declared"
        )
    if not found.rows:
        why = f"no row has a reward in {found.objective}"
    before = "".join(f"; {words}" for words in passed)
    sentence = f"Cannot tell: {why}{before}.{_needed_words(needed, found.rows)}"
    return Verdict("cannot tell", "cannot tell", found.objective, sentence, needed)


def _needed(found: Difference, objective: Objective, gap: float) -> dict[float | None, int]:
    """Return how many rows bring the end of the interval to the line, which is `gap` away.

    With the true difference above the line it is the low end that has to come above it, else the
    high end below. The interval is as much longer than projected as it is now.
    """
    distance = abs(gap) / objective.span
    side = 0 if gap > 0.0 else 1
    alpha = (1.0 - found.level) / 2.0
    now = abs(found.difference - (found.high if side else found.low)) / objective.span
    needed: dict[float | None, int] = {}
    longer = 1.0
    for explore, variances in found.variances.items():
        if distance == 0.0:
            break
        rows = rows_needed(variance=variances[side], distance=distance, alpha=alpha)
        if explore is None and math.isfinite(rows):
            longer = max(1.0, found.rows * (now / distance) ** 2 / rows)
        rows *= longer
        if math.isfinite(rows) and (explore is None or rows < needed.get(None, math.inf)):
            needed[explore] = max(int(rows), found.rows + 1) if explore is None else int(rows)
    return needed


def _needed_words(needed: dict[float | None, int], rows: int) -> str:
    """Say how many rows would decide; of values of `explore` those that need clearly fewer."""
    logged, explored = "", []
    fewest = math.inf
    for explore, count in needed.items():
        if count > _FEWER * fewest:
            continue
        fewest = count
        about = f"about {float(f'{count:.2g}'):,.0f}"
        if explore is None:
            logged = f"{about} rows logged as these {rows:,} were"
        else:
            explored.append(f"{about} with explore = {explore:g}")
    if explored:
        explored[-1] += " on top of how these were logged"
    said = ", or ".join([logged, *explored] if logged else explored)
    return f" If the difference is as estimated, {said} would decide." if said else ""
