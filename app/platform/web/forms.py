"""HTML forms to the same schemas as JSON, and schema errors back to the fields of a form."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, QueryParams

from app.errors import AppError, FieldError, Message, TooLarge, Unprocessable
from app.platform.json_bodies import as_app_error, from_validation
from app.platform.web.contexts import Form
from app.platform.web.problems import UnsupportedMediaType

OPTION = re.compile(r"^(?:base|options\.(\d+))\.")


def typed(form: FormData | QueryParams) -> dict[str, list[str]]:
    """Return what was typed into a form, without its files; nobody types U+0000 on purpose."""
    values: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        text = value.replace("\0", "").strip() if isinstance(value, str) else ""
        if text:
            values.setdefault(name, []).append(text)
    return values


def whole(text: str, digits: int = 9) -> int | None:
    """Return a whole number that a page wrote, such as a version; None where the text is none.

    >>> whole("42"), whole("4.2"), whole(""), whole("9" * 5000)
    (42, None, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


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


def at_shared_fields(errors: Iterable[FieldError], systems: Sequence[str]) -> list[FieldError]:
    """Return errors at the fields of the first form: options of a study are its systems.

    Model and workload are asked once for all options, so their errors are shown once.
    """
    placed_errors: dict[tuple[str, str], FieldError] = {}
    for error in errors:
        part = OPTION.match(error.field)
        field = error.field[part.end() :] if part else error.field
        if part and part[1] and field.startswith("system.") and int(part[1]) < len(systems):
            field = f"system.{systems[int(part[1])]}"
        placed_errors.setdefault((field, str(error.message)), FieldError(field, error.message))
    return list(placed_errors.values())


def refused(
    values: Mapping[str, Sequence[str]], error: AppError | ValidationError, systems: Sequence[str]
) -> Form:
    return Form(values, at_shared_fields(as_app_error(error).errors, systems))


def refusal(error: AppError | ValidationError) -> AppError:
    """Return what is wrong with a form: its fields say it, where it is more than the form as a whole."""
    if isinstance(error, AppError):
        return error
    known = from_validation(error.errors(include_url=False))
    return Unprocessable("some fields are invalid", known.errors)


FIELDS = "application/x-www-form-urlencoded"
"""Kind of a form without files."""

MOST_FIELDS = 5_000


def in_utf8(request: Request) -> Request:
    """Return a request; refuse a form in another character set, whose decoder may give what is no text."""
    _, parameters = parse_options_header(request.headers.get("content-type"))
    if parameters.get(b"charset", b"utf-8").lower() not in {b"utf-8", b"utf8"}:
        raise UnsupportedMediaType(Message("submit the form as {kind}", {"kind": "UTF-8"}))
    return request


async def with_few_fields(request: Request) -> Request:
    """Return a request; refuse a form of more fields than a page of ours has, each of which takes a while."""
    kind = request.headers.get("content-type", "").lower()
    if kind.startswith(FIELDS) and (await request.body()).count(b"&") >= MOST_FIELDS:
        message = "the form has more than {limit} fields; submit fewer at once"
        raise TooLarge(Message(message, {"limit": MOST_FIELDS}))
    return in_utf8(request)


async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Return a form with its files, which are let go once the answer is made."""
    async with (await with_few_fields(request)).form() as form:
        yield form


async def read_fields(request: Request) -> FormData:
    """Return a form without files, which alone is read of somebody who is not known."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in {"", FIELDS}:
        raise UnsupportedMediaType(Message("submit the form as {kind}", {"kind": FIELDS}))
    return await (await with_few_fields(request)).form()


FormDep = Annotated[FormData, Depends(read_form)]
