"""What pydantic says of a request, in our words: one error that names the fields.

Nothing of it comes from the values that were sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import AppError, BadInput, FieldError, Message, Unprocessable

MAX_FIELD = 200
MAX_ERRORS = 50
"""A problem names this many fields at most, and this much of each: names may come from the body."""

# What pydantic says of a value of the right type that is out of range: 400. Everything else it
# says is about presence, names and types: 422.
OUT_OF_RANGE = {
    "finite_number",
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "multiple_of",
    "string_too_long",
    "string_too_short",
    "string_pattern_mismatch",
    "too_long",
    "too_short",
    "int_parsing_size",
    "value_error",
    "recursion_loop",
}

REASONS = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "finite_number": "must be a finite number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "list_type": "must be a list",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "literal_error": "must be one of {expected}",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}
"""What each complaint of pydantic's means, in our words."""


def reason(item: Mapping[str, Any]) -> Message:
    """Return what is wrong with a field; nothing in it comes from the value that was sent."""
    template = REASONS.get(item["type"])
    if template is None:
        return Message(escaped(str(item["msg"])))
    return Message(template, item.get("ctx", {}))


def dotted(location: Iterable[str | int]) -> str:
    """Return pydantic's location as a path: ``("body", "rows", 0, "hours")`` → ``rows.0.hours``."""
    parts = [str(part) for part in location]
    if parts[:1] and parts[0] in {"body", "query", "path", "header"}:
        parts = parts[1:]
    # Parentheses mark the kinds of row that a comparison tells apart; they are no fields.
    return ".".join(part for part in parts if not part.startswith("("))[:MAX_FIELD]


def from_validation(errors: Iterable[Mapping[str, Any]]) -> AppError:
    """Return pydantic's complaints as one error: 422 unless all are about range."""
    found = list(itertools.islice(errors, MAX_ERRORS))
    fields = [FieldError(dotted(item["loc"]) or "body", reason(item)) for item in found]
    kind: type[AppError] = BadInput if all(item["type"] in OUT_OF_RANGE for item in found) else Unprocessable
    if len(fields) == 1:
        return kind(fields[0].message, fields)
    return kind(Message("{count} fields cannot be used as they are", {"count": len(fields)}), fields)


def escaped(text: str) -> str:
    """Return text as a template without places."""
    return text.replace("{", "{{").replace("}", "}}")
