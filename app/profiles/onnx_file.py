"""ONNX files, read in a process of their own.

The parser and the shape inference are native code that cannot be interrupted; see
:mod:`app.profiles.onnx_graph` for what they do and :mod:`app.profiles.sandbox` for the bounds.
``python -m app.profiles.onnx_file NAME LENGTH SIDE`` writes a profile or a refusal to standard output,
nothing else; it bounds itself before the native reader is even loaded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import cast

from app.errors import AppError, BadInput, FieldError, TooLarge, Unprocessable, need
from app.profiles.documents import MOST_ONNX_BYTES, check_size, unreadable
from app.profiles.model import ModelProfile, message_from_json, message_to_json
from app.profiles.sandbox import bound_memory, read_in_subprocess

MOST_MEMORY = 1_000_000_000
"""Address space of the reading process. [B]"""
SECONDS = 15.0
"""Time of the reading process, its start included. [s]"""
REFUSALS: Mapping[str, type[AppError]] = {kind.__name__: kind for kind in (BadInput, TooLarge, Unprocessable)}


def read_onnx_file(
    name: str, data: bytes, seq_len: int | None = None, image_size: int | None = None
) -> ModelProfile:
    """Return the model of a graph; symbolic lengths and sides of images are the given ones, or usual ones."""
    check_size(name, len(data), MOST_ONNX_BYTES)
    need("onnx", "files")
    sizes = (str(seq_len or 0), str(image_size or 0))
    answer = read_in_subprocess(name, "app.profiles.onnx_file", name, *sizes, content=data, seconds=SECONDS)
    match answer:
        case {"profile": dict(profile)}:
            return ModelProfile.from_json(profile)
        case {"refused": dict(refused)}:
            raise refusal_from_json(refused)
    raise unreadable(
        "{file} cannot be read as an ONNX model within {memory} GB of memory; "
        "check the model with onnx.checker",
        file=name,
        memory=MOST_MEMORY / 1e9,
    )


def refusal_to_json(error: AppError) -> dict[str, object]:
    return {
        "kind": type(error).__name__,
        "message": message_to_json(error.message),
        "errors": [[entry.field, message_to_json(entry.message)] for entry in error.errors],
    }


def refusal_from_json(document: Mapping[str, object]) -> AppError:
    entries = cast("list[tuple[str, Mapping[str, object]]]", document["errors"])
    return REFUSALS[str(document["kind"])](
        message_from_json(cast("Mapping[str, object]", document["message"])),
        [FieldError(field, message_from_json(message)) for field, message in entries],
    )


def answer_of(name: str, data: bytes, seq_len: int = 0, image_size: int = 0) -> dict[str, object]:
    from app.profiles.onnx_graph import read_onnx

    try:
        return {"profile": read_onnx(name, data, seq_len or None, image_size or None).to_json()}
    except AppError as error:
        return {"refused": refusal_to_json(error)}


if __name__ == "__main__":
    bound_memory(MOST_MEMORY)
    _, file, length, side = sys.argv
    sys.stdout.write(
        json.dumps(answer_of(file, sys.stdin.buffer.read(), int(length), int(side)), allow_nan=False)
    )
