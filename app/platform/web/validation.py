"""All errors of a request at once: of its parameters, of the shape of its body and of what that means."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, get_args

from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from app.errors import AppError, FieldError, Message, Unprocessable, nearest, several_invalid, with_errors
from app.estimating.context import SizingContext
from app.estimating.naming import SoftwareName
from app.estimating.request import AssumptionsInput, EstimateRequest, ModelInput, SystemInput, WorkloadInput
from app.estimating.request_checks import request_errors
from app.platform.json_bodies import (
    MAX_ERRORS,
    MAX_FIELD,
    SENT_TWICE,
    UNKNOWN_PARAMETER,
    from_validation,
)
from app.platform.web.bodies import StrictRequest
from app.platform.web.deps import workspace_of

MOST_CHECKED = 50
"""Objects of a refused body whose meaning is looked at."""

COMPLETE = {400, 404, 409, 422}
"""Statuses of refusals that tell of fields."""

PARTS: Mapping[str, Any] = {
    "model": ModelInput,
    "workload": WorkloadInput,
    "system": SystemInput,
    "assumptions": AssumptionsInput,
    "software": SoftwareName,
}
"""Fields of requests whose meaning can be looked at beside whatever else is wrong."""

OPEN: set[type[BaseModel]] = {SystemInput, AssumptionsInput}
"""Those whose fields mean something one by one: a malformed one is left out."""


def query_fields(dependant: Dependant) -> Iterator[list[Any]]:
    """Give the query parameters of a route and of all that it depends on."""
    yield dependant.query_params
    for part in dependant.dependencies:
        yield from query_fields(part)


def query_names(dependant: Dependant) -> Iterator[str]:
    """Give the names of the query parameters that a route and what it depends on take."""
    for parameter in itertools.chain.from_iterable(query_fields(dependant)):
        kind = parameter.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (field.alias or name for name, field in kind.model_fields.items())
        else:
            yield parameter.alias


def unread_parameters(query: QueryParams, known: Collection[str]) -> Unprocessable | None:
    """Return the refusal of query parameters that would else be passed over: unknown, or sent twice."""
    errors = [
        FieldError(
            name[:MAX_FIELD],
            SENT_TWICE
            if name in known
            else Message(UNKNOWN_PARAMETER.template, {"known": ", ".join(nearest(name, known))}),
        )
        for name, count in Counter(name for name, _ in query.multi_items()).items()
        if count > 1 or name not in known
    ][:MAX_ERRORS]
    if not errors:
        return None
    return Unprocessable(errors[0].message if len(errors) == 1 else several_invalid(len(errors)), errors)


def with_what_else_is_wrong(
    error: AppError | RequestValidationError,
    unread: AppError | None,
    request: StrictRequest,
    dependant: Dependant,
    kind: Any,
) -> AppError:
    """Return the refusal of a request with all that can be found wrong beside what was found first."""
    first = error if isinstance(error, AppError) else from_validation(told(error, request.wrong))
    if first.status not in COMPLETE or not first.errors:
        return first
    errors: list[AppError] = []
    if unread is not None:
        # What was not read kept the rest from being looked at.
        wrong: list[Any] = []
        for fields in query_fields(dependant):
            wrong += request_params_to_args(fields, request.query_params)[1]
        wrong += request.wrong
        errors += [unread, *([from_validation(wrong)] if wrong else [])]
    if kind is not None:
        errors += meaning(kind, request.parsed, workspace_of(request).sizing)
    return with_errors(first, errors)


def told(error: RequestValidationError, of_body: list[Any]) -> list[Any]:
    """Return what the framework says of a request, with what is wrong with its body in full."""
    errors = list(error.errors())
    return [item for item in errors if item["loc"][0] != "body"] + of_body if of_body else errors


def meaning(annotation: Any, body: Any, context: SizingContext) -> Iterator[AppError]:
    """Give what is wrong with the well-formed parts of a body, at their places in it."""
    for path, parts, whole in itertools.islice(objects(annotation, body), MOST_CHECKED):
        for request in [parts] if whole else [{name: part} for name, part in parts.items()]:
            for error in request_errors(request, context):
                error.errors = tuple(
                    FieldError(field_path(path, item.field), item.message) for item in error.errors
                )
                yield error


def field_path(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def objects(annotation: Any, value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Give the objects of a body that hold parts of a request: place, parts, and whether it is whole."""
    if isinstance(value, list):
        # Who sends millions of empty objects, or lists in lists, is told of no more than these.
        for index, item in enumerate(value[:MOST_CHECKED]):
            if isinstance(item, dict):
                yield from objects(annotation, item, field_path(path, str(index)))
    if not isinstance(value, dict):
        return
    for kind in documents(annotation):
        fields = {name: field.annotation for name, field in kind.model_fields.items() if name in value}
        parts = {name: part for name in fields if (part := read(name, fields[name], value[name])) is not None}
        if parts:
            yield path, parts, issubclass(kind, EstimateRequest)
        for name, inner in fields.items():
            if name not in PARTS:
                yield from objects(inner, value[name], field_path(path, name))


def documents(annotation: Any) -> Iterator[type[BaseModel]]:
    """Give the documents that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from documents(part)


def read(name: str, annotation: Any, value: Any) -> Any:
    """Return a part of a request as its schema reads it; None where it is no such part, or malformed."""
    kind = PARTS.get(name)
    if kind is None or kind not in (annotation, *get_args(annotation)):
        return None
    if kind in OPEN and isinstance(value, dict):
        # Names that nobody knows are told of elsewhere, and may be very many.
        value = {field: value[field] for field in kind.model_fields if field in value}
    for _ in range(2):
        try:
            return TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            if kind not in OPEN or not isinstance(value, dict):
                return None
            wrong = {item["loc"][0] for item in error.errors() if item["loc"]}
            value = {field: item for field, item in value.items() if field not in wrong}
    return None
