"""OpenTelemetry: spans and metrics have the names of the conventions, and belong together as the requests do."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="OPENTELEMETRY IS NOT INSTALLED HERE")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv.attributes import (
    client_attributes,
    db_attributes,
    error_attributes,
    http_attributes,
    network_attributes,
    server_attributes,
    url_attributes,
    user_agent_attributes,
)
from opentelemetry.semconv.metrics import db_metrics, http_metrics
from opentelemetry.trace import SpanKind, StatusCode

from everlearn.service.committer import Committer, Prepared
from everlearn.service.guard import Guard
from everlearn.service.identity import CURRENT, identify
from everlearn.service.metrics import Metrics
from everlearn.service.router import Operation
from everlearn.service.settings import Settings
from everlearn.service.telemetry import Telemetry

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONVENTIONS = [client_attributes, db_attributes, error_attributes, http_attributes, network_attributes]
CONVENTIONS += [server_attributes, url_attributes, user_agent_attributes]
NAMES = {value for module in CONVENTIONS for name, value in vars(module).items() if name.isupper()}
"""The names of attributes that the conventions have."""


class Book:
    """A store that can be told to fail."""

    def __init__(self) -> None:
        self.fails = False

    def append(self, _entries) -> None:
        if self.fails:
            raise OSError(5, "Input/output error")

    def close(self) -> None:
        pass


class Observed:
    """An application under telemetry, with a committer, and all that is exported of them."""

    def __init__(self) -> None:
        self.spans, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers, meters = TracerProvider(), MeterProvider([self.reader])
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.book = Book()
        self.committer = Committer(lambda: self.book, waiting=100, metrics=Metrics())
        route = Operation("POST", "/v1/agents/{name}/observe", "", self.endpoint, {}, tag="stream")
        guard = Guard(self.endpoint, Settings(), Metrics(), lambda *_: (route, "north"))
        self.app = Telemetry(guard, tracers, meters)
        self.committer.observed = self.app.committed
        self.committer.start()
        self.traces = []

    async def endpoint(self, scope, _receive, send):
        self.traces.append(CURRENT.get().trace)
        names = scope["query_string"].decode().split("+")
        work = [self.committer.do(name, lambda _: Prepared(name, lambda: None)) for name in names]  # noqa: B023
        failed = [error for error in await asyncio.gather(*work, return_exceptions=True) if error]
        await send({"type": "http.response.start", "status": 507 if failed else 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def ask(self, query: bytes = b"a", method: str = "POST", path: str = "/v1/agents/north/observe", **headers: str):
        given = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
        scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": given}
        scope |= {"scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 8321), "client": ("127.0.0.1", 9)}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message):
            pass

        asyncio.run(self.app(scope, receive, send))

    def finished(self):
        return {span.name: span for span in self.spans.get_finished_spans()}

    def metrics(self):
        data = self.reader.get_metrics_data()
        (scope,) = data.resource_metrics[0].scope_metrics
        return {metric.name: metric for metric in scope.metrics}


@pytest.fixture
def observed():
    made = Observed()
    yield made
    made.committer.close()


def test_a_request_is_a_span_of_the_trace_that_it_belongs_to(observed):
    observed.ask(traceparent=f"00-{TRACE}-{PARENT}-01", **{"user-agent": "pump/1"})
    request = observed.finished()["POST /v1/agents/{name}/observe"]
    assert (request.kind, request.status.status_code) == (SpanKind.SERVER, StatusCode.UNSET)
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/v1/agents/{name}/observe",
        "url.path": "/v1/agents/north/observe",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "server.address": "127.0.0.1",
        "server.port": 8321,
        "client.address": "127.0.0.1",
        "user_agent.original": "pump/1",
    }
    assert {*request.attributes} <= NAMES


def test_the_log_has_the_trace_also_where_the_client_began_none(observed):
    observed.ask()
    (trace,) = observed.traces
    assert trace == f"{observed.finished()['COMMIT'].context.trace_id:032x}"


def test_a_transaction_is_a_child_of_the_request(observed):
    observed.ask()
    spans = observed.finished()
    commit, request = spans["COMMIT"], spans["POST /v1/agents/{name}/observe"]
    assert (commit.kind, commit.parent.span_id) == (SpanKind.CLIENT, request.context.span_id)
    assert request.start_time <= commit.end_time <= request.end_time
    assert {**commit.attributes} == {"db.system.name": "sqlite", "db.operation.name": "COMMIT"}


def test_one_for_many_requests_is_linked_with_the_others(observed):
    for _ in range(3):
        observed.ask()
    spans = [span for span in observed.spans.get_finished_spans() if span.kind is SpanKind.SERVER]
    parents = [f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01" for span in spans]
    requests = [identify({b"traceparent": parent.encode()}) for parent in parents]
    observed.spans.clear()
    observed.app.committed([*requests, None], 0.25, None)
    (commit,) = observed.spans.get_finished_spans()
    assert commit.parent.span_id == spans[0].context.span_id
    assert [link.context.span_id for link in commit.links] == [span.context.span_id for span in spans[1:]]
    assert commit.attributes["db.operation.batch.size"] == 4
    assert {*commit.attributes} <= NAMES
    assert commit.end_time - commit.start_time == 250_000_000


def test_what_fails_says_so(observed):
    observed.book.fails = True
    observed.ask()
    spans = observed.finished()
    request, commit = spans["POST /v1/agents/{name}/observe"], spans["COMMIT"]
    assert (request.status.status_code, request.attributes["error.type"]) == (StatusCode.ERROR, "507")
    assert (commit.status.status_code, commit.attributes["error.type"]) == (StatusCode.ERROR, "OSError")


def test_metrics_have_the_names_of_the_conventions(observed):
    observed.ask()
    observed.ask(method="BREW")
    metrics = observed.metrics()
    assert {*metrics} == {
        http_metrics.HTTP_SERVER_REQUEST_DURATION,
        "http.server.active_requests",
        db_metrics.DB_CLIENT_OPERATION_DURATION,
    }
    points = metrics["http.server.request.duration"].data.data_points
    assert {point.attributes["http.request.method"]: point.count for point in points} == {"POST": 1, "_OTHER": 1}
    assert metrics["http.server.request.duration"].unit == "s"
    assert {point.value for point in metrics["http.server.active_requests"].data.data_points} == {0}
    assert sum(point.count for point in metrics["db.client.operation.duration"].data.data_points) == 2


def test_health_checks_are_not_traced(observed):
    observed.ask(path="/healthz")
    assert "COMMIT" in observed.finished()
    assert SpanKind.SERVER not in {span.kind for span in observed.spans.get_finished_spans()}


def test_telemetry_that_fails_fails_alone(observed, caplog):
    observed.committer.observed = lambda *_: 1 / 0
    observed.ask()
    assert observed.finished()["POST /v1/agents/{name}/observe"].attributes["http.response.status_code"] == 200
    assert "could not be reported" in caplog.text


class Collector(BaseHTTPRequestHandler):
    """The two paths of OTLP over HTTP."""

    received: ClassVar[dict[str, list]] = {"/v1/traces": [], "/v1/metrics": []}
    kinds: ClassVar = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received[self.path].append(self.kinds[self.path].FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.soak
def test_a_service_sends_them_to_a_collector(start):
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        service = start("--otel", "--access-log", OTEL_EXPORTER_OTLP_ENDPOINT=address)
        service.create("a")
        service.post("/v1/agents/a/observe", {"step": 1, "observation": "arrival"}, X_Request_Id="mine")
        service.stop()
        server.shutdown()
    sent = [resource for batch in Collector.received["/v1/traces"] for resource in batch.resource_spans]
    about = {attribute.key: attribute.value.string_value for attribute in sent[0].resource.attributes}
    assert about["service.name"] == "everlearn"
    spans = [span for resource in sent for scope in resource.scope_spans for span in scope.spans]
    observe = next(span for span in spans if span.name == "POST /v1/agents/{name}/observe")
    assert observe.span_id in {span.parent_span_id for span in spans if span.name == "COMMIT"}
    (line,) = [entry for entry in service.log if entry.get("request") == "mine"]
    assert line["trace"] == observe.trace_id.hex()
    batches = [resource for batch in Collector.received["/v1/metrics"] for resource in batch.resource_metrics]
    names = {metric.name for resource in batches for scope in resource.scope_metrics for metric in scope.metrics}
    assert {"http.server.request.duration", "db.client.operation.duration", "everlearn.ready"} <= names


def test_without_it_nothing_of_it_is_imported(start):
    listing = """
import atexit, sys
from everlearn.cli import serve
hide = {name for name in sys.modules if name.startswith("opentelemetry")}
for name in hide: del sys.modules[name]
sys.modules["opentelemetry"] = None
"""
    assert start(before=listing).call("GET", "/readyz").status == 200
