"""Maps of two-dimensional contexts: the arm each policy plays most, beside the optimal one."""

from typing import Any

import numpy as np

from lexbandit.checks import Booleans, Integers
from lexbandit.report.drawing import map_panel
from lexbandit.report.layout import Panel, Row
from lexbandit.report.numbers import percent_text
from lexbandit.report.results import StudyResults
from lexbandit.report.style import leading, policy_name


def map_figure(study: StudyResults) -> tuple[str, str, list[Panel]] | None:
    """Return title, caption and panels, or None where contexts are not two-dimensional."""
    if study.maps is None:
        return None
    arms = [str(arm) for arm in range(study.arms)]
    panels, findings = [], []
    optimal = study.maps.optimal
    if optimal is not None:
        about = "The arm that is optimal most often in each cell."
        panels.append(_panel("Optimal", optimal, arms, about))
    for policy in leading(study.policies):
        counts = study.maps.played.get(study.best(policy).label)
        if counts is None:
            continue
        title, about = study.best(policy).name, "The most played arm in each cell"
        if optimal is not None:
            share = agreement(counts, optimal)
            findings.append(f"{policy_name(policy)} {percent_text(share)}")
            about += f": the optimal one in {percent_text(share)} of them"
        panels.append(_panel(title, counts, arms, f"{about}."))
    caption = (
        "Each square is the context space, cut in "
        f"{_side(study.maps.played)}; the colour and the number are the arm played most in the "
        f"last half of the rounds, over all runs.{_arm_names(study)}"
    )
    if findings:
        caption += f" Cells whose most played arm is the optimal one: {', '.join(findings)}."
    return "Which arm where", caption, panels


def agreement(played: Integers, optimal: Integers) -> float:
    """Return the share of visited cells whose most played arm is the most often optimal one."""
    seen: Booleans = (played.sum(axis=2) > 0) & (optimal.sum(axis=2) > 0)
    same = played.argmax(axis=2) == optimal.argmax(axis=2)
    return float((same & seen).sum() / max(1, seen.sum()))


def _panel(title: str, counts: Integers, arms: list[str], about: str) -> Panel:
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
