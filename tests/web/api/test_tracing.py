"""Traces as a collector receives them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.main import create_app
from app.settings import Settings
from tests.loops import run

SECRET = "geheim-4711"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(HTTPServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.bodies: list[bytes] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_trace_goes_on_from_the_caller_and_holds_nothing_that_was_asked(
    tmp_path: Path, collector: Collector
) -> None:
    settings = Settings.at(tmp_path).model_copy(update={"traces": collector.address})
    app = create_app(settings)

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
            await client.get(f"/s/{SECRET}?q={SECRET}", headers={**headers, "accept": "text/html"})
            await client.get("/healthz", headers=headers)

    run(ask())
    app.state.tracing.close()
    app.state.workbench.store.close()
    sent = [ExportTraceServiceRequest.FromString(body) for body in collector.bodies]
    spans = [
        span
        for one in sent
        for part in one.resource_spans
        for scope in part.scope_spans
        for span in scope.spans
    ]
    (request,) = (span for span in spans if span.name == "GET /s/{token}")
    assert request.trace_id.hex() == TRACE and request.parent_span_id.hex() == CALLER
    statements = [span for span in spans if span.name == "SELECT"]
    assert statements and all(span.trace_id == request.trace_id for span in statements)
    assert not any("healthz" in span.name for span in spans)
    assert all(SECRET.encode() not in body for body in collector.bodies)
