"""Traces and metrics of the service for OpenTelemetry, with the names of its semantic conventions.

This is an application around the service's own, which is there only if it is asked for: without it nothing here is
imported.  Each request is a span of kind server.  The transaction that wrote the rows of a group of requests is a child
of the first, with links to the others.  Variables ``OTEL_*`` say where all this is sent, as for any program.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, MeterProvider, Observation
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, StatusCode, TracerProvider, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everlearn._version import __version__
from everlearn.service.identity import Request
from everlearn.service.protocol import OPEN

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"})
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Bounds of the buckets, as the conventions recommend them."""
_DATABASE = {"db.system.name": "sqlite", "db.operation.name": "COMMIT"}
_CONTEXT = TraceContextTextMapPropagator()


class Telemetry:
    """An application around another, which makes spans and metrics of its requests and of its transactions."""

    def __init__(self, app: ASGIApp, tracers: TracerProvider, meters: MeterProvider) -> None:
        self.app = app
        self._tracer = tracers.get_tracer("everlearn.service", __version__)
        meter = meters.get_meter("everlearn.service", __version__)
        self._meter = meter
        self._duration = _seconds(meter, "http.server.request.duration", "Duration of HTTP server requests.")
        self._active = meter.create_up_down_counter(
            "http.server.active_requests", "{request}", "Number of active HTTP server requests."
        )
        self._commits = _seconds(meter, "db.client.operation.duration", "Duration of database client operations.")

    def watch(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        """Report numbers of the service, such as how many requests wait: a description and a function for each name."""
        for name, (about, value) in gauges.items():
            self._meter.create_observable_gauge(f"everlearn.{name}", [_observer(value)], description=about)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; the paths that monitors ask all the time are not traced."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        known = {"http.request.method": _method(scope), "url.scheme": scope["scheme"]}
        parent = _CONTEXT.extract(_carrier(scope))
        self._active.add(1, known)
        try:
            with self._tracer.start_as_current_span(
                _method(scope), parent, SpanKind.SERVER, attributes={**known, **_described(scope)}
            ) as span:
                _pass_on(scope)
                await self.app(scope, receive, sending)
                known |= _outcome(scope, status)
                span.set_attributes(known)
                if "http.route" in known:
                    span.update_name(f"{_method(scope)} {known['http.route']}")
                if status >= 500:
                    span.set_status(StatusCode.ERROR)
        finally:
            self._active.add(-1, {name: known[name] for name in ("http.request.method", "url.scheme")})
            self._duration.record(time.perf_counter() - began, known)

    def committed(self, requests: Sequence[Request | None], seconds: float, error: BaseException | None) -> None:
        """Report a transaction that the committer has just ended, and the requests whose rows it wrote."""
        ended = time.time_ns()
        failed = {} if error is None else {"error.type": type(error).__name__}
        self._commits.record(seconds, {**_DATABASE, **failed})
        contexts = [_CONTEXT.extract({"traceparent": request.parent}) for request in requests if request is not None]
        size = {"db.operation.batch.size": len(requests)} if len(requests) > 1 else {}
        span = self._tracer.start_span(
            "COMMIT",
            contexts[0] if contexts else None,
            SpanKind.CLIENT,
            attributes={**_DATABASE, **size, **failed},
            links=[Link(get_current_span(context).get_span_context()) for context in contexts[1:]],
            start_time=ended - int(seconds * 1e9),
        )
        if error is not None:
            span.set_status(StatusCode.ERROR)
        span.end(ended)


def _seconds(meter: Meter, name: str, about: str) -> Histogram:
    return meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=SECONDS)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "_OTHER"


def _carrier(scope: Scope) -> dict[str, str]:
    wanted = (b"traceparent", b"tracestate")
    return {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in wanted}


def _pass_on(scope: Scope) -> None:
    """Replace the header by one that names the span of this request, so that the log has its trace."""
    carrier: dict[str, str] = {}
    _CONTEXT.inject(carrier)
    passed = [(name.encode(), value.encode("latin-1")) for name, value in carrier.items()]
    scope["headers"] = [
        header for header in scope["headers"] if header[0] not in (b"traceparent", b"tracestate")
    ] + passed


def _described(scope: Scope) -> dict[str, str | int]:
    described: dict[str, Any] = {"url.path": scope["path"], "network.protocol.version": scope["http_version"]}
    if scope.get("server"):
        described["server.address"], described["server.port"] = scope["server"]
    if scope.get("client"):
        described["client.address"] = scope["client"][0]
    agent = dict(scope["headers"]).get(b"user-agent")
    return described if agent is None else {**described, "user_agent.original": agent.decode("latin-1")}


def _outcome(scope: Scope, status: int) -> dict[str, Any]:
    outcome: dict[str, Any] = {"http.response.status_code": status}
    if scope.get("route") is not None:
        outcome["http.route"] = scope["route"].path
    return outcome if status < 500 else {**outcome, "error.type": str(status)}


def _observer(value: Callable[[], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _options: [Observation(int(value()))]


def providers() -> tuple[SdkTracerProvider, SdkMeterProvider]:
    """Return what exports traces and metrics with OTLP over HTTP, as the variables ``OTEL_*`` say."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({"service.version": __version__, **({} if named else {"service.name": "everlearn"})})
    tracers = SdkTracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    return tracers, SdkMeterProvider([reader], resource=resource, shutdown_on_exit=False)
