"""Numbers for Prometheus: requests by route, and what happened at each decision point.

The application counts requests in plain lists, as that is on the path of each; the names and labels
are put together when somebody asks.
"""

import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from lexbandit import __version__
from lexbandit.service.engine.journal import Durations
from lexbandit.service.storage import StorageFailed

if TYPE_CHECKING:
    from lexbandit.service.engine.engine import Engine

CONTENT_TYPE = CONTENT_TYPE_LATEST.encode()

# What a point counts, and what it means.
_COUNTS = {
    "decisions": "Decisions that were made.",
    "rewards": "Rewards of single objectives that were learned.",
    "late": "Rewards that came after the wait time and were not learned.",
    "expired": "Decisions whose wait time was over.",
    "untaken": "Rows of the log that were not taken: a replica was quicker, or the definition is "
    "new.",
}


class Metrics(Collector):
    """The counts of requests, and all numbers when somebody asks."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """How many requests of a method and a route were answered with a status."""
        self.seconds: defaultdict[str, Durations] = defaultdict(Durations)
        """By route, how long its requests took."""
        self.at_points: defaultdict[str, Durations] = defaultdict(Durations)
        """By decision point, how long the requests took that named it."""
        self.connections: Callable[[], int] = lambda: 0
        """Says how many connections are open; the server sets it."""
        self._log_bytes: int | None = None
        self.refused: Counter[str] = Counter()
        """By point, how many requests contradicted what is there."""
        self._registry = CollectorRegistry()
        self._registry.register(self)
        for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
            self._registry.register(collector)

    def text(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        return generate_latest(self._registry)

    async def refresh(self) -> None:
        """Ask for what has to be waited for: how large the log is."""
        try:
            self._log_bytes = await self._engine.storage.size()
        except StorageFailed:
            self._log_bytes = None  # the other metrics are shown nevertheless

    def collect(self) -> Iterable[Metric]:
        """Yield all numbers."""
        requests = CounterMetricFamily(
            "lexbandit_requests", "Requests answered.", labels=("method", "route", "status")
        )
        for (method, route, status), count in self.requests.items():
            requests.add_metric((method, route, str(status)), count)
        yield requests
        times = HistogramMetricFamily(
            "lexbandit_request_seconds", "Time to the answer, by route.", labels=("route",)
        )
        for route, one in self.seconds.items():
            times.add_metric((route,), one.cumulated(), one.total)
        yield times
        at_points = HistogramMetricFamily(
            "lexbandit_point_seconds", "Time to the answer, by decision point.", labels=("point",)
        )
        for point, one in self.at_points.items():
            at_points.add_metric((point,), one.cumulated(), one.total)
        yield at_points
        durations = self._engine.journal.commits
        commits = HistogramMetricFamily(
            "lexbandit_commit_seconds", "Time to write a group of events to the log."
        )
        commits.add_metric((), durations.cumulated(), durations.total)
        yield commits
        yield from self._points()
        yield from self._process()

    def _points(self) -> Iterable[Metric]:
        points = self._engine.points
        for what, help in _COUNTS.items():
            counts = {name: point.counts[what] for name, point in points.items()}
            yield _counter(what, help, counts)
        yield _counter(
            "repeated",
            "Decisions and rewards that came again: this process answered as before, and wrote "
            "nothing.",
            {name: self._engine.repeated[name] for name in points},
        )
        yield _counter(
            "refused",
            "Requests that this process refused with 409: they contradict what is there.",
            {name: self.refused[name] for name in points},
        )
        yield _counter(
            "not_durable",
            "Decisions that this process made while the storage was down: they are in no log.",
            {name: self._engine.not_durable[name] for name in points},
        )
        yield from self._arms()
        yield from self._otherwise()
        yield from self._gauges()

    def _arms(self) -> Iterable[Metric]:
        """Yield what happened to each arm."""
        decisions = CounterMetricFamily(
            "lexbandit_arm_decisions", "Decisions for an arm.", labels=("point", "arm")
        )
        rewarded = CounterMetricFamily(
            "lexbandit_arm_rewarded",
            "Decisions for an arm of which rewards were learned.",
            labels=("point", "arm"),
        )
        for name, point in self._engine.points.items():
            counts: Counter[str] = Counter()
            for _, _, bucket in point.history.buckets("whole"):
                counts.update(bucket.arms)
            for arm, plays in point.chooser.plays.items():
                decisions.add_metric((name, arm), counts[arm])
                rewarded.add_metric((name, arm), plays)
        yield decisions
        yield rewarded

    def _process(self) -> Iterable[Metric]:
        """Yield how this process stands."""
        engine = self._engine
        for name, help, value in (
            ("queue_events", "Events that wait to be written.", engine.journal.queued),
            ("connections", "Connections that are open.", self.connections()),
            ("log_bytes", "Size of the log and its snapshots in the storage.", self._log_bytes),
            (
                "snapshot_age_seconds",
                "Time since the last snapshots; 0 if nothing happened since.",
                engine.snapshots.age,
            ),
        ):
            if value is not None:
                gauge = GaugeMetricFamily(f"lexbandit_{name}", help)
                gauge.add_metric((), value)
                yield gauge
        replay = GaugeMetricFamily(
            "lexbandit_replay_progress",
            "Share of the log that was replayed under a changed definition; 1 if none is going on.",
            labels=("point",),
        )
        for point in engine.points:
            replay.add_metric((point,), engine.replay_progress.get(point, 1.0))
        yield replay
        build = GaugeMetricFamily(
            "lexbandit_build_info", "1, with the versions.", labels=("version", "python")
        )
        build.add_metric((__version__, platform.python_version()), 1.0)
        yield build

    def _otherwise(self) -> Iterable[Metric]:
        """Yield what was taken otherwise than given."""
        contexts = CounterMetricFamily(
            "lexbandit_contexts",
            "Features of decisions that were taken otherwise than given: outside their range, "
            "missing or unknown.",
            labels=("point", "feature", "note"),
        )
        outside = CounterMetricFamily(
            "lexbandit_outside",
            "Rewards outside their objective's range, which were clipped.",
            labels=("point", "objective"),
        )
        for name, point in self._engine.points.items():
            for feature, notes in point.chooser.contexts.counts.items():
                for note, count in notes.items():
                    contexts.add_metric((name, feature, note), count)
            for objective, count in point.chooser.outside.items():
                outside.add_metric((name, objective), count)
        yield contexts
        yield outside

    def _gauges(self) -> Iterable[Metric]:
        points = self._engine.points
        waiting = GaugeMetricFamily(
            "lexbandit_waiting_decisions", "Decisions that wait for rewards.", labels=("point",)
        )
        events = GaugeMetricFamily(
            "lexbandit_last_event", "The last event of the log it took in.", labels=("point",)
        )
        for name, point in points.items():
            waiting.add_metric((name,), point.chooser.waiting)
            events.add_metric((name,), point.seq)
        yield waiting
        yield events
        snapshots = GaugeMetricFamily(
            "lexbandit_snapshot_seconds", "How long the last snapshots took to write."
        )
        snapshots.add_metric((), self._engine.snapshots.seconds)
        yield snapshots
        ready = GaugeMetricFamily("lexbandit_ready", "1 if events can be written, 0 if not.")
        ready.add_metric((), float(self._engine.trouble is None))
        yield ready


def _counter(name: str, help: str, counts: Mapping[str, int]) -> Metric:
    """Return a counter with a number for each point."""
    counter = CounterMetricFamily(f"lexbandit_{name}", help, labels=("point",))
    for point, count in counts.items():
        counter.add_metric((point,), count)
    return counter
