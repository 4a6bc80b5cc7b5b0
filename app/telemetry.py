"""What is counted while the server works, for Prometheus; who may read it is decided in the web."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

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
