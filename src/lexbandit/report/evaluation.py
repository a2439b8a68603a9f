"""Write the page of evaluations: the verdict on each candidate, as one self-contained file."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from lexbandit.errors import InvalidInput
from lexbandit.logs.differences import Difference
from lexbandit.logs.evaluation import Evaluation, between, number
from lexbandit.report.style import table

_CLASSES = {"better": "yes", "as good": "yes", "worse": "no", "cannot tell": "open"}

_STYLE = (
    ".open{font-weight:600}.picture{overflow-x:auto;background:#fff;border-radius:6px;padding:8px}"
    ".picture svg{display:block;max-width:none}"
    "@media screen and (prefers-color-scheme:dark){.picture{background:none;padding:0}"
    ".picture svg{filter:invert(.9) hue-rotate(180deg)}.picture svg>rect:first-of-type{fill:none}}"
    "ul.words{max-width:76ch;padding-left:20px}"
)

_GUARANTEE = (
    "A verdict for a candidate is wrong with probability at most {alpha:.2g}, whenever one looks, "
    "also where the policy that wrote the log learned as it went. It rests on this: the logged "
    "propensities are right, rewards lie in the declared ranges, whether a reward is missing "
    "depends neither on the arm nor on the reward, the candidate did not learn from these rows, "
    "and an explore that was declared is true. It is about the average over these rows."
)
_ASYMPTOTIC = (
    "These intervals are approximate: for one look at a long log of a policy that did not learn."
)


def write_evaluation(evaluations: Sequence[Evaluation], path: Path) -> None:
    """Write the page of one or more evaluations of one log."""
    try:
        path.write_text(evaluation_page(evaluations), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {path}: {error.strerror}.") from error


def evaluation_page(evaluations: Sequence[Evaluation]) -> str:
    """Return the page as HTML: all verdicts first, then each candidate by itself."""
    css = files("lexbandit.report").joinpath("page.css").read_text(encoding="utf-8")
    first = evaluations[0]
    title = f"Against {first.against}"
    sections = "".join(_section(one, n) for n, one in enumerate(evaluations))
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)} – lexbandit</title><style>{css}{_STYLE}</style></head><body>"
        "<header><p class=brand>lexbandit</p><h1>Would it have been better?</h1>"
        f"<p>{_lead(evaluations)}</p></header><main>"
        f"<section id=verdicts><h2>Verdicts</h2>{_verdicts(evaluations)}"
        f"<p class=note>{escape(_guarantee(first))}</p></section>{sections}</main></body></html>\n"
    )


def _lead(evaluations: Sequence[Evaluation]) -> str:
    first = evaluations[0]
    order = ", then ".join(objective.name for objective in first.objectives)
    candidates = "candidate" if len(evaluations) == 1 else "candidates"
    trained = f" after {first.trained:,} to learn from" if first.trained else ""
    return (
        f"{len(evaluations)} {candidates} against {escape(first.against)}, on {first.rows:,} "
        f"logged decisions{trained}. In order of priority: {escape(order)}."
    )


def _guarantee(one: Evaluation) -> str:
    found = next(iter(one.differences.values()))
    if found.interval != "anytime":
        return _ASYMPTOTIC
    return _GUARANTEE.format(alpha=1.0 - found.level)


def _verdicts(evaluations: Sequence[Evaluation]) -> str:
    objectives = evaluations[0].objectives
    rows = [
        [
            f"<a href='#candidate-{n}'>{escape(one.candidate)}</a>",
            f"<span class={_CLASSES[one.decision.kind]}>{escape(one.verdict)}</span>",
            *(_with_interval(one[objective.name]) for objective in objectives),
            f"{one.diagnostics.effective_rows:,.0f}",
        ]
        for n, one in enumerate(evaluations)
    ]
    head = ["candidate", "verdict", *(o.name for o in objectives), "effective rows"]
    return table(head, rows)


def _with_interval(found: Difference) -> str:
    return f"{number(found.difference, '+')} <small>{between(found)}</small>"


def _section(one: Evaluation, place: int) -> str:
    words = "".join(f"<li>{escape(sentence)}</li>" for sentence in one.diagnostics.sentences)
    found = next(iter(one.differences.values()))
    return (
        f"<section id='candidate-{place}'><h2>{escape(one.candidate)}: "
        f"<span class={_CLASSES[one.decision.kind]}>{escape(one.verdict)}</span></h2>"
        f"<p>{escape(one.decision.sentence)}</p>{_escaped(one.table())}"
        "<p class=note>Positive differences are better: right of 0 in the picture. "
        f"Estimator: {escape(found.estimator)}; intervals of {found.level:.0%}.</p>"
        f"<figure><div class=picture tabindex=0>{one.svg(heading=False)}</div></figure>"
        f"<h3>What the log can tell of it</h3><ul class=words>{words}</ul>"
        f"{_segments(one)}</section>"
    )


def _segments(one: Evaluation) -> str:
    if not one.segments:
        return ""
    return (
        f"<details><summary>Segments</summary><p class=note>{escape(one.about_segments)}</p>"
        f"{_escaped(one.segment_table())}</details>"
    )


def _escaped(rows: Sequence[Sequence[str]]) -> str:
    """Return a head and rows of text as a table in HTML."""
    head, *lines = rows
    return table(head, [[escape(cell) for cell in line] for line in lines])
