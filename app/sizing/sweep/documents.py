"""How far a sweep is, its rows, and long work in general."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from app.sizing.document import Document, Text
from app.sizing.sweep.rows import SweepRow

Status = Literal["queued", "running", "done", "cancelled", "failed"]

ENDED = frozenset({"done", "cancelled", "failed"})
"""Statuses that do not change by themselves."""


class SweepState(Document):
    """How far a sweep is."""

    id: str
    """Identifier of the sweep."""
    title: str
    """Its title."""
    status: Status
    """Whether it waits, is computed, or has ended."""
    total: int
    """Points there are."""
    done: int
    """Points that have a row."""
    message: Text | None = None
    """Why it failed."""
    created_at: datetime
    """When it was asked for."""
    updated_at: datetime
    """When a row last came or the status last changed."""

    @property
    def ended(self) -> bool:
        """Whether the status will not change by itself."""
        return self.status in ENDED


class SweepAnswer(SweepState):
    """A sweep with a stretch of its rows."""

    refused: int
    """Points whose row has a problem instead of an estimate."""
    labels: dict[str, list[str]]
    """Labels of models, systems, prices and scenarios, to narrow rows by."""
    sizes: dict[str, int]
    """How many of each are combined, systems in their counts."""
    matching: int
    """Rows that what was asked for leaves over."""
    rows: list[SweepRow]
    """Rows in the order asked for."""
    next: str | None
    """Cursor of the next rows; null at the end."""
    request: dict[str, JsonValue]
    """What was asked."""


class Job(Document):
    """Long work: how far it is, and where its result is."""

    id: str = Field(description="Identifier of the job; that of what it makes.")
    kind: Literal["sweep"] = Field(description="What is being made.")
    status: Status = Field(description="Whether it waits, is under way, or has ended.")
    total: int = Field(description="Steps there are.")
    done: int = Field(description="Steps done.")
    result: str = Field(description="Address of what it makes; complete once the status is “done”.")
