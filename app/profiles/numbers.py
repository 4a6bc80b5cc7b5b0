"""Reading numbers out of documents that strangers wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping

from app.errors import BadInput, Unprocessable

LARGEST = 1e15
"""No dimension, count or parameter of a model is larger; beyond it arithmetic would overflow."""


def whole(
    document: Mapping[str, object], name: str, *, where: str, least: int = 1, most: float = 1e9
) -> int | None:
    """Return a whole number, or None where the field is absent or null."""
    value = document.get(name)
    if value is None:
        return None
    field_name = f"{where}.{name}" if where else name
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unprocessable.at(
            field_name, "{field} must be a whole number, not {value}", field=name, value=shown(value)
        )
    if not least <= value <= most:
        raise BadInput.at(
            field_name,
            "{field} must be between {least} and {most}, not {value}",
            field=name,
            least=least,
            most=most,
            value=shown(value),
        )
    return value


def number(
    document: Mapping[str, object], name: str, *, where: str, least: float = 0.0, most: float = LARGEST
) -> float | None:
    """Return a finite number, or None where the field is absent or null."""
    value = document.get(name)
    if value is None:
        return None
    field_name = f"{where}.{name}" if where else name
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unprocessable.at(
            field_name, "{field} must be a number, not {value}", field=name, value=shown(value)
        )
    # The range first: a whole number of hundreds of digits has no float to ask about.
    if not least <= value <= most or not math.isfinite(value):
        raise BadInput.at(
            field_name,
            "{field} must be a finite number between {least} and {most}, not {value}",
            field=name,
            least=least,
            most=most,
            value=shown(value),
        )
    return float(value)


def flag(document: Mapping[str, object], name: str, default: bool, *, where: str) -> bool:
    """Return a yes or no, or the default where the field is absent or null."""
    value = document.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        field_name = f"{where}.{name}" if where else name
        raise Unprocessable.at(
            field_name, "{field} must be true or false, not {value}", field=name, value=shown(value)
        )
    return value


def shown(value: object) -> str:
    """Return a value as an error may repeat it: short, on one line, never a whole document."""
    if isinstance(value, str):
        return f"“{printable(value)}”"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < LARGEST else "a number of more than 15 digits"
    if isinstance(value, float):
        return f"{value:g}"
    return "a list" if isinstance(value, list | tuple) else "an object"


def printable(text: str, most: int = 60) -> str:
    """Return text cut to a readable length, without control characters."""
    kept = "".join(character if character.isprintable() else "�" for character in text[: most + 1])
    return kept if len(kept) <= most else kept[: most - 1] + "…"
