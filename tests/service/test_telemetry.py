"""OpenTelemetry: requests become spans and numbers instruments, and a collector gets them."""

import asyncio
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lexbandit.service.telemetry import Telemetry
from service.http import CONTEXT, served
from service.test_server import running

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_requests_become_spans_and_numbers_instruments(tmp_path: Path) -> None:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()

    async def run() -> None:
        async with served(tmp_path) as s:
            telemetry = Telemetry(s.app.metrics, SimpleSpanProcessor(spans), reader)
            s.app.answered = telemetry.answered
            headers = {"traceparent": PARENT, "x-request-id": "mine"}
            body = {"context": CONTEXT}
            await s.http.post("/v1/router/decisions", json=body, headers=headers)
            await s.http.get("/nothing")
            telemetry.refresh()
            await s.decide()
            telemetry.refresh()

    asyncio.run(run())
    first, second, _ = spans.get_finished_spans()
    assert first.name == "POST /v1/{point}/decisions"
    assert first.parent is not None
    assert f"{first.parent.trace_id:032x}" == PARENT.split("-")[1]
    assert first.attributes is not None
    assert first.attributes["http.response.status_code"] == 200
    assert first.attributes["lexbandit.point"] == "router"
    assert first.attributes["lexbandit.request_id"] == "mine"
    assert "tokens" not in str(dict(first.attributes))
    assert first.start_time is not None
    assert first.end_time is not None
    assert 0 < first.end_time - first.start_time < 60e9
    assert second.parent is None
    told = reader.get_metrics_data()
    assert told is not None
    found = {
        metric.name: [
            (dict(point.attributes or {}), getattr(point, "value", 0))
            for point in metric.data.data_points
        ]
        for metric in told.resource_metrics[0].scope_metrics[0].metrics
    }
    assert ({"point": "router"}, 2) in found["lexbandit_decisions"]
    assert sum(value for _, value in found["lexbandit_arm_decisions"]) == 2
    assert found["lexbandit_queue_events"] == [({}, 0)]
    assert "lexbandit_request_seconds" in found


def test_a_collector_gets_both_from_a_process(tmp_path: Path) -> None:
    """A stub of a collector: it takes what OTLP sends over HTTP, and answers."""
    got: dict[str, bytes] = {}

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            got[self.path] = got.get(self.path, b"") + (gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{collector.server_port}"
        variables = {"LEXBANDIT_OTEL": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": place}
        with running(tmp_path, "--no-auth", **variables) as process:
            httpx.get(f"{process.url()}/v1").raise_for_status()
            process.process.terminate()
            assert process.process.wait(60) == 0
        collector.shutdown()
    assert b"GET /v1" in got["/v1/traces"]
    assert b"lexbandit_ready" in got["/v1/metrics"]
