"""Health, readiness and metrics of the server; and the description of the API."""

from __future__ import annotations

import functools
import hmac
import ipaddress
import json
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.core import GaugeMetricFamily, Metric
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.errors import FieldError, SignInRequired, Unavailable
from app.features.operation.chores import jobs_in_states
from app.features.operation.readiness import NEEDED, Readiness
from app.platform.web.api import problems
from app.platform.web.auth import BEARER
from app.platform.web.deps import InstallationDep
from app.platform.web.problems import Forbidden
from app.platform.web.rights import name_of
from app.platform.web.security import FORWARDED
from app.platform.workspace import Installation
from app.profiles.presets import beside
from app.telemetry import exposition

router = APIRouter(tags=["operation"], generate_unique_id_function=name_of)


class Health(BaseModel):
    """Health of the server."""

    status: str = Field(description="Always “ok”; treat anything else as no answer.", examples=["ok"])


@router.get("/healthz", summary="Check liveness")
def health() -> Health:
    """Return 200 if the server is up."""
    return Health(status="ok")


READY = {
    "content": {
        "application/json": {
            "example": {
                "status": "impaired",
                "database": "ok",
                "disk": "only 120 MB are free in the data directory",
            }
        }
    }
}


@router.get("/readyz", summary="Check readiness", responses={200: READY, **problems(503)})
def ready(request: Request) -> dict[str, str]:
    """Return 200 if requests are answered, 503 if not: the database or its schema is away, or on shutdown.

    `status` is “impaired” if a part is away without which most requests are still answered. Beside it stands
    what is wrong with each part, or “ok”: `server`, `database`, `schema`, `uploads`, `disk` and `engine`. The
    errors of a 503 name them. The catalogue is checked before the server accepts any request.
    """
    readiness: Readiness = request.app.state.readiness.look()
    if not readiness.serves:
        message = next(fault for name, fault in readiness.away.items() if name in NEEDED)
        raise Unavailable(message, [FieldError(name, fault) for name, fault in readiness.away.items()])
    parts = {name: "ok" if fault is None else str(fault) for name, fault in readiness.parts.items()}
    return {"status": "impaired" if readiness.away else "ok", **parts}


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request, installation: InstallationDep) -> Response:
    """Give every figure in the text format of Prometheus."""
    admit(request, request.app.state.metrics_token)
    parts = parts_ready(request.app.state.readiness.look())
    text = exposition(lambda: [parts, *waiting_work(installation)])
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def admit(request: Request, token: str) -> None:
    """Allow metrics to holders of the token; without a token, only to this machine."""
    if token:
        header = request.headers.get("authorization", "")
        bearer = header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else ""
        if not hmac.compare_digest(bearer.encode(), token.encode()):
            raise SignInRequired("server metrics can be read only with their own token")
        return
    host = request.client.host if request.client else ""
    # Behind a proxy every request comes from this machine.
    if not is_loopback(host) or any(FORWARDED.fullmatch(name) for name in request.headers):
        raise Forbidden("server metrics can be read only from the server's own machine or with a token")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parts_ready(readiness: Readiness) -> Metric:
    ready = GaugeMetricFamily("rackline_part_ready", "Whether a part of the server works.", labels=("part",))
    for name, fault in readiness.parts.items():
        ready.add_metric([name], float(fault is None))
    return ready


def waiting_work(installation: Installation) -> Iterator[Metric]:
    """Yield how many jobs wait, and count and age of unfinished jobs."""
    try:
        states = jobs_in_states(installation)
    except Unavailable:
        # Reported by the readiness of the database; the other metrics are still served.
        return
    waiting = sum(state.count for state in states if state.status == "queued")
    yield GaugeMetricFamily("rackline_queue_length", "Jobs that wait.", value=waiting)
    count = GaugeMetricFamily("rackline_jobs", "Jobs that have not ended.", labels=("kind", "status"))
    age = GaugeMetricFamily(
        "rackline_job_oldest_seconds", "Age of the oldest job that has not ended.", labels=("kind", "status")
    )
    for state in states:
        count.add_metric([state.kind, state.status], state.count)
        age.add_metric([state.kind, state.status], state.oldest)
    yield count
    yield age


DESCRIPTION = "data/openapi.json"
"""File with the description of the API; ``python -m tools documents`` writes it."""


def describe(app: FastAPI) -> None:
    """Set the OpenAPI document of an application, read on first use."""

    @functools.cache
    def read() -> dict[str, Any]:
        document: dict[str, Any] = json.loads(beside(DESCRIPTION).read_text(encoding="utf-8"))
        return document

    app.openapi = read  # type: ignore[method-assign]
