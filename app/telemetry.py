"""The log of the server, and what is counted for Prometheus."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType

import structlog
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
from pydantic import ValidationError
from sqlalchemy import Engine, event
from structlog.typing import EventDict, Processor, WrappedLogger

QUIET = ("alembic", "app", "distributed", "fontTools", "httpx", "matplotlib", "sqlalchemy")
"""Libraries that speak up only when something is wrong; SQLAlchemy calls a pool of ours by its module."""

EXTRAS = ("attempts", "chore", "code", "error", "file", "job", "method", "route", "seconds", "threads")
"""What an event may bring along beside its words."""


def set_up_logs(form: str, level: str) -> None:
    """Send every log of this process to the error output."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(EXTRAS), *SHARED], processors=finish(form)
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def finish(form: str) -> Sequence[Processor]:
    """Return what turns an event into its line."""
    last: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if form == "console":
        last = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    return [structlog.stdlib.ProcessorFormatter.remove_processors_meta, with_traceback, last]


def with_traceback(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Turn the exception of an event into text that shows where, and nothing of what was sent."""
    exception = event.pop("exc_info", None)
    if exception is True:
        exception = sys.exc_info()
    if isinstance(exception, BaseException):
        exception = (type(exception), exception, exception.__traceback__)
    if exception and exception[1] is not None:
        event["exception"] = traceback_text(exception)
    return event


def traceback_text(exception: tuple[type[BaseException], BaseException, TracebackType | None]) -> str:
    """Return a traceback; a refused document is named by its fields, not by their values."""
    text = "".join(traceback.format_exception(*exception)).rstrip()
    for error in chain(exception[1]):
        if isinstance(error, ValidationError):
            places = [
                f"{'.'.join(map(str, item['loc']))} ({item['type']})"
                for item in error.errors(include_input=False, include_url=False, include_context=False)
            ]
            text = text.replace(str(error), f"{error.title}: {', '.join(places)}")
    return text


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Return an exception and those it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)
"""What happens to every event, whoever logs it."""

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


class _LazyCollector(Collector):
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
    on_demand = CollectorRegistry(auto_describe=False)
    on_demand.register(_LazyCollector(ask))
    return text + generate_latest(on_demand)


def count_connections(engine: Engine) -> None:
    """Count the connections of an engine's pool."""
    opened, used = CONNECTIONS.labels("open"), CONNECTIONS.labels("in use")
    event.listen(engine, "connect", lambda *_: opened.inc())
    event.listen(engine, "close", lambda *_: opened.dec())
    event.listen(engine, "checkout", lambda *_: used.inc())
    event.listen(engine, "checkin", lambda *_: used.dec())
