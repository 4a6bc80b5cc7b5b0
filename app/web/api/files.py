"""Uploads: one file of a multipart form, with a few plain fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from app.errors import Unprocessable
from app.sizing.strict_json import read_json
from app.web.problems import UnsupportedMediaType

MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Upload:
    """A file with its name and the plain fields that came along."""

    name: str
    content: bytes
    fields: Mapping[str, str]


async def read_upload(request: Request, known: Collection[str] = ()) -> Upload:
    """Read the ``file`` of a multipart form; fields beside it must be known ones."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise UnsupportedMediaType("send the file as multipart/form-data, in a field named “file”")
    async with request.form(max_files=1, max_fields=len(known) + 1) as form:
        for name in form:
            if name != "file" and name not in known:
                raise Unprocessable.at(name[:MAX_NAME], "is not a field of this request")
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Unprocessable.at("file", "is required: the file itself")
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        return Upload((file.filename or "file")[:MAX_NAME], await file.read(), fields)


async def read_upload_or_json(request: Request) -> Upload | Any:
    """Read a multipart file, or a JSON body in its place."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await read_upload(request)
    body = await request.body()
    if not body:
        raise Unprocessable.at("body", "is required: a file or a description of a model")
    return read_json(body)


def form_body(fields: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return a multipart form with a file for OpenAPI."""
    file = {"type": "string", "format": "binary", "description": "The file itself."}
    return {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": file, **(fields or {})},
            }
        }
    }
