"""What commands read: files, the standard input, and requests in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from app.errors import BadInput, Message
from app.platform.json_bodies import from_validation, read_json
from app.profiles.presets import models_directory

Asked = TypeVar("Asked", bound=BaseModel)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def read_request(kind: type[Asked], path: Path) -> Asked:
    try:
        return kind.model_validate(read_json(content(path)))
    except ValidationError as error:
        raise from_validation(error.errors()) from None


def written(path: Path) -> str:
    """Return the text of a file; empty where there is none yet."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def data_directory() -> Path:
    return models_directory().parent


def content(path: Path) -> bytes:
    """Return the bytes of a file, or of the standard input for ``-``."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise BadInput(
            Message("{file} cannot be read: {reason}", {"file": str(path), "reason": error.strerror})
        ) from None


def decoded(path: Path) -> str:
    try:
        return content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(Message("{file} is not text in UTF-8", {"file": str(path)})) from None
