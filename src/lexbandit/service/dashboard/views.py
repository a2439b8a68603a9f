"""The data of the dashboard as plain values: a point's state, history and last decisions."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lexbandit.chooser.summary import Summary
from lexbandit.service.dashboard import maps
from lexbandit.service.engine.history import History, Recent

if TYPE_CHECKING:
    from lexbandit.service.engine.engine import Engine
    from lexbandit.service.engine.point import Point

SERIES = ("whole", "hour")
_MINUTE = 60.0
# So many arms are compared; the answer is sent every two seconds.
_COMPARED = 10


def series_of(history: History, name: str) -> dict[str, Any]:
    """Return a series by columns, an entry for each bucket; rewards as a `Spread`."""
    buckets = list(history.buckets(name))
    arms = dict.fromkeys(arm for _, _, bucket in buckets for arm in bucket.arms)
    objectives = dict.fromkeys(o for _, _, bucket in buckets for o in bucket.rewards)
    nothing = [0, 0.0, 0.0]
    return {
        "width": history.width(name),
        "begin": [begin for begin, _, _ in buckets],
        "end": [end for _, end, _ in buckets],
        "arms": {arm: [bucket.arms.get(arm, 0) for _, _, bucket in buckets] for arm in arms},
        "rewards": {
            objective: [bucket.rewards.get(objective, nothing) for _, _, bucket in buckets]
            for objective in objectives
        },
        "late": [bucket.late for _, _, bucket in buckets],
        "expired": [bucket.expired for _, _, bucket in buckets],
    }


def standing(engine: "Engine", point: "Point", summary: Summary) -> dict[str, Any]:
    """Return what a point is and how it stands."""
    chooser = point.chooser
    in_use = set(chooser.arms)
    now = time.time()
    return {
        "point": point.name,
        "seq": point.seq,
        "now": now,
        "trouble": engine.trouble,
        "totals": totals(point.history),
        "latest": latest(point.history, now),
        "waiting": chooser.waiting,
        "wait": point.definition.wait,
        "objectives": [asdict(objective) for objective in chooser.objectives],
        "arms": [{"name": arm, "retired": arm not in in_use} for arm in summary.plays],
        "context": [maps.describe_feature(feature) for feature in chooser.contexts.features],
        "summary": _summary(summary),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    """Return averages, and comparisons with the arms that were played most; `more` are left."""
    arms = sorted(summary.plays, key=lambda arm: -summary.plays[arm])[:_COMPARED]
    return {
        "received": {name: asdict(mean) for name, mean in summary.received.items()},
        "against": {
            arm: {name: asdict(one) for name, one in summary.against[arm].items()} for arm in arms
        },
        "more": len(summary.against) - len(arms),
    }


def totals(history: History) -> dict[str, int]:
    """Return how much there was of everything since the beginning."""
    sums = {"decisions": 0, "rewards": 0, "late": 0, "expired": 0}
    for _, _, bucket in history.buckets("whole"):
        sums["decisions"] += sum(bucket.arms.values())
        sums["rewards"] += sum(int(one[0]) for one in bucket.rewards.values())
        sums["late"] += bucket.late
        sums["expired"] += bucket.expired
    return sums


def latest(history: History, now: float) -> list[list[float]]:
    """Return the stretches of the last minute, each as begin, end and decisions, finely."""
    finest = min(SERIES, key=history.width)
    return [
        [begin, end, sum(bucket.arms.values())]
        for begin, end, bucket in history.buckets(finest)
        if end > now - _MINUTE
    ]


def decision(recent: Recent) -> dict[str, Any]:
    """Return one of the last decisions."""
    row = recent.row
    return {
        "id": row["id"],
        "time": recent.time,
        "arm": row["arm"],
        "propensity": row["propensity"],
        "context": row["context"],
        "allowed": row.get("allowed"),
        "rewards": recent.rewards,
    }
