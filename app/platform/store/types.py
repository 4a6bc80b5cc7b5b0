"""Types of columns, what time it is, and new identifiers."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

DOCUMENT = JSON().with_variant(JSONB(), "postgresql")
"""A JSON document."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite gives back naive ones, which this makes aware again.

    To store a naive one is refused: its meaning depends on the machine.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("moments are stored with their time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Clock:
    """What time it is; another one can be put in its place to see what a clock that is moved does."""

    def __init__(self) -> None:
        self.read: Callable[[], datetime] = partial(datetime.now, UTC)


CLOCK = Clock()


def now() -> datetime:
    return CLOCK.read()


def new_id(prefix: str) -> str:
    """Return a readable random identifier: ``est_`` and 16 letters and digits (80 bits)."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"
