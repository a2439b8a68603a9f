"""The report's tables: the paper's claims, the numbers at the last round, what was run."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from lexbandit.bench.summary import AGREEMENTS
from lexbandit.report.numbers import bytes_text, number_text, time_text
from lexbandit.report.results import Measure, Results, StudyResults, data_text
from lexbandit.report.style import looks_of, policy_name


def claims_table(results: Results) -> str:
    """Return the paper's comparisons beside ours, each with its verdict."""
    made_up = {study.experiment for study in results.studies if data_text(study)}
    rows = []
    for claim in results.claims:
        number = claim.get("experiment", "")
        where = f"{number} (synthetic)" if number in made_up else str(number)
        holds = bool(claim.get("holds"))
        how = AGREEMENTS.get(claim.get("agreement", ""), "")
        held = f"✓ holds{f', {how}' if how else ''}"
        verdict = ("yes", held) if holds else ("no", "✗ does not hold")
        rows.append(
            f"<tr><td>{escape(where)}</td>"
            f"<th scope=row>{escape(str(claim.get('claim', '')))}</th>"
            f"<td class=number>{_claimed(claim.get('paper'), claim)}</td>"
            f"<td class=number>{_claimed(claim.get('ours'), claim)}</td>"
            f"<td class={verdict[0]}>{verdict[1]}</td></tr>"
        )
    heads = ["Experiment", "Claim of Section VII", "Paper", "Ours", "Verdict"]
    return table(heads, rows, "claims", numbers=(2, 3))


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
        rows.append(
            f"<tr><th scope=row>{mark}{escape(policy_name(policy))}</th>"
            + "".join(f"<td class=number>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return table(heads, rows, "results", numbers=range(1, len(heads)))


def against_table(study: StudyResults) -> str:
    """Return whom each policy beats in every objective; "" where there is nobody to compare."""
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
        rows.append(
            f"<tr><th scope=row>{escape(policy_name(row['policy']))}</th>"
            + "".join(f"<td class=number>{cell}</td>" for cell in cells)
            + _beaten(row)
            + "</tr>"
        )
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
    """Return what was run, as the frozen study says it."""
    frozen = study.frozen
    environment = frozen.get("environment") or {}
    given = ", ".join(f"{k} = {v}" for k, v in (environment.get("parameters") or {}).items())
    entries = [
        ("Environment", f"{environment.get('name', 'unknown')}{f' ({given})' if given else ''}"),
        ("Arms", str(study.arms)),
        ("Objectives", " > ".join(study.objectives)),
        ("Rounds a run", f"{study.horizon:,}"),
        ("Runs", f"{study.runs:,} of {frozen.get('runs', study.runs):,}"),
        ("Policies and grid points", _policies(study)),
        *_tuning(study),
        ("Seed", str(frozen.get("seed", "unknown"))),
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


def versions_table(results: Results) -> str:
    """Return the versions of what computed the results."""
    return _pairs((str(name), str(version)) for name, version in results.versions.items())


def _pairs(entries: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in entries)
    return f"<dl>{rows}</dl>"


def table(heads: Sequence[str], rows: list[str], kind: str, numbers: Iterable[int]) -> str:
    """Return a table; the columns of `numbers` stand right."""
    right = set(numbers)
    top = "".join(
        f"<th scope=col{' class=number' if i in right else ''}>{escape(head)}</th>"
        for i, head in enumerate(heads)
    )
    return (
        f"<div class=scroll tabindex=0><table class={kind}><thead><tr>{top}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
