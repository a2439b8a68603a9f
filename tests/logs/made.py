"""A log of three arms whose truth is known, by a policy that does not learn; lines of R6A."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import lexbandit as lb
from lexbandit.chooser import RecordingChooser
from lexbandit.logs.r6a_lines import Visit, features_of

ARMS = ["small", "medium", "large"]
OBJECTIVES = [
    lb.Objective("quality", tolerance=0.03),
    lb.Objective("cost", goal="min", range=(0.0, 0.2)),
]
CONTEXT = [lb.Number("tokens", 0, 1000), lb.Category("task", ["chat", "code"])]
SHARES = np.array([0.5, 0.3, 0.2])
# What each arm gives on average.
QUALITY = np.array([0.7, 0.85, 0.86])
COST = np.array([0.015, 0.045, 0.135])


def frame(rows: int = 2_000, seed: int = 0, **columns: Any) -> pl.DataFrame:
    """Rows of the log; columns that are given replace or join its own."""
    random = np.random.default_rng(seed)
    tokens = random.uniform(0, 1000, rows)
    arms = random.choice(3, rows, p=SHARES)
    quality = random.random(rows) < QUALITY[arms] + 1e-4 * (tokens - 500)
    own = {
        "id": [f"d{n}" for n in range(rows)],
        "time": 60.0 * np.arange(rows),
        "tokens": tokens,
        "task": random.choice(["chat", "code"], rows),
        "arm": np.array(ARMS)[arms],
        "propensity": SHARES[arms],
        "quality": quality.astype(np.float64),
        "cost": COST[arms] * random.uniform(0.5, 1.5, rows),
    }
    return pl.DataFrame({**own, **columns})


def log_of(source: Any, **settings: Any) -> lb.Log:
    """Return a log of these objectives, arms and features."""
    given = {"objectives": OBJECTIVES, "arms": ARMS, "context": CONTEXT, **settings}
    return lb.Log(source, **given)


def chooser(**settings: Any) -> RecordingChooser:
    """Return a chooser of the same definition."""
    given = {"objectives": OBJECTIVES, "arms": ARMS, "context": CONTEXT, **settings}
    return RecordingChooser(**given)


def r6a_line(event: Visit, pool: Sequence[tuple[int, Sequence[float]]]) -> str:
    """Return the line of an R6A event with its pool, (article, features) each."""
    head = f"{event.timestamp} {event.article} {event.click}"
    return " ".join(
        [head, f"|user {features_of(event.user)}"]
        + [f"|{article} {features_of(features)}" for article, features in pool]
    )
