"""What the queries of a workspace share."""

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
from sqlmodel import Session

DOCUMENT = JSON().with_variant(JSONB(), "postgresql")
"""A JSON document."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite gives back naive ones, which this makes aware again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive moments, whose meaning depends on the machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("moments are stored with their time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return the moment in UTC."""
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
    """Return this moment in UTC."""
    return CLOCK.read()


MOST_COUNTED = 2**31 - 1
"""Largest number of a version; a database may not even be asked for a larger one."""


def countable(version: int) -> bool:
    """Tell whether a number can be that of a version: others are not looked up."""
    return 0 < version <= MOST_COUNTED


def new_id(prefix: str) -> str:
    """Return a readable random identifier: ``est_`` and 16 letters and digits (80 bits)."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"


class Queries:
    """The queries of one transaction in one workspace."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id
