"""How failures look in OpenAPI: each status with its meaning and an example."""

from __future__ import annotations

from typing import Any

from app.errors import (
    AppError,
    BadInput,
    Conflict,
    Message,
    NotFound,
    SignInNeeded,
    Stale,
    TooLarge,
    TooMany,
    Unavailable,
    Unprocessable,
)
from app.web.problems import MEDIA_TYPE, Problem, UnsupportedMediaType

EXAMPLES: dict[int, AppError] = {
    400: BadInput.at("plan.tensor", "must be at least 1, not {value}", value=0),
    401: SignInNeeded("this server answers to its members only; sign in or send an API key"),
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
    412: Stale(
        Message(
            "the comparison has been changed meanwhile (version {found}, not {expected}); read it again",
            {"found": 4, "expected": 3},
        )
    ),
    413: TooLarge(Message("the body is larger than {limit} bytes", {"limit": 8_000_000})),
    415: UnsupportedMediaType("send the body as application/json"),
    422: Unprocessable.at("system.id", "Field required"),
    429: TooMany(
        Message(
            "this key may send {quota} requests of the kind “{kind}” a minute; wait {seconds} s",
            {"quota": 30, "kind": "search", "seconds": 12},
        )
    ),
    503: Unavailable("the database cannot be reached; nothing was kept, try again in a moment"),
}

MEANINGS = {
    400: "Right type, but out of range, not finite or contradictory.",
    401: "Nobody known asks; send `Authorization: Bearer KEY`. A server without accounts never says so.",
    404: "Nobody knows this identifier; the answer names close ones.",
    409: "More devices than exist, an edit conflict, or a key used for another body.",
    412: "The ETag in If-Match is that of another version.",
    413: "Larger than the server takes.",
    415: "Not a format this address reads.",
    422: "A field is missing, unknown or of the wrong type.",
    429: "Asked too often; Retry-After says how long to wait.",
    503: "The database cannot be used now; Retry-After says when to ask again.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the failures of an endpoint for OpenAPI."""
    return {
        status: {
            "description": MEANINGS[status],
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
            "data": {"type": "string", "description": "The state as JSON; of “end”, the status alone."},
            "id": {"const": "end", "description": "Sent back as Last-Event-ID, nothing follows any more."},
        },
    }
    return {"text/event-stream": {"itemSchema": event, "example": example}}


READ = problems(400, 404, 422)
CHANGE = problems(400, 404, 409, 422)
LIST = problems(400, 422)
DELETE = problems(400, 404, 409, 412, 422)
ASK = problems(400, 404, 409, 413, 415, 422)
KNOWN = problems(401, 429)
"""Failures of every endpoint."""

ETAG = {
    "ETag": {
        "description": "Version and digest of the answer, for If-Match and If-None-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+-[0-9a-f]{16}"$'},
        "example": '"3-9f86d081884c7d65"',
    }
}
TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": ETAG},
    304: {"description": "What the caller has still holds.", "headers": ETAG},
}
CHANGED: dict[int | str, dict[str, Any]] = {200: {"headers": ETAG}, **problems(412)}
