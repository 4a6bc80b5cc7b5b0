"""Answers made of rows: documents, and lists in stretches with a cursor to where the next one begins."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Generic

from pydantic import Field

from app.errors import BadInput
from app.estimating.schema import Document, Item
from app.platform.store.queries import EVERYTHING, After
from app.platform.store.queries import ListFilter as ListFilter
from app.platform.store.queries import ListOrder as ListOrder
from app.platform.store.repository import Listed, Repository


class Page(Document, Generic[Item]):
    """A stretch of a list."""

    items: list[Item]
    """Items, newest first unless ordered otherwise; of the catalogue, in its order."""
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


IDENTIFIER = re.compile(r"[\w-]{1,60}", re.ASCII)

MAX_ITEMS = 200

USUAL_ITEMS = 50


def in_utc(field: str, moment: datetime | None) -> datetime | None:
    """Return a moment of the calendar in UTC, which has none before the year 1 or after 9999."""
    if moment is not None and moment.tzinfo is None:
        raise BadInput.at(field, "enter a time with its time zone, such as 2026-11-02T00:00:00Z")
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError:
        raise BadInput.at(field, "must be a time between the years 1 and 9999 in UTC") from None


def write_cursor(after: After | None) -> str | None:
    if after is None:
        return None
    return base64.urlsafe_b64encode(f"{after.created_at.isoformat()} {after.id}".encode()).decode()


def read_cursor(cursor: str | None) -> After | None:
    """Return the place that :func:`write_cursor` wrote."""
    if cursor is None:
        return None
    try:
        moment, identifier = base64.urlsafe_b64decode(cursor.encode()).decode().split(" ")
        created_at = datetime.fromisoformat(moment)
        # A moment before the year 1 or behind 9999 in UTC is one that no row has.
        after = After(created_at.astimezone(UTC), identifier) if created_at.tzinfo is not None else None
    except (ValueError, OverflowError, binascii.Error):
        after = None
    if after is None or not IDENTIFIER.fullmatch(after.id):
        raise not_ours()
    return after


def page_of(
    repository: Repository,
    table: type[Listed],
    document: Callable[[Listed], Item],
    limit: int,
    cursor: str | None,
    *narrowed: Any,
    wanted: ListFilter = EVERYTHING,
) -> Page[Item]:
    """Return a stretch of the rows of a workspace as documents, in their order."""
    listing = repository.page(table, limit, read_cursor(cursor), *narrowed, wanted=wanted)
    return Page(items=[document(row) for row in listing.rows], next=write_cursor(listing.next))


def stretch(items: list[Item], limit: int, cursor: str | None) -> Page[Item]:
    """Return a stretch of a list that is in memory; the cursor counts."""
    start = start_of(len(items), cursor)
    end = start + limit
    return Page(items=items[start:end], next=str(end) if end < len(items) else None)


def start_of(count: int, cursor: str | None) -> int:
    """Return where the stretch of so many items begins that a cursor names."""
    start = counted(cursor)
    if start > count:
        raise not_ours()
    return start


def counted(cursor: str | None) -> int:
    """Return the place that a cursor counts to, whatever there is."""
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 8 or not int(cursor):
        raise not_ours()
    return int(cursor)


def not_ours() -> BadInput:
    return BadInput.at("cursor", "use the “next” value of an earlier response")
