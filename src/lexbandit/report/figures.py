"""The figures of a study, each with a title, a caption that says what to see, and its panels."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lexbandit.bench.summary import PAPER_NAMES
from lexbandit.checks import Booleans, Floats, Integers
from lexbandit.errors import InvalidInput
from lexbandit.metrics.regret import log_log_fit
from lexbandit.report.charts import (
    Axis,
    ChartPanel,
    Figure,
    Line,
    Row,
    labelled_panel,
    line_panel,
    map_panel,
    path_panel,
)
from lexbandit.report.results import (
    MeanCurve,
    Measure,
    StudyResults,
    band_text,
    faint_text,
    final,
    objective_phrase,
    objective_title,
)
from lexbandit.report.style import (
    Look,
    leading,
    looks_of,
    many,
    number_text,
    percent_text,
    policy_name,
)
from lexbandit.theory import MocMabTheory

_MOST_POINTS = 70
_REFERENCE = Look("#7F7F7F", (2, 3), "stroke", 1.5)


def figures_of(study: StudyResults) -> Iterator[Figure]:
    """Yield every figure that the study's data allow.

    The trade-offs of a study in a frontier are in the frontier's own figure.
    """
    makers: list[Callable[[StudyResults], Figure | None]] = [over_time, tolerance_over_time]
    if (study.frozen.get("series") or {}).get("kind") != "frontier":
        makers += [growth, theorem_bounds, sensitivity, trade_off, arm_maps]
    for make in makers:
        figure = make(study)
        if figure is not None:
            yield replace(figure, name=f"{study.slug}-{figure.name}")


def over_time(study: StudyResults) -> Figure:
    """Return regret or total reward over time, as in the paper's figures."""
    regret = study.shows_regret
    what = "Regret" if regret else "Total reward"
    found = [(c, c.measure(regret=regret)) for c in map(study.best, study.policies)]
    panels, findings = [], []
    for i in range(len(study.objectives)):
        objective = objective_phrase(study, i)
        ranked = sorted(found, key=lambda pair: float(final(pair[1])[i]), reverse=not regret)
        first, last = ranked[0], ranked[-1]
        word = "lowest" if regret else "highest"
        findings.append(
            f"in {objective} {policy_name(first[0].policy)} ends {word} "
            f"({number_text(final(first[1])[i])}), {policy_name(last[0].policy)} at the other end "
            f"({number_text(final(last[1])[i])})"
        )
        panels.append(
            line_panel(
                objective_title(study, i),
                _over_time(study, found, i),
                Axis("Rounds"),
                Axis(what),
                about=f"{what} over rounds: {findings[-1]}.",
            )
        )
    caption = (
        f"{'Lower' if regret else 'Higher'} is better. Each policy at its best scale factor (after "
        f"the dot). {band_text(study)} After {study.horizon:,} rounds, {'; '.join(findings)}."
        + faint_text(study)
    )
    return Figure("over-time", f"{what} over time", caption, panels)


def _over_time(study: StudyResults, found: list[tuple[MeanCurve, Measure]], i: int) -> list[Line]:
    """Return a line over the rounds for each curve; policies that are not named are faint."""
    looks, named = looks_of(study.policies), leading(study.policies)
    return [
        Line(
            curve.name,
            looks[curve.policy],
            _rows(curve, measure, i, logarithmic=False),
            faint=curve.policy not in named,
        )
        for curve, measure in found
    ]


def tolerance_over_time(study: StudyResults) -> Figure | None:
    """Return tolerance regret over time, where tolerances were given."""
    if not study.has_tolerance_regret:
        return None
    best = [study.best(policy) for policy in study.policies]
    found = [(c, c.tolerance_regret) for c in best if c.tolerance_regret is not None]
    last = len(study.objectives) - 1
    panels = []
    for i in range(last + 1):
        lines = _over_time(study, found, i)
        what = "Missed" if i == last else "Lost beyond tolerance"
        about = f"{what} over rounds, in {objective_phrase(study, i)}."
        panels.append(
            line_panel(objective_title(study, i), lines, Axis("Rounds"), Axis(what), about=about)
        )
    caption = (
        "Lower is better. In every objective but the last: how far the arm played is below the "
        "best arm inside all earlier bands, minus the tolerance. In the last: what was missed "
        "against the best arm inside all bands. Neither is ever negative. Policies as above. "
        + band_text(study)
        + faint_text(study)
    )
    return Figure("tolerance", "Tolerance regret over time", caption, panels)


def growth(study: StudyResults) -> Figure | None:
    """Return regret on log-log axes, with fitted exponents beside the theorem's."""
    if not study.has_regret:
        return None
    theory = theory_of(study)
    panels = []
    for i in range(len(study.objectives)):
        lines, fits = _growth_lines(study, i, theory)
        if not lines:
            continue
        about = f"Regret on log-log axes, in {objective_phrase(study, i)}. Exponents: "
        panels.append(
            line_panel(
                objective_title(study, i),
                lines,
                Axis("Rounds (log)", "log"),
                Axis("Regret (log)", "log"),
                about=f"{about}{', '.join(fits)}.",
            )
        )
    if not panels:
        return None
    caption = (
        "A straight line of slope p means regret growing as t^p; an exponent below 1 means that "
        "the policy learns. Exponents are least-squares slopes over the last decade of rounds, of "
        "regrets that are positive in all of it. "
        + exponent_text(theory)
        + period_text(study)
        + " Where regret is not positive there is no logarithm, and no line; without any exponent "
        "there is no panel." + faint_text(study)
    )
    return Figure("growth", "How regret grows", caption, panels)


def _growth_lines(
    study: StudyResults, i: int, theory: MocMabTheory | None
) -> tuple[list[Line], list[str]]:
    """Return the regrets in an objective, where they are positive, and their exponents in words.

    Nothing where no line with a name has an exponent.
    """
    looks, named = looks_of(study.policies), leading(study.policies)
    lines, fits = [], []
    fitted = False
    ours: Line | None = None
    for curve in map(study.best, study.policies):
        measure = curve.measure(regret=True)
        rows = [
            row
            for row in _rows(curve, measure, i, logarithmic=True)
            if row["y"] > 0 and row["x"] >= study.horizon / 1000
        ]
        if len(rows) < 2:
            continue
        exponent = growth_exponent(curve.t, measure.mean[:, i])
        name = policy_name(curve.policy)
        fits.append(f"{name} {exponent:.2f}" if exponent is not None else f"{name} none")
        label = f"{name} t^{exponent:.2f}" if exponent is not None else name
        faint = curve.policy not in named
        lines.append(Line(label, looks[curve.policy], rows, banded=False, faint=faint))
        fitted = fitted or (exponent is not None and not faint)
        ours = lines[-1] if curve.policy == "moc-mab" and exponent is not None else ours
    if not fitted:
        return [], []
    if theory is not None and ours is not None:
        lines.append(_slope(ours, theory.exponent))
        fits.append(f"Theorem 2 at most {theory.exponent:.2f}")
    return lines, fits


def theorem_bounds(study: StudyResults) -> Figure | None:
    """Return MOC-MAB at scale 1 under the bounds of Theorem 1, and of Theorem 3."""
    theory = theory_of(study)
    curve = next((c for c in study.of("moc-mab") if c.scale in ("1", "")), None)
    if theory is None or curve is None or curve.regret is None:
        return None
    bounded = [
        (
            objective_title(study, i),
            f"in {objective_phrase(study, i)}",
            curve.regret,
            i,
            "Theorem 1",
        )
        for i in range(len(study.objectives))
    ]
    if curve.pareto_regret is not None:  # Theorem 3: under the first bound of Theorem 1
        pareto = ("Pareto regret", "for the Pareto regret", curve.pareto_regret, 0, "Theorem 3")
        bounded.append(pareto)
    panels: list[ChartPanel] = []
    ends, powers, hidden, absent = [], [], [], []
    for title, where, measure, i, theorem in bounded:
        panel, end, power = _bound_panel(title, curve, measure, i, theory, theorem)
        if panel is None:
            absent.append(where)
        else:
            panels.append(panel)
            hidden += [where] if (measure.mean[curve.t >= 10, i] <= 0).any() else []
        ends.append(f"{end} {where}" + (f" (growing as t^{power:.2f})" if power else ""))
        powers += [power] if power is not None else []
    if not panels:
        return None
    caption = bounds_caption(theory, ends, powers, hidden, absent) + period_text(study)
    return Figure("bounds", "Theory and practice", caption, panels)


def _bound_panel(
    title: str, curve: MeanCurve, measure: Measure, i: int, theory: MocMabTheory, theorem: str
) -> tuple[ChartPanel | None, str, float | None]:
    """Return a regret under its bound, the two at the end in words, and the fitted exponent.

    Where the regret is not positive it has no logarithm: if it nowhere is, there is no panel.
    """
    rows = _rows(curve, measure, i, logarithmic=True)
    t = np.array([row["x"] for row in rows])
    epsilon = theory.high_probability(t)[:, i]
    end = f"{number_text(rows[-1]['y'])} under {number_text(epsilon[-1])}"
    positive = [row for row in rows if row["y"] > 0]
    if len(positive) < 2:
        return None, end, None
    lines = [
        Line(
            theorem,
            Look("#D55E00", (8, 3), "square", 2.0),
            [{"x": int(x), "y": float(e)} for x, e in zip(t, epsilon, strict=True)],
        ),
        Line("t itself", _REFERENCE, [{"x": int(x), "y": float(x)} for x in t]),
        Line("MOC-MAB · 1", looks_of(["moc-mab"])["moc-mab"], positive, banded=False),
    ]
    panel = line_panel(
        title,
        lines,
        Axis("Rounds (log)", "log"),
        Axis("Regret (log)", "log"),
        about=f"MOC-MAB's regret at scale 1 and the bound of {theorem}: {end}.",
    )
    return panel, end, growth_exponent(curve.t, measure.mean[:, i])


def sensitivity(study: StudyResults) -> Figure | None:
    """Return the last value against the scale factor."""
    scales = list(dict.fromkeys(c.scale for c in study.curves if c.scale))
    scales.sort(key=lambda text: float(text.partition("/")[0]) / float(text.partition("/")[2] or 1))
    if len(scales) < 2:
        return None
    regret = study.shows_regret
    what = "Regret" if regret else "Total reward"
    looks = looks_of(study.policies)
    panels = []
    for i in range(len(study.objectives)):
        objective = objective_phrase(study, i)
        lines = []
        for policy in study.policies:
            curves = [c for s in scales for c in study.of(policy) if c.scale == s]
            if len({c.scale for c in curves}) < len(curves):
                continue  # its grid has more than scales: one line would mix them
            rows = [_row(c.scale, c.measure(regret=regret), len(c.t) - 1, i) for c in curves]
            if rows:
                lines.append(Line(policy_name(policy), looks[policy], rows, marks=True))
        if not lines:
            return None
        panels.append(
            line_panel(
                objective_title(study, i),
                lines,
                Axis("Scale factor of the widths", "ordinal", tuple(scales)),
                Axis(f"{what} after {study.horizon:,} rounds"),
                about=f"{what} at the last round against the scale factor, in {objective}.",
            )
        )
    better = "lower" if regret else "higher"
    bests = [
        f"{policy_name(p)} {study.best(p).scale}" for p in study.policies if study.best(p).scale
    ]
    caption = (
        f"How much the tuning matters: {better} is better, and a flat line needs no tuning. Scale "
        "1 is the one the theorems are for; smaller widths explore less. Best in "
        f"{objective_phrase(study, 0)}: {', '.join(bests)}. {band_text(study)}"
    )
    return Figure("sensitivity", "Sensitivity to the scale factor", caption, panels)


def _row(x: int | str, measure: Measure, index: int, i: int) -> Row:
    mean, half = float(measure.mean[index, i]), float(measure.half[index, i])
    row: Row = {"x": x, "y": mean}
    return row | ({"low": mean - half, "high": mean + half} if np.isfinite(half) else {})


def _rows(curve: MeanCurve, measure: Measure, i: int, *, logarithmic: bool) -> list[Row]:
    indices = thinned(curve.t, _MOST_POINTS, logarithmic=logarithmic)
    return [_row(int(curve.t[index]), measure, int(index), i) for index in indices]


def _slope(line: Line, exponent: float) -> Line:
    """Return the theorem's growth over the last decade, from where `line` was at its beginning."""
    last = line.rows[-1]
    start = min(line.rows, key=lambda row: abs(np.log(10 * row["x"] / last["x"])))
    rows: list[Row] = [
        {"x": row["x"], "y": start["y"] * (row["x"] / start["x"]) ** exponent}
        for row in (start, last)
    ]
    return Line(f"Theorem t^{exponent:.2f}", _REFERENCE, rows)


def arm_maps(study: StudyResults) -> Figure | None:
    """Return which arm was played where, for contexts of two features."""
    if study.maps is None:
        return None
    arms = [str(arm) for arm in range(study.arms)]
    panels, findings = [], []
    optimal = study.maps.optimal
    if optimal is not None:
        about = "The arm that is optimal most often in each cell."
        panels.append(_map_panel("Optimal", optimal, arms, about))
    for policy in leading(study.policies):
        counts = study.maps.played.get(study.best(policy).label)
        if counts is None:
            continue
        title, about = study.best(policy).name, "The most played arm in each cell"
        if optimal is not None:
            share = agreement(counts, optimal)
            findings.append(f"{policy_name(policy)} {percent_text(share)}")
            about += f": the optimal one in {percent_text(share)} of them"
        panels.append(_map_panel(title, counts, arms, f"{about}."))
    caption = (
        "Each square is the context space, cut in "
        f"{_side(study.maps.played)}; the colour and the number are the arm played most in the "
        f"last half of the rounds, over all runs.{_arm_names(study)}"
    )
    if findings:
        caption += f" Cells whose most played arm is the optimal one: {', '.join(findings)}."
    return Figure("maps", "Which arm where", caption, panels)


def agreement(played: Integers, optimal: Integers) -> float:
    """Return the share of visited cells whose most played arm is the most often optimal one."""
    seen: Booleans = (played.sum(axis=2) > 0) & (optimal.sum(axis=2) > 0)
    same = played.argmax(axis=2) == optimal.argmax(axis=2)
    return float((same & seen).sum() / max(1, seen.sum()))


def _map_panel(title: str, counts: Integers, arms: list[str], about: str) -> ChartPanel:
    rows: list[Row] = []
    for (x, y), total in np.ndenumerate(counts.sum(axis=2)):
        if total > 0:
            arm = int(counts[x, y].argmax())
            share = round(float(counts[x, y, arm] / total), 3)
            rows.append({"x": str(x), "y": str(y), "arm": arms[arm], "share": share})
    return map_panel(title, rows, arms, about=about, side=len(counts))


def _side(played: dict[str, Integers]) -> str:
    side = len(next(iter(played.values()))) if played else 0
    return f"{side} × {side} cells"


def _arm_names(study: StudyResults) -> str:
    names: Any = study.frozen.get("arm_names")
    if isinstance(names, list) and len(names) == study.arms:
        return " Arms: " + ", ".join(f"{i} {name}" for i, name in enumerate(names)) + "."
    return ""


def trade_off(study: StudyResults) -> Figure | None:
    """Return the planes of the first objective with each other one, a point a policy and scale."""
    depth = len(study.objectives)
    if depth < 2:
        return None
    regret = study.has_regret
    what = "Regret" if regret else "Total reward"
    corner = "lower left" if regret else "upper right"
    caption = (
        f"Each point is one policy at one scale factor after {study.horizon:,} rounds; the large "
        f"mark is its best scale. Better is towards the {corner}: a point with nothing further "
        "that way in both directions is on the Pareto front of what was tried."
    )
    if regret and any(final(curve.regret)[1:].min() < 0 for curve in study.curves):
        first, second = objective_phrase(study, 0), objective_phrase(study, 1)
        caption += (
            f" A regret below 0 is no mistake: who gives up {first} can earn more in {second} "
            "than the lexicographically optimal arm does."
        )
    panels = [_trade_off_panel(study, i, what) for i in range(1, depth)]
    return Figure(
        "trade-off", "The trade-off between the objectives", caption + _below_text(study), panels
    )


def _trade_off_panel(study: StudyResults, i: int, what: str) -> ChartPanel:
    first, other = objective_phrase(study, 0), objective_phrase(study, i)
    crowd = many(study.policies)
    lines = _trade_off_lines(study, i)
    axes = [Axis(f"{what} in {name}") for name in (first, other)]
    title = f"{what} in two objectives" if i == 1 else f"{what} in {first} and in {other}"
    about = f"{what} in {other} against {what.lower()} in {first}, by policy and scale."
    if not crowd:
        return path_panel(title, lines, *axes, about=about)
    bent = [
        _bent(axis, [row[k] for line in lines for row in line.rows])
        for axis, k in zip(axes, "xy", strict=True)
    ]
    return labelled_panel(title, lines, *bent, below=_corner(study), about=about)


def _trade_off_lines(study: StudyResults, i: int) -> list[Line]:
    looks = looks_of(study.policies)
    lines = []
    for policy in study.policies:
        best = study.best(policy)
        rows: list[Row] = []
        for order, curve in enumerate(study.of(policy)):
            ends = final(curve.measure(regret=study.has_regret))
            rows.append(
                {"x": float(ends[0]), "y": float(ends[i]), "best": curve.label == best.label}
                | {"order": order, "text": curve.scale or "none"}
            )
        lines.append(Line(policy_name(policy), looks[policy], rows))
    return lines


def _bent(axis: Axis, values: list[float]) -> Axis:
    """Return a logarithmic axis, linear around 0, where values of very different size meet."""
    largest = max(map(abs, values)) or 1.0
    constant = 10.0 ** math.floor(math.log10(largest / 100))
    return Axis(f"{axis.title} (log, linear near 0)", "symlog", constant=constant)


def _corner(study: StudyResults) -> tuple[float, float] | None:
    """Return the least regrets of the paper's algorithms, each at its best scale factor."""
    paper = [final(study.best(p).regret) for p in study.policies if p in PAPER_NAMES]
    if not study.has_regret or not paper or len(study.objectives) != 2:
        return None
    return min(float(end[0]) for end in paper), min(float(end[1]) for end in paper)


def _below_text(study: StudyResults) -> str:
    """Return who is below every algorithm of the paper in both objectives."""
    rows = study.summary.get("against_paper") or []
    if not rows or not many(study.policies) or _corner(study) is None:
        return ""
    found = [policy_name(row["policy"]) for row in rows if row["beats_all"]]
    text = " Tinted: below every algorithm of the paper in both objectives, each at its best scale."
    return text + (f" There: {', '.join(found)}." if found else " Nobody is there.")


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
    chosen = {
        k: given[k] for k in ("L", "alpha", "beta", "lam", "R", "cells_per_side") if given.get(k)
    }
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
    """Return MOC-MAB's parameters in a study, and those of the environment."""
    found = dict(study.frozen["environment"]["parameters"])
    found |= {"dimension": study.frozen["dimension"]} if "dimension" in study.frozen else {}
    ours = [entry.parameters for entry in study.entries if entry.policy == "moc-mab"]
    # The theorems are for scale 1; of several such points the first is the one that is drawn.
    at_1 = [entry for entry in ours if entry.get("scale", 1) == 1]
    return found | next(iter(at_1 or ours), {})


def period_text(study: StudyResults) -> str:
    """Return what the theorems are called where the time is one of the features."""
    if study.frozen["environment"]["name"] != "periodic":
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


def bounds_caption(
    theory: MocMabTheory,
    ends: list[str],
    powers: list[float],
    hidden: list[str],
    absent: list[str],
) -> str:
    """Return the caption of the bounds' figure, which says where a bound is trivial.

    `hidden` says where MOC-MAB's regret is not positive at some checkpoint, `absent` where it is at
    none, so that there is no panel.
    """
    final = theory.high_probability(theory.horizon)
    text = (
        "MOC-MAB at scale 1, the only scale that the theorem covers. Where the means really vary "
        f"by at most L‖x − x'‖^α{_gains(theory)}, the regrets stay under the dashed lines at every "
        f"round with probability at least 1 − 1/T. They end at {', '.join(ends)}. "
        f"Parameters: m = {theory.m}, v = {theory.margin:.3f}, A = {theory.A:.1f}, "
        f"L = {theory.L:g}, α = {theory.alpha:g}, β = {theory.beta:g}, "
        f"λ = {theory.lam:g}, R = {theory.R:g}, largest gaps 1."
    )
    if hidden:
        text += (
            f" MOC-MAB's line is missing where its regret is not positive ({', '.join(hidden)}): "
            "such a number has no logarithm."
        )
    if absent:
        text += f" There is no panel where its regret is never positive ({', '.join(absent)})."
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


def growth_exponent(t: Integers, regret: Floats) -> float | None:
    """Return the slope of log regret against log t over the last decade, by least squares.

    None for fewer than three checkpoints there, or if the regret at one of them is not positive:
    it has no logarithm.
    """
    used = t >= t[-1] / 10
    if used.sum() < 3 or not np.all((regret[used] > 0) & np.isfinite(regret[used])):
        return None
    slope, _ = log_log_fit(t[used].tolist(), regret[used].tolist())
    return slope


def thinned(t: Integers, most: int, *, logarithmic: bool) -> Integers:
    """Return the indices of at most `most` checkpoints, evenly spread on the axis, with the last.

    A figure of 400 pixels shows no more, and a page of 10,000 points is slow on a phone.
    """
    if len(t) <= most:
        return np.arange(len(t))
    axis = np.log(t) if logarithmic else t.astype(np.float64)
    wanted = np.linspace(axis[0], axis[-1], most)
    return np.unique(np.abs(axis[:, np.newaxis] - wanted).argmin(axis=0))
