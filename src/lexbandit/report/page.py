"""`write_report`: write the page of a results folder, with tables and pictures."""

import functools
import json
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import vl_convert

from lexbandit._internal.vega_script import BUNDLE, Script
from lexbandit.bench.summary import AGREEMENTS
from lexbandit.errors import InvalidInput
from lexbandit.report.charts import VEGA_LITE, ChartPanel, Figure
from lexbandit.report.figures import figures_of
from lexbandit.report.results import (
    Measure,
    Results,
    StudyResults,
    data_text,
    degenerate_text,
    full_title,
    objective_phrase,
    read_results,
)
from lexbandit.report.series import series_figures, series_table, series_title
from lexbandit.report.style import bytes_text, looks_of, number_text, policy_name, table, time_text


def write_report(directory: Path) -> Path:
    """Write DIR/report.html and DIR/figures/*.svg and *.png from a results folder; return the page.

    The page needs nothing else: scripts, styles and data are in it. A study that is not one of the
    paper's gets the figures that its data allow.
    """
    results = read_results(Path(directory))
    pictures = results.directory / "figures"
    report = results.directory / "report.html"
    page = ReportPage(results)
    script = _script()
    try:
        pictures.mkdir(exist_ok=True)
        for name, series in results.series.items():
            joint = series_figures(name, series)
            page.add_series(name, series, joint)
            for figure in joint:
                _draw(figure, f"{series_title(name, series)} – {figure.title}", pictures)
        for study in results.studies:
            figures = list(figures_of(study))
            page.add(study, figures)
            for figure in figures:
                _draw(figure, f"{full_title(study)} – {figure.title}", pictures)
        report.write_text(page.text(script.result().plain.decode()), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {directory}: {error.strerror}.") from error
    return report


def _draw(figure: Figure, title: str, pictures: Path) -> None:
    """Write a figure as SVG, and as PNG at twice the size for sharp print."""
    svg = vl_convert.vegalite_to_svg(file_spec(title, figure.panels), vl_version=VEGA_LITE)
    (pictures / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (pictures / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))


_NO_BREAK = "\u00a0"


class ReportPage:
    """Collects the parts of a page; `text` joins them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._specs: list[dict[str, Any]] = []
        self._joint: list[str] = []
        self._sections: list[str] = []

    def add(self, study: StudyResults, figures: list[Figure]) -> None:
        """Add a study's section."""
        drawn = "".join(self._figure(study.title, figure) for figure in figures)
        # A packaged study describes itself with the paper's sizes, which may have been changed.
        about = None if study.experiment else study.frozen.get("about")
        runs = "one run" if study.runs == 1 else f"mean of {study.runs} runs"
        leads = [("", about), (" class=warning", data_text(study)), ("", degenerate_text(study))]
        self._sections.append(
            f"<section id='{escape(study.slug)}'><h2>{escape(full_title(study))}</h2>"
            + "".join(f"<p{kind}>{escape(text)}</p>" for kind, text in leads if text)
            + f"<h3>After {study.horizon:,} rounds, {runs}</h3>{results_table(study)}"
            f"<p class=note>Each policy at its best scale factor for {objective_phrase(study, 0)}. "
            f"{_interval_text(study)}</p>{_against(study)}{drawn}"
            f"<details><summary>Parameters and timing</summary>{parameters_table(study)}"
            "</details></section>"
        )

    def add_series(self, name: str, series: dict[str, Any], figures: list[Figure]) -> None:
        """Add the section of a series; these come before the studies."""
        first, *further = [self._figure(name, figure) for figure in figures] or [""]
        self._joint.append(
            f"<section id='series-{escape(name)}'><h2>{escape(series_title(name, series))}</h2>"
            f"{first}{series_table(series)}{''.join(further)}</section>"
        )

    def _figure(self, title: str, figure: Figure) -> str:
        first = figure.panels[0]
        shape = "squares" if first.square else f"panels-{min(2, len(figure.panels))}"
        shape = "panels-wide" if first.wide else shape
        panels = "".join(self._panel(panel) for panel in figure.panels)
        links = " ".join(
            f"<a href='figures/{escape(figure.name)}.{kind}' "
            f"aria-label='{escape(title)}, {escape(figure.title)} as {kind.upper()}'>"
            f"{kind.upper()}</a>"
            for kind in ("svg", "png")
        )
        return (
            f"<figure id='{escape(figure.name)}'><h3>{escape(figure.title)}</h3>"
            f"<div class='panels {shape}'>{panels}</div>"
            f"<figcaption>{escape(figure.caption)} <span class=files>{links}</span></figcaption>"
            "</figure>"
        )

    def _panel(self, panel: ChartPanel) -> str:
        self._specs.append(page_spec(panel))
        return (
            f"<div class=panel><h4>{escape(panel.title)}</h4>"
            f"<div class=chart role=img aria-label='{escape(panel.description)}' "
            f"data-chart={len(self._specs) - 1}></div></div>"
        )

    def text(self, script: str) -> str:
        """Return the whole page; with `script`, which draws its charts, it needs no network."""
        results = self.results
        links = [
            (f"series-{name}", series_title(name, series))
            for name, series in results.series.items()
        ]
        links += [(study.slug, full_title(study)) for study in results.studies]
        claims = ""
        if results.claims:
            links.insert(0, ("claims", "Claims"))
            claims = (
                f"<section id=claims><h2>{verdict_sentence(results.claims)}</h2>"
                "<p>Every comparison of the paper's Section VII: how much higher (+) or lower (−) "
                "MOC-MAB stands than the other policy. A claim holds if the sign is the paper's. "
                "Of those that do, it is said which come within two points of the paper's "
                "percentage, which within 1.96 standard errors of it, and whether “slightly” (at "
                "most 10 %) and “much” (at least 50 %) fit; the others hold by their sign, not in "
                "size. Nothing was tuned to match.</p>"
                f"{claims_table(results)}</section>"
            )
        nav = "".join(f"<a href='#{escape(to)}'>{escape(name)}</a>" for to, name in links)
        versions = _pairs((str(name), str(found)) for name, found in results.versions.items())
        title = "Results of a study" if len(results.studies) == 1 else "Results of the studies"
        if any(study.experiment for study in results.studies):
            title = "The paper, reproduced"
        sections = (
            f"{claims}{''.join(self._joint)}{''.join(self._sections)}"
            f"<section id=versions><h2>Versions</h2>{versions}</section>"
        )
        return (
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width, initial-scale=1'>"
            f"<title>{title} – lexbandit</title><style>{_part('page.css')}</style></head><body>"
            f"<header><p class=brand>lexbandit</p><h1>{title}</h1><p>{_lead(results)}</p>"
            f"<nav aria-label=Sections>{nav}</nav></header><main>"
            "<noscript><p class=note>The figures here are drawn by a script in this page; the same "
            "ones are beside it in the folder <code>figures</code>.</p></noscript>"
            # A number and its percent sign stay on one line.
            f"{sections.replace(' %', f'{_NO_BREAK}%')}</main>"
            f"<script type='application/json' id=specs>{_inline(self._specs)}</script>"
            f"<script>{script}</script><script>{_part('page.js')}</script></body></html>\n"
        )


def _lead(results: Results) -> str:
    rounds = sum(s.horizon * s.runs * len(s.curves) for s in results.studies)
    policies = {policy for study in results.studies for policy in study.policies}
    studies = f"{len(results.studies)} stud{'ies' if len(results.studies) > 1 else 'y'}"
    return (
        f"{studies}, {len(policies)} policies, {rounds:,} policy-rounds. In each run one "
        "stream of rounds serves every policy and scale factor, so policies differ by their "
        "decisions, not by luck. Colours are told apart by colour-blind readers, and dashes and "
        "shapes repeat them for print."
    )


def _against(study: StudyResults) -> str:
    table = against_table(study)
    if not table:
        return ""
    return (
        f"<h3>Against the paper's algorithms</h3>{table}"
        "<p class=note>After ±: standard errors. The last column names the paper's algorithms, "
        "each at its best scale factor, whose mean regret is higher in every objective; in "
        "brackets where a difference is within 1.96 standard errors.</p>"
    )


def _interval_text(study: StudyResults) -> str:
    if study.runs < 2:
        return "One run, so no intervals."
    return (
        "After ±: half of the 95 % confidence interval of the mean over "
        f"{study.runs} runs (Student's t)."
    )


def _inline(content: Any) -> str:
    """Return JSON that is safe in a script element, whatever names it has."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _part(name: str) -> str:
    return files("lexbandit.report").joinpath(name).read_text(encoding="utf-8")


Spec = dict[str, Any]


def page_spec(panel: ChartPanel) -> Spec:
    """Return the panel as Vega-Lite for the page, in the page's width and text colour."""
    return panel.spec | {
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": panel.description,
        "config": _config("currentColor", "system-ui, sans-serif"),
    }


def file_spec(title: str, panels: Sequence[ChartPanel]) -> Spec:
    """Return the panels side by side as one Vega-Lite picture, for a file."""
    views: list[Spec] = []
    datasets: Spec = {}
    for panel in panels:
        spec = dict(panel.spec)
        datasets |= spec.pop("datasets", {})
        schema = spec.pop("$schema")
        spec.pop("config", None)
        # Invisible layers only carry tooltips, which a picture does not have.
        spec["layer"] = [layer for layer in spec["layer"] if layer["mark"].get("opacity") != 0]
        fixed = _with_width(spec, panel.width)
        views.append(fixed | {"width": panel.width, "title": panel.title})
    own = dict.fromkeys(("color", "shape", "size", "strokeDash", "strokeWidth"), "independent")
    return {
        "$schema": schema,
        "title": {"text": title, "fontSize": 16, "anchor": "start", "offset": 14},
        "background": "white",
        "padding": 16,
        "concat": views,
        "columns": 4 if panels[0].square else 1 if panels[0].wide else 2,
        "spacing": 28,
        "resolve": {"scale": own},
        "datasets": datasets,
        "config": _config("#1b1f24", "Arial, sans-serif"),
    }


def _with_width(spec: Any, width: int) -> Any:
    """Return the spec with `width - n` evaluated: concatenated views have no signal `width`."""
    if isinstance(spec, list):
        return [_with_width(part, width) for part in spec]
    if not isinstance(spec, dict):
        return spec
    if set(spec) == {"expr"} and str(spec["expr"]).startswith("width - "):
        return width - float(spec["expr"].removeprefix("width - "))
    return {key: _with_width(part, width) for key, part in spec.items()}


def _config(ink: str, font: str) -> dict[str, Any]:
    axis = {
        "labelColor": ink,
        "titleColor": ink,
        "domainColor": ink,
        "tickColor": ink,
        "gridColor": ink,
        "gridOpacity": 0.12,
        "domainOpacity": 0.6,
        "tickOpacity": 0.6,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "font": font,
        "axis": axis,
        "background": "transparent",
        "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 11},
        "text": {"color": ink},
        "title": {"color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start"},
        "view": {"stroke": None},
    }


@functools.cache
def _script() -> Future[Script]:
    """Begin to make, or to read, Vega, Vega-Lite and Vega-Embed as one script."""
    return BUNDLE.begin()


def claims_table(results: Results) -> str:
    """Return the paper's comparisons beside ours, each with its verdict."""
    made_up = {study.experiment for study in results.studies if data_text(study)}
    rows = []
    for claim in results.claims:
        number = claim.get("experiment", "")
        where = f"{number} (synthetic)" if number in made_up else str(number)
        holds = bool(claim.get("holds"))
        agreement = claim.get("agreement", "")
        held = f"holds {AGREEMENTS.get(agreement, '')}".rstrip()
        if not holds:
            verdict = "<td class=no>✗ does not hold</td>"
        elif agreement == "size":  # no tick: half of the claim does not fit
            verdict = f"<td>{held}</td>"
        else:
            verdict = f"<td class=yes>✓ {held}</td>"
        numbers = [_claimed(claim.get(key), claim) for key in ("paper", "ours")]
        rows.append([escape(where), escape(str(claim.get("claim", ""))), *numbers, verdict])
    heads = ["Experiment", "Claim of Section VII", "Paper", "Ours", "Verdict"]
    return table(heads, rows, "claims", numbers=(2, 3), naming=1)


def _claimed(value: Any, claim: dict[str, Any]) -> str:
    """Return a claim's number with its unit; a percentage has a sign."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return escape(str(value))
    unit = str(claim.get("unit", "%"))
    text = f"{value:+,.2f}" if unit == "%" else f"{value:,.4g}"
    return f"{text.replace('-', '−')} {escape(unit)}"


def verdict_sentence(claims: list[dict[str, Any]]) -> str:
    """Return how many claims hold."""
    held = sum(bool(claim.get("holds")) for claim in claims)
    close = sum(claim.get("agreement") in ("points", "error", "word") for claim in claims)
    more = f", {close} of them in size too" if close else ""
    return f"{held} of {len(claims)} claims hold by their sign{more}"


def results_table(study: StudyResults) -> str:
    """Return each policy at its best scale after the last round, the best of them first."""
    heads = ["Policy", "Scale"]
    if study.has_regret:
        heads += [f"Regret, {name}" for name in study.objectives] + ["Pareto regret"]
    if study.has_tolerance_regret:
        *first, last = study.objectives
        heads += [*(f"Beyond tolerance, {name}" for name in first), f"Missed, {last}"]
    heads += [f"Reward, {name}" for name in study.objectives] + ["Time a round", "Memory"]
    looks = looks_of(study.policies)
    rows = []
    for curve in study.ranked():
        policy = curve.policy
        cells = [escape(curve.scale or "–")]
        if study.has_regret:
            cells += [_cell(curve.regret, i) for i in range(len(study.objectives))]
            cells.append(_cell(curve.pareto_regret, 0))
        if study.has_tolerance_regret:
            cells += [_cell(curve.tolerance_regret, i) for i in range(len(study.objectives))]
        cells += [_cell(curve.reward, i) for i in range(len(study.objectives))]
        cells.append(f"{1e9 * curve.seconds / study.horizon:,.0f} ns")
        cells.append(bytes_text(curve.state_bytes))
        mark = f"<i class=swatch style='background:{looks[policy].colour}'></i>"
        rows.append([f"{mark}{escape(policy_name(policy))}", *cells])
    return table(heads, rows, "results", numbers=range(1, len(heads)))


def against_table(study: StudyResults) -> str:
    """Return which algorithms each policy beats in every objective; "" without any to compare."""
    found = study.summary.get("against_paper") or []
    if not found:
        return ""
    names = study.objectives
    heads = ["Policy", *(f"Regret, {name}" for name in names)]
    heads += [f"Reward against CD-UCB1, {name}" for name in names]
    heads.append("Below in every objective")
    rows = []
    for row in found:
        errors = row["standard_error"] or [math.nan] * len(names)
        cells = [
            number_text(value)
            + ("" if math.isnan(error) else f" <small>± {number_text(error)}</small>")
            for value, error in zip(row["regret"], errors, strict=True)
        ]
        cells += [_claimed(value, {}) for value in row["reward"]]
        rows.append([escape(policy_name(row["policy"])), *cells, _beaten(row)])
    return table(heads, rows, "against", numbers=range(1, len(heads) - 1))


def _beaten(row: dict[str, Any]) -> str:
    """Return the cell of the algorithms a policy beats; an unclear one is in brackets."""
    if row["beats_all"]:
        return "<td class=yes>✓ every algorithm of the paper</td>"
    parts = [
        policy_name(name) if name in row["clearly"] else f"({policy_name(name)})"
        for name in row["beats"]
    ]
    return f"<td>{escape(', '.join(parts) or '–')}</td>"


def _cell(measure: Measure | None, i: int) -> str:
    if measure is None:
        return "–"
    mean, half = float(measure.mean[-1, i]), float(measure.half[-1, i])
    text = number_text(mean)
    return text if math.isnan(half) else f"{text} <small>± {number_text(half)}</small>"


def parameters_table(study: StudyResults) -> str:
    """Return the parameters of the study and its timing."""
    frozen = study.frozen
    environment = frozen["environment"]
    given = ", ".join(f"{k} = {v}" for k, v in environment["parameters"].items())
    entries = [
        ("Environment", f"{environment['name']}{f' ({given})' if given else ''}"),
        ("Arms", str(study.arms)),
        ("Objectives", " > ".join(study.objectives)),
        ("Rounds a run", f"{study.horizon:,}"),
        ("Runs", f"{study.runs:,} of {frozen['runs']:,}"),
        ("Policies and grid points", _policies(study)),
        *_tuning(study),
        ("Seed", str(frozen["seed"])),
        ("Policy-rounds", f"{study.horizon * study.runs * len(study.curves):,}"),
        ("Policies' processor time", time_text(study.runs * sum(c.seconds for c in study.curves))),
    ]
    return _pairs(entries)


def _policies(study: StudyResults) -> str:
    parts = []
    for policy in study.policies:
        scales = [curve.scale or curve.label.partition("@")[2] for curve in study.of(policy)]
        known = [scale for scale in scales if scale]
        parts.append(policy_name(policy) + (f" at {', '.join(known)}" if known else ""))
    # Usually all policies share one grid: then it is written once.
    ends = {entry.partition(" at ")[2] for entry in parts}
    if len(ends) == 1 and len(parts) > 1 and ends != {""}:
        return f"{', '.join(entry.partition(' at ')[0] for entry in parts)}; each at {ends.pop()}"
    return "; ".join(parts)


def _tuning(study: StudyResults) -> list[tuple[str, str]]:
    """Return the policies' own parameters, those of the grid aside."""
    parts: dict[str, str] = {}
    for policy in dict.fromkeys(entry.policy for entry in study.entries):
        points = [entry.parameters for entry in study.entries if entry.policy == policy]
        fixed = [k for k in points[0] if len({str(point.get(k)) for point in points}) == 1]
        own = {k: points[0][k] for k in fixed if k != "scale"}
        if own:
            parts[policy_name(policy)] = ", ".join(f"{k} = {v}" for k, v in own.items())
    text = "; ".join(f"{name}: {values}" for name, values in parts.items())
    return [("Policies' own parameters", text)] if text else []


def _pairs(entries: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in entries)
    return f"<dl>{rows}</dl>"
