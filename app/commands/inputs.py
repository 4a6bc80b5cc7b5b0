"""Files and standard input of commands."""

from __future__ import annotations

import errno
import json
import os
import secrets
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from app.errors import BadInput, Message, TooLarge, fields_at
from app.platform.json_bodies import from_validation, read_json

Asked = TypeVar("Asked", bound=BaseModel)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

RequestFile = Annotated[
    Path, typer.Argument(metavar="REQUEST.json", help="Request file; - reads standard input.")
]

Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]

MEGABYTE = 1_000_000

MOST_REQUEST_BYTES = 2_000_000
"""Largest request, as the API takes it unless told otherwise."""

MOST_FILE_BYTES = 256_000_000
"""Largest model file, as the API takes it unless told otherwise."""


def read_request(kind: type[Asked], path: Path) -> Asked:
    body = request_json(path)
    with fields_at(partial(of_file, path)):
        try:
            return kind.model_validate(body)
        except ValidationError as error:
            raise from_validation(error.errors()) from None


def request_json(path: Path) -> Any:
    """Return the JSON of a request file; errors name the file."""
    text = content(path, MOST_REQUEST_BYTES)
    with fields_at(partial(of_file, path)):
        try:
            return read_json(text)
        except BadInput as error:
            cause = error.__context__
            if isinstance(cause, json.JSONDecodeError):
                values = {"reason": cause.msg, "line": cause.lineno, "column": cause.colno}
                raise BadInput(
                    Message("not JSON: {reason} in line {line}, column {column}", values)
                ) from None
            if isinstance(cause, UnicodeDecodeError):
                raise BadInput(Message("not text in UTF-8")) from None
            if isinstance(cause, ValueError):
                raise BadInput(Message("contains an out-of-range number")) from None
            if not error.errors:
                raise BadInput(
                    Message("nested too deeply: at most {limit} levels", error.message.values)
                ) from None
            raise


def body_of(path: Path) -> bytes:
    """Return a request file as a body of the API, which validates it."""
    body = request_json(path)
    if not isinstance(body, dict):
        raise BadInput.at(name_of(path), "must be an object")
    return json.dumps(body).encode()


def of_file(path: Path, field: str) -> str:
    """Return the name of a field, or of the file for the whole body."""
    return field if field not in {"", "body"} else name_of(path)


def name_of(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def content(path: Path, most: int = MOST_FILE_BYTES) -> bytes:
    """Return the bytes of a file, or of the standard input for ``-``."""
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with path.open("rb") as file:
                data = file.read(most + 1)
    except OSError as error:
        raise BadInput(
            Message("{file} cannot be read: {reason}", {"file": str(path), "reason": error.strerror})
        ) from None
    if len(data) > most:
        raise TooLarge(
            Message("{file} is larger than {most} MB", {"file": name_of(path), "most": most / MEGABYTE})
        )
    return data


def decoded(path: Path) -> str:
    try:
        return content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(Message("{file} is not text in UTF-8", {"file": str(path)})) from None


def check_free(option: str, path: Path, *, force: bool) -> None:
    """Refuse an output file that exists, before anything is computed."""
    if path.is_file() and not force:
        raise BadInput.at(
            option, "{file} exists; replace it with --force, or choose another name", file=str(path)
        )
    missing = errno.EISDIR if path.is_dir() else None if path.parent.is_dir() else errno.ENOENT
    if missing is not None:
        raise unusable(option, path, os.strerror(missing))


def write_file(option: str, path: Path, data: bytes) -> None:
    """Write a file atomically; a special file, such as a pipe, is written directly."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise unusable(option, path, error.strerror) from None
    finally:
        part.unlink(missing_ok=True)


def unusable(option: str, path: Path, reason: str | None) -> BadInput:
    return BadInput.at(option, "{file} cannot be used: {reason}", file=str(path), reason=str(reason))
