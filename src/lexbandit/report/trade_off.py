"""The plane of two objectives: what each policy gave up of one for the other."""

import math

from lexbandit.report.drawing import labelled_panel, path_panel
from lexbandit.report.layout import Axis, Figure, Line, Panel, Row
from lexbandit.report.results import StudyResults, final
from lexbandit.report.style import looks_of, many, of_the_paper, policy_name
from lexbandit.report.words import objective_phrase


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
    panels = [_panel(study, i, what) for i in range(1, depth)]
    return Figure(
        "trade-off", "The trade-off between the objectives", caption + _below_text(study), panels
    )


def _panel(study: StudyResults, i: int, what: str) -> Panel:
    first, other = objective_phrase(study, 0), objective_phrase(study, i)
    crowd = many(study.policies)
    lines = _lines(study, i)
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


def _lines(study: StudyResults, i: int) -> list[Line]:
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
    paper = [final(study.best(p).regret) for p in study.policies if of_the_paper(p)]
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
