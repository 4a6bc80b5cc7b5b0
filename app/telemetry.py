"""What is counted while the server works, for Prometheus; who may read it is decided in the web."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import Engine, event

disable_created_metrics()  # type: ignore[no-untyped-call]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of the buckets of durations. [s]"""

REQUESTS = Histogram(
    "rackline_request_seconds",
    "Time from a request to the end of its answer, by the template of its address.",
    ("method", "route", "status"),
    buckets=SECONDS,
)

IN_FLIGHT = Gauge("rackline_requests_in_flight", "Requests being answered.", multiprocess_mode="livesum")

ESTIMATES = Counter("rackline_estimates", "Estimates computed for whoever asked.")

SEARCHES = Counter("rackline_searches", "Searches for plans and for systems.", ("kind",))

RENDERINGS = Counter("rackline_renderings", "Documents rendered.", ("format",))

JOBS_ENDED = Counter(
    "rackline_jobs_ended",
    "Jobs a runner has let go of: done, failed, queued again at the end of the server, or lost to another.",
    ("kind", "status"),
)

CHORES = Counter("rackline_chores", "Turns of the server's own chores.", ("chore", "result"))

CONNECTIONS = Gauge(
    "rackline_database_connections",
    "Connections to the database: open, and those of them in use.",
    ("state",),
    multiprocess_mode="livesum",
)


class _Asked(Collector):
    """Figures that are found out when they are read."""

    def __init__(self, ask: Callable[[], Iterable[Metric]]) -> None:
        self._ask = ask

    def collect(self) -> Iterable[Metric]:
        return self._ask()


def exposition(ask: Callable[[], Iterable[Metric]]) -> bytes:
    """Return every figure of this server, of all its processes where there are several."""
    text = b""
    if values.ValueClass is values.MutexValue:
        text += generate_latest(REGISTRY)
    else:
        of_all = CollectorRegistry()
        MultiProcessCollector(of_all)  # type: ignore[no-untyped-call]
        text += generate_latest(of_all)
    asked = CollectorRegistry(auto_describe=False)
    asked.register(_Asked(ask))
    return text + generate_latest(asked)


def count_connections(engine: Engine) -> None:
    """Count the connections of an engine's pool."""
    opened, used = CONNECTIONS.labels("open"), CONNECTIONS.labels("in use")
    event.listen(engine, "connect", lambda *_: opened.inc())
    event.listen(engine, "close", lambda *_: opened.dec())
    event.listen(engine, "checkout", lambda *_: used.inc())
    event.listen(engine, "checkin", lambda *_: used.dec())
