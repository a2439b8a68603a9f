"""What if: would another policy have been better, by the log of a decision point?

The log's last rows are evaluated for always playing each arm, and for what is known now with other
tolerances, against what was logged. It takes seconds, so a thread does it beside the requests, one
evaluation at a time, and the report is cached for a while.
"""

import asyncio
import logging
import math
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from lexbandit.chooser import Chooser
from lexbandit.errors import InvalidInput, without_password
from lexbandit.logs.candidates import with_tolerances
from lexbandit.logs.differences import Difference
from lexbandit.logs.evaluate import evaluate
from lexbandit.logs.evaluation import plain
from lexbandit.logs.log import Log
from lexbandit.logs.rows import times_of
from lexbandit.logs.verdict import decide
from lexbandit.service.dashboard.views import totals
from lexbandit.service.engine.history import History
from lexbandit.service.events import CorruptLog
from lexbandit.service.maintenance.compact import last_before
from lexbandit.service.maintenance.export import export
from lexbandit.service.storage import Storage, StorageFailed

if TYPE_CHECKING:
    from lexbandit.service.engine.point import Point

log = logging.getLogger("lexbandit.service")

ROWS = 100_000
"""So many of the last decisions are evaluated."""
KEEP_SECONDS = 60.0
"""How many seconds a report is cached."""
# So many arms are candidates, those played most; and the point's tolerances, times these.
_ARMS, _TIMES = 10, (0.5, 1.0, 2.0)


class _Asked(NamedTuple):
    """A decision point as it stood when it was asked about."""

    name: str
    storage: Storage
    chooser: Chooser
    wait: float | None
    decisions: int
    since: float


class WhatIf:
    """Reports by decision point. `ask` is for the event loop; it returns at once."""

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock = clock
        self._reports: dict[str, tuple[float, dict[str, Any]]] = {}
        self._under_way: tuple[str, Future[dict[str, Any]]] | None = None

    def ask(self, point: "Point") -> dict[str, Any]:
        """Return the report on a point; if it is missing or old, a new one is begun.

        While `computing` is true, ask again: another point's report may have to be finished first.
        """
        if self._under_way is not None and self._under_way[1].done():
            name, made = self._under_way
            self._reports[name] = (self._clock() + KEEP_SECONDS, made.result())
            self._under_way = None
        until, report = self._reports.get(point.name, (self._clock(), None))
        old = self._clock() >= until
        if old and self._under_way is None:
            self._begin(point)
        return {"computing": old, "kept": KEEP_SECONDS, "report": report}

    def _begin(self, point: "Point") -> None:
        asked = _Asked(
            point.name,
            self._storage.reader(),
            with_tolerances(point.chooser, {}),  # a copy: the point goes on learning
            point.definition.wait,
            totals(point.history)["decisions"],
            since(point.history),
        )
        made: Future[dict[str, Any]] = Future()
        self._under_way = (point.name, made)
        # A daemon: a service that ends does not wait for it.
        threading.Thread(
            target=lambda: made.set_result(_report(asked)), name="what-if", daemon=True
        ).start()


def _report(asked: _Asked) -> dict[str, Any]:
    """Return a report; if the log cannot be evaluated, a sentence that says why."""
    began = time.monotonic()
    report: dict[str, Any] = {"decisions": asked.decisions, "rows": 0, "young": 0}
    report |= {"wait": asked.wait, "more": 0, "candidates": []}
    try:
        table = _last_rows(asked)
        wait = _remaining(table, asked.wait, time.time())
        report |= {"rows": table.height, "young": _young(table, wait)}
        _refuse_no_rewards(report)
        report |= _evaluated(asked, table, wait)
    except (InvalidInput, CorruptLog, StorageFailed) as error:
        report["error"] = without_password(str(error))
    except Exception:
        log.exception("what-if of point=%s failed", asked.name)
        report["error"] = "An error of ours; it was logged."
    return {"error": None, **report, "time": time.time(), "seconds": time.monotonic() - began}


def _last_rows(asked: _Asked) -> pl.DataFrame:
    with tempfile.TemporaryDirectory(prefix="lexbandit-what-if-") as folder:
        path = Path(folder) / "decisions.parquet"
        asyncio.run(_export(asked, path))
        return pl.read_parquet(path).tail(ROWS)


async def _export(asked: _Asked, path: Path) -> None:
    async with asked.storage as storage:
        first = await last_before(storage, asked.since, await storage.removed())
        await export(storage, asked.name, path, since=first, arms=asked.chooser.arms)


def since(history: History) -> float:
    """Return a time since which there were enough decisions, as late as the history can tell."""
    for series in ("hour", "whole"):
        rows = 0
        for begin, _, bucket in reversed(list(history.buckets(series))):
            rows += sum(bucket.arms.values())
            if rows >= ROWS:
                return begin
    return -math.inf


def _remaining(table: pl.DataFrame, wait: float | None, now: float) -> float | None:
    """Return how long before the last row rewards may still come: traffic may have stopped."""
    if wait is None or table.is_empty():
        return wait
    idle = now - float(times_of(table["time"]).max())
    return max(0.0, wait - max(0.0, idle))


def _young(table: pl.DataFrame, wait: float | None) -> int:
    """Return how many rows are so young that rewards may still come: these do not count yet."""
    if wait is None or table.is_empty():
        return 0
    seconds = times_of(table["time"])
    return int((seconds > seconds.max() - wait).sum())


def _refuse_no_rewards(report: dict[str, Any]) -> None:
    if not report["rows"]:
        raise InvalidInput("it has no decisions yet.")
    if report["young"] == report["rows"]:
        raise InvalidInput(
            f"all of its rows are younger than the {report['wait']:g} s in which rewards may come, "
            "so none of these counts yet."
        )


def _evaluated(asked: _Asked, table: pl.DataFrame, wait: float | None) -> dict[str, Any]:
    rows = Log(table, like=asked.chooser, wait=wait)
    plays = Counter(table["arm"].to_list())
    arms = sorted(asked.chooser.arms, key=lambda arm: -plays[arm])
    given: dict[str, Any] = {f"always:{arm}": f"always:{arm}" for arm in arms[:_ARMS]}
    for times in _TIMES:
        tolerances = {
            objective.name: min(times * objective.tolerance, objective.span)
            for objective in asked.chooser.objectives
            if objective.tolerance > 0.0
        }
        if tolerances:
            said = ", ".join(f"{name} {value:g}" for name, value in tolerances.items())
            now = " (as now)" if times == 1.0 else ""
            given[f"tolerance of {said}{now}"] = {"chooser": asked.chooser, "tolerance": tolerances}
    candidates = [_candidate(rows, name, one) for name, one in given.items()]
    errors = {one.get("error", "") for one in candidates}
    if len(errors) == 1 and "" not in errors:  # it is about the log, not about a candidate
        raise InvalidInput(errors.pop())
    return {"candidates": candidates, "more": max(0, len(arms) - _ARMS)}


@dataclass(frozen=True)
class _Worded(Difference):
    """A difference in the words of the page's columns: so much lower or higher.

    less    whether less is better
    """

    less: bool = False

    def ends(self) -> str:
        """Return the estimate and its interval; one side is said once."""
        if self.low > 0.0 or self.high < 0.0:
            near, far = sorted((abs(self.low), abs(self.high)))
            return f"{self._said(self.difference)}, between {near:.4g} and {far:.4g}"
        low, high = self._said(self.low), self._said(self.high)
        return f"{self._said(self.difference)}, between {low} and {high}"

    def _said(self, value: float) -> str:
        if value == 0.0 or math.isnan(value):
            return f"{value:.4g}"
        return f"{abs(value):.4g} {'higher' if (value > 0.0) != self.less else 'lower'}"


def _candidate(rows: Log, name: str, given: Any) -> dict[str, Any]:
    try:
        found = evaluate(rows, given, segments=())
    except InvalidInput as error:
        return {"candidate": name, "error": str(error)}
    pairs = list(zip(found.differences.values(), rows.objectives, strict=True))
    worded = [_Worded(**vars(one), less=objective.goal == "min") for one, objective in pairs]
    decision = decide(worded, rows.objectives, found.diagnostics)
    candidate: dict[str, Any] = plain(
        {
            "candidate": name,
            "verdict": found.verdict,
            "kind": found.decision.kind,
            "sentence": decision.sentence,
            "effective_rows": found.diagnostics.effective_rows,
            "objectives": {
                one.objective: {"value": one.difference, "low": one.low, "high": one.high}
                for one in found.differences.values()
            },
        }
    )
    return candidate
