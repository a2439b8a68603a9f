"""Traces and metrics for OpenTelemetry, if `otel = true`; needs `lexbandit[otel]`.

Each request is a span, a child of the caller's if it sent `traceparent`; each number of /metrics is
an instrument of the same name. Where they are sent is said by OpenTelemetry's own variables, such
as OTEL_EXPORTER_OTLP_ENDPOINT. Contexts, rewards and keys are in neither.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lexbandit import __version__
from lexbandit.service.http.app import Answered, App
from lexbandit.service.metrics import Metrics

# How often the numbers are copied for the thread that sends them, in seconds.
_EVERY = 5.0

Observed = list[tuple[float, Mapping[str, str]]]


class Telemetry:
    """Turns answered requests into spans, and the service's numbers into instruments."""

    def __init__(self, metrics: Metrics, spans: SpanProcessor, reader: MetricReader) -> None:
        resource = Resource.create({"service.name": "lexbandit", "service.version": __version__})
        self._metrics = metrics
        self._tracing = TracerProvider(resource=resource)
        self._tracing.add_span_processor(spans)
        self._tracer = self._tracing.get_tracer("lexbandit.service", __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._metering = MeterProvider([reader], resource=resource)
        self._meter = self._metering.get_meter("lexbandit.service", __version__)
        self._times = self._meter.create_histogram(
            "lexbandit_request_seconds", "s", "Time to the answer, by route."
        )
        self._observed: dict[str, Observed] = {}

    def answered(self, one: Answered) -> None:
        """Make a span of a request that was answered."""
        end = time.time_ns()
        carrier = {"traceparent": one.traceparent} if one.traceparent else {}
        span = self._tracer.start_span(
            f"{one.method} {one.route}",
            context=self._propagator.extract(carrier),
            kind=SpanKind.SERVER,
            start_time=end - round(one.seconds * 1e9),
            attributes={
                "http.request.method": one.method,
                "http.route": one.route,
                "http.response.status_code": one.status,
                "lexbandit.point": one.point or "",
                "lexbandit.request_id": one.id,
            },
        )
        if one.status >= 500:
            span.set_status(StatusCode.ERROR)
        span.end(end)
        self._times.record(one.seconds, {"route": one.route})

    def refresh(self) -> None:
        """Copy the numbers, in the thread that changes them; instruments are made when first seen.

        Histograms are left out: the one of requests is an instrument of its own.
        """
        for family in self._metrics.collect():
            if family.type not in ("counter", "gauge"):
                continue
            known = family.name in self._observed
            self._observed[family.name] = [(one.value, one.labels) for one in family.samples]
            if not known:
                counter = family.type == "counter"
                make = "create_observable_counter" if counter else "create_observable_gauge"
                getattr(self._meter, make)(
                    family.name, [self._reader_of(family.name)], description=family.documentation
                )

    def _reader_of(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _: [
            Observation(value, dict(labels)) for value, labels in self._observed[name]
        ]

    def close(self) -> None:
        """Send what is left."""
        self._tracing.shutdown()
        self._metering.shutdown()


@asynccontextmanager
async def exporting(app: App) -> AsyncIterator[None]:
    """Send spans and numbers of an application to a collector, by OTLP over HTTP."""
    spans = BatchSpanProcessor(OTLPSpanExporter())
    telemetry = Telemetry(app.metrics, spans, PeriodicExportingMetricReader(OTLPMetricExporter()))
    app.answered = telemetry.answered

    async def copy() -> None:
        while True:
            telemetry.refresh()
            await asyncio.sleep(_EVERY)

    task = asyncio.create_task(copy())
    try:
        yield
    finally:
        task.cancel()
        app.answered = None
        await asyncio.to_thread(telemetry.close)
