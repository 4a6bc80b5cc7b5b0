"""Reading untrusted text and JSON within bounds.

JSON is read with a bound on size, depth and digits; it refuses ``NaN``, infinities and keys that
occur twice. Text is decoded as UTF-8 (with or without its mark) or as UTF-16 with its mark, and
refuses NUL bytes.
"""

from __future__ import annotations

import codecs
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from time import monotonic

from app.errors import BadInput, FieldError, Message, TooLarge, Unprocessable

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
            field_name, "{field} must be a whole number, not {value}", field=name, value=as_text(value)
        )
    if not least <= value <= most:
        raise BadInput.at(
            field_name,
            "{field} must be between {least} and {most}, not {value}",
            field=name,
            least=least,
            most=most,
            value=as_text(value),
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
            field_name, "{field} must be a number, not {value}", field=name, value=as_text(value)
        )
    # The range first: a whole number of hundreds of digits has no float to ask about.
    if not least <= value <= most or not math.isfinite(value):
        raise BadInput.at(
            field_name,
            "{field} must be a finite number between {least} and {most}, not {value}",
            field=name,
            least=least,
            most=most,
            value=as_text(value),
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
            field_name, "{field} must be true or false, not {value}", field=name, value=as_text(value)
        )
    return value


def as_text(value: object) -> str:
    """Return a value for an error message: short, on one line, never a whole document."""
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
    cleaned = "".join(character if character.isprintable() else "�" for character in text[: most + 1])
    return cleaned if len(cleaned) <= most else cleaned[: most - 1] + "…"


DEPTH = 64
"""Levels of nesting in JSON."""
DIGITS = 400
"""Digits of one number in JSON."""
FIELD = "file"
"""Field that errors about an uploaded file point at."""


def unreadable(template: str, **values: object) -> Unprocessable:
    """Return the error of an unreadable file; its message names file and position."""
    message = Message(template, values)
    return Unprocessable(message, [FieldError(FIELD, message)])


def too_large(template: str, **values: object) -> TooLarge:
    """Return the error of a file beyond a limit."""
    message = Message(template, values)
    return TooLarge(message, [FieldError(FIELD, message)])


MOST_ONNX_BYTES = 25_000_000
"""Largest ONNX file. [B]"""


def check_size(name: str, size: int, most: int) -> None:
    if size == 0:
        raise unreadable("{file} is empty", file=name)
    if size > most:
        raise too_large(
            "{file} exceeds the limit of {most} MB; leave out weights and data", file=name, most=most / 1e6
        )


class Deadline:
    """A time limit for reading one file."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._end = monotonic() + seconds

    def check(self) -> None:
        if monotonic() > self._end:
            raise too_large(
                "reading {file} takes longer than {seconds} s; send a smaller file",
                file=self._name,
                seconds=self._seconds,
            )


def decode(name: str, data: bytes) -> str:
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise unreadable(
            "{file} is not text in UTF-8: byte {position} cannot be read; save it as UTF-8",
            file=name,
            position=error.start,
        ) from error
    if "\0" in text:
        raise unreadable(
            "{file} contains a NUL character in line {line}; text, CSV and JSON must not contain any",
            file=name,
            line=text.count("\n", 0, text.index("\0")) + 1,
        )
    return text


def parse_json(name: str, text: str, *, line: int | None = None, infinite: bool = False) -> object:
    """Return the value of a JSON text; ``line`` is its position in a file of many.

    Infinities are taken where a configuration may have them, as Python writes them.
    """
    try:
        value: object = json.loads(
            text,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_constant if infinite else _refuse_constant,
            object_pairs_hook=_unique,
        )
    except _Refusal as error:
        raise unreadable(
            "{file}, line {line}: {reason}", file=name, line=line or 1, reason=error.message
        ) from error
    except json.JSONDecodeError as error:
        raise unreadable(
            "{file}, line {line}, column {column}: not valid JSON: {reason}",
            file=name,
            line=line or error.lineno,
            column=error.colno,
            reason=error.msg,
        ) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    check_depth(name, value)
    return value


class _Refusal(ValueError):
    def __init__(self, message: Message) -> None:
        super().__init__(message.template)
        self.message = message


def _parse_int(text: str) -> int:
    if len(text) > DIGITS:
        raise _Refusal(Message("a number has more than {digits} digits", {"digits": DIGITS}))
    return int(text)


def _parse_float(text: str) -> float:
    value = float(text) if len(text) <= DIGITS else math.inf
    if not math.isfinite(value):
        raise _Refusal(Message("the number {number} is too large", {"number": printable(text)}))
    return value


def _constant(text: str) -> float:
    return _refuse_constant(text) if text == "NaN" else float(text)


def _refuse_constant(text: str) -> float:
    raise _Refusal(Message("{constant} is not a number; leave the field out", {"constant": text}))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name, count in times.items() if count > 1)
        raise _Refusal(Message("the field {field} appears twice", {"field": printable(twice)}))
    return document


def _too_deep(name: str) -> Unprocessable:
    return unreadable("{file} is nested deeper than {depth} levels", file=name, depth=DEPTH)


def check_depth(name: str, value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise _too_deep(name)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
