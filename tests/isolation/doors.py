"""Every address of the application, and what is sent to it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK, SIZING, STUDY

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

PLACE = re.compile(r"{(\w+)}")

FORMS: dict[str, dict[str, str]] = {
    "/price-books/{}": {
        "name": "Spring", "version": "1", "item": "dgx-a100-640gb", "parameter": "price", "condition": "",
        "value": "250000", "unit": "USD", "note": "",
    },
    "/proposals/{}/edit": {"customer": "Another", "locale": "en", "currency": "USD"},
    "/proposals/{}/share": {"expires_in_days": "7"},
    "/proposals/{}/review": {"step": "submit"},
    "/proposals/{}/reply": {"text": "Delivery takes eight weeks."},
    "/proposals/{}/sections": {"version": "1"},
    "/studies/{}/duplicate": {"state": ""},
    "/studies/{}/figures": {"figure.label": "Own run", "figure.kind": "measured", "figure.hours": "3"},
    "/studies/{}/proposal": {"customer": "Another", "locale": "en", "currency": "USD"},
    "/people/members/{}": {"role": "viewer"},
    "/studies/{}/save": {"state": "count.a=3", "version": "1", "expected": "1"},
}  # fmt: skip
"""Page that takes a form → what is typed; where none stands here, nothing is."""

BERT = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e6, "global_batch": 256, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb"},
}
"""An estimate of a model whose samples have lengths: with pictures no sample of the data is looked up."""

BODIES: dict[str, Any] = {
    "PATCH /api/v1/studies/{id}": {"base": STUDY["base"], "options": STUDY["options"]},
    "POST /api/v1/sweeps": {**PRICE_BOOK, "scenarios": FLEET_PLAN["scenarios"]},
    "POST /api/v1/comparisons": {"rows": [BERT]},
    "PATCH /api/v1/comparisons/{id}": {"rows": [BERT]},
    "POST /api/v1/scalings": {**SIZING, "systems": ["dgx-a100-640gb"]},
}
"""Address → body with a place for every field that may name something kept, where no example has one."""


@dataclass(frozen=True)
class Door:
    """One method of one address."""

    method: str
    path: str
    api: bool
    endpoint: object = field(default=None, compare=False)

    @property
    def pattern(self) -> str:
        """The address without the names of its places."""
        return PLACE.sub("{}", self.path)

    @property
    def places(self) -> int:
        """How many identifiers the address has."""
        return len(PLACE.findall(self.path))

    def at(self, *identifiers: str) -> str:
        """Return the address with identifiers in its places."""
        given = iter(identifiers)
        return PLACE.sub(lambda _: next(given), self.path)


def doors(app: FastAPI) -> list[Door]:
    """Return every method of every address, the files under /static apart."""
    return [
        Door(
            method,
            context.path,
            context.path.startswith("/api/"),
            getattr(context.original_route, "endpoint", None),
        )
        for context in iter_route_contexts(app.routes)
        for method in sorted(context.methods or ())
        if context.path is not None
    ]


@dataclass(frozen=True)
class SchemaReference:
    """A field of a body that names something kept."""

    door: Door
    field: str
    body: Any
    """An example; the field is to be put in."""
    path: tuple[str | int, ...]

    def naming(self, identifier: str) -> Any:
        """Return the body with an identifier in the field."""
        body = copy.deepcopy(self.body)
        place = body
        for here, following in zip(self.path, self.path[1:], strict=False):
            fresh: Any = [] if isinstance(following, int) else {}
            if isinstance(place, list):
                place.extend([fresh] * (1 - len(place)))
                place = place[here]
            else:
                place = place.setdefault(here, fresh)
        if self.path[-2:] == ("model", "profile_id"):
            place.clear()
        place[self.path[-1]] = identifier
        return body


def examples(openapi: dict[str, Any], door: Door) -> list[Any]:
    """Return the bodies that the description of the API offers for an address."""
    operation = openapi["paths"].get(door.path, {}).get(door.method.lower(), {})
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return [
        *content.get("schema", {}).get("examples", []),
        *(one["value"] for one in content.get("examples", {}).values()),
    ]


CHOICE = Door("POST", "/api/v1/fabric-choices", True)


def references(openapi: dict[str, Any], door: Door) -> Iterator[SchemaReference]:
    """Return every field of an address's body that may name something kept, with a body for it."""
    operation = openapi["paths"].get(door.path, {}).get(door.method.lower(), {})
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    bodies = examples(openapi, door)
    for path in sorted(set(named(openapi, content["schema"], (), frozenset())), key=str):
        fitting = next((body for body in bodies if fits(body, path)), bodies[0])
        fitting = copy.deepcopy(BODIES.get(f"{door.method} {door.path}", fitting))
        if path[0] == "fabric_choice":
            # A choice of networks is asked for as at its own address, beside what else the body says.
            fitting["fabric_choice"] = copy.deepcopy(examples(openapi, CHOICE)[0])
        if path == ("estimate_id",):
            # A bill is of a system or of an estimate.
            fitting = {}
        if path == ("rows", 0, "estimate_id"):
            # A row is a stored estimate or says itself what is estimated.
            fitting["rows"][0] = {}
        yield SchemaReference(door, ".".join(map(str, path)), fitting, path)


def named(
    openapi: dict[str, Any], schema: dict[str, Any], path: tuple[str | int, ...], seen: frozenset[str]
) -> Iterator[tuple[str | int, ...]]:
    """Return the paths of the fields of a schema that may name something kept."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from named(openapi, openapi["components"]["schemas"][name], path, seen | {name})
        return
    for key in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(key, ()):
            yield from named(openapi, choice, path, seen)
    for name, inner in schema.get("properties", {}).items():
        if name.endswith("_id") or name == "software":
            yield (*path, name)
        yield from named(openapi, inner, (*path, name), seen)
    if "items" in schema:
        yield from named(openapi, schema["items"], (*path, 0), seen)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from named(openapi, schema["additionalProperties"], (*path, "dgx-a100-640gb"), seen)


def fits(body: Any, path: tuple[str | int, ...]) -> bool:
    """Tell whether the places above a field are in a body already, or can be put in."""
    for here in path[:-1]:
        if isinstance(here, int):
            if not isinstance(body, list):
                return False
            body = body[here] if body else {}
        elif isinstance(body, dict):
            # A figure somebody has published is no estimate: nothing can be named in it.
            if {"kind", "figure"} & set(body) or here not in body:
                return here in {"assumptions", "workload", "by_system", "scenarios"}
            body = body[here]
    return not (isinstance(body, dict) and {"kind", "figure"} & set(body))
