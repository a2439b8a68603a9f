"""The tables a summary is shown in."""

from typing import Any

from lexbandit.cli.console import Voice


def show_claims(summary: dict[str, Any], voice: Voice) -> None:
    """Print the paper's claims beside ours."""
    claims = summary["claims"]
    if not claims:
        return
    rows = [
        (
            claim["experiment"],
            claim["claim"] + (f" [{claim['data']} data]" if claim["data"] else ""),
            _amount(claim["paper"], claim["unit"]),
            _amount(claim["ours"], claim["unit"]),
            "holds" if claim["holds"] else "FAILS",
        )
        for claim in claims
    ]
    held = sum(claim["holds"] for claim in claims)
    title = f"Claims of the paper: {held} of {len(claims)} hold"
    voice.table(title, ("exp.", "claim", "paper", "ours", "verdict"), rows)


def show_policies(told: dict[str, Any], voice: Voice) -> None:
    """Print what every policy reached at the point of the grid where it did best."""
    objectives = told["objectives"]
    known = all(best["by_regret"] is not None for best in told["best_scale"].values())
    by = "by_regret" if known else "by_reward"
    head = ["policy", "at"]
    if known:
        head += [f"regret: {name}, %" for name in objectives]
    head += [f"reward: {name}, %" for name in objectives]
    rows = []
    for policy, points in told["policies"].items():
        at = told["best_scale"][policy][by]
        point = points[at]
        shown = (point["regret"] if known else []) + point["reward"]
        rows.append([policy, at, *(f"{100 * value / point['horizon']:.3f}" for value in shown)])
    what = "dominant regret" if known else "dominant reward"
    title = f"{told['title']}: per 100 rounds, each policy where its {what} is best"
    voice.table(title, head, rows)


def show_tolerance(told: dict[str, Any], voice: Voice) -> None:
    """Print what every policy lost beyond tolerance and missed, at every point of the grid."""
    *first, last = told["objectives"]
    rows = [
        [
            policy if at == "-" else f"{policy} · {at}",
            *(f"{100 * value / point['horizon']:.3f}" for value in point["tolerance_regret"]),
        ]
        for policy, points in told["policies"].items()
        for at, point in points.items()
        if "tolerance_regret" in point
    ]
    if rows:
        head = ["policy", *(f"lost beyond tolerance: {name}, %" for name in first)]
        title = f"{told['title']}: tolerance regret per 100 rounds"
        voice.table(title, [*head, f"missed: {last}, %"], rows)


def show_against(told: dict[str, Any], voice: Voice) -> None:
    """Print which policies are below the algorithms of the paper in every objective."""
    rows = [
        [
            row["policy"],
            *(f"{value:,.0f}" for value in row["regret"]),
            *(_amount(value, "%") for value in row["reward"]),
            "all" if row["beats_all"] else ", ".join(row["beats"]) or "none",
        ]
        for row in told.get("against_paper", [])
    ]
    if rows:
        names = told["objectives"]
        head = ["policy", *(f"regret: {name}." for name in names)]
        head += [f"reward above CD-UCB1: {name}, %" for name in names]
        title = f"{told['title']}: which algorithms of the paper have more regret in each objective"
        voice.table(title, [*head, "below"], rows)


def show_series(summary: dict[str, Any], voice: Voice) -> None:
    """Print exponents of growth series, lowest policies of situations, ratios of frontiers."""
    for name, series in summary.get("series", {}).items():
        if series["kind"] == "growth":
            rows = [
                (label, objective, _exponent(line["exponents"][i]), line["theory"][i] or "-")
                for label, line in series["lines"].items()
                for i, objective in enumerate(series["objectives"])
            ]
            voice.table(f"{name}: exponents", ("policy", "objective", "fitted", "theory"), rows)
        elif series["kind"] == "frontier":
            _show_frontier(name, series, voice)
        else:
            found = [
                (place["label"], ", ".join(place["lowest"]), ", ".join(place["unbeaten"]))
                for place in series["situations"]
            ]
            head = ("situation", "lowest, by objective", "not beaten in every objective")
            voice.table(f"{name}: which policy when", head, found)


def _show_frontier(name: str, series: dict[str, Any], voice: Voice) -> None:
    """Print each policy's two ratios, overall, at every checkpoint."""
    rows = [
        [
            label.partition(" (")[0] + " " + label.partition("@")[2] if "@" in label else label,
            *(
                " / ".join("-" if found is None else f"{found['ratio']:.2f}" for found in both)
                for both in (at["overall"][label].values() for at in series["horizons"])
            ),
        ]
        for label in series["policies"]
    ]
    head = ["policy: loss / missed", *(f"T = {at['horizon']:,}" for at in series["horizons"])]
    title = f"{name}: ratios to {series['baseline']}, geometric mean over {len(series['labels'])}"
    voice.table(title, head, rows)


def _exponent(fit: dict[str, Any] | None) -> str:
    if fit is None or fit["exponent"] is None:
        return "-"
    error = "" if fit["standard_error"] is None else f" ± {fit['standard_error']:.3f}"
    return f"{fit['exponent']:.3f}{error}"


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f} %" if unit == "%" else f"{value:g}"
