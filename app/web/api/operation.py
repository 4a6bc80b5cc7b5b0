"""The figures of the server for Prometheus, to who may read them."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterator

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.responses import Response

from app.errors import SignInNeeded
from app.jobs import Jobs
from app.services.operation import jobs_in_states
from app.services.workbench import Workbench
from app.telemetry import exposition
from app.web.auth import BEARER
from app.web.deps import BenchDep
from app.web.problems import NotAllowed
from app.web.routers import name_of
from app.web.security import FORWARDED

router = APIRouter(tags=["operation"], generate_unique_id_function=name_of)


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request, bench: BenchDep) -> Response:
    """Give every figure in the text format of Prometheus."""
    admit(request, request.app.state.metrics_token)
    text = exposition(lambda: waiting_work(bench, request.app.state.jobs))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def admit(request: Request, token: str) -> None:
    """Refuse who may not read the figures: with a token whoever has it may, else this machine alone."""
    if token:
        given = request.headers.get("authorization", "")
        bearer = given[len(BEARER) :].strip() if given.lower().startswith(BEARER) else ""
        if not hmac.compare_digest(bearer.encode(), token.encode()):
            raise SignInNeeded("the figures of the server are read with their own token")
        return
    host = request.client.host if request.client else ""
    # Through a proxy everybody comes from this machine.
    if not is_loopback(host) or any(FORWARDED.fullmatch(name) for name in request.headers):
        raise NotAllowed("the figures of the server are read from its own machine, or with a token")


def is_loopback(host: str) -> bool:
    """Tell whether an address is one of this machine to itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def waiting_work(bench: Workbench, jobs: Jobs) -> Iterator[Metric]:
    """Yield what is asked of the store and the queue at the moment of reading."""
    waiting = jobs.waiting()
    if waiting is not None:
        queue = GaugeMetricFamily("rackline_queue_length", "Messages in the job queue.")
        queue.add_metric([], waiting)
        yield queue
    count = GaugeMetricFamily("rackline_jobs", "Jobs that have not ended.", labels=("kind", "status"))
    age = GaugeMetricFamily(
        "rackline_job_oldest_seconds", "Age of the oldest job that has not ended.", labels=("kind", "status")
    )
    for state in jobs_in_states(bench):
        count.add_metric([state.kind, state.status], state.count)
        age.add_metric([state.kind, state.status], state.oldest)
    yield count
    yield age
