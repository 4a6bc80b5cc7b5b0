"""An example for every field of the API's description, taken from requests and answers that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.services.examples import answers
from app.services.workbench import Workbench
from app.web.api.examples import (
    BARE_FIGURE,
    BERT_ON_IPUS,
    CHECK,
    FLEET_PLAN,
    GPT3,
    HEAD_TO_HEAD,
    MAPPING,
    OWN_MODEL,
    PARTITIONS,
    PRICE_BOOK,
    PROPOSAL,
    PROPOSAL_CHANGED,
    QUEUE,
    RENAMED,
    SHARE,
    SIZING,
    SLICES,
    TRANSFORMER,
)

REQUESTS: dict[str, Any] = {
    "EstimateRequest": GPT3,
    "ComparisonRequest": HEAD_TO_HEAD,
    "ComparisonPatch": RENAMED,
    "MappingRequest": MAPPING,
    "ChecksRequest": CHECK,
    "ProfileRequest": TRANSFORMER,
    "SizingRequest": SIZING,
    "SweepRequest": PRICE_BOOK,
    "ProposalRequest": PROPOSAL,
    "ProposalPatch": PROPOSAL_CHANGED,
    "ShareRequest": SHARE,
    "PartitionRequest": PARTITIONS,
    "QueueRequest": QUEUE,
}
PREFIX = "#/components/schemas/"


def illustrate(openapi: dict[str, Any], bench: Workbench) -> None:
    """Put examples on fields, and whole answers on the responses of endpoints."""
    schemas = openapi["components"]["schemas"]
    found = {name: document.model_dump(mode="json") for name, document in answers(bench, REQUESTS).items()}
    more = [("EstimateRequest", body) for body in (BARE_FIGURE, OWN_MODEL, BERT_ON_IPUS)]
    more.append(("SweepRequest", FLEET_PLAN))
    more.append(("PartitionRequest", SLICES))
    for name, value in [*REQUESTS.items(), *more, *found.items()]:
        walk(schemas, {"$ref": PREFIX + name}, value)
    for operations in openapi["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                content = response.get("content", {}).get("application/json", {})
                name = content.get("schema", {}).get("$ref", "").removeprefix(PREFIX)
                if status.startswith("2") and name in found:
                    content["example"] = found[name]


def walk(schemas: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Give the fields below a schema the values they have in an example, where they have none yet."""
    if isinstance(value, list) and "items" in schema:
        for item in value[:1]:
            walk(schemas, schema["items"], item)
    if not isinstance(value, dict):
        return
    for part in objects(schemas, schema):
        for name, field in part.get("properties", {}).items():
            if value.get(name) is not None:
                if not isinstance(value[name], dict | list):
                    field.setdefault("examples", [value[name]])
                for choice in (field, *field.get("anyOf", ())):
                    walk(schemas, choice, value[name])


def objects(schemas: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the object schemas that a schema may stand for."""
    if "$ref" in schema:
        yield from objects(schemas, schemas[schema["$ref"].removeprefix(PREFIX)])
    for key in ("anyOf", "oneOf"):
        for choice in schema.get(key, ()):
            yield from objects(schemas, choice)
    if "properties" in schema:
        yield schema
