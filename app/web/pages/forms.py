"""HTML forms to the same schemas as JSON, and schema errors back to the fields of a form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams

from app.errors import AppError, FieldError, Message
from app.web.contexts import Form

MULTIPLES = {
    "k": 1e3,
    "m": 1e6,
    "b": 1e9,
    "t": 1e12,
    "만": 1e4,
    "억": 1e8,
    "조": 1e12,
}
"""Words people write after a number: 175B, 3000억."""

NUMBER = re.compile(r"([+-]?[\d.]+(?:e[+-]?\d+)?)\s*([kmbt만억조]?)", re.IGNORECASE)

SENTENCES = {
    "missing": "must be filled in",
    "float_parsing": "must be a number, such as 300e9",
    "float_type": "must be a number, such as 300e9",
    "finite_number": "must be a finite number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "string_too_long": "must be at most {max_length} characters long",
}
"""Kind of complaint of the schema → what a reader is told, for translation."""

ROW = re.compile(r"^rows\.(\d+)\.(?:\((?:estimate|figure)\)\.)?")


def typed(form: FormData | QueryParams) -> dict[str, list[str]]:
    """Return what was typed into a form, without its files."""
    values: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if isinstance(value, str) and value.strip():
            values.setdefault(name, []).append(value.strip())
    return values


def plain_number(text: str) -> str:
    """Return a number as typed by people in the form the schema reads; other text as it is.

    >>> plain_number("1,281,167"), plain_number("175B"), plain_number("3000억"), plain_number("many")
    ('1281167', '175000000000', '300000000000', 'many')
    """
    bare = text.replace(",", "").replace("_", "").replace(" ", "")
    found = NUMBER.fullmatch(bare)
    if found is None:
        return text
    digits, word = found.groups()
    try:
        value = float(digits) * MULTIPLES.get(word.lower(), 1.0)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() and abs(value) < 1e18 else repr(value)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted names as nested objects: ``workload.tokens`` → ``{"workload": {"tokens": …}}``."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *above, last = name.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def complaints(error: ValidationError) -> list[FieldError]:
    """Return what a schema refuses, in sentences that can be translated."""
    return [FieldError(_place(item["loc"]), _sentence(item)) for item in error.errors(include_url=False)]


def _place(location: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in location)


def _sentence(item: Mapping[str, Any]) -> Message:
    """Return one complaint of the schema as a message."""
    template = SENTENCES.get(str(item["type"]), "cannot be used as it is")
    known = {name: value for name, value in item.get("ctx", {}).items() if f"{{{name}}}" in template}
    return Message(template, known)


def placed(errors: Iterable[FieldError], systems: Sequence[str]) -> list[FieldError]:
    """Return errors at the fields of the start form: rows of a comparison are its systems.

    Model and workload are asked once for all rows, so their errors are shown once.
    """
    found: dict[tuple[str, str], FieldError] = {}
    for error in errors:
        row = ROW.match(error.field)
        field = error.field[row.end() :] if row else error.field
        if row and field.startswith("system.") and int(row[1]) < len(systems):
            field = f"system.{systems[int(row[1])]}"
        placed_error = FieldError(field, error.message)
        found.setdefault((field, str(error.message)), placed_error)
    return list(found.values())


def refused(
    values: Mapping[str, Sequence[str]], error: AppError | ValidationError, systems: Sequence[str]
) -> Form:
    """Return a form with what was typed and what is wrong with it."""
    errors = complaints(error) if isinstance(error, ValidationError) else error.errors
    return Form(values, placed(errors, systems))
