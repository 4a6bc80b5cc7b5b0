"""The description of the API: what FastAPI writes, with what it cannot know put in."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app import __version__
from app.features.operation.illustrations import illustrate
from app.features.uploads.model import ProfileRequest
from app.platform.web.problems import Problem
from app.platform.workbench import Workbench

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
    {"name": "sizings", "description": "Systems and counts for a deadline and a budget."},
    {"name": "comparisons", "description": "Options side by side."},
    {"name": "studies", "description": "A customer's question with its options, in versions."},
    {"name": "proposals", "description": "Comparisons for a customer: frozen, shared and replayed."},
    {"name": "sweeps", "description": "Every combination of models, systems, prices and scenarios."},
    {"name": "planning", "description": "Arithmetic before an estimate."},
    {"name": "audit", "description": "Audit log, for the owners of the workspace."},
    {"name": "keys", "description": "API keys: scopes, expiry, rotation."},
    {"name": "webhooks", "description": "URLs that receive proposal events."},
    {"name": "operation", "description": "The server itself."},
]


def describe(app: FastAPI, bench: Workbench) -> None:
    """Give an application its OpenAPI document with examples, built when it is first asked for."""

    @functools.cache
    def illustrated() -> dict[str, Any]:
        openapi = document(app)
        illustrate(openapi, bench)
        return openapi

    app.openapi = illustrated  # type: ignore[method-assign]


def document(app: FastAPI) -> dict[str, Any]:
    openapi = get_openapi(
        title="Rackline", version=__version__, description=DESCRIPTION.strip(), routes=app.routes, tags=TAGS
    )
    add_schemas(openapi)
    return openapi


def add_schemas(openapi: dict[str, Any]) -> None:
    """Put in the schemas that responses and hand-written bodies refer to."""
    _, schemas = models_json_schema(
        [(Problem, "serialization"), (ProfileRequest, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    openapi["components"]["schemas"] |= schemas["$defs"]
