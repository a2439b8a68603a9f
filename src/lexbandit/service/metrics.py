"""Numbers for Prometheus: requests by route, and what happened at each decision point.

The application counts requests in plain lists, as that is on the path of each; the names and labels
are put together when somebody asks.
"""

import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

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
# What this process counts by point; another one has numbers of its own.
_OURS = {
    "repeated": "Decisions and rewards that came again: this process answered as before, and wrote "
    "nothing.",
    "refused": "Requests that this process refused with 409: they contradict what is there.",
    "not_durable": "Decisions that this process made while the storage was down: they are in no "
    "log.",
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
        requests = (
            (method, route, str(status), count)
            for (method, route, status), count in self.requests.items()
        )
        yield _counter("requests", "Requests answered.", "method route status", requests)
        by_route, by_point = self.seconds, self.at_points
        yield _times("request_seconds", "Time to the answer, by route.", by_route, "route")
        yield _times("point_seconds", "Time to the answer, by decision point.", by_point, "point")
        commits = {"": self._engine.journal.commits}
        yield _times("commit_seconds", "Time to write a group of events to the log.", commits)
        yield from self._points()
        yield from self._process()

    def _points(self) -> Iterable[Metric]:
        engine, points = self._engine, self._engine.points
        for what, help in _COUNTS.items():
            counts = ((name, point.counts[what]) for name, point in points.items())
            yield _counter(what, help, "point", counts)
        for what, numbers in (
            ("repeated", engine.repeated),
            ("refused", self.refused),
            ("not_durable", engine.not_durable),
        ):
            yield _counter(what, _OURS[what], "point", ((name, numbers[name]) for name in points))
        yield from self._arms()
        yield from self._otherwise()
        yield _gauge(
            "waiting_decisions",
            "Decisions that wait for rewards.",
            {name: point.chooser.waiting for name, point in points.items()},
        )
        yield _gauge(
            "last_event",
            "The last event of the log it took in.",
            {name: point.seq for name, point in points.items()},
        )

    def _arms(self) -> Iterable[Metric]:
        """Yield what happened to each arm."""
        decisions, rewarded = [], []
        for name, point in self._engine.points.items():
            counts: Counter[str] = Counter()
            for _, _, bucket in point.history.buckets("whole"):
                counts.update(bucket.arms)
            for arm, plays in point.chooser.plays.items():
                decisions.append((name, arm, counts[arm]))
                rewarded.append((name, arm, plays))
        yield _counter("arm_decisions", "Decisions for an arm.", "point arm", decisions)
        about = "Decisions for an arm of which rewards were learned."
        yield _counter("arm_rewarded", about, "point arm", rewarded)

    def _otherwise(self) -> Iterable[Metric]:
        """Yield what was taken otherwise than given."""
        choosers = [(name, point.chooser) for name, point in self._engine.points.items()]
        yield _counter(
            "contexts",
            "Features of decisions that were taken otherwise than given: outside their range, "
            "missing or unknown.",
            "point feature note",
            (
                (name, feature, note, count)
                for name, chooser in choosers
                for feature, notes in chooser.contexts.counts.items()
                for note, count in notes.items()
            ),
        )
        yield _counter(
            "outside",
            "Rewards outside their objective's range, which were clipped.",
            "point objective",
            ((name, *one) for name, chooser in choosers for one in chooser.outside.items()),
        )

    def _process(self) -> Iterable[Metric]:
        """Yield how this process stands."""
        engine = self._engine
        for name, help, value in (
            (
                "snapshot_seconds",
                "How long the last snapshots took to write.",
                engine.snapshots.seconds,
            ),
            ("ready", "1 if events can be written, 0 if not.", float(engine.trouble is None)),
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
                yield GaugeMetricFamily(f"lexbandit_{name}", help, value)
        yield _gauge(
            "replay_progress",
            "Share of the log that was replayed under a changed definition; 1 if none is going on.",
            {point: engine.replay_progress.get(point, 1.0) for point in engine.points},
        )
        build = GaugeMetricFamily(
            "lexbandit_build_info", "1, with the versions.", labels=("version", "python")
        )
        build.add_metric((__version__, platform.python_version()), 1.0)
        yield build


def _counter(name: str, help: str, labels: str, samples: Iterable[tuple[Any, ...]]) -> Metric:
    """Return a counter; each of its samples has the labels' values, then a number."""
    counter = CounterMetricFamily(f"lexbandit_{name}", help, labels=labels.split())
    for *values, count in samples:
        counter.add_metric(values, count)
    return counter


def _gauge(name: str, help: str, values: Mapping[str, float]) -> Metric:
    """Return a gauge with a number for each point."""
    gauge = GaugeMetricFamily(f"lexbandit_{name}", help, labels=("point",))
    for point, value in values.items():
        gauge.add_metric((point,), value)
    return gauge


def _times(name: str, help: str, times: Mapping[str, Durations], *labels: str) -> Metric:
    """Return a histogram of durations, by a label's value if it has one."""
    histogram = HistogramMetricFamily(f"lexbandit_{name}", help, labels=labels)
    for value, one in times.items():
        histogram.add_metric((value,), one.cumulated(), one.total)
    return histogram
