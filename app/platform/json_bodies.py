"""JSON as it is sent: read strictly, refused with the field, the value and what is allowed."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.errors import AppError, BadInput, FieldError, Message, TooLarge, Unprocessable, several_invalid
from app.estimating.names import BLANK, INVISIBLE
from app.estimating.request import JsonString

MAX_DEPTH = 64
"""Deeper than any request of ours, shallower than the interpreter's recursion limit."""

MAX_FIELD = 200

MAX_WHOLE = 10**300
"""Whole numbers beyond this cannot become a float."""


MOST_VALUES = 150_000
"""Members of objects and entries of lists in a body: reading so many takes a tenth of a second."""

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


DOUBTFUL = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[\ud800-\udfff]")
"""What a text holds that may say U+0000 or half of a character."""


def read_json(body: bytes, most: int = MOST_VALUES) -> Any:
    """Return what a body says, if it has so many values at most; its texts say that they are texts."""
    try:
        text = body.decode(json.detect_encoding(body), "surrogatepass")
        check_count(text, most)
        top = [json.loads(text, object_pairs_hook=members)]
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError as error:
        message = "the body is not JSON: {reason} at character {position}"
        raise BadInput(Message(message, {"reason": error.msg, "position": error.pos})) from None
    except ValueError:
        # Not text in a Unicode encoding, or a number of thousands of digits.
        raise BadInput("the body is not UTF-8 JSON, or contains an out-of-range number") from None
    # Where nothing is wrong, and that is nearly always, it need not be found four times where it would be.
    if not is_sound(top, DOUBTFUL.search(text) is not None):
        errors = [
            (of_body, [FieldError(field, of_field) for field in wrong[:20]])
            for _, is_wrong, of_body, of_field in UNREADABLE
            if (wrong := places(top[0], is_wrong))
        ]
        faults = [fault for _, of_kind in errors for fault in of_kind]
        raise BadInput(errors[0][0] if len(errors) == 1 else several_invalid(len(faults)), faults)
    return top[0]


def check_count(text: str, most: int) -> None:
    """Refuse a text with more values before they are made.

    >>> check_count('{"a, b": [1, 2]}', 4)
    """
    if marks(text) > most and marks(STRING.sub("", text)) > most:
        message = "the body has more than {limit} values; split it, or upload models as files first"
        raise TooLarge(Message(message, {"limit": most}))


def marks(text: str) -> int:
    """Return how many values a text has at most: each stands behind a comma or a bracket."""
    return text.count(",") + text.count("[") + text.count("{")


def is_sound(top: list[Any], doubtful: bool) -> bool:
    """Mark the texts of a JSON value in a list; tell whether it holds nothing that :data:`UNREADABLE` finds.

    Texts and names are looked at where they are doubtful. What is too deep is refused.
    """
    level: list[Any] = [top]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            named = type(item) is dict
            if named and doubtful and any(map(unreadable, item)):
                return False
            for place, value in item.items() if named else enumerate(item):
                kind = type(value)
                if kind is str:
                    if doubtful and unreadable(value):
                        return False
                    item[place] = JsonString(value)
                elif kind is dict or kind is list:
                    below.append(value)
                elif kind is float or kind is int:
                    if not -MAX_WHOLE <= value <= MAX_WHOLE and out_of_bounds(value):
                        return False
                elif value is REPEATED:
                    return False
        level = below
        if not level:
            return True
    if any(level):
        raise too_deep()
    return True


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what a JSON object holds; what it names more than once is marked."""
    values = dict(pairs)
    if len(values) < len(pairs):
        values |= {name: REPEATED for name, count in Counter(name for name, _ in pairs).items() if count > 1}
    return values


REPEATED = object()
"""In the place of a value that was given more than once."""


def repeated(item: Any) -> bool:
    """Tell whether values stood under one name in an object: which is meant, nobody can say."""
    return item is REPEATED


def places(value: Any, wrong: Callable[[Any], bool]) -> list[str]:
    """Return the dotted places of what is wrong in a JSON value."""
    fields: list[str] = []
    level: list[tuple[str, Any]] = [("", value)]
    for _ in range(MAX_DEPTH + 1):
        fields += [whole(field)[:MAX_FIELD] or "body" for field, item in level if wrong(item)]
        level = [child for field, item in level for child in children(field, item)]
        if not level:
            return fields
    raise too_deep()


def children(field: str, item: Any) -> list[tuple[str, Any]]:
    """Return what a JSON value holds, with dotted places."""
    # No more of a place is told: the names above may be as long as a body.
    prefix = f"{field[:MAX_FIELD]}." if field else ""
    if isinstance(item, dict):
        return [(f"{prefix}{key}", child) for key, child in item.items()]
    if isinstance(item, list):
        return [(f"{prefix}{index}", child) for index, child in enumerate(item)]
    return []


def out_of_bounds(item: Any) -> bool:
    """Tell whether a JSON value is a number that is not finite, or cannot become a finite float."""
    if isinstance(item, float):
        return not math.isfinite(item)
    return isinstance(item, int) and abs(item) > MAX_WHOLE


def halved(text: str) -> bool:
    """Tell whether a text holds half of a UTF-16 pair, which no answer can say."""
    return not text.isascii() and whole(text) != text


def nulled(text: str) -> bool:
    """Tell whether a text holds U+0000, which PostgreSQL does not keep."""
    return "\0" in text


def unreadable(text: str) -> bool:
    return nulled(text) or halved(text)


def in_texts(wrong: Callable[[str], bool]) -> Callable[[Any], bool]:
    """Return what tells whether a JSON value is such a text, or an object with such a name."""
    return lambda item: any(map(wrong, texts(item)))


def texts(item: Any) -> Iterable[str]:
    """Return a JSON value that is a text, and the names in an object."""
    return item if isinstance(item, dict) else [item] if isinstance(item, str) else []


UNREADABLE = (
    (
        "repeated_name",
        repeated,
        Message("every name may stand only once in an object"),
        Message("stands more than once; send it once"),
    ),
    ("not_finite", out_of_bounds, Message("every number must be finite"), Message("must be a finite number")),
    (
        "unreadable_text",
        in_texts(halved),
        Message("text must consist of complete characters"),
        Message("contains an incomplete character; send UTF-8"),
    ),
    (
        "unreadable_text",
        in_texts(nulled),
        Message("text must not contain the character U+0000"),
        Message("contains the character U+0000; remove it"),
    ),
)
"""What no request may hold: its code, what finds it, and what is said of the body and of the field."""


def whole(text: str) -> str:
    """Return a text with question marks for halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def too_deep() -> BadInput:
    return BadInput(Message("the body is nested more than {limit} levels deep", {"limit": MAX_DEPTH}))


def too_large(limit: int) -> TooLarge:
    message = "the body is larger than {limit} bytes; split it, or upload models as files first"
    return TooLarge(Message(message, {"limit": limit}))


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
    "invisible_character",
    "blank_name",
    "recursion_loop",
}

REASONS = {
    "missing": "this field is required",
    "extra_forbidden": "unknown field in this request",
    "finite_number": "must be a finite number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number with fewer digits",
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
    "string_pattern_mismatch": "must have the form {pattern}",
    "invisible_character": INVISIBLE.template,
    "blank_name": BLANK.template,
    "date_type": "must be a date such as 2026-05-31",
    "date_parsing": "must be a date such as 2026-05-31",
    "date_from_datetime_parsing": "must be a date such as 2026-05-31",
    "date_from_datetime_inexact": "must be a date such as 2026-05-31",
    "datetime_type": "must be a date and time with its zone, such as 2026-05-31T09:30:00Z",
    "datetime_parsing": "must be a date and time with its zone, such as 2026-05-31T09:30:00Z",
    "datetime_from_date_parsing": "must be a date and time with its zone, such as 2026-05-31T09:30:00Z",
    "timezone_aware": "must be a date and time with its zone, such as 2026-05-31T09:30:00Z",
}
"""What each complaint of pydantic's means, in our words."""


CODES = {
    "missing_field": ("missing",),
    "unknown_field": ("extra_forbidden",),
    "wrong_type": (
        *("int_type", "int_parsing", "int_from_float", "float_type", "float_parsing", "bool_type"),
        *("bool_parsing", "string_type", "list_type", "dict_type", "model_type", "model_attributes_type"),
        *("date_type", "datetime_type"),
    ),
    "not_a_choice": ("literal_error",),
    "out_of_range": (
        *("greater_than", "greater_than_equal", "less_than", "less_than_equal", "int_parsing_size"),
    ),
    "wrong_length": ("string_too_long", "string_too_short", "too_long", "too_short"),
    "wrong_form": ("string_pattern_mismatch", "invisible_character", "blank_name"),
    "not_finite": ("finite_number",),
}
"""What programs tell complaints of pydantic's apart by."""

UNKNOWN_PARAMETER = Message("unknown query parameter; allowed: {known}")
SENT_TWICE = UNREADABLE[0][-1]

CODE_OF = {
    **{REASONS[kind]: code for code, kinds in CODES.items() for kind in kinds},
    **{said.template: code for code, _, *both in UNREADABLE for said in both},
    UNKNOWN_PARAMETER.template: "unknown_parameter",
}
"""Code of a message of ours by its template."""


def reason(item: Mapping[str, Any]) -> Message:
    """Return what is wrong with a field; nothing in it comes from the value that was sent."""
    template = REASONS.get(item["type"])
    if template is None:
        # The error that a check has raised says it without the name of its kind before it.
        return Message(escaped(str(item.get("ctx", {}).get("error", item["msg"]))))
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
    first = list(itertools.islice(errors, MAX_ERRORS))
    fields = [FieldError(dotted(item["loc"]) or "body", reason(item)) for item in first]
    kind: type[AppError] = BadInput if all(item["type"] in OUT_OF_RANGE for item in first) else Unprocessable
    if len(fields) == 1:
        return kind(fields[0].message, fields)
    return kind(several_invalid(len(fields)), fields)


Checked = TypeVar("Checked", bound=BaseModel)


def checked(schema: type[Checked], values: Mapping[str, Any]) -> Checked:
    """Return what an address or a form asks for; what the schema does not take is refused as the API does."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise as_app_error(error) from None


def as_app_error(error: AppError | ValidationError) -> AppError:
    return error if isinstance(error, AppError) else from_validation(error.errors(include_url=False))


def escaped(text: str) -> str:
    """Return text as a template without places."""
    return text.replace("{", "{{").replace("}", "}}")
