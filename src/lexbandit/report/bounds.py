"""The paper's theorems beside a study: which parameters apply, and what to say of the bounds."""

from typing import Any

from lexbandit.errors import InvalidInput
from lexbandit.report.numbers import number_text
from lexbandit.report.results import StudyResults
from lexbandit.theory import MocMabTheory


def theory_of(study: StudyResults) -> MocMabTheory | None:
    """Return Theorems 1 and 2 for the study's problem, None if its dimension is not recorded.

    For more than two objectives it is what docs/theory.md proves.
    """
    given = _parameters(study)
    dimension = given.get("dimension")
    if dimension is None and study.maps is not None:
        dimension = 2
    if dimension is None or study.arms < 1 or "moc-mab" not in study.policies:
        return None
    chosen = {k: given[k] for k in ("L", "alpha", "beta", "lam", "cells_per_side") if given.get(k)}
    try:
        return MocMabTheory(
            arms=study.arms,
            objectives=len(study.objectives),
            dimension=int(dimension),
            horizon=study.horizon,
            **chosen,
        )
    except (InvalidInput, TypeError, ValueError):
        return None  # a study may give its policies parameters outside the theorem's


def _parameters(study: StudyResults) -> dict[str, Any]:
    """Return what the frozen study says of MOC-MAB's parameters, wherever it says so."""
    found: dict[str, Any] = {}
    frozen = study.frozen
    environment = frozen.get("environment") or {}
    for place in (environment, environment.get("parameters"), frozen, frozen.get("parameters")):
        found |= place if isinstance(place, dict) else {}
    ours = [entry.parameters for entry in study.entries if entry.policy == "moc-mab"]
    # The theorems are for scale 1; of several such points the first is the one that is drawn.
    at_1 = [entry for entry in ours if entry.get("scale", 1) == 1]
    return found | next(iter(at_1 or ours), {})


def period_text(study: StudyResults) -> str:
    """Return what the theorems are called where the time is one of the features."""
    environment = study.frozen.get("environment") or {}
    if environment.get("name") != "periodic":
        return ""
    return (
        " The time is the last of the features, so this is the paper's corollary for rewards with "
        "a period: the theorem with one feature more."
    )


def exponent_text(theory: MocMabTheory | None) -> str:
    """Return what Theorem 2 says of the exponent."""
    if theory is None:
        return "The study does not record what the theorem's exponent needs."
    a, d = theory.alpha, theory.dimension
    return (
        f"Theorem 2 promises MOC-MAB at most (2α+d)/(3α+d) = {theory.exponent:.2f} "
        f"(α = {a:g}, d = {d}) at scale 1: the dotted grey line "
        "grows so from where MOC-MAB was a decade before the end."
    )


def _gains(theory: MocMabTheory) -> str:
    more = " and an arm gains in an objective at most λ times what it loses in one before"
    return more if theory.objectives > 2 else ""


def caption(theory: MocMabTheory, ends: list[str], powers: list[float]) -> str:
    """Return the caption of the bounds' figure, honest about what a bound is worth."""
    final = theory.high_probability(theory.horizon)
    text = (
        "MOC-MAB at scale 1, for which the theorem is. Where the means really vary by at most "
        f"L‖x − x'‖^α{_gains(theory)}, the regret stays under the dashed line at every round with "
        f"probability at least 1 − 1/T. It ends at {', '.join(ends)}. "
        f"Parameters: m = {theory.m}, v = {theory.margin:.3f}, A = {theory.A:.1f}, "
        f"L = {theory.L:g}, α = {theory.alpha:g}, β = {theory.beta:g}, "
        f"λ = {theory.lam:g}, largest gaps 1."
    )
    trivial = [str(i + 1) for i, e in enumerate(final) if e >= theory.horizon]
    if trivial:
        every = "both objectives" if theory.objectives == 2 else "every objective"
        some = f"objective{'s' if len(trivial) > 1 else ''} {' and '.join(trivial)}"
        which = every if len(trivial) == theory.objectives else some
        text += (
            f" At T = {number_text(theory.horizon)} the bound is still above t itself for {which}, "
            "which no regret can exceed: its worth is the rate, not the number."
        )
    if any(power > theory.exponent + 0.005 for power in powers):
        text += (
            f" A fitted exponent above {theory.exponent:.2f} does not contradict the theorem: its "
            "constants are large, and at this horizon MOC-MAB at scale 1 is still exploring."
        )
    return text
