"""Numbers for Prometheus: requests by route, and what happened at each decision point.

Counting is on the path of every request, so it is done in plain lists; the names and labels are put
together when somebody asks.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
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
    """Counts requests; tells all numbers when asked."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, list[float]] = {}
        self.refused: Counter[str] = Counter()
        """By point, how many requests contradicted what is there."""
        self._registry = CollectorRegistry()
        self._registry.register(self)
        for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
            self._registry.register(collector)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.count(method, route, status)
        times = self._seconds.get(route)
        if times is None:
            times = self._seconds[route] = [0.0] * (len(_ENDS) + 2)
        times[bisect_left(_ENDS, seconds)] += 1
        times[-1] += seconds

    def count(self, method: str, route: str, status: int) -> None:
        """Count a request, and not its time."""
        key = (method, route, status)
        self._requests[key] = self._requests.get(key, 0) + 1

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
        yield from self._otherwise()
        yield from self._gauges()

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


def _counter(name: str, help: str, counts: Mapping[str, int]) -> Metric:
    """Return a counter with a number for each point."""
    counter = CounterMetricFamily(f"lexbandit_{name}", help, labels=("point",))
    for point, count in counts.items():
        counter.add_metric((point,), count)
    return counter


def _cumulated(counts: list[float]) -> list[tuple[str, float]]:
    """Return buckets as Prometheus wants them: how many took at most so long."""
    ends = [*(str(end) for end in _ENDS), "+Inf"]
    so_far = 0.0
    buckets = []
    for end, count in zip(ends, counts, strict=True):
        so_far += count
        buckets.append((end, so_far))
    return buckets
