"""Documents as rows: every figure with its path, what it belongs to, its name and its unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

from app.estimating.schema import Document, Quantity

SUBJECTS = ("label", "option", "id")
"""Fields that say what an item of a list is about, the first that it has."""

CALLED = ("part", "item", "group", "figure", "input")
"""Fields that tell the items of a list apart that are about the same, the first that it has."""


class Row(NamedTuple):
    """One figure or word of a document."""

    path: str
    subject: str | None
    """What it is about: the label of the item of a list that holds it."""
    item: str
    """What tells that item, or one below it, apart; empty outside of lists."""
    value: JsonValue
    low: float | None
    """10th percentile; None if exact or not a number."""
    high: float | None
    unit: str
    """SI unit or currency of a quantity."""


def walk(document: Document, path: str = "", subject: str | None = None, item: str = "") -> Iterator[Row]:
    """Yield every figure and word of a document in its order, with those that are unknown.

    A number that fields ``low`` and ``high`` follow has them as its range.
    """
    fields = list(type(document).model_fields)
    for position, field in enumerate(fields):
        value, at = getattr(document, field), f"{path}{field}"
        if isinstance(value, Quantity):
            yield Row(at, subject, item, value.value, *_ends(value.low, value.high), value.unit)
        elif isinstance(value, Document):
            yield from walk(value, f"{at}.", subject, item)
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _entry(entry, f"{at}.{index}", subject, str(index + 1))
        elif value is None or isinstance(value, str | int | float):
            ranged = fields[position + 1 : position + 3] == ["low", "high"]
            ends = _ends(*(getattr(document, end) for end in ("low", "high"))) if ranged else (None, None)
            yield Row(at, subject, item, value, *ends, "")


def _entry(entry: object, at: str, subject: str | None, counted: str) -> Iterator[Row]:
    """Yield the rows of an entry of a list, which is about what it names."""
    if isinstance(entry, int | float | str):
        yield Row(at, subject, counted, entry, None, None, "")
    elif isinstance(entry, Document) and not isinstance(entry, Quantity):
        about = next((getattr(entry, name) for name in SUBJECTS if hasattr(entry, name)), None)
        called = next((str(getattr(entry, name)) for name in CALLED if hasattr(entry, name)), counted)
        use = getattr(entry, "use", None)
        called = f"{called} ({use})" if use else called
        yield from walk(entry, f"{at}.", about if isinstance(about, str) else subject, called)


def _ends(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    return (None, None) if low == high else (low, high)
