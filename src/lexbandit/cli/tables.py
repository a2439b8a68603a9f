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


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f} %" if unit == "%" else f"{value:g}"
