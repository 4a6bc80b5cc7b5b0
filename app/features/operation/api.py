"""The server's own addresses: health, readiness, figures; and the description of the API."""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.core import GaugeMetricFamily, Metric
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from app import __version__
from app.errors import FieldError, SignInNeeded, Unavailable
from app.features.operation.chores import jobs_in_states
from app.features.operation.illustrations import illustrate
from app.features.operation.readiness import NEEDED, Readiness
from app.features.uploads.model import ProfileRequest
from app.platform.web.api import RATES, problems
from app.platform.web.auth import BEARER
from app.platform.web.deps import BenchDep
from app.platform.web.description import share
from app.platform.web.problems import NotAllowed, Problem
from app.platform.web.rights import name_of
from app.platform.web.security import FORWARDED
from app.platform.workbench import Workbench
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
    what is wrong with each part, or “ok”: `server`, `database`, `schema`, `uploads`, `queue`, `disk` and
    `engine`. The errors of a 503 name them. The catalogue is checked before the server accepts any request.
    """
    found: Readiness = request.app.state.readiness.look()
    if not found.serves:
        needed = {name: message for name, message in found.away.items() if name in NEEDED}
        raise Unavailable(
            next(iter(needed.values())), [FieldError(name, said) for name, said in found.away.items()]
        )
    parts = {name: "ok" if said is None else str(said) for name, said in found.parts.items()}
    return {"status": "impaired" if found.away else "ok", **parts}


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request, bench: BenchDep) -> Response:
    """Give every figure in the text format of Prometheus."""
    admit(request, request.app.state.metrics_token)
    state = request.app.state
    parts = parts_ready(state.readiness.look())
    text = exposition(lambda: [parts, *waiting_work(bench, state.jobs.waiting())])
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def admit(request: Request, token: str) -> None:
    """Refuse who may not read the figures: with a token whoever has it may, else this machine alone."""
    if token:
        given = request.headers.get("authorization", "")
        bearer = given[len(BEARER) :].strip() if given.lower().startswith(BEARER) else ""
        if not hmac.compare_digest(bearer.encode(), token.encode()):
            raise SignInNeeded("server metrics can be read only with their own token")
        return
    host = request.client.host if request.client else ""
    # Through a proxy everybody comes from this machine.
    if not is_loopback(host) or any(FORWARDED.fullmatch(name) for name in request.headers):
        raise NotAllowed("server metrics can be read only from the server's own machine or with a token")


def is_loopback(host: str) -> bool:
    """Tell whether an address is one of this machine to itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parts_ready(found: Readiness) -> Metric:
    ready = GaugeMetricFamily("rackline_part_ready", "Whether a part of the server works.", labels=("part",))
    for name, said in found.parts.items():
        ready.add_metric([name], float(said is None))
    return ready


def waiting_work(bench: Workbench, waiting: int | None) -> Iterator[Metric]:
    """Yield the messages in the queue, and what the store knows of jobs."""
    if waiting is not None:
        queue = GaugeMetricFamily("rackline_queue_length", "Messages in the job queue.")
        queue.add_metric([], waiting)
        yield queue
    try:
        states = jobs_in_states(bench)
    except Unavailable:
        # The part that is away says so; the figures of this process are read all the same.
        return
    count = GaugeMetricFamily("rackline_jobs", "Jobs that have not ended.", labels=("kind", "status"))
    age = GaugeMetricFamily(
        "rackline_job_oldest_seconds", "Age of the oldest job that has not ended.", labels=("kind", "status")
    )
    for state in states:
        count.add_metric([state.kind, state.status], state.count)
        age.add_metric([state.kind, state.status], state.oldest)
    yield count
    yield age


DESCRIPTION = (
    "Sizes AI-training infrastructure: how long a training run takes, what it costs "
    "and why.\n\nQuantities have `value`, `low` and `high` (an 80 % interval) and an "
    "SI `unit`. Errors are\n`application/problem+json` (RFC 9457). `Idempotency-Key` "
    "is supported on every POST that stores data.\nWithout accounts, the server "
    "responds only on this machine and needs no key; with accounts, it requires\n"
    "`Authorization: Bearer KEY`."
)

TAGS = [
    {"name": "catalogue", "description": "Figures with source, date and status."},
    {"name": "uploads", "description": "Model profiles and data samples."},
    {"name": "estimates", "description": "One model on one system."},
    {"name": "inference", "description": "Serving a model: latency, throughput and cost per token."},
    {"name": "searches", "description": "The best plans of a model on a system."},
    {"name": "sizings", "description": "Systems and counts for a deadline and a budget."},
    {"name": "comparisons", "description": "Options side by side."},
    {"name": "studies", "description": "A customer's question with its options, in versions."},
    {"name": "proposals", "description": "Comparisons for a customer: frozen, shared and replayed."},
    {"name": "bills", "description": "Bills of materials: items, prices, racks."},
    {"name": "price books", "description": "A workspace's own prices, in versions."},
    {"name": "accelerators", "description": "A workspace's own accelerators, from data sheets."},
    {"name": "fabric choices", "description": "What each network of a cluster is worth."},
    {"name": "calibrations", "description": "Software profiles from a customer's own runs."},
    {"name": "claims", "description": "What vendors claim, beside what was measured."},
    {"name": "sweeps", "description": "Every combination of models, systems, prices and scenarios."},
    {"name": "planning", "description": "Arithmetic before an estimate."},
    {"name": "audit", "description": "Audit log, for the owners of the workspace."},
    {"name": "keys", "description": "API keys: scopes, expiry, rotation."},
    {"name": "webhooks", "description": "URLs that receive proposal events."},
    {"name": "operation", "description": "The server itself."},
]


DESCRIPTIONS: dict[str, dict[str, Any]] = {}
"""Descriptions that were built, by the catalogue whose figures are in their examples."""


def describe(app: FastAPI, bench: Workbench) -> None:
    """Give an application its OpenAPI document with examples, built when it is first asked for.

    It takes seconds, and applications of one process differ in nothing that it says.
    """

    def illustrated() -> dict[str, Any]:
        version = bench.sizing.catalog.version
        if version not in DESCRIPTIONS:
            openapi = document(app)
            illustrate(openapi, bench)
            share(openapi)
            DESCRIPTIONS[version] = openapi
        return DESCRIPTIONS[version]

    app.openapi = illustrated  # type: ignore[method-assign]


def document(app: FastAPI) -> dict[str, Any]:
    openapi = get_openapi(
        title="Rackline", version=__version__, description=DESCRIPTION.strip(), routes=app.routes, tags=TAGS
    )
    add_schemas(openapi)
    openapi["servers"] = [{"url": "/", "description": "The server that this description comes from."}]
    openapi["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "An API key."}
    }
    # A server without accounts asks for none.
    openapi["security"] = [{"key": []}, {}]
    add_rates(openapi)
    return with_plain_names(openapi)


def add_rates(openapi: dict[str, Any]) -> None:
    """Say on every answer to a key how much is left to it."""
    for path, operations in openapi["paths"].items():
        for operation in operations.values() if path.startswith("/api/") else ():
            for status, response in operation["responses"].items():
                if status.startswith("2"):
                    response["headers"] = {**response.get("headers", {}), **RATES}


def with_plain_names(openapi: dict[str, Any]) -> dict[str, Any]:
    """Return a description whose lists are named as classes of programs are: ``StudySummaryPage``."""
    text = re.sub(r"\bPage(?:_(\w+?)_|\[(\w+)\])(?=\")", r"\1\2Page", json.dumps(openapi))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def add_schemas(openapi: dict[str, Any]) -> None:
    """Put in the schemas that responses and hand-written bodies refer to."""
    _, schemas = models_json_schema(
        [(Problem, "serialization"), (ProfileRequest, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    openapi["components"]["schemas"] |= schemas["$defs"]
