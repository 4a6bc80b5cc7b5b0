"""Forms with a row for each team: names of fields carry the number of the row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.errors import AppError, FieldError
from app.web.contexts import Form

SPARE_ROWS = 2
LEAST_ROWS = 4
Values = Mapping[str, Sequence[str]]


def filled_rows(values: Values, group: str, most: int) -> list[int]:
    """Return the numbers of the rows in which something was typed, rising."""
    pattern = re.compile(rf"{group}\.(\d{{1,4}})\.\w+")
    found = {int(match[1]) for name in values if (match := pattern.fullmatch(name))}
    return sorted(row for row in found if row < most)


def shown_rows(filled: Sequence[int], most: int) -> list[int]:
    """Return the rows a form shows: all up to the last in use, and a few empty ones."""
    last = max(filled, default=-1) + 1
    return list(range(min(max(last + SPARE_ROWS, LEAST_ROWS), most)))


def refused_form(values: Values, error: AppError, group: str, rows: Sequence[int]) -> Form:
    """Return a form with what was typed, and errors at the rows they were typed in."""
    found = []
    for one in error.errors:
        match = re.fullmatch(rf"{group}\.(\d+)(.*)", one.field)
        inside = match is not None and int(match[1]) < len(rows)
        field = f"{group}.{rows[int(match[1])]}{match[2]}" if match and inside else one.field
        found.append(FieldError(field, one.message))
    return Form(values, found)
