"""Numbers for Prometheus: requests by route, and what happened at each decision point.

Counting is on the path of every request, so it is done in plain lists; the names and labels are put
together when somebody asks.
"""

from bisect import bisect_left
from collections.abc import Iterable
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

if TYPE_CHECKING:
    from lexbandit.service.engine import Engine

CONTENT_TYPE = CONTENT_TYPE_LATEST.encode()
_ENDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# How often what happened at a point, by the name it has in its counts.
_COUNTS = {
    "decisions": "Decisions that were made.",
    "rewards": "Rewards of single objectives that were learned.",
    "repeated": "Decisions and rewards that came again and changed nothing.",
    "late": "Rewards that came after the wait time and were not learned.",
    "refused": "Decisions and rewards that another process was quicker with, and contradicted.",
    "expired": "Decisions whose wait time was over.",
}


class Metrics(Collector):
    """Counts requests; tells all numbers when asked."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, list[float]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
            self._registry.register(collector)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (method, route, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        times = self._seconds.get(route)
        if times is None:
            times = self._seconds[route] = [0.0] * (len(_ENDS) + 2)
        times[bisect_left(_ENDS, seconds)] += 1
        times[-1] += seconds

    def text(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Yield all numbers."""
        requests = CounterMetricFamily(
            "lexbandit_requests", "Requests answered.", labels=("method", "route", "status")
        )
        for (method, route, status), count in self._requests.items():
            requests.add_metric((method, route, str(status)), count)
        yield requests
        times = HistogramMetricFamily(
            "lexbandit_request_seconds", "Time to the answer, by route.", labels=("route",)
        )
        for route, (*counts, total) in self._seconds.items():
            times.add_metric((route,), _cumulated(counts), total)
        yield times
        yield from self._points()

    def _points(self) -> Iterable[Metric]:
        points = self._engine.points
        for what, help in _COUNTS.items():
            counter = CounterMetricFamily(f"lexbandit_{what}", help, labels=("point",))
            for name, point in points.items():
                counter.add_metric((name,), point.counts[what])
            yield counter
        waiting = GaugeMetricFamily(
            "lexbandit_waiting_decisions", "Decisions kept for their rewards.", labels=("point",)
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
        snapshots.add_metric((), self._engine.snapshot_seconds)
        yield snapshots
        ready = GaugeMetricFamily("lexbandit_ready", "1 if events can be written, 0 if not.")
        ready.add_metric((), float(self._engine.trouble is None))
        yield ready


def _cumulated(counts: list[float]) -> list[tuple[str, float]]:
    """Return buckets as Prometheus wants them: how many took at most so long."""
    ends = [*(str(end) for end in _ENDS), "+Inf"]
    so_far = 0.0
    buckets = []
    for end, count in zip(ends, counts, strict=True):
        so_far += count
        buckets.append((end, so_far))
    return buckets
