"""What a log says of a candidate: the verdict, the differences, diagnostics and segments."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lexbandit._internal.svg import html_table, xml
from lexbandit._internal.text_table import text_table
from lexbandit.errors import unknown_name
from lexbandit.logs.diagnostics import Diagnostics
from lexbandit.logs.differences import Difference
from lexbandit.logs.evaluation_svg import Panel, Strip, draw_evaluation
from lexbandit.logs.verdict import Verdict
from lexbandit.objectives import Objective

_EXPLORATORY = (
    "Segments are exploratory: each interval holds by itself, not all of them together, and the "
    "verdict is about the average."
)

# What intervals are, in a report.
_KINDS = {
    "anytime": "valid at every look, also where the policy learned as it went",
    "asymptotic": "asymptotic: approximate, for one look, and not for a policy that learned",
    "bootstrap": "by a bootstrap of units: approximate, for one look, and not for a policy that "
    "learned (asymptotic in segments)",
}


@dataclass(frozen=True)
class Segment:
    """Rows with one value of a category, or a quarter of a number, and the differences there."""

    feature: str
    label: str
    rows: int
    differences: Mapping[str, Difference]

    def __getitem__(self, objective: str) -> Difference:
        return _found(self.differences, objective)


@dataclass(frozen=True)
class Evaluation:
    """What a log says of a candidate; `print` shows all of it.

    candidate, against  what was compared
    objectives          in order of priority
    rows                the rows it is evaluated on
    trained             the rows before them, from which candidates could learn (`train_until`)
    differences         candidate less `against`, by objective, in its own units; positive: better.
                        `evaluation["cost"]` is one of them
    decision            the verdict with its sentence, and what it would take where it cannot tell
    diagnostics         how far these rows can answer for the candidate
    segments            the same differences in parts of the log; exploratory
    outside_segments    for each feature with rows in none of its segments a sentence that says so
    adaptive            whether the log is that of a policy that learned
    """

    candidate: str
    against: str
    objectives: Sequence[Objective]
    rows: int
    trained: int
    differences: Mapping[str, Difference]
    decision: Verdict
    diagnostics: Diagnostics
    segments: tuple[Segment, ...]
    outside_segments: tuple[str, ...]
    adaptive: bool

    @property
    def verdict(self) -> str:
        """The verdict: "better in cost", "as good", "worse in quality" or "cannot tell"."""
        return self.decision.text

    def __getitem__(self, objective: str) -> Difference:
        return _found(self.differences, objective)

    def __str__(self) -> str:
        shown = text_table(self.table())
        lines = [self._head(), self.decision.sentence, "", *shown, self._about(), ""]
        lines += self.diagnostics.sentences
        if self.segments:
            lines += ["", *text_table(self.segment_table()), self.about_segments]
        return "\n".join(lines)

    def _head(self) -> str:
        trained = f", after {self.trained:,} rows to learn from" if self.trained else ""
        return f"{self.candidate} against {self.against}: {self.rows:,} rows{trained}"

    def _repr_html_(self) -> str:
        """Return the verdict, tables and the picture for a notebook, light or dark."""
        head, *lines = self.table()
        words = "".join(f"<li>{xml(sentence)}</li>" for sentence in self.diagnostics.sentences)
        return (
            f"<p>{xml(self._head())}</p><p><strong>{xml(self.decision.sentence)}</strong></p>"
            f"{html_table(head, lines)}<p>{xml(self._about())}</p>{self.svg(heading=False)}"
            f"<ul>{words}</ul>{self._segments_html()}"
        )

    def _segments_html(self) -> str:
        if not self.segments:
            return ""
        head, *lines = self.segment_table()
        shown = f"{html_table(head, lines)}<p>{xml(self.about_segments)}</p>"
        return f"<details><summary>Segments</summary>{shown}</details>"

    @property
    def about_segments(self) -> str:
        """What to know of the segments, in sentences."""
        return " ".join([_EXPLORATORY, *self.outside_segments])

    def table(self) -> list[list[str]]:
        """Return the differences as text, a row an objective below the head."""
        head = ["objective", "candidate", self.against, "difference", "interval", "tolerance"]
        rows = [[*head, "rows"]]
        for objective in self.objectives:
            one = self.differences[objective.name]
            values = [number(one.candidate), number(one.baseline), number(one.difference, "+")]
            further = [between(one), f"{objective.tolerance:g}", f"{one.rows:,}"]
            rows.append([objective.name, *values, *further])
        return rows

    def _about(self) -> str:
        one = next(iter(self.differences.values()))
        kind = _KINDS[one.interval]
        return (
            f"Positive differences are better. Estimator: {one.estimator}; intervals of "
            f"{one.level:.0%}, {kind}."
        )

    def segment_table(self) -> list[list[str]]:
        """Return the differences in segments as text, a row a segment below the head."""
        names = [objective.name for objective in self.objectives]
        lines = [["segment", "rows", *(text for name in names for text in (name, "interval"))]]
        for segment in self.segments:
            cells = [
                text
                for name in names
                for text in (number(segment[name].difference, "+"), between(segment[name]))
            ]
            lines.append([segment.label, f"{segment.rows:,}", *cells])
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; None where there is no number."""
        found: dict[str, Any] = plain(
            {
                "candidate": self.candidate,
                "against": self.against,
                "verdict": self.verdict,
                "decision": asdict(self.decision),
                "rows": self.rows,
                "trained": self.trained,
                "adaptive": self.adaptive,
                "objectives": {
                    objective.name: {
                        "goal": objective.goal,
                        "tolerance": objective.tolerance,
                        **asdict(self.differences[objective.name]),
                    }
                    for objective in self.objectives
                },
                "diagnostics": asdict(self.diagnostics),
                "segments": [
                    {
                        "feature": segment.feature,
                        "label": segment.label,
                        "rows": segment.rows,
                        "objectives": {
                            name: asdict(one) for name, one in segment.differences.items()
                        },
                    }
                    for segment in self.segments
                ],
                "outside_segments": self.outside_segments,
            }
        )
        return found

    def svg(self, *, heading: bool = True) -> str:
        """Return a picture, as the text of an SVG file; `heading`: with the verdict above it.

        For each objective the interval of the difference, with the tolerance as a band, and those
        of the segments below it; then what the weights are worth.
        """
        panels = [
            Panel(
                objective.name,
                objective.tolerance,
                [
                    Strip(label, one.low, one.difference, one.high)
                    for label, one in [
                        ("all rows", self.differences[objective.name]),
                        *((s.label, s[objective.name]) for s in self.segments),
                    ]
                ],
            )
            for objective in self.objectives
        ]
        weights = self.diagnostics
        return draw_evaluation(
            self.decision.sentence,
            f"{self.candidate} less {self.against}; right of 0 the candidate is better"
            if heading
            else "",
            panels,
            {
                "rows": self.rows,
                "effective rows": weights.effective_rows,
            },
            f"largest weight {weights.largest_weight:,.4g}, mean weight {weights.mean_weight:.3f}",
        )


def _found(differences: Mapping[str, Difference], objective: str) -> Difference:
    if objective not in differences:
        raise unknown_name("objective", objective, differences)
    return differences[objective]


def number(value: float, sign: str = "") -> str:
    """Return a number as reports show it; "-" where there is none."""
    return "-" if math.isnan(value) else f"{value:{sign}.4g}"


def between(one: Difference) -> str:
    """Return the interval of a difference."""
    return f"{number(one.low, '+')} to {number(one.high, '+')}"


def plain(value: Any) -> Any:
    """Return a value with lists for tuples, strings for keys, and None for NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
