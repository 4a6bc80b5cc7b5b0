"""The process that reads one ONNX file: its profile or its refusal to standard output, nothing else.

``python -m app.profiles.onnx_child NAME`` bounds itself before the native reader is even loaded.
"""

from __future__ import annotations

import json
import sys

from app.errors import AppError
from app.profiles.onnx_file import MOST_MEMORY, refusal_to_json
from app.profiles.sandbox import bound_memory


def told(name: str, data: bytes) -> dict[str, object]:
    """Return what is to be said of a file."""
    from app.profiles.onnx_graph import read_onnx

    try:
        return {"profile": read_onnx(name, data).to_json()}
    except AppError as error:
        return {"refused": refusal_to_json(error)}


if __name__ == "__main__":
    bound_memory(MOST_MEMORY)
    sys.stdout.write(json.dumps(told(sys.argv[1], sys.stdin.buffer.read()), allow_nan=False))
