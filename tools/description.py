"""data/openapi.json: the description of the API, with examples, as servers serve it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from app import __version__
from app.features.uploads.model import ProfileRequest
from app.platform.web.problems import BY_STATUS, Problem
from app.platform.workspace import Workspace
from tools.illustrations import illustrate

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
    {
        "name": "webhooks",
        "description": "URLs that receive events of proposals, studies, sizings and sweeps.",
    },
    {"name": "operation", "description": "The server itself."},
]


RATES = {
    "RateLimit-Policy": {
        "description": "Requests per window in seconds, by kind of request; only with an API key.",
        "schema": {"type": "string"},
        "example": '"read";q=600;w=60',
    },
    "RateLimit": {
        "description": "Requests left, and seconds until there are more; only with an API key.",
        "schema": {"type": "string"},
        "example": '"read";r=599;t=42',
    },
}


def description(openapi: dict[str, Any], workspace: Workspace) -> str:
    """Return an OpenAPI document as text, with examples, which are answers of the engine."""
    illustrate(openapi, workspace)
    share(openapi)
    text = json.dumps(rounded(openapi), ensure_ascii=False, indent=1) + "\n"
    return ENGINE.sub(rf"\g<1>+{'0' * 12}", text)


ENGINE = re.compile(rf"({re.escape(__version__)})\+[0-9a-f]{{12}}")
"""Version of the engine, whose hash would change with every comment of its sources."""


LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
"""Keywords of a schema whose numbers are exact."""


def rounded(value: Any) -> Any:
    """Return a document with six digits of each figure, limits apart: processors differ in the last ones.

    >>> rounded({"time": [0.6430363653761193, 1e300, 3], "maximum": 1048576.0})
    {'time': [0.643036, 1e+300, 3], 'maximum': 1048576.0}
    """
    if isinstance(value, dict):
        return {name: item if name in LIMITS else rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of some routes, as yet without examples of answers."""
    openapi = get_openapi(
        title="Rackline", version=__version__, description=DESCRIPTION, routes=routes, tags=TAGS
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
    """Document the rate-limit headers of every successful answer."""
    for path, operations in openapi["paths"].items():
        for operation in operations.values() if path.startswith("/api/") else ():
            for status, response in operation["responses"].items():
                if status.startswith("2"):
                    response["headers"] = {**response.get("headers", {}), **RATES}


def with_plain_names(openapi: dict[str, Any]) -> dict[str, Any]:
    """Rename generic schemas as classes are named, such as ``StudySummaryPage``."""
    text = re.sub(r"\bPage(?:_(\w+?)_|\[(\w+)\])(?=\")", r"\1\2Page", json.dumps(openapi))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def add_schemas(openapi: dict[str, Any]) -> None:
    """Add the schemas that responses and hand-written bodies refer to."""
    _, schemas = models_json_schema(
        [(Problem, "serialization"), (ProfileRequest, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    openapi["components"]["schemas"] |= schemas["$defs"]


Slot = tuple[Any, Any, str]
"""What holds a part of the description, where in it, and what the part is called."""


def share(openapi: dict[str, Any]) -> None:
    """Put parameters, headers, failures and examples that occur more than once among the components.

    Of parts that are called alike, the most frequent has the name; the others stay where they are.
    """
    operations = [operation for path in openapi["paths"].values() for operation in path.values()]
    for kind, slots in (
        ("examples", examples(operations)),
        ("parameters", parameters(operations)),
        ("responses", failures(operations)),
        ("headers", headers(operations)),
    ):
        shared = openapi["components"].setdefault(kind, {})
        slots_with_text = [(*slot, json.dumps(slot[0][slot[1]])) for slot in slots]
        counts = Counter((name, text) for _, _, name, text in slots_with_text)
        shared_text = {name: text for (name, text), count in reversed(counts.most_common()) if count > 1}
        for holder, key, name, text in slots_with_text:
            if shared_text.get(name) == text:
                shared[name] = holder[key]
                holder[key] = {"$ref": f"#/components/{kind}/{name}"}


def parameters(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for index, parameter in enumerate(operation.get("parameters", ())):
            yield operation["parameters"], index, parameter["name"]


def headers(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for response in operation["responses"].values():
            for name in response.get("headers", ()):
                yield response["headers"], name, name


def failures(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for status in operation["responses"]:
            if int(status) in BY_STATUS:
                yield operation["responses"], status, BY_STATUS[int(status)].__name__


def examples(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    """Give the examples of answers, each named for the schema that it is one of."""
    for operation in operations:
        for response in operation["responses"].values():
            for body in response.get("content", {}).values():
                name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
                if name and "example" in body and name != "Problem":
                    body["examples"] = {"answer": {"value": body.pop("example")}}
                    yield body["examples"], "answer", name
