"""The description of the API, as its readers resolve it."""

from __future__ import annotations

from typing import Any

KINDS = ("parameters", "responses", "headers", "examples")


def resolved(openapi: dict[str, Any]) -> dict[str, Any]:
    """Return a description with its shared parts where they are referred to; schemas stay apart."""

    def whole(value: Any) -> Any:
        if isinstance(value, list):
            return [whole(one) for one in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            _, _, kind, name = reference.split("/")
            if kind in KINDS:
                return whole(openapi["components"][kind][name])
        return {name: whole(one) for name, one in value.items()}

    return {**openapi, "paths": whole(openapi["paths"])}
