"""What routes of the JSON API share: strict bodies, files, answers, their ETags and parts, errors."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from app.errors import (
    AppError,
    BadInput,
    Conflict,
    Message,
    NotFound,
    SignInRequired,
    Stale,
    TooMany,
    Unavailable,
    Unprocessable,
    VersionConflict,
    refuse,
)
from app.estimating.request import Schema
from app.platform.idempotency import noting_replays
from app.platform.json_bodies import REASONS, from_validation, too_large
from app.platform.listing import Page
from app.platform.web.bodies import StrictRequest, places_of
from app.platform.web.forms import in_utf8
from app.platform.web.locale import PARAMETER
from app.platform.web.problems import MEANINGS, MEDIA_TYPE, Forbidden, Problem, UnsupportedMediaType
from app.platform.web.requirements import LARGE_BODY, requirements_of
from app.platform.web.rights import admitted, entitled, name_of
from app.platform.web.validation import documents, query_names, unread_parameters, with_what_else_is_wrong

DIGEST = 16
"""Digits of the digest in a tag."""

MOST = 1000
"""Characters of a header with tags that are read."""


def write_tag(version: int) -> str:
    """Return a version as an ETag, to which :func:`conditional` adds the digest."""
    return f'"{version}"'


def read_tag(tag: str | None) -> int | None:
    """Return the version in an ETag; None where any will do.

    >>> read_tag('"3-9f86d081884c7d65"')
    3
    """
    if tag is None or tag.strip() == "*":
        return None
    version = tag.strip().removeprefix("W/").strip('"').partition("-")[0]
    if not (version.isascii() and version.isdecimal()) or len(version) > 9:
        raise BadInput.at("If-Match", "send the ETag of an earlier response")
    return int(version)


def conditional(request: Request, response: Response) -> Response:
    """Return an answer with its digest in the ETag, or 304 where the caller has these very bytes.

    What does not say which version it is has one only.
    """
    whole = response.media_type == "application/json" and (
        response.status_code == 201 or request.method == "GET"
    )
    tag = response.headers.get("etag", write_tag(1) if whole else None)
    if tag is None or response.status_code >= 300:
        return response
    digest = hashlib.sha256(response.body).hexdigest()[:DIGEST]
    tag = f'{tag[:-1]}-{digest}"'
    response.headers["ETag"] = tag
    if request.method == "GET" and knows(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return response


def knows(header: str, tag: str) -> bool:
    """Tell whether If-None-Match names a tag; weak tags count (RFC 9110, 13.1.2)."""
    tags = [entry.strip().removeprefix("W/") for entry in header[:MOST].split(",")]
    return tag in tags or "*" in tags


def remember(
    tag: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            max_length=MOST,
            description="ETags of cached responses; returns 304 if one of them is still current.",
        ),
    ] = None,
) -> None:
    """Describe the header that :func:`conditional` reads."""


REMEMBER = [Depends(remember)]

MatchHeader = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=60,
        description="ETag last read; returns 412 if there has been another change since.",
        examples=["*"],
    ),
]

Tree: TypeAlias = Mapping[str, "Tree"]
"""Fields that are kept, and what of each; all of it where nothing stands below."""

FieldsQuery = Annotated[
    str | None,
    Query(
        max_length=2000,
        description="Fields to return, comma-separated; use a dot for nested fields. With "
        "“view=summary”, additional fields. In a list, fields of its items.",
        examples=["id,time_to_train,cost.run"],
    ),
]

ViewQuery = Annotated[
    Literal["full", "summary"],
    Query(
        description="“summary” omits how the figures were derived: trace, lines, sources, competing figures."
    ),
]


class Selection:
    """What a route depends on of whose answer fields may be chosen."""

    def __init__(self, *kinds: type[BaseModel], within: str = "") -> None:
        self.kinds = kinds
        self.within = within
        """Field of the answer whose items are narrowed; empty where the answer itself is."""

    async def __call__(self, request: Request, fields: FieldsQuery = None) -> None:
        """Note what is wanted for :func:`narrowed`."""
        self.note(request, fields)

    def note(self, request: Request, fields: str | None, more: Sequence[str] = ()) -> None:
        """Note fields that are asked for, and more."""
        paths = [name.strip() for name in (fields or "").split(",") if name.strip()]
        for path in paths:
            self.check(path)
        paths += more
        if paths:
            tree = tree_of(paths)
            # Whoever reads a part of a list goes on with the next.
            request.state.narrowed = {"next": {}, **({self.within: tree} if self.within else tree)}

    def check(self, path: str) -> None:
        """Refuse a field that no answer of this kind has."""
        known = set(self.kinds)
        for name in path.split("."):
            fields = {field: about.annotation for kind in known for field, about in kind.model_fields.items()}
            if fields and name not in fields:
                raise BadInput.at(
                    "fields",
                    "{value} does not exist; allowed: {known}",
                    value=f"“{path[:60]}”",
                    known=", ".join(fields),
                )
            known = set(documents(fields.get(name)))


class AnswerSelection(Selection):
    """What a route depends on whose answer may be had in part, or as a summary."""

    def __init__(self, kind: type[BaseModel], *summary: str, within: str = "") -> None:
        super().__init__(kind, within=within)
        self.summary = summary

    async def __call__(self, request: Request, fields: FieldsQuery = None, view: ViewQuery = "full") -> None:
        """Note what is wanted for :func:`narrowed`."""
        self.note(request, fields, self.summary if view == "summary" else ())


def tree_of(paths: Iterable[str]) -> Tree:
    """Return paths as a tree; a field that is wanted whole keeps all of its parts.

    >>> tree_of(["cost.run", "id", "cost.hourly"]), tree_of(["cost.run", "cost"])
    ({'id': {}, 'cost': {'run': {}, 'hourly': {}}}, {'cost': {}})
    """
    tree: dict[str, Any] = {}
    # The short ones first, and without recursion: a path may be longer than the stack is deep.
    for path in sorted(paths, key=lambda path: path.count(".")):
        *above, last = path.split(".")
        branch = tree
        for name in above:
            if branch.get(name) == {}:
                break
            branch = branch.setdefault(name, {})
        else:
            branch.setdefault(last, {})
    return tree


def pruned(value: Any, tree: Tree) -> Any:
    """Return what a tree keeps of a value."""
    if isinstance(value, list):
        return [pruned(item, tree) for item in value]
    if not tree or not isinstance(value, dict):
        return value
    return {name: pruned(part, tree[name]) for name, part in value.items() if name in tree}


def narrowed(request: Request, response: Response) -> Response:
    """Return an answer with what was asked for of it."""
    tree: Tree | None = getattr(request.state, "narrowed", None)
    if tree is not None and response.status_code < 300:
        kept = pruned(json.loads(bytes(response.body)), tree)
        response.body = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
        response.headers["Content-Length"] = str(len(response.body))
    return response


EXAMPLES: dict[int, AppError] = {
    400: BadInput.at("plan.tensor", "must be at least 1, not {value}", value=0),
    401: SignInRequired("this server is for members only; sign in or send an API key"),
    403: Forbidden("only workspace owners can view and change its members"),
    404: NotFound.named("system", "dgx-a100", ["dgx-a100-320gb", "dgx-a100-640gb"], "system.id"),
    409: Conflict.at(
        "replicas",
        "{tensor} × {pipeline} × {replicas} needs {needed} IPUs; {system} has {available}",
        tensor=8,
        pipeline=8,
        replicas=5,
        needed=320,
        system="IPU-POD256",
        available=256,
    ),
    412: Stale(VersionConflict.since(3, 4).message),
    413: too_large(LARGE_BODY.size),
    415: UnsupportedMediaType("send the body as application/json"),
    422: Unprocessable.at("system.id", "Field required"),
    429: TooMany(
        Message(
            "limit of this key for “{kind}”: {quota} requests per minute; wait {seconds} s",
            {"quota": 30, "kind": "search", "seconds": 12},
        )
    ),
    503: Unavailable("the database cannot be reached; nothing was saved, try again in a moment"),
}


WAIT = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}, "example": 42}}

HEADERS: dict[int, dict[str, Any]] = {
    401: {
        "WWW-Authenticate": {
            "description": "How to authenticate.", "schema": {"type": "string"}, "example": "Bearer"
        }
    },
    429: WAIT,
    503: WAIT,
}  # fmt: skip
"""Headers of failures."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the failures of an endpoint for OpenAPI."""
    return {
        status: {
            "description": str(MEANINGS[status]),
            **({"headers": HEADERS[status]} if status in HEADERS else {}),
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                    "example": Problem.of(EXAMPLES[status]).model_dump(exclude_none=True),
                }
            },
        }
        for status in statuses
    }


def event_stream_content() -> dict[str, Any]:
    """Return a stream of server-sent events for OpenAPI."""
    example = (
        'event: progress\ndata: {"id": "swp_a2b3c4d5e6f7g2h3", "title": "Fleet plan", "status": "running", '
        '"total": 48, "done": 16, "message": null, "created_at": "2026-11-02T09:30:00Z", '
        '"updated_at": "2026-11-02T09:30:04Z"}\n\nevent: end\nid: end\ndata: done\n\n'
    )
    event = {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"enum": ["progress", "end"], "description": "“end” once the work has ended."},
            "data": {"type": "string", "description": "State as JSON; for “end”, only the status."},
            "id": {"const": "end", "description": "If sent back as Last-Event-ID, no further events follow."},
        },
    }
    return {"text/event-stream": {"itemSchema": event, "example": example}}


READ = problems(400, 404, 422)

CHANGE = problems(400, 404, 409, 422)

LIST = problems(400, 422)

DELETE = problems(400, 404, 409, 412, 422)

ASK = problems(400, 404, 409, 413, 415, 422)

KNOWN = problems(401, 403, 429)
"""Failures of every endpoint."""

ETAG = {
    "ETag": {
        "description": "Version and digest of the response, for If-Match and If-None-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+-[0-9a-f]{16}"$'},
        "example": '"3-9f86d081884c7d65"',
    }
}

TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": ETAG},
    304: {"description": "Not modified; the cached response is still current.", "headers": ETAG},
}

CREATED: dict[int | str, dict[str, Any]] = {
    201: {
        "headers": {
            **ETAG,
            "Location": {
                "description": "Path of what was created.",
                "schema": {"type": "string"},
                "example": "/api/v1/estimates/est_a2b3c4d5e6f7g2h3",
            },
        }
    }
}

REPLAYED = {
    "Idempotency-Replayed": {
        "description": "“true” if this is the first answer to the Idempotency-Key, given again.",
        "schema": {"const": "true"},
        "example": "true",
    }
}

COLLECTIONS = {
    "prf": "profiles", "wkl": "workloads", "est": "estimates", "cmp": "comparisons", "cal": "calibrations",
    "siz": "sizings", "swp": "sweeps", "prp": "proposals", "pbk": "price-books", "own": "accelerators",
    "bom": "boms", "stu": "studies", "key": "keys", "whk": "webhooks",
}  # fmt: skip
"""Beginning of an identifier → where what it names is found."""


def located(identifier: str) -> str | None:
    """Return the path of an object.

    >>> located("est_a2b3c4d5e6f7g2h3")
    '/api/v1/estimates/est_a2b3c4d5e6f7g2h3'
    """
    collection = COLLECTIONS.get(identifier[:3])
    return f"/api/v1/{collection}/{identifier}" if collection else None


IDENTIFIED = re.compile(rb'"id":\s?"([\w-]{5,40})"')


def with_location(response: Response) -> Response:
    """Say where what was created is; its identifier is the first that its document names."""
    if response.status_code == 201 and "location" not in response.headers:
        match = IDENTIFIED.search(bytes(response.body), 0, 200)
        location = located(match[1].decode()) if match else None
        if location is not None:
            response.headers["Location"] = location
    return response


def without_body(response: Response) -> Response:
    """Return what HEAD is answered of an answer to GET (RFC 9110, 9.3.2)."""
    return Response(status_code=response.status_code, headers=dict(response.headers))


CHANGED: dict[int | str, dict[str, Any]] = {200: {"headers": ETAG}, **problems(412)}


def answer_kinds(annotation: Any) -> tuple[tuple[type[BaseModel], ...], str]:
    """Return the documents that a route answers with, and the field of the answer that they are items of."""
    kinds = tuple(documents(annotation))
    if len(kinds) == 1 and issubclass(kinds[0], Page):
        return tuple(documents(kinds[0].model_fields["items"].annotation)), "items"
    return kinds, ""


class StrictRoute(APIRoute):
    """A route of the API: refuses what it does not know before the framework looks at it.

    Whatever answers with a document can be asked for some of its fields; reading has a tag, and creating says
    where. HEAD is GET without the body.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        kinds, within = answer_kinds(get_type_hints(endpoint).get("return"))
        methods, responses = set(options.get("methods") or ["GET"]), options.get("responses") or {}
        dependencies = list(options.get("dependencies") or ())
        if kinds and not any(isinstance(dependency.dependency, Selection) for dependency in dependencies):
            dependencies.append(Depends(Selection(*kinds, within=within)))
        if kinds and "GET" in methods:
            responses = merged(TAGGED, responses)
            dependencies += REMEMBER
        if options.get("status_code") == 201:
            responses = merged(CREATED, responses)
        if "key" in inspect.signature(endpoint).parameters:
            responses = merged({options.get("status_code") or 200: {"headers": REPLAYED}}, responses)
        super().__init__(path, endpoint, **{**options, "dependencies": dependencies, "responses": responses})

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(as_get(scope))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().handle(as_get(scope), receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        parameters = {*query_names(self.dependant), PARAMETER}
        limit = requirements_of(self.endpoint).body
        info = None if self.body_field is None else self.body_field.field_info
        kind: Any = None if info is None else info.annotation
        schema = None if info is None else TypeAdapter[Any](Annotated[kind, info])

        async def strictly(request: Request) -> Response:
            # Who may not do what the route is for sends no body that is worth reading.
            await run_in_threadpool(entitled, request)
            unread = unread_parameters(request.query_params, parameters)
            strict = StrictRequest(request.scope, request.receive, limit)
            await strict.take(is_json=schema is not None)
            async with places_of(request).place(len(strict.content)) as request.state.leave_place:
                try:
                    if strict.content:
                        await strict.understand(schema)
                    if unread is not None:
                        raise unread
                    with noting_replays() as replays:
                        response = with_location(await handle(strict))
                except (AppError, RequestValidationError) as error:
                    context = (strict, self.dependant, kind)
                    raise await run_in_threadpool(with_what_else_is_wrong, error, unread, *context) from None
            if replays:
                response.headers["Idempotency-Replayed"] = "true"
            answer = conditional(strict, narrowed(strict, response))
            return without_body(answer) if strict.scope.get(ASKED_HEAD) else answer

        return strictly


ASKED_HEAD = "rackline.head"


def as_get(scope: Scope) -> Scope:
    """Return a request for a head as one for the whole, marked."""
    return {**scope, "method": "GET", ASKED_HEAD: True} if scope.get("method") == "HEAD" else scope


def merged(common: Mapping[Any, Any], own: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return responses of OpenAPI with the headers of others."""
    return {
        status: {
            **common.get(status, {}),
            **own.get(status, {}),
            **(
                {
                    "headers": {
                        **common.get(status, {}).get("headers", {}),
                        **own.get(status, {}).get("headers", {}),
                    }
                }
                if status in common
                else {}
            ),
        }
        for status in {**common, **own}
    }


def api_router(tag: str, prefix: str = "") -> APIRouter:
    """Return a router of the JSON API, for members only."""
    return APIRouter(
        prefix=f"/api/v1{prefix}",
        tags=[tag],
        route_class=StrictRoute,
        responses=KNOWN,
        dependencies=[Depends(admitted)],
        generate_unique_id_function=name_of,
    )


def file_answer(
    kind: str, meaning: str, example: str = "", failures: Mapping[int | str, Any] = READ
) -> dict[int | str, Any]:
    """Return the answers of an address that gives a file, for OpenAPI; a file of text has an example."""
    binary = {} if kind.startswith("text/") else {"format": "binary"}
    examples = {"example": example} if example else {}
    content = {kind: {"schema": {"type": "string", **binary}, **examples}}
    return {**failures, 200: {"description": meaning, "content": content}}


MAX_NAME = 200


Beside = TypeVar("Beside", bound=Schema)


@dataclass(frozen=True, slots=True)
class Upload(Generic[Beside]):
    """A file with its name and what came along."""

    name: str
    content: bytes
    fields: Beside


async def read_upload(request: Request, kind: type[Beside]) -> Upload[Beside]:
    """Read the ``file`` of a multipart form, and the fields beside it."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise UnsupportedMediaType("send the file as multipart/form-data, in a field named “file”")
    async with in_utf8(request).form(max_files=1, max_fields=len(kind.model_fields) + 1) as form:
        file, faults = form.get("file"), list[AppError]()
        fields = {name: value for name, value in form.items() if name != "file"}
        try:
            beside = kind.model_validate(fields)
        except ValidationError as error:
            faults.append(from_validation(error.errors()))
        if not isinstance(file, UploadFile):
            faults.append(Unprocessable.at("file", REASONS["missing"]))
        refuse(faults)
        assert isinstance(file, UploadFile)
        return Upload((file.filename or "file")[:MAX_NAME], await file.read(), beside)


async def read_upload_or_json(request: Request, beside: type[Beside]) -> Upload[Beside] | Any:
    """Read a multipart file with the fields beside it, or a JSON body in its place."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await read_upload(request, beside)
    if not await request.body():
        raise Unprocessable.at("body", "a file or a model description is required")
    return await request.json()


def form_body(kind: type[Schema]) -> dict[str, Any]:
    """Return a multipart form with a file for OpenAPI."""
    file = {"type": "string", "format": "binary", "description": "File to upload."}
    # A form cannot say null, only leave a field out.
    fields = {
        name: {"description": field["description"], **field["anyOf"][0]}
        for name, field in kind.model_json_schema().get("properties", {}).items()
    }
    form = {"type": "object", "required": ["file"], "properties": {"file": file, **fields}}
    return {"multipart/form-data": {"schema": form}}
