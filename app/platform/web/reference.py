"""The description of the API as pages: every operation and every schema, made from the description itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from app.errors import AppError, NotFound
from app.platform.web.documents import converter
from app.platform.web.problems import BY_STATUS
from app.platform.web.rendering import render
from app.platform.web.rights import page_router

router = page_router()

REFERENCE = "/docs"


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """One operation in the list of all."""

    id: str
    method: str
    path: str
    summary: str


@dataclass(frozen=True, slots=True)
class ReferenceGroup:
    """The operations of one tag."""

    name: str
    about: str
    entries: Sequence[ReferenceEntry]


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """All operations and schemas by name."""

    groups: Sequence[ReferenceGroup]
    schemas: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReferenceField:
    """A parameter of an address, a header or a field of a body."""

    name: str
    place: str
    """Where a parameter stands; empty for a field."""
    kind: Markup
    required: bool
    about: Markup
    example: str


@dataclass(frozen=True, slots=True)
class ReferenceBody:
    """What is sent or answered in one media type."""

    media: str
    kind: Markup
    fields: Sequence[ReferenceField]
    examples: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """What is answered with one status."""

    status: str
    about: str
    bodies: Sequence[ReferenceBody]


@dataclass(frozen=True, slots=True)
class OperationPage:
    """One operation: what it takes and what it answers."""

    entry: ReferenceEntry
    about: Markup
    parameters: Sequence[ReferenceField]
    bodies: Sequence[ReferenceBody]
    answers: Sequence[ReferenceAnswer]
    failures: Sequence[type[AppError]]


@dataclass(frozen=True, slots=True)
class SchemaPage:
    """One schema with its fields."""

    name: str
    about: Markup
    kind: Markup
    fields: Sequence[ReferenceField]


class ApiDescription:
    """The description, with its shared parts found where they are referred to."""

    def __init__(self, openapi: Mapping[str, Any]) -> None:
        self.openapi = openapi

    def whole(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part, or what it refers to."""
        while "$ref" in part:
            _, _, kind, name = part["$ref"].split("/")
            part = self.openapi["components"][kind][name]
        return part

    def operations(self) -> Iterator[tuple[ReferenceEntry, dict[str, Any]]]:
        for path, methods in self.openapi["paths"].items():
            for method, operation in methods.items():
                entry = ReferenceEntry(operation["operationId"], method.upper(), path, operation["summary"])
                yield entry, operation

    def groups(self) -> list[ReferenceGroup]:
        by_tag: dict[str, list[ReferenceEntry]] = {}
        for entry, operation in self.operations():
            by_tag.setdefault(operation["tags"][0], []).append(entry)
        about = {tag["name"]: tag["description"] for tag in self.openapi["tags"]}
        return [ReferenceGroup(name, text, by_tag[name]) for name, text in about.items() if name in by_tag]

    def parameters(self, operation: Mapping[str, Any]) -> list[ReferenceField]:
        parameters = [self.whole(parameter) for parameter in operation.get("parameters", ())]
        return [
            field(
                parameter["name"],
                {**parameter, **parameter["schema"], **parameter},
                parameter.get("required", False),
                parameter["in"],
            )
            for parameter in parameters
        ]

    def bodies(self, content: Mapping[str, Any]) -> list[ReferenceBody]:
        return [
            ReferenceBody(
                media=media,
                kind=kind_of(body.get("schema", {})),
                # What has a name has a page of its own.
                fields=self.fields(body.get("schema", {})) if "$ref" not in body.get("schema", {}) else (),
                examples=[written(example) for example in self.examples(body)],
            )
            for media, body in content.items()
        ]

    def examples(self, body: Mapping[str, Any]) -> list[Any]:
        named = [self.whole(example)["value"] for example in body.get("examples", {}).values()]
        own = [body["example"]] if "example" in body else []
        return [*own, *named, *body.get("schema", {}).get("examples", ())]

    def fields(self, schema: Mapping[str, Any]) -> list[ReferenceField]:
        required = schema.get("required", ())
        return [
            # A field that says no more than its own schema does refers to that.
            field(name, {**self.whole(part), **part}, name in required)
            for name, part in schema.get("properties", {}).items()
        ]

    def answers(self, operation: Mapping[str, Any]) -> list[ReferenceAnswer]:
        responses = {status: self.whole(response) for status, response in operation["responses"].items()}
        return [
            ReferenceAnswer(status, response["description"], self.bodies(response.get("content", {})))
            for status, response in responses.items()
            if int(status) not in BY_STATUS
        ]


def field(name: str, part: Mapping[str, Any], required: bool, place: str = "") -> ReferenceField:
    examples = [*([part["example"]] if "example" in part else []), *part.get("examples", ())]
    return ReferenceField(
        name=name,
        place=place,
        kind=kind_of(part),
        required=required,
        about=Markup(converter().renderInline(part.get("description", ""))),
        example=json.dumps(examples[0], ensure_ascii=False) if examples else "",
    )


def prose(markdown: str) -> Markup:
    return Markup(converter().render(markdown))


def written(example: Any) -> str:
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "≥ {} characters",
    "maxLength": "≤ {} characters",
    "minItems": "≥ {} entries",
    "maxItems": "≤ {} entries",
    "pattern": "matches {}",
}


def kind_of(schema: Mapping[str, Any]) -> Markup:
    """Return the type of a value in words, with links to the schemas it is made of."""
    return Markup(", ").join(
        [type_of(schema), *(limit.format(schema[name]) for name, limit in LIMITS.items() if name in schema)]
    )


def type_of(schema: Mapping[str, Any]) -> Markup:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="{}/schemas/{}">{}</a>').format(REFERENCE, name, name)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(" | ").join(Markup("<code>{}</code>").format(json.dumps(value)) for value in values)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if choices:
        return Markup(" | ").join(kind_of(value) for value in choices)
    if "items" in schema:
        return Markup("list of {}").format(kind_of(schema["items"]))
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict):
        return Markup("object of {}").format(kind_of(inner))
    return Markup("{}").format(schema.get("format") or schema.get("type", "any"))


def described(request: Request) -> ApiDescription:
    return ApiDescription(request.app.openapi())


@router.get(REFERENCE, response_class=HTMLResponse)
def show_reference(request: Request) -> Response:
    """List every operation of the API and every schema."""
    api = described(request)
    page = ReferencePage(api.groups(), sorted(api.openapi["components"]["schemas"]))
    return render(request, "reference/reference.html", page)


@router.get(f"{REFERENCE}/{{operation}}", response_class=HTMLResponse)
def show_operation(request: Request, operation: str) -> Response:
    api = described(request)
    known = {entry.id: (entry, part) for entry, part in api.operations()}
    if operation not in known:
        raise NotFound.named("operation", operation, known)
    entry, part = known[operation]
    page = OperationPage(
        entry=entry,
        about=prose(part["description"]),
        parameters=api.parameters(part),
        bodies=api.bodies(part.get("requestBody", {}).get("content", {})),
        answers=api.answers(part),
        failures=[BY_STATUS[int(status)] for status in part["responses"] if int(status) in BY_STATUS],
    )
    return render(request, "reference/operation.html", page)


@router.get(f"{REFERENCE}/schemas/{{name}}", response_class=HTMLResponse)
def show_schema(request: Request, name: str) -> Response:
    api = described(request)
    schemas = api.openapi["components"]["schemas"]
    if name not in schemas:
        raise NotFound.named("schema", name, schemas)
    schema = schemas[name]
    page = SchemaPage(name, prose(schema.get("description", "")), kind_of(schema), api.fields(schema))
    return render(request, "reference/schema.html", page)
