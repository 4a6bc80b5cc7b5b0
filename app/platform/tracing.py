"""Traces of requests and of their statements, for a collector that speaks OpenTelemetry.

A span names the template of an address and the verb of a statement. It holds nothing of what was asked, for
the same reason as the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from app import __version__
from app.errors import need

SERVICE = "rackline"


class Tracing:
    """Sends spans to a collector, from a thread of its own; what it cannot take is dropped."""

    def __init__(self, collector: str) -> None:
        need("opentelemetry", "telemetry")
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        about = Resource.create({"service.name": SERVICE, "service.version": __version__})
        self._provider = TracerProvider(resource=about)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(collector)))
        self._tracer = self._provider.get_tracer(SERVICE, __version__)

    @contextmanager
    def request(self, headers: Mapping[str, str], identifier: str) -> Iterator[dict[str, Any]]:
        """Give what is to be said of a request, in a span that goes on from the caller's."""
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        caller = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        parent = TraceContextTextMapPropagator().extract(caller)
        attributes: dict[str, Any] = {"rackline.request_id": identifier}
        with self._tracer.start_as_current_span(
            "request", context=parent, kind=SpanKind.SERVER, record_exception=False
        ) as span:
            try:
                yield attributes
            finally:
                span.update_name(f"{attributes.get('http.request.method')} {attributes.get('http.route')}")
                span.set_attributes(attributes)
                if attributes.get("http.response.status_code", 500) >= 500:
                    span.set_status(StatusCode.ERROR)

    def follow(self, engine: sa.Engine) -> None:
        """Give every statement of a request a span."""
        from opentelemetry.trace import SpanKind, get_current_span

        def begin(_: Any, __: Any, statement: str, ___: Any, context: Any, ____: Any) -> None:
            # Chores and jobs have no request that a statement could belong to.
            if context is not None and get_current_span().is_recording():
                verb = statement.lstrip().partition(" ")[0].upper()
                attributes = {"db.system.name": engine.dialect.name, "db.operation.name": verb}
                context.span = self._tracer.start_span(verb, kind=SpanKind.CLIENT, attributes=attributes)

        def end(*arguments: Any) -> None:
            if (span := getattr(arguments[4], "span", None)) is not None:
                span.end()

        def fail(failure: sa.ExceptionContext) -> None:
            if (span := getattr(failure.execution_context, "span", None)) is not None:
                span.end()

        event.listen(engine, "before_cursor_execute", begin)
        event.listen(engine, "after_cursor_execute", end)
        event.listen(engine, "handle_error", fail)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()
