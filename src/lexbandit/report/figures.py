"""The figures of a study, each with a title, a caption that says what to see, and its panels."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from lexbandit.report import bounds
from lexbandit.report.drawing import line_panel
from lexbandit.report.layout import Axis, Figure, Line, Row
from lexbandit.report.maps import map_figure
from lexbandit.report.numbers import growth_exponent, number_text, thinned
from lexbandit.report.results import Curve, Measure, StudyResults, final
from lexbandit.report.style import Look, leading, looks_of, policy_name
from lexbandit.report.trade_off import trade_off
from lexbandit.report.words import band_text, faint_text, objective_phrase, objective_title

_MOST_POINTS = 70
_REFERENCE = Look("reference", "#7F7F7F", (2, 3), "stroke", 1.5)


def figures_of(study: StudyResults) -> Iterator[Figure]:
    """Yield every figure that the study's data allow.

    A study of a frontier has the frontier to show what its policies trade; here it has its course.
    """
    makers: list[Callable[[StudyResults], Figure | None]] = [over_time, tolerance_over_time]
    if (study.frozen.get("series") or {}).get("kind") != "frontier":
        makers += [growth, theorem_bounds, sensitivity, trade_off, _maps]
    for make in makers:
        figure = make(study)
        if figure is not None:
            yield replace(figure, name=f"{study.slug}-{figure.name}")


def over_time(study: StudyResults) -> Figure:
    """Return regret or total reward over time, as in the paper's figures."""
    regret = study.shows_regret
    what = "Regret" if regret else "Total reward"
    looks = looks_of(study.policies)
    best = [study.best(policy) for policy in study.policies]
    named = leading(study.policies)
    panels, findings = [], []
    for i in range(len(study.objectives)):
        objective = objective_phrase(study, i)
        found = [(c, c.measure(regret=regret)) for c in best]
        lines = [
            Line(
                c.name,
                looks[c.policy],
                _rows(c, m, i, logarithmic=False),
                faint=c.policy not in named,
            )
            for c, m in found
        ]
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
                lines,
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


def tolerance_over_time(study: StudyResults) -> Figure | None:
    """Return tolerance regret over time, where tolerances were given."""
    if not study.has_tolerance_regret:
        return None
    looks = looks_of(study.policies)
    named = leading(study.policies)
    last = len(study.objectives) - 1
    panels = []
    for i in range(last + 1):
        lines = []
        for curve in (study.best(policy) for policy in study.policies):
            assert curve.tolerance_regret is not None
            rows = _rows(curve, curve.tolerance_regret, i, logarithmic=False)
            faint = curve.policy not in named
            lines.append(Line(curve.name, looks[curve.policy], rows, faint=faint))
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
    theory = bounds.theory_of(study)
    looks = looks_of(study.policies)
    named = leading(study.policies)
    panels = []
    for i in range(len(study.objectives)):
        objective = objective_phrase(study, i)
        lines, fits = [], []
        ours: Line | None = None
        for curve in (study.best(policy) for policy in study.policies):
            measure = curve.measure(regret=True)
            rows = [
                row
                for row in _rows(curve, measure, i, logarithmic=True)
                if row["y"] > 0 and row["x"] >= study.horizon / 1000
            ]
            exponent = growth_exponent(curve.t, measure.mean[:, i])
            if len(rows) < 2:
                continue
            name = policy_name(curve.policy)
            fits.append(f"{name} {exponent:.2f}" if exponent is not None else f"{name} none")
            label = f"{name} t^{exponent:.2f}" if exponent is not None else name
            faint = curve.policy not in named
            lines.append(Line(label, looks[curve.policy], rows, banded=False, faint=faint))
            ours = lines[-1] if curve.policy == "moc-mab" else ours
        if all(line.faint for line in lines):
            continue
        if theory is not None and ours is not None:
            lines.append(_slope(ours, theory.exponent))
            fits.append(f"Theorem 2 at most {theory.exponent:.2f}")
        panels.append(
            line_panel(
                objective_title(study, i),
                lines,
                Axis("Rounds (log)", "log"),
                Axis("Regret (log)", "log"),
                about=f"Regret on log-log axes, in {objective}. Exponents: {', '.join(fits)}.",
            )
        )
    if not panels:
        return None
    caption = (
        "A straight line of slope p means regret growing as t^p; an exponent below 1 means that "
        "the policy learns. Exponents are least-squares slopes over the last decade of rounds. "
        + bounds.exponent_text(theory)
        + bounds.period_text(study)
        + " Where regret is not positive there is no logarithm, and no line."
        + faint_text(study)
    )
    return Figure("growth", "How regret grows", caption, panels)


def theorem_bounds(study: StudyResults) -> Figure | None:
    """Return MOC-MAB at scale 1 under the bounds of Theorem 1."""
    theory = bounds.theory_of(study)
    curve = next((c for c in study.of("moc-mab") if c.scale in ("1", "")), None)
    if theory is None or curve is None or curve.regret is None:
        return None
    look = looks_of(["moc-mab"])["moc-mab"]
    bound_look = Look("bound", "#D55E00", (8, 3), "square", 2.0)
    panels, ends, powers = [], [], []
    for i in range(len(study.objectives)):
        objective = objective_phrase(study, i)
        rows = [r for r in _rows(curve, curve.regret, i, logarithmic=True) if r["y"] > 0]
        if len(rows) < 2:
            continue
        t = np.array([row["x"] for row in rows])
        epsilon = theory.high_probability(t)[:, i]
        power = growth_exponent(curve.t, curve.regret.mean[:, i])
        powers += [power] if power is not None else []
        ends.append(
            f"{number_text(rows[-1]['y'])} under {number_text(epsilon[-1])} in {objective}"
            + (f" (growing as t^{power:.2f})" if power is not None else "")
        )
        lines = [
            Line(
                "Theorem 1",
                bound_look,
                [{"x": int(x), "y": float(e)} for x, e in zip(t, epsilon, strict=True)],
            ),
            Line("t itself", _REFERENCE, [{"x": int(x), "y": float(x)} for x in t]),
            Line("MOC-MAB · 1", look, rows, banded=False),
        ]
        panels.append(
            line_panel(
                objective_title(study, i),
                lines,
                Axis("Rounds (log)", "log"),
                Axis("Regret (log)", "log"),
                about=f"MOC-MAB's regret at scale 1 and the bound of Theorem 1: {ends[-1]}.",
            )
        )
    if not panels:
        return None
    caption = bounds.caption(theory, ends, powers) + bounds.period_text(study)
    return Figure("bounds", "Theory and practice", caption, panels)


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


def _maps(study: StudyResults) -> Figure | None:
    made = map_figure(study)
    return None if made is None else Figure("maps", *made)


def _row(x: int | str, measure: Measure, place: int, i: int) -> Row:
    mean, half = float(measure.mean[place, i]), float(measure.half[place, i])
    row: Row = {"x": x, "y": mean}
    return row | ({"low": mean - half, "high": mean + half} if np.isfinite(half) else {})


def _rows(curve: Curve, measure: Measure, i: int, *, logarithmic: bool) -> list[Row]:
    places = thinned(curve.t, _MOST_POINTS, logarithmic=logarithmic)
    return [_row(int(curve.t[place]), measure, int(place), i) for place in places]


def _slope(line: Line, exponent: float) -> Line:
    """Return the theorem's growth over the last decade, from where `line` was at its beginning."""
    last = line.rows[-1]
    start = min(line.rows, key=lambda row: abs(np.log(10 * row["x"] / last["x"])))
    rows: list[Row] = [
        {"x": row["x"], "y": start["y"] * (row["x"] / start["x"]) ** exponent}
        for row in (start, last)
    ]
    return Line(f"Theorem t^{exponent:.2f}", _REFERENCE, rows)
